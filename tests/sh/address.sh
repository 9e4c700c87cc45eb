#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The address of an IA whose GID contains no IPv4 address: the source address of the machine's default
# route; if there is no such route, 127.0.0.1 and a warning that names ip=. The test uses network
# namespaces, since the machine's routes decide.
set -u
. tests/harness/skip.sh
needs_preload
unshare -rn true 2>/dev/null || skip "this user may not have a network namespace"
command -v ip >/dev/null || skip "iproute2 is not installed"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
run=$DAPL_BUILD_DIR/bin/softnic-run
route='ip link set lo up; ip addr add 192.0.2.7/32 dev lo; ip route add default dev lo src 192.0.2.7;'
status=0

# shows ROUTE TEXT IA [OPTION...]: with these routes, dat_info of IA prints TEXT
shows() {
	local route=$1 text=$2 ia=$3
	shift 3
	unshare -rn env DAPL_DBG_TYPE=2 bash -c "$route"' "$@"' - "$run" "$@" "$DAPL_BUILD_DIR/bin/dat_info" -i "$ia" >"$tmp/out" 2>&1
	grep -q "$text" "$tmp/out" && return
	echo "$ia $*: dat_info does not print \"$text\":"
	cat "$tmp/out"
	status=1
}

echo "0000:01:00.0 u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"gid=auto\" \"\"" \
	>"$tmp/dat.conf"
shows "$route" 'address 192.0.2.7$' mlx5_0-1 --infiniband
shows "$route" 'address 192.0.2.7$' efa_0-1 --efa
DAT_OVERRIDE=$tmp/dat.conf shows "$route" 'address 192.0.2.7$' 0000:01:00.0 --vfio
for ia in mlx5_0-1,--infiniband efa_0-1,--efa; do
	shows '' "${ia%,*}: cannot choose an address for peers on other hosts: .*no default route.*ip=" "${ia%,*}" "${ia#*,}"
	shows '' 'address 127.0.0.1$' "${ia%,*}" "${ia#*,}"
done
exit $status
