#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# scripts/check accepts a suite only if it reports success itself, in time, and leaves no process behind.
# scripts/check-all continues after a part that fails, and names it. scripts/soak draws only samples of its own run.
# Slow: only with DAPL_ALL=1.
set -u
unset CHECK_SH
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
mkdir "$build/tests"
failed=0

# judged NAME WORDS: runs the suite that stdin has; its line must have these words
judged() {
	{ echo '#!/bin/bash'; cat; } >"$build/tests/$1"
	chmod +x "$build/tests/$1"
	local got status
	got=$(CHECK_TIMEOUT=${limit:-100} scripts/check "$build" -t "$1" "$1" 2>&1)
	status=$?
	if ! grep -qE "^$2" <<<"$got" || { [ "${2%% *}" = ok ] && [ $status != 0 ]; } ||
		{ [ "${2%% *}" = FAIL ] && [ $status = 0 ]; }; then
		printf 'suite %s: status %d, expected "%s", got:\n%s\n' "$1" $status "$2" "$got"
		failed=1
	fi
}

passing='echo "[====] Synthesis: Tested: 3 | Passing: 3 | Failing: 0 | Crashing: 0 "'
judged good 'ok +good .* 3 tests' <<<"$passing"
judged silent 'FAIL +silent .* without a summary' <<<'exit 0'
judged empty 'FAIL +empty .* no test ran' <<<'echo "[====] Synthesis: Tested: 0 | "'
judged status 'FAIL +status .* status 3' <<<"$passing; exit 3"
judged told '    \| \[FAIL\] s::t' <<<'echo "[FAIL] s::t: (0.00s)"; seq 300; exit 1'
limit=2 judged hang 'FAIL +hang .* stopped after' <<<"$passing; sleep 60"
judged stray 'FAIL +stray .* left a process' <<<"setsid sleep 60 >/dev/null 2>&1 &
until [ \"\$(tr '\0' ' ' <\"/proc/\$!/cmdline\")\" = 'sleep 60 ' ]; do sleep 0.02; done
$passing"

# A name that no test has is reported.
got=$(scripts/check "$build" -t nosuch empty empty 2>&1) && { echo "scripts/check succeeds with an unknown name"; failed=1; }
grep -q 'no suite and no test with the name nosuch' <<<"$got" || { echo "scripts/check does not say that a name is unknown: $got"; failed=1; }

# Skipped tests are reported. In a full run a user's own variables have no effect. The shell tests run
# two at a time, and each counts once.
judged shy ' +not tried: a::b: only root may' <<<"echo '[SKIP] a::b: only root may'; $passing"
judged alone 'ok +alone' <<<"echo \"note: <\${IBV_FORK_SAFE-}> \$LC_ALL\"; $passing"
check=$PWD/scripts/check
mkdir -p "$build/tree/tests/sh"
for n in 1 2 3 4 5; do echo "exit 0" >"$build/tree/tests/sh/good$n.sh"; done
echo 'echo reason; exit 77' >"$build/tree/tests/sh/none.sh"
echo 'exit 1' >"$build/tree/tests/sh/wrong.sh"
got=$(cd "$build/tree" && IBV_FORK_SAFE=1 LC_ALL=C "$check" "$build" alone 2>&1) && { echo "scripts/check succeeds although one shell test failed"; failed=1; }
for words in ' +<> C.UTF-8' 'ok +sh-good5' 'skip +sh-none .* reason' 'FAIL +sh-wrong' 'check: 6 passed, [0-9]+ failed, 1 skipped'; do
	grep -qE "^$words" <<<"$got" && continue
	printf 'scripts/check does not print "%s" for the shell tests:\n%s\n' "$words" "$got"
	failed=1
done
# A shell test that does not exist is reported.
got=$(cd "$build/tree" && CHECK_SH="good1 nosuch" "$check" "$build" alone 2>&1) && { echo "scripts/check succeeds without a test that CHECK_SH names"; failed=1; }
grep -qx 'check: CHECK_SH: there is no shell test with the name nosuch' <<<"$got" || { echo "scripts/check does not say that a name in CHECK_SH is unknown: $got"; failed=1; }
got=$(cd "$build/tree" && CHECK_SH="good1 good2" "$check" "$build" alone 2>&1)
[ "$(grep -c '^ok *sh-' <<<"$got")" = 2 ] || { echo "scripts/check does not run the tests that CHECK_SH names: $got"; failed=1; }

printf '#!/bin/sh\nfor goal; do :; done\n[ $goal != check-stock ]\n' >"$build/make"
chmod +x "$build/make"
got=$(scripts/check-all "$build/make") && { echo "scripts/check-all succeeds although check-stock failed"; failed=1; }
if [ "$(grep -cE '^ok .* [0-9]+ s$' <<<"$got")" != 6 ] || ! grep -qE '^FAIL +check-stock ' <<<"$got"; then
	printf 'scripts/check-all prints other results than 6 ok and a failed check-stock: %s\n' "$got"
	failed=1
fi
# Without a place for the results no part can be judged.
TMPDIR=$build/none scripts/check-all true >/dev/null 2>&1 && { echo "scripts/check-all succeeds although it has no folder for the results"; failed=1; }

mkdir "$build/soak"
printf 'time server clients heap\n1 0 1 1024\n' >"$build/soak/soft-mlx5-0.tsv"
printf '#!/bin/sh\n' >"$build/tests/soak"
chmod +x "$build/tests/soak"
got=$(scripts/soak "$build" 1 soft-mlx5-0 2>&1) && { echo "scripts/soak succeeds without samples: $got"; failed=1; }
[ ! -e "$build/soak/soft-mlx5-0.svg" ] || { echo "scripts/soak draws the samples of an earlier run"; failed=1; }
exit $failed
