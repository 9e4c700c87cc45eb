/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens that are refused: the cause, the return code, and the message. */
#ifndef TESTS_UVERBS_REFUSED_H
#define TESTS_UVERBS_REFUSED_H

#include <stddef.h>

struct refusal {
	const char *call;		/* the call that fails; NULL: none */
	int answer;			/* the errno with which it fails */
	const char *name, *params;	/* name and parameters of the IA that is opened */
	int err;
	const char *cause, *cure;	/* words of the message */
	const void *device;		/* state of the device; its type is defined by the suite */
	unsigned long first;		/* number of first calls that do not fail */
};

/* Opens the device. Returns 0 and *ctl, or a negative errno and a message. */
typedef int refused_open(const struct refusal *r, void **ctl, char *why, size_t whylen);

/* Runs each refusal in a process that may lock 64 KiB. */
void refused_each(const struct refusal *refusals, size_t n, refused_open *open);
/* Checks that exactly n objects of libibverbs and libmlx5 are left. */
void nothing_left_but(long n);
void nothing_left(void);

#endif
