#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Both providers have exactly the static probes that dapl-direct(7) lists, each with its arguments in
# registers, in the stack or constant. The sources that have probes also compile without sys/sdt.h.
set -u
. tests/harness/skip.sh
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

sources=$(grep -rlE 'DAP_PROBE[0-9]\(|m5_probe_post\(' core hw_* --include='*.c' --include='*.inl' --include='*.h' | sort)
flags=$(cat "$DAPL_BUILD_DIR/flags")
mkdir "$tmp/none"
sed '/HAVE_SDT/d' "$DAPL_BUILD_DIR/config.h" >"$tmp/none/config.h"
for c in $(grep '\.c$' <<<"$sources") hw_mlx5/hot/hot.c; do
	hot=
	[ $c != hw_mlx5/hot/hot.c ] || hot='-DM5_HOT=m5_hot_x -DM5_LOCKED=false'
	${flags/ -I/ -I$tmp/none -I} -Werror $hot -fsyntax-only $c || { echo "$c does not compile without sys/sdt.h"; failed=1; }
done
grep -q '^#define HAVE_SDT' "$DAPL_BUILD_DIR/config.h" || { [ $failed = 0 ] && skip "sys/sdt.h is missing: systemtap-sdt-dev"; exit 1; }

# documented: prints the probes of the manual page, each with its number of arguments
documented() {
	awk '/^\.Ss / { inside = $0 == ".Ss Static probes" }
		inside && $1 == ".It" && $2 != "Em" { n = split($0, part, " Ta "); split(part[2], args, ", "); print $2, length(args) }' \
		man/dapl-direct.7 | sort
}

# probes LIBRARY: prints provider, name and arguments of each probe
probes() {
	readelf -n "$1" | awk '$1 == "Provider:" { provider = $2 } $1 == "Name:" { name = $2 }
		$1 == "Arguments:" { $1 = ""; print provider, name $0 }'
}

documented >"$tmp/documented"
[ "$(wc -l <"$tmp/documented")" = 9 ] || { echo "dapl-direct(7) lists other than nine probes:"; cat "$tmp/documented"; failed=1; }
for lib in "$DAPL_BUILD_DIR"/lib/libdapl-direct.so "$DAPL_BUILD_DIR"/lib/libdapl-direct2.so; do
	[ -e "$lib" ] || continue
	probes "$lib" >"$tmp/probes"
	awk '$1 == "dapl_direct" { print $2, NF - 2 }' "$tmp/probes" | sort -u | diff "$tmp/documented" - ||
		{ echo "${lib##*/} has other probes than dapl-direct(7) lists (<)"; failed=1; }
	if grep -v '^dapl_direct ' "$tmp/probes"; then
		echo "${lib##*/} has probes of another provider"
		failed=1
	fi
	if awk '$2 == "post" && $5 ~ /@\$/ { print; found = 1 } END { exit !found }' "$tmp/probes"; then
		echo "${lib##*/}: the third argument of post, the cookie, is a constant"
		failed=1
	fi
	echo "note: ${lib##*/} has $(wc -l <"$tmp/probes") places of probes" >&2
done
exit $failed
