#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# deps.sh          install the Debian packages that are missing, naming them first
# deps.sh --check  only name them: status 1 when one is missing
# deps.sh --build  not those that only tests need; with --check only those that nothing is built without
# deps.sh --stock  also the programs of `make check-stock`
# deps.sh --bench  also those that `make bench` and `make bench-scale` compare with and draw by
# deps.sh --all    also what `make check-all` needs, those among it
set -eu

needed="build-essential autoconf pkgconf zlib1g-dev libjansson-dev"
# Without these no adapter is reached, and there is no uDAPL 2.0: configure says so.
more="libibverbs-dev libdapl-dev"
tests="python3 rdma-core ibverbs-utils ibverbs-providers libcriterion-dev valgrind mandoc
	dapl2-utils libfabric-bin"
bench="libucx-dev libdapl2 dapl2-utils ucx-utils libfabric-bin gnuplot-nox"
stock="perftest ucx-utils dapl2-utils libdapl2"
extra=
mode=install
for arg; do
	case $arg in
	--check) mode=check ;;
	--build) tests= ;;
	--stock) extra="$extra $stock" ;;
	--bench) extra="$extra $bench" ;;
	--all) extra="$extra $stock $bench clang gcovr librte-eal23" ;;
	*) echo "usage: scripts/deps.sh [--check] [--build] [--stock] [--bench] [--all]" >&2; exit 2 ;;
	esac
done
packages="$needed $tests $extra"
[ "$mode$tests" = check ] || packages="$packages $more"

if ! command -v dpkg-query >/dev/null; then
	echo "deps: not a Debian system; what the build needs is the equivalent of:" >&2
	echo "deps:" $packages >&2
	exit 0
fi

installed() {
	dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

missing=
for p in $packages; do
	installed "$p" || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

if [ $mode = check ]; then
	echo "deps: these Debian packages are missing:$missing" >&2
	echo "deps: scripts/deps.sh installs them" >&2
	exit 1
fi

sudo=
if [ "$(id -u)" != 0 ]; then
	sudo=sudo
	if ! command -v sudo >/dev/null; then
		echo "deps: not root and no sudo; as root: apt-get install$missing" >&2
		exit 1
	fi
fi

apt() {
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# The package lists of a fresh image are empty, and those of an old one name files that are gone.
echo "deps: installing$missing"
if ! apt-get -s install $missing >/dev/null 2>&1 || ! apt install -y -q --no-install-recommends $missing; then
	echo "deps: fetching newer package lists"
	apt update -q
	apt install -y -q --no-install-recommends $missing
fi
