#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# scripts/deps.sh and the goals of make that call it, on a simulated Debian: the packages that they
# request, install and name, and their handling of a package that does not exist.
# Slow: only with DAPL_ALL=1.
set -u
# make does not support a path with a space, but TMPDIR may have one.
tmp=$(TMPDIR= mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# Removes the variables of the make that runs this test.
unset MAKEFLAGS MAKELEVEL MFLAGS CC SAN DEPS
failed=0
mkdir "$tmp/bin"
export TEST_TMP=$tmp

# The packages in ABSENT are not installed; the release lacks those in GONE. There are no package lists
# while $tmp/no-lists exists; an installation fails while $tmp/old-lists or $tmp/no-mirror exists.
cat >"$tmp/bin/dpkg-query" <<'END'
#!/bin/bash
for last; do :; done
[[ " $ABSENT " != *" $last "* ]] || grep -qx "$last" "$TEST_TMP/installed" && echo installed
END
cat >"$tmp/bin/pkg-config" <<END
#!/bin/bash
case " \$ABSENT " in
*" libcriterion-dev "*) [[ "\$*" != *criterion* ]] || exit 1 ;;
esac
exec $(command -v pkg-config) "\$@"
END
printf '#!/bin/sh\necho 1000\n' >"$tmp/bin/id"
cat >"$tmp/bin/apt-get" <<'END'
#!/bin/bash
while [ "$1" = -o ]; do shift 2; done
echo "apt-get $*" >>"$TEST_TMP/calls"
case $1 in
update) rm -f "$TEST_TMP/no-lists" "$TEST_TMP/old-lists"; exit 0 ;;
-s) simulated=yes; shift ;;
esac
for p in "${@:2}"; do
	case $p in -*) continue ;; esac
	[ ! -e "$TEST_TMP/no-lists" ] && [[ " ${GONE-} " != *" $p "* ]] || { echo "E: no package $p"; exit 100; }
	echo "Inst $p (1.0 Debian:12)"
