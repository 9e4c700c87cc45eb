/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens that are refused: the cause, the code, and the message. */
#ifndef TESTS_UVERBS_REFUSED_H
#define TESTS_UVERBS_REFUSED_H

#include <stddef.h>

struct refusal {
	const char *call;		/* the call that fails, NULL: none does */
	int answer;			/* with this errno */
	const char *name, *params;	/* of what is opened */
	int err;
	const char *cause, *cure;	/* words of the message */
	const void *device;		/* state of the device, defined by the suite */
};

/* Opens: 0 and *ctl, or a negative errno and a message. */
typedef int refused_open(const struct refusal *r, void **ctl, char *why, size_t whylen);

/* Runs each in a process that may lock 64 KiB. */
void refused_each(const struct refusal *refusals, size_t n, refused_open *open);
/* No object of libibverbs or libmlx5 is left. */
void nothing_left_but(long n);
void nothing_left(void);

#endif
