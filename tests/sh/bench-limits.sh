#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Steps of make bench, make bench-scale and hot-count that do not end, or cannot start: the script names the step and the cure.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp"/{bin,etc,tests}
cp "$DAPL_BUILD_DIR"/etc/*.conf "$tmp/etc"
printf '#!/bin/sh\nexec sleep 60\n' >"$tmp/bin/valgrind"
chmod +x "$tmp/bin/valgrind"
cp "$tmp/bin/valgrind" "$tmp/bin/softnic-run"
: >"$tmp/tests/peer_verbs"
echo '[]' >"$tmp/bench.json"
status=0

# says SCRIPT TEXT: checks that the output has this text and no traceback
says() {
	PATH=$tmp/bin:$PATH timeout -k 1 60 python3 -B - "$1" "$tmp" >"$tmp/out" 2>&1 <<-'END'
		import runpy, sys
		sys.path.insert(0, "scripts")
		import perf_pair
		name, build = sys.argv[1:]
		perf_pair.RUN_LIMIT = 0.1
		sys.argv = [name, build]
		runpy.run_path(f"scripts/{name}", run_name="__main__")
	END
	grep -qE "$2" "$tmp/out" && ! grep -q Traceback "$tmp/out" && return
	echo "scripts/$1 does not print '$2':"
	tail -n 5 "$tmp/out"
	status=1
}

says bench "^bench: valgrind .*/dat_bench .* did not end within 0.1 s; repeat it while nothing else runs"
says bench-scale "^bench-scale: valgrind .*/scale-bench .* did not end within 0.1 s; repeat it while nothing else runs"
says bench-peers "^Missing: ibv_post_send: .*/peer_verbs .* did not end within 0.1 s; repeat it while nothing else runs"
cp "$DAPL_BUILD_DIR/flags" "$tmp"
: >"$tmp/bin/dat_bench"
says hot-count "^hot-count: (valgrind .*/dat_bench .* did not end within 0.1 s; repeat it|the recorded counts are those of)"
rm "$tmp/bench.json" "$tmp/bin/softnic-run" "$tmp/bin/valgrind"
says bench-peers "^bench-peers: .*No such file or directory: .*/bench.json"
exit $status
