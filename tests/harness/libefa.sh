# SPDX-License-Identifier: BSD-2-Clause
# The rdma-core that the tests run with; sourced.

# libefa_release: prints the major release, e.g. 44, from the name of the library that the provider
# loads
libefa_release() {
	local library
	library=$(ldd "$DAPL_BUILD_DIR/lib/libdapl-direct.so" | awk '$1 == "libefa.so.1" { print $3 }')
	[ -n "$library" ] && basename "$(readlink -f "$library")" | sed -n 's/^libefa\.so\.1\.[0-9]*\.\([0-9]*\).*/\1/p'
}
