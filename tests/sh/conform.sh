#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_conform: its three reports have a line, an object or an element for each statement. The peer can
# be a process that was started separately. A missing adapter causes one clear message.
set -u
. tests/harness/own_ip.sh
. tests/harness/tcp-server.sh
[ -z "${SAN-}" ] || { echo "the suite conformance runs the statements under a sanitizer"; exit 77; }
conform=$DAPL_BUILD_DIR/bin/dat_conform
tmp=$(mktemp -d)
server=
trap '[ -n "$server" ] && kill "$server"; rm -rf "$tmp"' EXIT
status=0

wrong() {
	echo "$1"
	[ -f "${2-}" ] && cat "$2"
	status=1
}

# The three reports of a run, compared with the list of statements.
reports() {
	timeout 60 "$conform" -t 'dat_p[zs]*' --json "$tmp/json" --junit "$tmp/xml" >"$tmp/out" 2>"$tmp/log" ||
		wrong "a statement failed:" "$tmp/out"
	# JUnit is written though JSON cannot be.
	"$conform" -t 'dat_pz_*' --json /dev/full --junit "$tmp/alone" >"$tmp/log" 2>&1 &&
		wrong "dat_conform succeeds though it cannot write JSON"
	grep -q testcase "$tmp/alone" || wrong "dat_conform writes no JUnit if it cannot write JSON:" "$tmp/log"
	"$conform" --list -t 'dat_p[zs]*' >"$tmp/list"
	"$conform" --version >"$tmp/version"
	python3 - "$tmp" <<'END' || wrong "the three reports disagree"
import collections, json, sys, xml.etree.ElementTree as tree

def lines(name):
    with open(f"{sys.argv[1]}/{name}") as f:
        return f.read().splitlines()

wanted = [line.split()[0] for line in lines("list")]
printed = [line.split()[:2] for line in lines("out")[:-1]]
assert wanted and [name for _, name in printed] == wanted
count = collections.Counter(verdict for verdict, _ in printed)
assert lines("out")[-1] == (f"{len(wanted)} statements: {count['PASS']} PASS, {count['FAIL']} FAIL, "
                            f"{count['SKIP']} SKIP")

with open(sys.argv[1] + "/json") as f:
    report = json.load(f)
assert report["ia"] == "soft-mlx5-0" and report["release"] == lines("version")[0]
assert [[s["verdict"], s["name"]] for s in report["statements"]] == printed
assert report["count"] == {v.lower(): count[v] for v in ("PASS", "FAIL", "SKIP")}
for s in report["statements"]:
    assert s["page"].startswith("dat_") and s["section"] and bool(s["reason"]) == (s["verdict"] != "PASS")
    assert all(r["call"].startswith("dat_") and r["code"].startswith("DAT_") for r in s["returned"])

suite = tree.parse(sys.argv[1] + "/xml").getroot()
cases = suite.findall("testcase")
verdicts = {None: "PASS", "failure": "FAIL", "skipped": "SKIP"}
assert suite.tag == "testsuite" and int(suite.get("tests")) == len(cases)
assert [[verdicts[c[0].tag if len(c) else None], c.get("name")] for c in cases] == printed
assert int(suite.get("failures")) == count["FAIL"] and int(suite.get("skipped")) == count["SKIP"]
END
}

# The table of states has a row for each call that takes an endpoint.
each_state() {
	"$conform" --list -t '*__in_each_state' | sed 's/^[^ ]* //; s/(3).*//' | sort -u >"$tmp/tried"
	scripts/prototypes | grep 'IN DAT_EP_HANDLE ep_handle' | sed 's/^DAT_RETURN //; s/(.*//' |
		comm -23 - "$tmp/tried" >"$tmp/missing"
	[ -s "$tmp/list" ] && [ ! -s "$tmp/missing" ] || wrong "these endpoint calls are not tried in each state:" "$tmp/missing"
}

elsewhere() {
	local port
	at_port "$conform" --serve --port 0
	timeout 120 "$conform" --serve --port "$port" >"$tmp/out" 2>&1
	[ $? = 1 ] && grep -qx "dat_conform: cannot serve at TCP port $port: Address already in use; --port chooses another" "$tmp/out" ||
		wrong "a second server at a port does not end with the cure:" "$tmp/out"
	timeout 100 "$conform" -r 127.0.0.1 --port "$port" -t 'two_processes__*' >"$tmp/out" 2>&1 ||
		wrong "a statement failed with the peer in dat_conform --serve:" "$tmp/out"
	grep -q '^SKIP two_processes__the_other_end_dies .* (-r)$' "$tmp/out" &&
		[ "$(grep -c ^SKIP "$tmp/out")" = 1 ] || wrong "other statements than the one that kills its peer were skipped:" "$tmp/out"
	! grep -q ^0*1 /proc/net/if_inet6 2>/dev/null ||
		timeout 100 "$conform" -r ::1 --port "$port" -t two_processes__rejected >"$tmp/out" 2>&1 ||
		wrong "a statement failed with the peer at an IPv6 address:" "$tmp/out"
	stop_server
	timeout 60 "$conform" -r 127.0.0.1 --port "$port" -t two_processes__rejected >"$tmp/out" 2>&1 &&
		wrong "a statement with a peer succeeds without a server:" "$tmp/out"
	grep -q '^FAIL .*does dat_conform --serve run there' "$tmp/out" || wrong "the failure does not name the cure:" "$tmp/out"
}

