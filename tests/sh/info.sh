#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_info: the missing line where dat.conf names no adapter, the reason of each refusal, the parameters, JSON.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export DAT_OVERRIDE=$tmp/dat.conf
info=$DAPL_BUILD_DIR/bin/dat_info

fail() {
	echo "$*"
	cat "$tmp/out"
	exit 1
}

echo '# nothing' >"$DAT_OVERRIDE"
"$info" >"$tmp/out" 2>&1
[ $? = 1 ] || fail "dat_info succeeds without an adapter"
grep -q "no IA: $DAT_OVERRIDE has no line for uDAPL 1.2; DAT_OVERRIDE" "$tmp/out" || fail "dat_info does not name the missing file"

for ia in soft-mlx5-0 soft-efa-0; do
	line=$(sed -n "s/.*to use it, add this line to dat.conf: \($ia \)/\1/p" "$tmp/out")
	[ -n "$line" ] || fail "dat_info prints no dat.conf line for $ia"
	echo "$line" >>"$DAT_OVERRIDE"
	"$info" -i $ia >"$tmp/$ia" 2>&1 || { cat "$tmp/$ia"; fail "$ia does not open with the dat.conf line that dat_info prints"; }
	grep -q "differs from hardware: an operation on a stopped process" "$tmp/$ia" ||
		{ cat "$tmp/$ia"; fail "the difference from hardware is not printed for $ia"; }
done
"$info" >"$tmp/out" 2>&1 || fail "dat_info fails with the printed lines in dat.conf"
! grep -q 'soft-mlx5-0  no line' "$tmp/out" || fail "an adapter in dat.conf is reported as missing"

# The line that dat_info prints works in a folder whose name has a blank.
mkdir -p "$tmp/a folder/bin" "$tmp/a folder/lib"
cp "$info" "$tmp/a folder/bin"
cp "$DAPL_BUILD_DIR"/lib/{libdat.so.1,libdapl-direct.so} "$tmp/a folder/lib"
echo '# nothing' >"$DAT_OVERRIDE"
env -u LD_LIBRARY_PATH "$tmp/a folder/bin/dat_info" >"$tmp/out" 2>&1
sed -n "s/.*to use it, add this line to dat.conf: \(soft-mlx5-0 \)/\1/p" "$tmp/out" >"$DAT_OVERRIDE"
grep -q 'a folder/lib/libdapl-direct.so' "$DAT_OVERRIDE" || fail "dat_info prints no line for a folder with a blank"
"$info" --check "$DAT_OVERRIDE" >"$tmp/out" 2>&1 || fail "the line that dat_info prints for a folder with a blank is broken"
scripts/mkconf "$tmp/a folder/lib/libdapl-direct.so" >"$DAT_OVERRIDE"
"$info" --check "$DAT_OVERRIDE" >"$tmp/out" 2>&1 || fail "the dat.conf of scripts/mkconf for a folder with a blank is broken"
for device in mlx5_7:mlx5_core.sf efa_7:efa rxe7:; do
	mkdir -p "$tmp/sys/class/infiniband/${device%:*}/ports/1" "$tmp/sys/class/infiniband/${device%:*}/device"
	ln -s "../drivers/${device#*:}" "$tmp/sys/class/infiniband/${device%:*}/device/driver"
done
SYSFS=$tmp/sys scripts/mkconf lib.so | sed 's/ .*//' | LC_ALL=C sort -u | tr '\n' ' ' >"$tmp/out"
grep -q '^# efa_0-1 efa_7-1 mlx5_0-1 mlx5_7-1 soft-efa-0 soft-mlx5-0 $' "$tmp/out" || fail "scripts/mkconf lists: $(cat "$tmp/out")"
scripts/mkconf -2 >"$tmp/out" 2>&1 && fail "scripts/mkconf prints lines without a library"

# A name that no adapter has is reported.
for option in '' --list --json '--json --list'; do
	"$info" $option -i none-such >"$tmp/out" 2>&1 && fail "dat_info $option succeeds with an unknown name"
	grep -q '^dat_info: no line of dat.conf.* has the name none-such; without -i ' "$tmp/out" ||
		fail "dat_info $option does not say that no IA is named none-such"
done

