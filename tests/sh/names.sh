#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Any IA name: device= and port= in ia_params, OpenFabrics' form of them, network interfaces and IP addresses,
# in both API levels; each device or port that is not there is refused with cause and cure.
set -u
. tests/harness/skip.sh
needs_preload
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export tmp
info=$DAPL_BUILD_DIR/bin/dat_info
status=0

# conf IA PARAMS: writes a dat.conf that has only this line
conf() {
	echo "$1 u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"$2\" \"\"" >"$tmp/dat.conf"
	export DAT_OVERRIDE=$tmp/dat.conf
}

# opens DEVICE IA PARAMS COMMAND...: checks that dat_info, run by COMMAND, opens IA, and that its device
# is DEVICE
opens() {
	local device=$1 ia=$2 params=$3
	shift 3
	conf "$ia" "$params"
	"$@" "$info" -i "$ia" >"$tmp/out" 2>&1 && grep -q "^    provider device: $device\$" "$tmp/out" && return
	echo "$ia \"$params\" does not open, or its device is not $device:"
	cat "$tmp/out"
	status=1
}

# refuses CODE WORDS IA PARAMS COMMAND...: checks that the log has WORDS and dat_ia_open returns CODE
refuses() {
	local code=$1 words=$2 ia=$3 params=$4
	shift 4
	conf "$ia" "$params"
	"$@" "$info" -i "$ia" >"$tmp/out" 2>&1 || {
		grep -q "cannot open $ia: .*$words" "$tmp/out" && grep -q "$code" "$tmp/out" && return
	}
	echo "$ia \"$params\": dat_ia_open does not fail with $code and \"$words\":"
	cat "$tmp/out"
	status=1
}

run=$DAPL_BUILD_DIR/bin/softnic-run
opens soft-mlx5-0 ib0 'device=soft-mlx5-0'
opens soft-mlx5-1 ib0 'device=soft-mlx5-1 port=1 inline=64'
opens soft-mlx5-0 ofa-v2-mlx5_0-1u 'soft-mlx5-0 1'
opens soft-efa-0 OpenIB-cma 'soft-efa-0 0'
opens soft-mlx5-0 soft-mlx5-0 ''
opens mlx5_0-1 ib0 'device=mlx5_0 port=1' "$run"
opens mlx5_0-2 ib1 'device=mlx5_0,port=2' "$run" -p 2
opens mlx5_0-2 ib1 'device=mlx5_0-2' "$run" -p 2
opens mlx5_1-1 ct3_0 'device=mlx5_1' "$run" -d 2
opens mlx5_0-1 ofa-v2-mlx5_0-1u 'mlx5_0 1' "$run"
opens mlx5_0-2 ofa-v2-mlx5_0-2s 'mlx5_0 2 inline=64' "$run" -p 2
opens mlx5_1-2 ofa-v2-cma-roe-eth2 'enp2s0np1 0' "$run" -d 2 -p 2
opens efa_0-1 ib0 'device=efa_0 port=1 efa_window=8' "$run" --efa
opens efa_0-1 ib0 'efa_0 0' "$run" --efa
opens 0000:01:00.0 nes0 'device=0000:01:00.0 gid=auto' "$run" --vfio
opens 0000:01:00.0 nes0 '01:00.0 1 gid=auto' "$run" --vfio

# IP over InfiniBand has no GID of its own. Its address selects the device of its interface: here lo, with
# an RDMA device.
cat >"$tmp/ipoib" <<'END'
#!/bin/bash
for net in ib7 lo; do
	mkdir -p "$SYSFS_PATH/class/net/$net"
	ln -sf "$(readlink -f "$SYSFS_PATH/class/infiniband/mlx5_0/device")" "$SYSFS_PATH/class/net/$net/device"
	echo "${DEV_PORT-0}" >"$SYSFS_PATH/class/net/$net/dev_port"
done
exec "$@"
END
chmod +x "$tmp/ipoib"
opens mlx5_0-1 ofa-v2-ib0 'ib7 0' "$run" --infiniband "$tmp/ipoib"
DEV_PORT=1 opens mlx5_0-2 ofa-v2-ib0 'ib7 0' "$run" --infiniband -p 2 "$tmp/ipoib"
opens mlx5_0-1 by-address '127.0.0.1 0' "$run" --infiniband "$tmp/ipoib"

none=DAT_PROVIDER_NOT_FOUND bad=DAT_INVALID_PARAMETER
refuses $none 'there is no RDMA device mlx5_7: ibv_devices(1) lists them' ib0 'device=mlx5_7 port=1' "$run"
refuses $none 'there is no RDMA device mlx5_7: ibv_devices(1) lists them' ib0 'mlx5_7 1' "$run"
refuses $none 'mlx5_0 has no port 3: ibv_devinfo(1) lists its ports' ib0 'mlx5_0 3' "$run"
refuses $none 'efa_0 has no port 2: ibv_devinfo(1) lists its ports' ib0 'efa_0 2' "$run" --efa
refuses $none 'network interface lo has no RDMA device: rdma link' ib0 '127.0.0.1 0'
refuses $bad 'enp1s0np0 is port 1 of mlx5_0, not port 2: use port 1, or 0 for' ib0 'enp1s0np0 2' "$run"
refuses $bad 'soft-mlx5-0 has no port 2: use port 1' ib0 'device=soft-mlx5-0 port=2'
refuses $bad 'soft-efa-0 has no port 2: use port 1' ib0 'soft-efa-0 2'
refuses $bad '"soft-mlx5-0 1" and device= or port= both select the device: remove one' ib0 'soft-mlx5-0 1 port=1'
refuses $bad 'port=1 needs device=' soft-mlx5-0 'port=1'
refuses $bad 'port=300: must be a number from 0 to 255' ib0 'device=soft-mlx5-0 port=300'
refuses $bad 'port from 0 to 255' ib0 'soft-mlx5-0 300'
refuses $bad 'device has no value' ib0 'device= port=1'

# uDAPL 2.0: the suite reads etc/dat2.conf of its build directory.
mkdir "$tmp/etc"
provider=$DAPL_BUILD_DIR/lib/libdapl-direct2.so
if [ -e "$provider" ] && [ -x "$DAPL_BUILD_DIR/tests/dat2" ]; then
	for params in 'soft-mlx5-0 1' 'device=soft-mlx5-0 port=1'; do
		for ia in ib0 ofa-v2-mlx5_0-1u; do
			for kind in nonthreadsafe threadsafe; do
				echo "$ia u2.0 $kind default $provider dapl_direct.2.0 \"$params\" \"\""
			done
		done >"$tmp/etc/dat2.conf"
		DAPL_BUILD_DIR=$tmp DAPL_TEST_IA=ofa-v2-mlx5_0-1u timeout 60 \
			"$DAPL_BUILD_DIR/tests/dat2" --filter 'attributes/*' >"$tmp/out" 2>&1 &&
			grep -q 'Passing: [1-9]' "$tmp/out" && continue
		echo "uDAPL 2.0 with \"$params\":"
		cat "$tmp/out"
		status=1
	done
fi
exit $status
