# SPDX-License-Identifier: BSD-2-Clause
# What scripts of tests/sh cannot do without, or they are skipped; sourced.

skip() {
	echo "$*"
	exit 77
}

# softnic-run, which puts a library of this build into another program.
needs_preload() {
	[ -z "${SAN-}" ] || skip "a library under a sanitizer cannot be preloaded"
	[ -x "$DAPL_BUILD_DIR/bin/softnic-run" ] || skip "softnic-run is not built: no rdma-core"
}

# needs_valgrind PROGRAM: there are both, and the one can read the other.
needs_valgrind() {
	[ -x "$1" ] && command -v valgrind >/dev/null || skip "not built here"
	! valgrind "$1" --help 2>&1 | grep -q 'corrupted debuginfo' ||
		skip "valgrind cannot read what this compiler writes"
}
