# SPDX-License-Identifier: BSD-2-Clause
# The cases on the software EFA, checked by Debian's libefa 44.0 and libfabric 1.17. They only test the
# features of a profile that 44.0 supports:
#   efa0, efa1      everything: sends, datagrams, sub-CQs (efa0)
#   read            everything: RDMA read, events, SGID of unknown senders
#   write to reqid64  only those: 44.0 has no RDMA write, wide WQEs, unsolicited receives and 64-bit
#                   request ids. Only our own tests check these.

ud() { pair ibverbs-utils pingpong 0 last ibv_ud_pingpong -g 0 "$@"; }
srd() { pair perftest "$1" 0 last "${@:2}" -x 0 -F; }
# Without this, peers on one host would use shared memory and not the device.
fabric() { FI_EFA_ENABLE_SHM_TRANSFER=0 pair libfabric-bin libfabric fabric last fi_pingpong -p efa "$@"; }

profiles="efa0 read"
[ -n "$few" ] || profiles="efa0 efa1 read write unsol wide reqid64"
for profile in $profiles; do
	options="--efa --profile $profile"
	alone ibverbs-utils efa_devices ibv_devinfo -v
	alone libfabric-bin efa_info fi_info -p efa
	fabric -c
	fabric -e rdm -c ${few:+-I 5}
	[ -n "$few" ] || {
		fabric -e rdm -c -S all
		ud -n 200
		srd latency ib_send_lat -c SRD -n 100
		srd latency ib_send_lat -c UD -n 100
	}
	case $profile in
	efa0 | efa1) ;;
	*)
		# Messages that the receiver reads from the sender's memory.
		FI_EFA_USE_DEVICE_RDMA=1 fabric -e rdm -c -S 3145728 -I 5
		ud -e -n 100
		;;
	esac
done
[ -n "$few" ] || {
	options="--efa --profile read"
	SOFTNIC_FAULT=drop=0.01,dup=0.02,reorder=0.05,seed=3 fabric -e rdm -c -S all
	SOFTNIC_FAULT=twice=0.5,seed=5 fabric -e rdm -c
}
options=
