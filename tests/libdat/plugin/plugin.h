/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A provider that counts what the registry asks of it. Words in its ia_params change how it acts:
 *	silent		does not register in init
 *	other		registers another name as well, and keeps what that returned
 *	stays		does not remove itself in fini
 *	nodevice	ia_open: DAT_PROVIDER_NOT_FOUND
 *	full		ia_open: DAT_INSUFFICIENT_RESOURCES
 */
#ifndef TEST_PLUGIN_H
#define TEST_PLUGIN_H

#include <dat/dat_registry.h>

struct plugin_log {
	int inits, finis, opens, closes;
	DAT_PROVIDER_INFO info;		/* of the last init */
	char params[256];
	DAT_COUNT qlen;			/* of the last open */
	DAT_RETURN added, removed, added_other;
	DAT_RETURN close_with;		/* set by the test: what ia_close returns */
	void (*remove)(void);		/* called by the test: the provider leaves by itself */
};

extern struct plugin_log plugin_log;

#endif
