#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_migrate converts each kind of line of OpenFabrics dapl. Its messages and its output are
# checked.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
migrate=$DAPL_BUILD_DIR/bin/dat_migrate
status=0

wrong() {
	echo "$*"
	cat "$tmp/out" "$tmp/err"
	status=1
}

# becomes LINE NEW: checks that `dat_migrate -d /dir` prints NEW for LINE alone, and succeeds
becomes() {
	echo "$1" >"$tmp/old"
	env -u DAT_OVERRIDE "$migrate" -d /dir "$tmp/old" >"$tmp/out" 2>"$tmp/err" || wrong "dat_migrate ends with status $? for \"$1\""
	[ "$(cat "$tmp/out")" = "$2" ] || wrong "dat_migrate does not turn \"$1\" into \"$2\""
}

# reports WORDS LINE: checks that stderr has WORDS
reports() {
	grep -qe "$1" "$tmp/err" || wrong "$2: stderr does not say \"$1\""
}

becomes 'ofa-v2-mlx5_0-1u u2.0 nonthreadsafe default libdaploucm.so.2 dapl.2.0 "mlx5_0 1" ""' \
	'ofa-v2-mlx5_0-1u u2.0 nonthreadsafe default /dir/libdapl-direct2.so dapl_direct.2.0 "device=mlx5_0 port=1" ""'
reports 'datagrams of the fabric' ucm
reports 'both ends of a connection must use dapl-direct' ucm
reports 'uDAPL 2.0 keep the libdat2 of the system' ucm
strange='ib0 u1.2 nonthreadsafe default libdaplcma.so.1 dapl.1.2 "ml\"x 1" ""'
becomes "$strange" "$strange"
reports 'are not a device and a port' "a quotation mark in a device"
becomes 'ofa-v2-ib0	u2.0 threadsafe nondefault /usr/lib/libdaplofa.so.2 dapl.2.0 "lo 0" "x"' \
	'ofa-v2-ib0 u2.0 threadsafe nondefault /dir/libdapl-direct2.so dapl_direct.2.0 "device=lo" "x"'
reports 'instead of rdma_cm' cma
! grep -q 'this machine has no' "$tmp/err" || wrong "dat_migrate reports the interface lo as missing"
becomes 'OpenIB-cma u1.2 nonthreadsafe default libdaplcma.so.1 dapl.1.2 "host.example 0" ""' \
	'OpenIB-cma u1.2 nonthreadsafe default /dir/libdapl-direct.so dapl_direct.1.2 "device=host.example" ""'
reports 'libdat.so.1 of dapl-direct. If /etc/dat/dat.conf exists, it reads that file' 1.2
reports 'no RDMA device and no network interface host.example; for a host name, write its address' cma
becomes '"a name" u2.0 nonthreadsafe default libdaplomcm.so.2 dapl.2.0 "mlx5_0 2" ""' \
	'"a name" u2.0 nonthreadsafe default /dir/libdapl-direct2.so dapl_direct.2.0 "device=mlx5_0 port=2" ""'
reports 'no proxy' mcm
for kept in '# a comment' '' \
	'ofa-v2-mlx4_0-1 u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "mlx4_0 1" ""' \
	'ib0  k1.2 threadsafe default libdaplofa.so.2 dapl.1.2 "eth2 0" ""' \
	'ib0 u2.0 nonthreadsafe default libother.so other.2.0 "eth2 0" ""' \
	'ib0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "eth2" ""'; do
	becomes "$kept" "$kept"
done
reports ':1: kept: ia_params "eth2" are not a device and a port' 'the last line'

# The driver of a device decides. A name that the kernel gives to devices of other drivers does if there is no driver.
for device in rocep1s0:mlx5_core mlx5_1:mlx5_core.sf mlx4_0:mlx5_core rocep3s0f0:irdma bnxt_re0: rxe0:; do
	mkdir -p "$tmp/sys/class/infiniband/${device%:*}/device"
	[ -z "${device#*:}" ] || ln -s "../../../../bus/${device#*:}" "$tmp/sys/class/infiniband/${device%:*}/device/driver"
	line="ib0 u1.2 nonthreadsafe default libdaploscm.so.2 dapl.1.2 \"${device%:*} 1\" \"\""
	case $device in
	*:mlx5*) new="ib0 u1.2 nonthreadsafe default /dir/libdapl-direct.so dapl_direct.1.2 \"device=${device%:*} port=1\" \"\"" ;;
	*) new=$line ;;
	esac
	SYSFS_PATH=$tmp/sys becomes "$line" "$new"
done
reports 'kept: rxe0 is not a ConnectX' 'a foreign device'