# Each invalid word of ia_params is reported: dat_ia_open fails, and its message has the key.
#
# refuses IA PARAMS WORDS: checks this
refuses() {
	echo "$1 u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"$2\" \"\"" \
		>"$DAT_OVERRIDE"
	! "$info" -i "$1" >"$tmp/out" 2>&1 || fail "$1 opens with $2"
	grep -q "cannot open $1: .*$3" "$tmp/out" || fail "$1 with $2: \"$3\" is not in the message"
	grep -q DAT_INVALID_PARAMETER "$tmp/out" || fail "$1 with $2: the return code is not DAT_INVALID_PARAMETER"
}
refuses soft-mlx5-0 inlin=64 'inlin=64: this adapter has no such key'
refuses soft-mlx5-0 inline=500 'inline=500: must be a number from 0 to 220'
refuses soft-mlx5-0 inline 'inline has no value'
refuses soft-mlx5-0 efa_window=8 'efa_window=8: this adapter has no such key'
refuses soft-mlx5-0 validate=yes 'validate=yes: must be a number from 0 to 1'
refuses soft-mlx5-0 'fault=far;drop:op=wirte' 'fault: drop:op=wirte: must be send, write, '
refuses soft-mlx5-0 'fault=drp=0.1' 'fault: drp=0.1: unknown word or wrong value; softnic-run(1)'
refuses soft-mlx5-0 pcap=/nonexistent/x 'pcap=/nonexistent/x: cannot write the file: No such file'
refuses soft-efa-0 'fault=corrupt:op=send' 'fault: corrupt: a rule of this adapter begins with one of drop, '
refuses soft-efa-0 pcap=/tmp/x 'pcap=/tmp/x: this adapter has no such key'
refuses soft-efa-0 efa_window=9 'efa_window=9: must be a power of two from 4 to 1024'
refuses soft-efa-0 rnr_retry=7 'rnr_retry=7: this adapter has no such key'
refuses soft-efa-0 efa_look=1s 'efa_look=1s: must be a number from 1 to 60000'

# An adapter that a line selects under another name is not reported as missing.
echo "ib0 u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"device=soft-mlx5-1\" \"\"" \
	>"$DAT_OVERRIDE"
for json in '' --json; do
	"$info" $json >"$tmp/out" 2>&1 || fail "ib0 does not open"
	grep -q 'soft-mlx5-0' "$tmp/out" && grep -q 'soft-efa-1' "$tmp/out" || fail "an adapter without a line is not reported"
	! grep -qE '"name": "soft-mlx5-1"|soft-mlx5-1  no line' "$tmp/out" || fail "the adapter of ib0 is reported as missing"
done

# A line with another name that cannot be opened does select its adapter.
refuses ib0 'device=soft-mlx5-1 inlin=64' 'inlin=64: this adapter has no such key'
"$info" >"$tmp/out" 2>&1
grep -q '^soft-mlx5-1  no line of dat.conf has this name$' "$tmp/out" || fail "the adapter of a broken line is not listed, or wrongly called unnamed"

# An entry for a refused IA contains the provider's message, one for an opened IA its attributes.
cat >"$DAT_OVERRIDE" <<-END
	soft-efa-0 u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 "inlin=64" ""
	soft-mlx5-0 u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 "inline=64" ""
END
"$info" --json >"$tmp/out" || fail "dat_info --json ends with status $?"
python3 -m json.tool "$tmp/out" >"$tmp/json" || fail "dat_info --json prints invalid JSON"
python3 - "$tmp/out" <<'END' || fail "the JSON of dat_info --json has wrong content"
import json, re, sys
j = json.load(open(sys.argv[1]))
refused, opened = j["adapters"]
assert not refused["opened"] and refused["error"]["code"] == "DAT_INVALID_PARAMETER", refused
assert "inlin=64: this adapter has no such key" in refused["error"]["why"], refused
assert opened["opened"] and opened["provider_attributes"]["inline"] == "64", opened
assert opened["limits"]["eps"] > 0 and opened["address"] == "127.0.0.1", opened
assert all(opened["limits"]["segments_per_" + kind] > 0 for kind in ("dto", "rdma_read", "rdma_write")), opened["limits"]
assert opened["buffer_alignment"] == 256 and opened["completion_flags"] > 0, opened
assert opened["srq"] and opened["lmr_of_lmr"] and opened["lmr_shared"] and not opened["lmr_sync_needed"], opened
assert {"soft-mlx5-1", "soft-efa-1"} <= {d["name"] for d in j["not_in_dat_conf"]}, j["not_in_dat_conf"]
assert re.fullmatch(r"\d+\.\d+\.\d+", j["build"]["version"]) and "mlx5 (model" in j["build"]["backends"], j["build"]
assert all(p[k] for p in j["parameters"] for k in ("adapter", "key", "default", "range", "meaning")), "empty"
assert {p["adapter"] for p in j["parameters"]} == {"any", "mlx5", "efa"}
units = {p["key"]: p["unit"] for p in j["parameters"]}
assert units["spin_us"] == "microseconds" and units["inline"] == "bytes" and units["efa_window"] == "packets", units
END