# The other end of the connections is another adapter.
other_adapter() {
	sed '/^soft-mlx5-0 /{p;s/-0 /-1 /}' "$DAPL_BUILD_DIR/etc/dat.conf" >"$tmp/two.conf"
	DAT_OVERRIDE=$tmp/two.conf DAPL_DBG_TYPE=8 timeout 100 "$conform" --peer soft-mlx5-1 -t 'two_processes__*' \
		>"$tmp/out" 2>&1 && grep -q 'endpoint .* of soft-mlx5-1: connected' "$tmp/out" &&
		grep -q ' 7 PASS, 0 FAIL, 0 SKIP$' "$tmp/out" ||
		wrong "a statement fails with the peer's side on another adapter:" "$tmp/out"
}

# The peer's side ends, because adapters of two kinds cannot connect.
other_kind() {
	local port
	at_port "$conform" --serve --port 0 -i soft-efa-0
	timeout 60 "$conform" -i soft-mlx5-0 -r 127.0.0.1 --port "$port" -t two_processes__rdma_write >"$tmp/out" 2>&1 &&
		wrong "adapters of two kinds connect:" "$tmp/out"
	grep -q '^FAIL .*dat_conform --serve says there why' "$tmp/out" &&
		grep -q 'both ends need adapters of one kind' "$tmp/server" ||
		wrong "the failure does not tell where the reason is:" "$tmp/out"
	stop_server
}

# A server that gets no descriptor for its next client ends with the reason.
accept_fails() {
	local port
	at_port "$conform" --serve --port 0
	prlimit --pid "$server" --nofile=3
	: <"/dev/tcp/127.0.0.1/$port"
	wait "$server"
	[ $? = 1 ] && grep -q '^dat_conform --serve: accept: Too many open files$' "$tmp/server" ||
		wrong "a server whose accept fails does not end with the reason:" "$tmp/server"
	server=
}

# Behind VFIO an adapter serves one process: statements of two processes are skipped.
by_vfio() {
	[ -x "$DAPL_BUILD_DIR/bin/softnic-run" ] || return 0
	echo "0000:01:00.0 u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"ip=$(own_ip)\" \"\"" \
		>"$tmp/vfio.conf"
	DAT_OVERRIDE=$tmp/vfio.conf timeout 100 "$DAPL_BUILD_DIR/bin/softnic-run" --vfio "$conform" -i 0000:01:00.0 \
		-t dat_ep_reset >"$tmp/out" 2>&1 || wrong "a statement fails behind VFIO:" "$tmp/out"
	grep -q '^SKIP .*: the test cannot open the adapter in two processes$' "$tmp/out" && grep -q '^PASS ' "$tmp/out" ||
		wrong "statements of two processes are not skipped behind VFIO:" "$tmp/out"
}

no_such_adapter() {
	timeout 120 "$conform" -i none --json "$tmp/none" >"$tmp/out" 2>"$tmp/err"
	[ $? = 1 ] && [ ! -s "$tmp/out" ] && [ ! -e "$tmp/none" ] || wrong "dat_conform accepts an unknown adapter:" "$tmp/out"
	grep -q 'DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED' "$tmp/err" &&
		grep -q 'none: is there a line for it in dat.conf' "$tmp/err" || wrong "the error does not name the cure:" "$tmp/err"
	timeout 120 "$conform" --serve -i none >"$tmp/out" 2>&1 && wrong "dat_conform --serve succeeds with an unknown adapter:" "$tmp/out"
	mkfifo "$tmp/fifo"
	DAT_OVERRIDE=$tmp/fifo timeout 120 "$conform" --limit 1 -t dat_pz_free >"$tmp/out" 2>&1
	[ $? = 1 ] && grep -qx 'dat_conform: soft-mlx5-0 has not opened within 1 s; --limit allows more' "$tmp/out" ||
		wrong "an adapter that does not open within the limit causes no message:" "$tmp/out"
	timeout 120 "$conform" --nonsense >"$tmp/out" 2>&1
	[ $? = 64 ] || wrong "the status for an unknown option is not 64:" "$tmp/out"
}

no_such_statement() {
	local list
	for list in '' --list; do
		timeout 120 "$conform" $list -t dat_pz_fre >"$tmp/out" 2>&1
		[ $? = 1 ] && grep -qx "dat_conform: no statement and no page matches 'dat_pz_fre'; --list prints all" "$tmp/out" ||
			wrong "a pattern that matches nothing causes no message:" "$tmp/out"
	done
}

bad_numbers() {
	local option
	for option in --port=x --port=65536 --port=-1 --port= --limit=x --limit=0 --limit=-1 --limit=5000000; do
		timeout 120 "$conform" $option -t dat_pz_free >"$tmp/out" 2>&1
		[ $? = 64 ] && grep -qe "${option%=*} '${option#*=}' is not a number from" "$tmp/out" ||
			wrong "dat_conform does not refuse $option:" "$tmp/out"
	done
}

# The JSON of dat_conform and dat_first_light has the host's name, which may be no UTF-8.
odd_host() {
	local program
	unshare -Uru true 2>/dev/null || return 0	# this user may have no host name of its own
	for program in 'dat_conform -t dat_strerror' 'dat_first_light -i soft-mlx5-0 -t 7'; do
		rm -f "$tmp/odd"
		timeout 60 unshare -Uru python3 - $program --json "$tmp/odd" >"$tmp/out" 2>&1 <<-'END'
			import os, socket, sys
			socket.sethostname(b"m\xfcller")
			os.execv(os.environ["DAPL_BUILD_DIR"] + "/bin/" + sys.argv[1], sys.argv[1:])
		END
		grep -q '"name": "m?ller"' "$tmp/odd" || wrong "$program writes no JSON on a host whose name is no UTF-8:" "$tmp/out"
	done
}

reports
odd_host
each_state
elsewhere
other_adapter
other_kind
accept_fails
by_vfio
no_such_adapter
no_such_statement
bad_numbers
exit $status
