/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A provider that counts the calls of the registry. Words in its ia_params change its behaviour:
 * 	silent		does not register in init
 * 	other		registers another name as well, and keeps the return value
 * 	stays		does not remove itself in fini
 * 	nodevice	ia_open: DAT_PROVIDER_NOT_FOUND
 * 	full		ia_open: DAT_INSUFFICIENT_RESOURCES
 * 	pair		ia_open: waits for another thread that calls it
 */
#ifndef TEST_PLUGIN_H
#define TEST_PLUGIN_H

#include <dat/dat_registry.h>

struct plugin_log {
	int inits, finis, opens, closes;
	DAT_PROVIDER_INFO info;		/* argument of the last init */
	char params[256];
	DAT_COUNT qlen;			/* argument of the last ia_open */
	DAT_RETURN added, removed, added_other;
	DAT_RETURN close_with;		/* set by the test: the return value of ia_close */
	/* a function that the test calls: the provider removes itself */
	void (*remove)(void);
};

extern struct plugin_log plugin_log;

#endif
