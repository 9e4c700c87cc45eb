#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# scripts/vfio and scripts/hugepages on a simulated machine: fakes of DPDK's programs record their
# arguments, and change its /sys like the real ones.
# Slow: only with DAPL_ALL=1.
set -u
# Paths in sysfs have no spaces, whatever TMPDIR has.
tmp=$(TMPDIR= mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export SYSFS=$tmp/sys VFIO_DEV=$tmp/vfio PROC_NET=$tmp/net STATE=$tmp/state LOG=$tmp/log
pci=$SYSFS/bus/pci/devices
failed=0

fail() { echo "$*"; failed=1; }

# device ADDRESS VENDOR CLASS DRIVER [GROUP]: adds a device to the simulated /sys
device() {
	local d=$pci/$1
	mkdir -p "$d" "$SYSFS/bus/pci/drivers/$4"
	echo "$2" >"$d/vendor"
	echo "$3" >"$d/class"
	[ "$4" = none ] || ln -s "../../drivers/$4" "$d/driver"
	[ -n "${5-}" ] || return 0
	mkdir -p "$SYSFS/kernel/iommu_groups/$5/devices"
	ln -s "$SYSFS/kernel/iommu_groups/$5" "$d/iommu_group"
	ln -s "$d" "$SYSFS/kernel/iommu_groups/$5/devices/$1"
}

machine() {
	rm -rf "${tmp:?}"/*
	mkdir -p "$tmp/bin" "$VFIO_DEV" "$PROC_NET" "$SYSFS/module/vfio_pci" "$SYSFS/module/mlx5_core"
	device 0000:3b:00.0 0x15b3 0x020000 mlx5_core 11
	device 0000:3b:00.1 0x15b3 0x020000 mlx5_core 12
	device 0000:5e:00.0 0x15b3 0x020700 vfio-pci 13
	device 0000:5f:00.0 0x15b3 0x020000 mlx5_core 14
	device 0000:5f:00.1 0x15b3 0x020000 mlx5_core 14
	device 0000:00:01.0 0x8086 0x060400 pcieport 14
	device 0000:70:00.0 0x15b3 0x020000 mlx5_core
	device 0000:01:00.0 0x8086 0x010802 nvme 20
	mkdir -p "$pci/0000:3b:00.1/net/ens1f1"
	printf 'Iface\tDestination\nens1f1\t0000000A\n' >"$PROC_NET/route"
	touch "$VFIO_DEV/13"
	for n in 0 1; do
		for size in 2048 1048576; do
			d=$SYSFS/devices/system/node/node$n/hugepages/hugepages-${size}kB
			mkdir -p "$d"
			echo $((n * 3)) >"$d/nr_hugepages"
			echo 0 >"$d/free_hugepages"
		done
	done
	cat >"$tmp/bin/dpdk-devbind.py" <<-'END'
		#!/bin/bash
		echo "dpdk-devbind.py $*" >>"$LOG"
		[ -z "${TOOL_FAILS-}" ] || exit 1
		for a; do
			case $a in
			--bind=*) driver=${a#--bind=} ;;
			--*) ;;
			*) ln -sfn "../../drivers/$driver" "$SYSFS/bus/pci/devices/$a/driver" ;;
			esac
		done
	END
	cat >"$tmp/bin/dpdk-hugepages.py" <<-'END'
		#!/bin/bash
		echo "dpdk-hugepages.py $*" >>"$LOG"
		[ -z "${TOOL_FAILS-}" ] || exit 1
		[ "$1 $3 $5" = "-n -p -r" ] || exit 2
		echo $((${6%K} / ${4%K})) >"$SYSFS/devices/system/node/node$2/hugepages/hugepages-${4%K}kB/nr_hugepages"
	END
	chmod +x "$tmp"/bin/*
	: >"$LOG"
}

# does STATUS PATTERN CALLS COMMAND...: runs the command; checks its exit status, its output, and
# which calls of DPDK's programs it made
does() {
	local status=$1 pattern=$2 calls=$3 got
	shift 3
	: >"$LOG"
	PATH=$tmp/bin:$PATH "$@" >"$tmp/out" 2>&1
	got=$?
	[ $got = "$status" ] || fail "$*: status $got instead of $status: $(cat "$tmp/out")"
	grep -qE -- "$pattern" "$tmp/out" || fail "$*: the output does not have \"$pattern\": $(cat "$tmp/out")"
	[ "$(cat "$LOG")" = "$calls" ] || fail "$*: called \"$(cat "$LOG")\" instead of \"$calls\""
}

pages() { cat "$SYSFS"/devices/system/node/node[01]/hugepages/hugepages-2048kB/nr_hugepages | tr '\n' ' '; }

machine
does 0 'vfio bind' '' scripts/vfio --help
does 2 'see scripts/vfio --help' '' scripts/vfio
does 2 "'3b' is no.* PCI address" '' scripts/vfio bind 3b
does 2 'bind which device' '' scripts/vfio bind
does 0 '0000:5e:00.0 +vfio-pci +13 .*ready: IA name 0000:5e:00.0' '' scripts/vfio status
grep -q 'nvme' "$tmp/out" && fail "scripts/vfio status lists an adapter that is not a ConnectX"
does 0 'would run: dpdk-devbind.py --bind=vfio-pci 0000:3b:00.0' '' scripts/vfio bind -n 3b:00.0
does 0 '^bound: 0000:3b:00.0; in dat.conf: .*ip=' 'dpdk-devbind.py --bind=vfio-pci 0000:3b:00.0' scripts/vfio bind 3B:00.0
does 0 'given back to mlx5_core: 0000:3b:00.0' 'dpdk-devbind.py --bind=mlx5_core 0000:3b:00.0' scripts/vfio unbind 0000:3b:00.0
does 1 'interface ens1f1, which has a route' '' scripts/vfio bind 3b:00.1
does 0 bound 'dpdk-devbind.py --force --bind=vfio-pci 0000:3b:00.1' scripts/vfio bind -f 3b:00.1
does 1 'group 14 .*other devices.* 0000:5f:00.1' '' scripts/vfio bind 5f:00.0
does 0 bound 'dpdk-devbind.py --bind=vfio-pci 0000:5f:00.0 0000:5f:00.1' scripts/vfio bind 5f:00.0 5f:00.1
does 1 'no IOMMU for 0000:70:00.0' '' scripts/vfio bind 70:00.0
does 1 'is no.* ConnectX: nothing' '' scripts/vfio bind 01:00.0
does 1 'no PCI device 0000:99:00.0' '' scripts/vfio bind 99:00.0
TOOL_FAILS=1 does 1 'failed' 'dpdk-devbind.py --bind=mlx5_core 0000:5e:00.0' scripts/vfio unbind 5e:00.0
rm "$tmp/bin/dpdk-devbind.py"
command -v dpdk-devbind.py >/dev/null || does 1 'apt-get install dpdk' '' scripts/vfio unbind 5e:00.0

machine
does 0 'hugepages setup' '' scripts/hugepages --help
does 2 "'7Q' is no.* size" '' scripts/hugepages setup 7Q
# A size with a leading zero is not octal.
does 0 'would run: dpdk-hugepages.py -n 1 -p 2048K -r 10240K' '' scripts/hugepages setup -n 010M
does 0 'would run: dpdk-hugepages.py -n 1 -p 2048K -r 8192K' '' scripts/hugepages setup -n 08M
does 0 'would run: dpdk-hugepages.py -n 1 -p 2048K -r 10240K' '' scripts/hugepages setup -n -p 02048K 010240K
does 2 "'0M' is not a page size" '' scripts/hugepages setup -p 0M 8M
does 1 'multiple of the page' '' scripts/hugepages setup 3M
does 1 'no huge pages of 4M here: .*hugepages-2048kB' '' scripts/hugepages setup -p 4M 8M
does 0 'nothing to undo' '' scripts/hugepages undo
does 0 'would run: dpdk-hugepages.py -n 1 -p 2048K -r 8192K' '' scripts/hugepages setup -n 8M
[ -e "$STATE" ] && fail "a dry run changes the record of scripts/hugepages"
does 0 '^0 +2048kB +2 ' 'dpdk-hugepages.py -n 0 -p 2048K -r 4096K' scripts/hugepages setup 4M
does 0 '^1 +2048kB +4 ' "dpdk-hugepages.py -n 0 -p 2048K -r 8192K
dpdk-hugepages.py -n 1 -p 2048K -r 8192K" scripts/hugepages setup 8M
does 0 'set up by this script' '' scripts/hugepages status
does 0 'as before' "dpdk-hugepages.py -n 0 -p 2048K -r 0K
dpdk-hugepages.py -n 1 -p 2048K -r 6144K" scripts/hugepages undo
[ "$(pages)" = "0 3 " ] || fail "scripts/hugepages undo leaves $(pages)huge pages instead of 0 and 3"
[ -e "$STATE" ] && fail "scripts/hugepages undo does not remove its record"
TOOL_FAILS=1 does 1 'right after a reboot' 'dpdk-hugepages.py -n 0 -p 2048K -r 65536K' scripts/hugepages setup
exit $failed
