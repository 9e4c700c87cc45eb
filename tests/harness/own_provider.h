/* SPDX-License-Identifier: BSD-2-Clause */
/* A provider inside the program: its IA can only be opened and closed. */
#ifndef TEST_OWN_PROVIDER_H
#define TEST_OWN_PROVIDER_H

#include <dat/udat.h>

/* The IA that own_open() returns; its table must be set before. */
static struct {
	const DAT_PROVIDER *table;
} own_ia;

static DAT_RETURN own_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			   DAT_IA_HANDLE *ia)
{
	(void)name;
	(void)qlen;
	(void)async_evd;
	*ia = &own_ia;
	return DAT_SUCCESS;
}

static DAT_RETURN own_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)ia;
	(void)flags;
	return DAT_SUCCESS;
}

static const DAT_PROVIDER own = {.ia_open_func = own_open, .ia_close_func = own_close};

#endif
