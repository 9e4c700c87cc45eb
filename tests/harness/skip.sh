# SPDX-License-Identifier: BSD-2-Clause
# Requirements of scripts in tests/sh, which are skipped without them; sourced.

skip() {
	echo "$*"
	exit 77
}

# needs_preload: softnic-run exists, and preloads a library of this build.
needs_preload() {
	[ -z "${SAN-}" ] || skip "a library under a sanitizer cannot be preloaded"
	[ -x "$DAPL_BUILD_DIR/bin/softnic-run" ] || skip "softnic-run is not built: no rdma-core"
}

# needs_valgrind PROGRAM: both programs exist, and valgrind can read PROGRAM.
needs_valgrind() {
	[ -x "$1" ] && command -v valgrind >/dev/null || skip "not built here"
	! valgrind "$1" --help 2>&1 | grep -q 'corrupted debuginfo' ||
		skip "valgrind cannot read what this compiler writes"
}
