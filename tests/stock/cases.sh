# SPDX-License-Identifier: BSD-2-Clause
# The cases of scripts/check-stock. `few` lists those that make check runs, in a few seconds.

rc() { pair ibverbs-utils pingpong 0 last "$1" -g 0 "${@:2}"; }
lid() { pair ibverbs-utils pingpong 0 last "$@"; }
lat() { pair perftest latency 0 last "$@" -F; }
bw() { pair perftest bandwidth 0 last "$@" -F; }
uct() { pair ucx-utils ucx 0 first ucx_perftest -d mlx5_0:1 "$@"; }

alone ibverbs-utils devices ibv_devinfo -v
rc ibv_srq_pingpong -n 500
rc ibv_ud_pingpong -n 500
[ -n "$few" ] || {
	rc ibv_ud_pingpong -s 4096
	rc ibv_ud_pingpong -e
	rc ibv_rc_pingpong -c
	rc ibv_rc_pingpong -c -e
	rc ibv_rc_pingpong -c -s 1000000 -n 100
	rc ibv_srq_pingpong -e
	rc ibv_srq_pingpong -q 8 -n 800
}

lat ib_write_lat -n 200
lat ib_send_lat -e -n 100
lat ib_send_lat -c UD -n 200
[ -n "$few" ] || {
	lat ib_send_lat -c UD -e -n 100
	lat ib_write_lat -a -n 20
	lat ib_read_lat -n 200
	lat ib_read_lat -e -n 100
	lat ib_send_lat -n 200
	lat ib_send_lat -a -n 20
	lat ib_send_lat -I 200 -s 100 -n 100
	lat ib_atomic_lat -n 100
	lat ib_atomic_lat -A CMP_AND_SWAP -n 100
}

bw ib_write_bw -n 200
bw ib_atomic_bw -A FETCH_AND_ADD -n 200
[ -n "$few" ] || {
	bw ib_write_bw -a -n 20
	bw ib_write_bw -q 4 -n 200
	bw ib_write_bw -b -n 200
	bw ib_write_bw -l 8 -n 200
	bw ib_read_bw -n 200
	bw ib_read_bw -a -n 20
	bw ib_read_bw -q 4 -n 100
	bw ib_read_bw -e -n 100
	bw ib_atomic_bw -A CMP_AND_SWAP -q 4 -n 100
	# This program destroys its receive CQ on one side only, and its doorbell page while it is in
	# use.
	allowed='cmd.busy x1: DEALLOC_UAR'
	bw ib_send_bw -n 200
	bw ib_send_bw -a -n 20
	bw ib_send_bw -q 4 -n 100
	bw ib_send_bw -b -n 200
	bw ib_send_bw -e -n 100
	bw ib_send_bw -r 64 --use-srq -q 2 -n 100
	bw ib_send_bw -c UD -n 200
	bw ib_send_bw -c UD -s 64 -q 2 -n 100
	allowed=
}

# Ports that are addressed by LID, and second ports.
options=--infiniband
lid ibv_rc_pingpong -c -n 200
[ -n "$few" ] || {
	alone ibverbs-utils infiniband ibv_devinfo -v
	lid ibv_rc_pingpong -c -e -n 200 -g 0
	lid ibv_ud_pingpong -n 200
	lat ib_write_lat -n 200
	bw ib_read_bw -n 200
	lat ib_send_lat -c UD -n 200
	options='--infiniband --ports 2'
	lid ibv_rc_pingpong -c -i 2 -n 200
	options='--ports 2'
	rc ibv_rc_pingpong -c -i 2 -n 200
	lat ib_send_lat -i 2 -n 200
}
options=
# Programs whose two sides end at the same time: ibv_rc_pingpong exits after its last message. If the
# ACK of that message is lost, the other side waits for ever.
[ -n "$few" ] || {
	SOFTNIC_FAULT=drop=0.01,reorder=0.01,seed=3 lat ib_send_lat -n 300
	SOFTNIC_FAULT=drop=0.01,dup=0.01,seed=5 bw ib_write_bw -n 200
}

alone ucx-utils ucx_transport ucx_info -d -t rc_mlx5
uct -x rc_mlx5 -t put_lat -n 100
[ -n "$few" ] || {
	alone ucx-utils ucx_transport ucx_info -d -t rc_verbs
	alone ucx-utils ucx_transport ucx_info -d -t ud_mlx5
	for x in ud_verbs ud_mlx5; do
		uct -x $x -t am_lat -n 500
		uct -x $x -t am_bw -n 2000
	done
	for x in rc_verbs rc_mlx5; do
		for t in put_lat am_lat fadd cswap; do
			uct -x $x -t $t -n 500
		done
		for t in am_bw put_bw add_mr; do
			uct -x $x -t $t -n 2000
		done
		uct -x $x -t get -D bcopy -n 200
		uct -x $x -t get -D zcopy -s 4096 -n 200
		uct -x $x -t put_bw -D zcopy -s 1000000 -n 50
	done
}

# OpenFabrics dapl uses fixed ports, so only one case can run at a time on a machine.
conf=$tmp/../$(basename "$tmp").dat.conf
echo 'ofa-v2-mlx5_0-1s u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "mlx5_0 1" ""' >"$conf"
# Uses the loopback interface, which needs no network.
daplpair() { DAT_OVERRIDE=$conf DAPL_SCM_NETDEV=lo pair dapl2-utils dapl "$@" -P ofa-v2-mlx5_0-1s; }
if command -v dtest >/dev/null; then
	exec 9<"$(command -v dtest)"
	flock -w 120 9
fi
daplpair 15828 -h dtest -b 4096 -B 100
[ -n "$few" ] || {
	daplpair 15828 -h dtest -b 65536 -B 100 -c
	daplpair 15828 -h dtest -b 65536 -B 100 -p
	daplpair 15828 -h dtestcm -c 200
	daplpair 46248 -h dtestsrq
	daplpair 46248 -h dtestsrq -c 4 -B 10
}
exec 9<&-
rm -f "$conf"