# The name of a directory is quoted if it has a blank.
echo 'ib0 u1.2 nonthreadsafe default libdaploscm.so.2 dapl.1.2 "mlx5_0 1" ""' >"$tmp/old"
"$migrate" -d "$tmp/my libraries" "$tmp/old" >"$tmp/out" 2>"$tmp/err" || wrong "dat_migrate -d fails for a directory with a blank"
grep -qF " \"$tmp/my libraries/libdapl-direct.so\" " "$tmp/out" || wrong "the directory with a blank is not quoted"
# A relative directory becomes an absolute one.
mkdir "$tmp/my libraries"
(cd "$tmp" && "$migrate" -d 'my libraries' old) >"$tmp/out" 2>"$tmp/err"
grep -qF " \"$(realpath "$tmp")/my libraries/libdapl-direct" "$tmp/out" || wrong "dat_migrate -d prints a path that counts from the current folder"

# A directory that is not there is refused if it is relative. An absolute one may be that of another machine.
for directory in none ''; do
	"$migrate" -d "$directory" "$tmp/old" >"$tmp/out" 2>"$tmp/err" && wrong "dat_migrate -d '$directory' succeeds"
	[ ! -s "$tmp/out" ] && grep -qxF "dat_migrate: -d '$directory': No such file or directory" "$tmp/err" ||
		wrong "dat_migrate -d '$directory' prints lines, or no reason"
done
becomes 'ib0 u1.2 nonthreadsafe default libdaplscm.so dapl.1.2 "mlx5_0 1" ""' \
	'ib0 u1.2 nonthreadsafe default /dir/libdapl-direct.so dapl_direct.1.2 "device=mlx5_0 port=1" ""'
reports 'there is no /dir/libdapl-direct.so: if' "an absolute directory"
"$migrate" -d "$DAPL_BUILD_DIR/lib" "$tmp/old" >"$tmp/out" 2>"$tmp/err" || wrong "dat_migrate -d fails"
! grep -q 'there is no .*libdapl' "$tmp/err" || wrong "dat_migrate does not find the provider of -d"

# If -d is missing, a line of 2.0 gets the path of the provider, because libdat2 does not look
# beside libdat.so.1. The provider is in libdat's directory after make install, or in dapl-direct
# below it in packages. default_library LINE LIBRARY: checks that path
default_library() {
	echo "ib0 $1 nonthreadsafe default libdaploscm.so.2 dapl.2.0 \"mlx5_0 1\" \"\"" |
		LD_LIBRARY_PATH=$tmp/lib "$migrate" - >"$tmp/out" 2>"$tmp/err"
	[ "$(cut -d' ' -f5 "$tmp/out")" = "$2" ] || wrong "$1: the library is not $2"
}
mkdir -p "$tmp/lib/dapl-direct"
cp "$DAPL_BUILD_DIR/lib/libdat.so.1" "$tmp/lib"
default_library u2.0 libdapl-direct2.so
reports 'is not beside libdat.so.1' 'no provider of 2.0'
touch "$tmp/lib/dapl-direct/libdapl-direct2.so"
default_library u2.0 "$tmp/lib/dapl-direct/libdapl-direct2.so"
touch "$tmp/lib/libdapl-direct2.so"
default_library u2.0 "$tmp/lib/libdapl-direct2.so"
! grep -q 'not beside' "$tmp/err" || wrong 'the provider of 2.0 is reported as missing'
default_library u1.2 libdapl-direct.so

# A broken line becomes a comment, and the exit status reports it.
printf '%s\n' '# first' 'ib0 u2.0 nonthreadsafe maybe libdaplofa.so.2 dapl.2.0 "eth2 0" ""' >"$tmp/old"
DAT_OVERRIDE=$tmp/old "$migrate" >"$tmp/out" 2>"$tmp/err"
[ $? = 1 ] || wrong "dat_migrate does not end with status 1 for a broken line"
grep -qx '# ib0 u2.0 .*' "$tmp/out" || wrong "dat_migrate does not turn a broken line into a comment"
reports "$tmp/old:2:24: field 4 is neither default nor nondefault; write default" "a broken line"
! "$migrate" "$tmp/none" >"$tmp/out" 2>"$tmp/err" || wrong "dat_migrate succeeds with a missing file"
reports "cannot read $tmp/none: No such file" "a file that does not exist"
! "$migrate" "$tmp" >"$tmp/out" 2>"$tmp/err" || wrong "dat_migrate succeeds with a folder"
reports "cannot read $tmp: Is a directory" "a folder"
"$migrate" - <"$tmp/old" >"$tmp/out" 2>"$tmp/err"
reports '^-:2:24: ' 'standard input'

# Variables of the environment are reported.
DAPL_ACK_TIMER=20 DAPL_UCM_QP_SIZE=500 DAPL_NOT_THERE=1 "$migrate" - </dev/null >"$tmp/out" 2>"$tmp/err"
reports 'DAPL_ACK_TIMER=20: default of ack_timeout' environment
reports 'DAPL_UCM_QP_SIZE=500: no effect: ' environment
reports 'DAPL_NOT_THERE=1: no effect: OpenFabrics dapl 2.1.10 has no such variable, either' environment
DAPL_MAX_INLINE=400 DAPL_IB_PKEY=0 DAPL_IB_SL=low_latency:16 DAPL_DBG_ABORT=1 DAPL_EFA_PROFILE=read \
	"$migrate" - </dev/null >"$tmp/out" 2>"$tmp/err"