done
echo "Inst libnew1 (1.0 Debian:12)"
echo "Inst libold1 [0.9] (1.0 Debian:12)"
[ -z "${simulated-}" ] || exit 0
[ ! -e "$TEST_TMP/old-lists" ] && [ ! -e "$TEST_TMP/no-mirror" ] || { echo "E: no such file"; exit 100; }
printf '%s\n' "${@:2}" >>"$TEST_TMP/installed"
END
cat >"$tmp/bin/apt-cache" <<'END'
#!/bin/sh
[ -e "$TEST_TMP/no-lists" ] || echo "$2 | 1.0 | made up"
END
printf '#!/bin/sh\nexec "$@"\n' >"$tmp/bin/sudo"
chmod +x "$tmp"/bin/*
# Makes a PATH with everything except sudo.
mkdir "$tmp/rootless"
ln -sf /usr/bin/* /bin/* "$tmp"/bin/* "$tmp/rootless/"
rm "$tmp/rootless/sudo"

# ends STATUS WORDS ABSENT COMMAND...: runs the command while the packages in ABSENT are not
# installed
ends() {
	local want=$1 words=$2 status
	export ABSENT=$3
	shift 3
	: >"$tmp/calls"
	: >"$tmp/installed"
	PATH=${path:-$tmp/bin:$PATH} timeout 120 "$@" >"$tmp/said" 2>&1
	status=$?
	[ $status != 0 ] && status=1
	[ $status = "$want" ] && { [ -z "$words" ] || grep -qE -- "$words" "$tmp/said"; } && return
	echo "without \"$ABSENT\"${GONE:+, of which \"$GONE\" does not exist}: $*: status $status instead of $want, or the output has no \"$words\":"
	tail -n 20 "$tmp/said"
	cat "$tmp/calls"
	failed=1
}

# installs PACKAGE...: checks that apt-get was called for these packages, after they were named;
# without arguments, that it was not called
installs() {
	local flags="--no-install-recommends --no-upgrade" got
	got=$(sed -n "s/^apt-get install -y -q $flags //p" "$tmp/calls" | tail -n 1)
	[ "$got" = "$*" ] && { [ $# = 0 ] || grep -qx "deps: installing $*" "$tmp/said"; } &&
		[ "$(grep -c "^apt-get install" "$tmp/calls")" = "$(grep -c -- "^apt-get install.* $flags " "$tmp/calls")" ] && return
	echo "deps.sh installs \"$got\" instead of \"$*\", does not name them, or lacks $flags:"
	cat "$tmp/calls"
	tail -n 20 "$tmp/said"
	failed=1
}

said() {
	[ "$(grep -cE -- "$1" "$tmp/said")" = "${2:-1}" ] && return
	echo "the output does not have \"$1\" ${2:-1} times:"
	cat "$tmp/said"
	failed=1
}

tests="libcriterion-dev valgrind mandoc ibverbs-utils libfabric-bin"
ends 0 '' "$tests" scripts/deps.sh --build --check
ends 1 'missing: libjansson-dev$' "$tests libjansson-dev" scripts/deps.sh --build --check
ends 1 'missing:.* libcriterion-dev valgrind mandoc' "$tests" scripts/deps.sh --check
installs
ends 0 'missing: libfabric-bin$' libfabric-bin scripts/deps.sh --check

ends 0 '' "$tests" scripts/deps.sh
installs libcriterion-dev valgrind mandoc ibverbs-utils libfabric-bin
said '^deps: they depend on libnew1$'
said '^deps: they need newer versions of libold1$'
ends 0 '' "valgrind libjansson-dev libibverbs-dev" scripts/deps.sh --build
installs libjansson-dev libibverbs-dev
ends 0 '' "valgrind libjansson-dev debootstrap" scripts/deps.sh --chroot
installs debootstrap
touch "$tmp/no-mirror"
ends 1 'not installed: libcriterion-dev libfabric-bin$' "libcriterion-dev libfabric-bin" scripts/deps.sh
ends 0 'not installed: libfabric-bin$' libfabric-bin scripts/deps.sh
rm "$tmp/no-mirror"

# A release lacks libdapl-dev, libdapl2 and dapl2-utils. The other packages are installed, and these
# are named once.
export GONE="libdapl-dev libdapl2 dapl2-utils"
ends 0 '' "$GONE libibverbs-dev libfabric-bin" scripts/deps.sh
installs libibverbs-dev libfabric-bin
said 'left out: libdapl-dev dapl2-utils$'
said 'dapl2-utils'
ends 0 '' "libdapl-dev" scripts/deps.sh --build
installs
said 'left out: libdapl-dev$'
grep -q 'apt-get update' "$tmp/calls" && { echo "deps.sh fetches package lists although it does not need them"; failed=1; }
export GONE=libjansson-dev
ends 1 'left out: libjansson-dev$' "libjansson-dev libibverbs-dev" scripts/deps.sh --build
installs libibverbs-dev
export GONE="libdapl-dev dapl2-utils"

# A fresh image has no package lists, another one has old lists.
touch "$tmp/no-lists"
ends 0 'fetching newer package lists' "$GONE libfabric-bin" scripts/deps.sh
installs libfabric-bin
said 'left out: libdapl-dev dapl2-utils$'
touch "$tmp/old-lists"
ends 0 'fetching newer package lists' "libdapl-dev libfabric-bin" scripts/deps.sh
installs libfabric-bin
[ "$(grep -c '^apt-get install' "$tmp/calls")" = 2 ] || { echo "the installation is not tried again with newer lists"; failed=1; }
unset GONE

# Without root and without sudo, nothing is installed.
path=$tmp/rootless ends 1 'as root: apt-get install --no-install-recommends --no-upgrade libjansson-dev$' \
	libjansson-dev scripts/deps.sh --build
installs
path=$tmp/rootless ends 0 'as root: apt-get install .*libdapl-dev$' libdapl-dev scripts/deps.sh --build
installs

# mk GOAL: runs a goal of make as far as configure; nothing is compiled
mk() {
	rm -rf "$tmp/build/.deps"*
	ends "$1" "$2" "$3" make BUILD="$tmp/build" -n "${@:4}"
}
mk 0 'without libcriterion-dev there are no tests' "$tests" all
grep -q "CRITERION_LIBS := *$" "$tmp/build/config.mk" || { echo "configure finds criterion"; failed=1; }
mk 1 'are missing:.* libcriterion-dev' "$tests" tests
for goal in check bench check-stock check-pyverbs; do
	mk 0 'installing .*libcriterion-dev' "$tests" $goal
done
mk 0 '' '' tests
grep -q "CRITERION_LIBS := .*-lcriterion" "$tmp/build/config.mk" || { echo "configure does not find criterion"; failed=1; }
# A package that is installed without make is noticed.
ends 0 'without libcriterion-dev' libcriterion-dev make BUILD="$tmp/build" DEPS=no -n all
ends 0 '' '' make BUILD="$tmp/build" DEPS=no -n install
grep -q "CRITERION_LIBS := *$" "$tmp/build/config.mk" || { echo "make install configures again"; failed=1; }
ends 0 '' '' make BUILD="$tmp/build" DEPS=no -n all
grep -q "CRITERION_LIBS := .*-lcriterion" "$tmp/build/config.mk" || { echo "a newly installed package is not found"; failed=1; }

# DEPS=no lists the missing packages of a goal, and installs nothing.
export DEPS=no
ends 0 'missing: libibverbs-dev libdapl-dev$' "libibverbs-dev libdapl-dev $tests" scripts/deps.sh --build --check
ends 0 'missing: libibverbs-dev libdapl-dev$' "libibverbs-dev libdapl-dev $tests" scripts/deps.sh --build
installs
ends 1 'missing: libjansson-dev libibverbs-dev$' "libibverbs-dev libjansson-dev" scripts/deps.sh --build
ends 1 'missing: libcriterion-dev valgrind mandoc libdapl-dev ibverbs-utils' "libdapl-dev $tests" scripts/deps.sh
unset DEPS
mk 0 'missing: libibverbs-dev$' "libibverbs-dev $tests" run DEPS=no
installs
mk 0 'missing: libdapl-dev libfabric-bin$' "libdapl-dev libfabric-bin" check DEPS=no
installs
ls "$tmp"/build/.deps* | grep -v -- -checked && { echo "deps.sh --check leaves a record of an installation"; failed=1; }
ends 1 'clean: must be the only goal' '' make BUILD="$tmp/build" -n clean all
ends 0 '' '' make BUILD="$tmp/build" -n clean
ends 1 'no path may have a space' '' make BUILD="$tmp/two words" -n all
exit $failed
