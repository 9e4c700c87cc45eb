#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# deps.sh          install the Debian packages that are missing; it names them first
# deps.sh --check  install nothing: list what is missing, status 1 if the goal cannot do without it
# deps.sh --build  leave out packages for tests; with --check, list only those that any build needs
# deps.sh --stock  add the programs of `make check-stock`
# deps.sh --pyverbs add what `make check-pyverbs` runs
# deps.sh --bench  add the peers of `make bench` and its like, and gnuplot
# deps.sh --chroot only the programs by which `make deb` and `make check-arm64` make Debian systems
# deps.sh --mutants add what makes `make mutants` faster
# deps.sh --all    add all packages of `make check-all`
#
# DEPS=no in the environment installs nothing, as --check, and also lists the optional packages. Each
# package is judged alone: if a release of Debian lacks an optional one, the rest is still installed.
set -eu

needed="build-essential autoconf pkgconf zlib1g-dev libjansson-dev"
tests_need="python3 libcriterion-dev valgrind mandoc"
# Without these, configure and the tests report what they leave out.
optional="libibverbs-dev libdapl-dev systemtap-sdt-dev"
tests="rdma-core ibverbs-utils ibverbs-providers dapl2-utils libfabric-bin iproute2 openssh-client"
bench="libucx-dev libdapl2 dapl2-utils ucx-utils libfabric-bin gnuplot-nox sockperf iproute2"
stock="perftest ucx-utils dapl2-utils libdapl2"
pyverbs="python3-pyverbs python3-scapy"
chroot="debootstrap iproute2"
mode=install
for arg; do
	case $arg in
	--check) mode=check ;;
	--build) tests_need= tests= ;;
	--stock) optional="$optional $stock" ;;
	--pyverbs) optional="$optional $pyverbs" ;;
	--bench) optional="$optional $bench" ;;
	--mutants) optional="$optional ccache" ;;
	--chroot) needed= tests_need= tests= optional=$chroot ;;
	--all) optional="$optional $stock $pyverbs $bench clang llvm gcovr librte-eal23" ;;
	*) echo "usage: scripts/deps.sh [--check] [--build] [--stock] [--pyverbs] [--bench] [--mutants] [--chroot] [--all]" >&2; exit 2 ;;
	esac
done
needed="$needed $tests_need"
packages="$needed $optional $tests"
[ "${DEPS-}" = no ] || [ "$mode$tests" != check ] || packages=$needed
[ "${DEPS-}" != no ] || mode=check

if ! command -v dpkg-query >/dev/null; then
	echo "deps: not a Debian system; what the build needs is the equivalent of:" >&2
	echo "deps:" $packages >&2
	exit 0
fi

installed() {
	dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

# missing_of PACKAGE...: prints those that are not installed
missing_of() {
	local p
	for p; do
		installed "$p" || printf ' %s' "$p"
	done
}

# fail_if_needed PACKAGE...: status 1 if the goal cannot do without one of them
fail_if_needed() {
	local p
	for p; do
		[[ " $needed " != *" $p "* ]] || exit 1
	done
}

missing=$(missing_of $(printf '%s\n' $packages | awk '!seen[$0]++'))
[ -n "$missing" ] || exit 0

if [ $mode = check ]; then
	echo "deps: these Debian packages are missing:$missing" >&2
	echo "deps: scripts/deps.sh installs them" >&2
	fail_if_needed $missing
	exit 0
fi

flags="--no-install-recommends --no-upgrade"
simulate() { LC_ALL=C apt-get -s install $flags "$@" 2>/dev/null; }

sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
apt() {
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# Splits $missing into $available and $absent.
judge() {
	local p
	available=$missing absent=
	! simulate $missing >/dev/null || return 0
	available=
	for p in $missing; do
		if simulate "$p" >/dev/null; then
			available="$available $p"
		else
			absent="$absent $p"
		fi
	done
}

# Prints the packages first, with their dependencies.
install_available() {
	local plan new upgraded
	[ -n "$available" ] || return 0
	plan=$(simulate $available | grep '^Inst ' || true)
	new=$(awk '$3 !~ /^\[/ { print $2 }' <<<"$plan" | grep -vxF "$(printf '%s\n' $available)" || true)
	upgraded=$(awk '$3 ~ /^\[/ { print $2 }' <<<"$plan")
	echo "deps: installing$available"
	[ -z "$new" ] || echo "deps: they depend on" $new
	[ -z "$upgraded" ] || echo "deps: they need newer versions of" $upgraded
	apt install -y -q $flags $available
}

update() {
	echo "deps: fetching newer package lists"
	apt update -q
	judge
}

judge
if [ -n "$sudo" ] && ! command -v sudo >/dev/null; then
	echo "deps: not root and no sudo; as root: apt-get install $flags$missing" >&2
	fail_if_needed $missing
	exit 0
fi
# Package lists of a fresh image are empty, and old ones name files that no longer exist.
[ -z "$absent" ] || [ -n "$(apt-cache madison build-essential 2>/dev/null)" ] || update || true
install_available || { update && install_available; } || true
[ -z "$absent" ] || echo "deps: this release of Debian has no such package; left out:$absent" >&2
missing=$(missing_of $missing)
[ "$missing" = "$absent" ] || echo "deps: not installed:$missing" >&2
fail_if_needed $missing
