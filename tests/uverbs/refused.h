/* SPDX-License-Identifier: BSD-2-Clause */
/* Openings that are refused: by what, with which code, and with which words. */
#ifndef TESTS_UVERBS_REFUSED_H
#define TESTS_UVERBS_REFUSED_H

#include <stddef.h>

struct refusal {
	const char *call;		/* the call that fails, NULL: none does */
	int answer;			/* with this errno */
	const char *name, *params;	/* of what is opened */
	int err;
	const char *cause, *cure;	/* words of the message */
	const void *device;		/* how the device is, as the suite tells it */
};

/* One of them: 0 and *ctl, or a negative errno and a message. */
typedef int refused_open(const struct refusal *r, void **ctl, char *why, size_t whylen);

/* Each in turn, in a process that may lock 64 KiB. */
void refused_each(const struct refusal *refusals, size_t n, refused_open *open);
/* No object of libibverbs or libmlx5 stays behind. */
void nothing_left_but(long n);
void nothing_left(void);

#endif
