#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each public header compiles by itself, in C and in C++, and so does each seam header in C.
# Slow: only with DAPL_ALL=1.
set -u
status=0
try() {
	local lang=$1 header=$2
	shift 2
	if ! printf '#include <%s>\n' $header | ${CC:-gcc} -x "$lang" "$@" -Wall -Wextra -Werror -fsyntax-only -; then
		echo "$header does not compile alone as $lang"
		status=1
	fi
}
for h in include/dat/*.h; do
	try c "${h#include/}" -Iinclude -std=c99
	try c++ "${h#include/}" -Iinclude
done
# Consumers of uDAPL 2.0 include the header of Debian's libdapl-dev first.
if [ -e /usr/include/dat2/udat.h ]; then
	try c 'dat2/udat.h dat/dapl_direct.h' -Iinclude -std=c99
	try c++ 'dat2/udat.h dat/dapl_direct.h' -Iinclude
fi
for h in core/*.h core/{cm,ep,evd,front,mem}/*.h hw_*/*.h hw_*/*/*.h softnic/*.h softnic/*/*.h softnic/*/*/*.h; do
	[ -e "$h" ] && try c "$h" -I. -Iinclude -I"$DAPL_BUILD_DIR" -D_GNU_SOURCE -std=gnu11
done
exit $status
