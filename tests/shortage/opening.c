/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening while memory is missing. */
#include <dat/dat_registry.h>
#include <stdlib.h>
#include <string.h>

#include "tests/shortage/shortage.h"

/* A script that is right stays right while memory is missing. */
Test(shortage, ia_open__with_a_fault_script_lacks_memory_only, .timeout = 60)
{
	DAT_PROVIDER_INFO info = { .dapl_version_major = DAT_VERSION_MAJOR,
				   .dapl_version_minor = DAT_VERSION_MINOR,
				   .is_thread_safe = DAT_THREADSAFE };
	unsigned long n = 0, seen;

	strcpy(info.ia_name, bench_name());
	setenv("DAT_OVERRIDE", "/dev/null", 1);
	dat_provider_init(&info, "fault=seed=1;drop:op=ack");
	do {
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
		DAT_IA_HANDLE ia;
		DAT_RETURN ret;

		th_fail_start(TH_FAIL_HEAP | TH_FAIL_MINE, ++n);
		ret = dat_ia_open(info.ia_name, 8, &async, &ia);
		seen = th_fail_stop();
		if (ret == DAT_SUCCESS)
			dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
		else
			cr_assert_eq(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES,
				     "without allocation %lu dat_ia_open returned 0x%08x", n, ret);
	} while (seen >= n);
}
