# SPDX-License-Identifier: BSD-2-Clause
# Takes the examples out of a manual page; sourced.

# example PAGE: prints the examples as a C function with variables that a program has; false if there are
# none.
example() {
	local body
	body=$(awk -v page="$1" '/^\.Sh / { in_examples = $2 == "EXAMPLES" }
		!in_examples { next }
		/^\.Bd -literal/ { print "{\n#line " FNR + 1 " \"" page "\""; code = 1; next }
		/^\.Ed/ { if (code) print "}"; code = 0; next }
		code { gsub(/\\e/, "\\"); sub(/^\\&/, ""); print }' "$1")
	[ -n "$body" ] || return
	cat <<-END
		#include <dat/udat.h>
		#include <dat/dat_registry.h>
		#include <dat/dapl_direct.h>
		#include <poll.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		extern DAT_IA_HANDLE ia;
		extern DAT_PZ_HANDLE pz;
		extern DAT_EP_HANDLE ep;
		extern DAT_EVD_HANDLE evd;
		extern DAT_LMR_HANDLE lmr;
		extern DAT_RMR_HANDLE rmr;
		extern DAT_CR_HANDLE cr;
		extern DAT_LMR_TRIPLET segment;
		extern DAT_RMR_TRIPLET remote;
		extern char *buf;
		extern size_t len;
		extern DAT_RETURN ret;
		void example(void);
		void example(void)
		{
		$body
		}
	END
}