reports 'DAPL_MAX_INLINE=400: ignored: inline=400: must be a number from 0 to 220$' environment
reports 'DAPL_IB_SL=low_latency:16: ignored: sl=low_latency:16: must be ' environment
reports 'DAPL_IB_PKEY=0: default of pkey; 0 is ignored$' environment
reports 'DAPL_DBG_ABORT=1: whether a defect of the provider aborts the process$' environment
reports 'DAPL_EFA_PROFILE=read: which device the software EFA is$' environment

# A converted file of OpenFabrics works: it has the same name and opens its device.
for level in 1.2 2.0; do
	echo "ofa-v2-mlx5_0-1 u$level nonthreadsafe default libdaploscm.so.2 dapl.$level \"soft-mlx5-0 1\" \"\""
done | "$migrate" - >"$tmp/dat.conf" 2>"$tmp/err"
DAT_OVERRIDE=$tmp/dat.conf "$DAPL_BUILD_DIR/bin/dat_info" -i ofa-v2-mlx5_0-1 >"$tmp/out" 2>&1 ||
	wrong "the moved line does not open"
grep -q '^    provider device: soft-mlx5-0$' "$tmp/out" || wrong "the moved line opens another device"

# The converted file works at uDAPL 2.0, too: the suite reads etc/dat2.conf of its build directory.
if [ -x "$DAPL_BUILD_DIR/tests/dat2" ] && [ -e "$DAPL_BUILD_DIR/lib/libdapl-direct2.so" ]; then
	mkdir "$tmp/etc"
	grep ' u2\.0 ' "$tmp/dat.conf" >"$tmp/etc/dat2.conf"
	env -u DAT_OVERRIDE DAPL_BUILD_DIR="$tmp" DAPL_TEST_IA=ofa-v2-mlx5_0-1 "$DAPL_BUILD_DIR/tests/dat2" \
		--filter 'attributes/ia__returns_its_identity' >"$tmp/out" 2>&1 &&
		grep -q 'Tested: 1 | Passing: 1 ' "$tmp/out" || wrong "the moved line of 2.0 does not open"
fi

# Debian's dat.conf of OpenFabrics dapl has no broken line. Some of its lines move to this provider,
# and each keeps its name.
names() { awk '{ print $1 }' "$1"; }
if grep -qs '^ofa-v2-mlx5_0.* libdaploscm' /etc/dat.conf; then
	"$migrate" /etc/dat.conf >"$tmp/out" 2>"$tmp/err" || wrong "dat_migrate /etc/dat.conf ends with status $?"
	reports '^/etc/dat.conf: [1-9][0-9]* lines moved to dapl-direct, .* 0 broken$' /etc/dat.conf
	diff <(names /etc/dat.conf) <(names "$tmp/out") || wrong "dat_migrate changes the IA names of /etc/dat.conf"
fi

# The table of dapl-direct(7) equals that of the code, which has all of OpenFabrics' variables.
"$migrate" --variables >"$tmp/out" 2>"$tmp/err" || wrong "dat_migrate --variables ends with status $?"
sed -n 's/^\.It Ev \(D[A-Z_]*\) Ta /\1 /p' man/dapl-direct.7 | diff "$tmp/out" - ||
	wrong "dapl-direct(7) differs from dat_migrate --variables"
for v in ACK_RETRY ACK_TIMER CM_ARP_RETRY_COUNT CM_ARP_TIMEOUT_MS CM_ROUTE_RETRY_COUNT CM_ROUTE_TIMEOUT_MS CM_TOS \
	DBG_DEST DBG_LEVEL DBG_SYS_MEM DBG_TYPE GLOBAL_ROUTING HOP_LIMIT IB_MTU IB_PKEY IB_SL LOOPBACK \
	MAX_CM_RESPONSE_TIME MAX_CM_RETRIES MAX_INLINE MCM_ALWAYS_PROXY MCM_MFO MCM_MSG_MAX MCM_PORT_ID MCM_WR_MAX \
	NETWORK_NODES NETWORK_PPN NETWORK_PROCESS_NUM NETWORK_TRESHOLD RNR_RETRY RNR_TIMER SCM_NETDEV TCLASS \
	UCM_ARRAY_BITS UCM_CQ_SIZE UCM_DREP_TIME UCM_DREQ_RETRY UCM_ENTRY_BITS UCM_QP_SIZE UCM_REP_TIME UCM_RETRY \
	UCM_RTU_TIME UCM_TIMER UCM_TX_BURST UCM_WAIT_TIME WR_MAX; do
	[ "$(grep -c "^DAPL_$v " "$tmp/out")" = 1 ] || wrong "dat_migrate --variables does not list DAPL_$v once"
done
"$DAPL_BUILD_DIR/bin/dat_info" --parameters >"$tmp/parameters"
for key in $(sed -n 's/.* default of \([a-z_]*\).*/\1/p' "$tmp/out"); do
	grep -q "^  $key " "$tmp/parameters" || wrong "dat_migrate --variables names $key, which is no parameter"
done
exit $status