# The JSON names the library that has opened the IA. It is a valid document also without a
# dat.conf, and if the reason or a name is not UTF-8.
cp "$DAPL_BUILD_DIR/lib/libdapl-direct.so" "$tmp/copy.so"
utf8=$'\xc3\xa9' latin1=$'\xe9'
cat >"$DAT_OVERRIDE" <<-END
	ia-$utf8 u1.2 nonthreadsafe default $tmp/copy.so dapl_direct.1.2 "device=soft-mlx5-0" ""
	ia-$latin1 u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 "device=soft-mlx5-0 inlin$latin1=64" ""
END
"$info" --json >"$tmp/out" || fail "dat_info --json ends with status $? if a line is no UTF-8"
python3 - "$tmp/out" "$tmp/copy.so" <<'END' || fail "the JSON of dat_info --json lacks a library, or a line that is no UTF-8"
import json, os, sys
opened, refused = json.load(open(sys.argv[1], encoding="utf-8"))["adapters"]
assert opened["name"] == "ia-\u00e9" and opened["library"] == os.path.realpath(sys.argv[2]), opened
assert refused["name"] == "ia-?" and "inlin?=64: this adapter has no such key" in refused["error"]["why"], refused
END
DAT_OVERRIDE=$tmp/none "$info" --json >"$tmp/out" 2>"$tmp/err" && fail "dat_info --json succeeds without a dat.conf"
python3 - "$tmp/out" <<'END' || fail "dat_info --json prints no document without a dat.conf"
import json, sys
j = json.load(open(sys.argv[1]))
assert j["adapters"] == [] and "soft-mlx5-0" in {d["name"] for d in j["not_in_dat_conf"]}, j
END

# A dat.conf may have many more lines than a host has adapters.
for i in {1..70}; do
	echo "ia$i u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"device=soft-mlx5-0\" \"\""
done >"$DAT_OVERRIDE"
"$info" --list >"$tmp/out" 2>&1 || fail "dat_info --list fails with 70 lines"
[ "$(grep -c '^ia' "$tmp/out")" = 70 ] || fail "dat_info --list prints other than 70 lines"
"$info" -i ia70 >"$tmp/out" 2>&1 || fail "dat_info -i does not find the last of 70 lines"

# The program of uDAPL 2.0 names its level, and lists the same adapters and parameters.
info2=$DAPL_BUILD_DIR/libexec/dapl-direct/dat2/dat_info
if [ -x "$info2" ]; then
	"$info2" --parameters >"$tmp/out" 2>&1 && "$info" --parameters | cmp -s - "$tmp/out" ||
		fail "the parameters of dat_info of uDAPL 2.0 are not those of 1.2"
	echo '# nothing' >"$DAT_OVERRIDE"
	"$info2" >"$tmp/out" 2>&1 && fail "dat_info of uDAPL 2.0 succeeds without an adapter"
	grep -q "no IA: $DAT_OVERRIDE has no line for uDAPL 2.0; " "$tmp/out" || fail "dat_info of uDAPL 2.0 does not name its level"
	grep -q '^provider dapl-direct ' "$tmp/out" || fail "dat_info of uDAPL 2.0 does not describe the build"
	sed -n "s/.*to use it, add this line to dat.conf: \(soft-mlx5-0 u2.0 \)/\1/p" "$tmp/out" >"$DAT_OVERRIDE"
	"$info2" -i soft-mlx5-0 >"$tmp/out" 2>&1 ||
		fail "dat_info of uDAPL 2.0 prints no line that opens soft-mlx5-0"
fi

