#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Who only builds is not asked for what only tests need, and is told what is built without; who tests
# is told by name what is missing, and a build of before takes what has come.
set -u
# TMPDIR may have a space in it, which make cannot do with.
tmp=$(TMPDIR= mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# The variables of the make that runs this test are none of these machines'.
unset MAKEFLAGS MAKELEVEL MFLAGS CC SAN
failed=0
mkdir "$tmp/bin"

# A machine where ABSENT is not installed, nobody is root, and nothing can become so.
cat >"$tmp/bin/dpkg-query" <<'END'
#!/bin/bash
for last; do :; done
[[ " $ABSENT " != *" $last "* ]] && echo installed
END
cat >"$tmp/bin/pkg-config" <<END
#!/bin/bash
case " \$ABSENT " in
*" libcriterion-dev "*) [[ "\$*" != *criterion* ]] || exit 1 ;;
esac
exec $(command -v pkg-config) "\$@"
END
printf '#!/bin/sh\necho 1000\n' >"$tmp/bin/id"
for tool in sudo apt-get; do
	printf '#!/bin/sh\necho "%s $*"\nexit 1\n' $tool >"$tmp/bin/$tool"
done
chmod +x "$tmp"/bin/*

# ends STATUS WORDS ABSENT COMMAND...
ends() {
	local want=$1 words=$2 status
	export ABSENT=$3
	shift 3
	PATH=$tmp/bin:$PATH timeout 120 "$@" >"$tmp/said" 2>&1
	status=$?
	[ $status != 0 ] && status=1
	[ $status = "$want" ] && { [ -z "$words" ] || grep -qE -- "$words" "$tmp/said"; } && return
	echo "without \"$ABSENT\": $*: status $status instead of $want, or no \"$words\":"
	cat "$tmp/said"
	failed=1
}

tests="libcriterion-dev valgrind mandoc ibverbs-utils libfabric-bin"
ends 0 '' "$tests" scripts/deps.sh --build --check
ends 1 'missing: libjansson-dev$' "$tests libjansson-dev" scripts/deps.sh --build --check
ends 1 'missing:.* libcriterion-dev valgrind mandoc' "$tests" scripts/deps.sh --check
ends 1 'installing ibverbs-utils libcriterion-dev' "$tests" scripts/deps.sh
ends 1 'installing libjansson-dev libibverbs-dev$' "valgrind libjansson-dev libibverbs-dev" scripts/deps.sh --build

# configure alone, by the goals that differ; nothing is compiled.
mk() { ends "$1" "$2" "$3" make BUILD="$tmp/build" -n "${@:4}"; }
mk 0 'without libcriterion-dev there are no tests' "$tests" all
grep -q "CRITERION_LIBS := *$" "$tmp/build/config.mk" || { echo "criterion is found all the same"; failed=1; }
mk 1 'are missing:.* libcriterion-dev' "$tests" tests
mk 1 'installing .*libcriterion-dev' "$tests" check
mk 0 '' '' tests
grep -q "CRITERION_LIBS := .*-lcriterion" "$tmp/build/config.mk" || { echo "what has come is not seen"; failed=1; }
ends 1 'no path may have a space' '' make BUILD="$tmp/two words" -n all
exit $failed