# Each parameter has its lines, and an item in dapl-direct(7).
"$info" --parameters >"$tmp/parameters" || fail "dat_info --parameters ends with status $?"
keys=$(sed -n 's/^  \([a-z_]*\) *default .*; allowed: .*/\1/p' "$tmp/parameters")
[ "$(wc -l <<<"$keys")" -ge 40 ] || fail "dat_info --parameters prints fewer than 40 keys"
[ "$(grep -c '^                   [^ ].* ' "$tmp/parameters")" = "$(wc -l <<<"$keys")" ] || fail "dat_info --parameters prints a key without its meaning"
for key in $keys; do
	grep -qE "^\.It (Cm $key\$|Li $key=)" man/dapl-direct.7 || fail "dapl-direct(7) does not describe $key"
done

# Each named attribute has an item in dat_ia_query(3), and each word of a fault script one in softnic-run(1).
for ia in soft-mlx5-0 soft-efa-0; do
	DAT_OVERRIDE=$DAPL_BUILD_DIR/etc/dat.conf "$info" -i $ia >"$tmp/out" || fail "$ia does not open"
	grep -qE "faults: .* (memlock|arm_only)\$" "$tmp/out" || fail "the list of faults is cut off"
	attributes=$(sed -n 's/^    provider \([a-z_]*\): .*/\1/p' "$tmp/out")
	[ "$(wc -l <<<"$attributes")" -ge 10 ] || fail "$ia has fewer than 10 named attributes"
	for name in $attributes; do
		grep -qx ".It Li $name" man/dat_ia_query.3 || fail "dat_ia_query(3) does not describe $name"
	done
	for word in $(sed -n 's/^    provider faults: //p' "$tmp/out"); do
		[ "$word" = memlock ] || grep -qE "^\.It Cm .*\b$word\b" man/softnic-run.1 ||
			fail "softnic-run(1) does not describe the fault $word"
	done
done

# A ConnectX has an attribute that no software adapter has, so the names are read from the source.
for name in $(sed -n 's/.*\battr(caps, "\([a-z_]*\)".*/\1/p' hw_mlx5/ia.c); do
	grep -qx ".It Li $name" man/dat_ia_query.3 || fail "dat_ia_query(3) does not describe $name"
done

# Without ia_params, an adapter keeps the order of writes.
#
# order_is IA PARAMS ORDER: checks the attribute write_order
order_is() {
	echo "$1 u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"$2\" \"\"" \
		>"$DAT_OVERRIDE"
	"$info" -i "$1" >"$tmp/out" 2>&1 || fail "$1 does not open with \"$2\""
	grep -qx " *provider write_order: $3" "$tmp/out" || fail "$1 with \"$2\": write_order is not $3"
}
order_is soft-mlx5-0 '' kept
order_is soft-efa-0 '' kept
order_is soft-efa-0 write_order=relaxed relaxed

# The default of each parameter is a value that it accepts. defaults ADAPTER: prints defaults of one
# word, as ia_params
defaults() {
	awk -v adapter="$1" '/adapter:$/ { ours = $1 == "any" || $1 == adapter; next }
		ours && /^  [a-z]/ && $3 ~ /;$/ { sub(/;/, "", $3); print $1 "=" $3 }' "$tmp/parameters" | tr '\n' ' '
}
for ia in soft-mlx5-0 soft-efa-0; do
	adapter=${ia#soft-}
	words=$(defaults "${adapter%-0}")
	[ "$(wc -w <<<"$words")" -ge 8 ] || fail "$ia has fewer than 8 parameters with a default: $words"
	echo "$ia u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"$words\" \"\"" >"$DAT_OVERRIDE"
	"$info" -i $ia >"$tmp/out" 2>&1 || fail "$ia does not open with its defaults: $words"
done

# The line that dat_info prints for an adapter behind VFIO opens it, with an address in it.
[ -x "$DAPL_BUILD_DIR/bin/softnic-run" ] && [ -z "${SAN-}" ] || exit 0
echo '# nothing' >"$DAT_OVERRIDE"
"$DAPL_BUILD_DIR/bin/softnic-run" --vfio "$info" >"$tmp/out" 2>&1
sed -n 's/.*to use it, add this line to dat.conf.*: \(0000:01:00.0 .*\)/\1/p' "$tmp/out" | sed 's/A\.B\.C\.D/10.0.0.7/' >"$DAT_OVERRIDE"
"$DAPL_BUILD_DIR/bin/softnic-run" --vfio "$info" -i 0000:01:00.0 >"$tmp/out" 2>&1 ||
	fail "0000:01:00.0 does not open with the dat.conf line that dat_info prints"
