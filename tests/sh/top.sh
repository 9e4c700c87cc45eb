#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_top shows the processes of dat_pingpong and their counters, and its output for Prometheus is well
# formed. It does not show a process that was killed, and it refuses files that are no page.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/perf-server.sh
top=$bin/dat_top
holder= failed=0
shm=/dev/shm/dapl-direct.$$
trap '[ -z "$holder" ] || kill -9 $holder 2>/dev/null; rm -f "$shm".*; gone' EXIT

wrong() {
	echo "$*"
	cat "$tmp/out" "$tmp/err"
	failed=1
}

# run STATUS OPTION...: runs dat_top, with its output in $tmp/out and $tmp/err
run() {
	local want=$1 status
	shift
	timeout -k 1 60 "$top" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	[ $status = "$want" ] || wrong "dat_top $*: the status is $status instead of $want"
}

# row PID COLUMN: prints a column of the table in $tmp/out, counted from 1
row() { awk -v pid="$1" -v column="$2" '$1 == pid { print $column }' "$tmp/out"; }

# counter PID NAME: prints a counter, with its own label, of the output for Prometheus
counter() { grep -F "pid=\"$1\"" "$tmp/out" | grep -E "^dapl_${2/\{/\\\{.*}" | awk '{ print $NF }'; }

serve "$bin/dat_pingpong" -s
beside "$tmp/client" "$bin/dat_pingpong" -q -n 0 -p $port 127.0.0.1
client=$!
until_said $client "$tmp/client" 'rounds$' || { cat "$tmp/client"; exit 1; }

# ---- the table ----

# A busy machine may keep the answer of a process for longer than dat_top waits: a later call shows it.
for option in --once -1; do
	for try in $(seq 20); do
		run 0 $option
		[ "$(row $server 14) $(row $client 14)" != "0.0 0.0" ] || break
	done
	for pid in $server $client; do
		[ "$(row $pid 2) $(row $pid 3)" = "dat_pingpong soft-mlx5-0" ] || wrong "dat_top $option does not show $pid"
		[ "$(row $pid 4)" = 1 ] || wrong "dat_top $option: $pid has $(row $pid 4) endpoints instead of 1"
		[ "$(row $pid 10)" = 1 ] || wrong "dat_top $option: $pid has $(row $pid 10) connections instead of 1"
		[ "$(row $pid 5)" -gt 0 ] && [ "$(row $pid 8)" -gt 0 ] || wrong "dat_top $option: $pid has posted or dequeued nothing"
		[ "$(row $pid 14)" = 0.0 ] || wrong "dat_top $option: the values of $pid are $(row $pid 14) s old"
	done
done
# On a busy machine the client may do nothing in some intervals, so three intervals with rates are awaited.
timeout -k 1 60 "$top" --interval 0.2 2>"$tmp/err" </dev/null | awk -v pid=$client '
	$1 == pid { print } $1 == pid && $5 > 0 && $8 > 0 && ++n == 3 { exit }' >"$tmp/out"
[ "$(awk '$5 > 0 && $8 > 0' "$tmp/out" | wc -l)" = 3 ] || wrong "dat_top --interval shows no rates of the client"

# ---- Prometheus ----

cat >"$tmp/check.py" <<'END'
"""Checks stdin against text format 0.0.4: families in one piece, known types, each series once."""
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf"({NAME})\{{({LABEL}(?:,{LABEL})*)\}} (\d+(?:\.\d+)?)")
seen, types, family = set(), {}, None
text = sys.stdin.read()
assert text.endswith("\n"), "no newline at the end"
for line in text.splitlines():
    head = re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.+)", line)
    if head and head[1] == "HELP":
        assert head[2] not in types, f"a second HELP: {line}"
        family = head[2]
        types[family] = None
    elif head:
        assert head[2] == family and types[family] is None and head[3] in ("counter", "gauge"), line
        types[family] = head[3]
    else:
        sample = SAMPLE.fullmatch(line)
        assert sample, f"no sample: {line!r}"
        assert sample[1] == family and types[family], f"outside of its family: {line}"
        assert family.startswith("dapl_") and (types[family] == "counter") == family.endswith("_total"), line
        labels = [label.split("=", 1)[0] for label in re.findall(LABEL, sample[2])]
        assert labels[:3] == ["ia", "pid", "provider"] and len(labels) <= 4, line
        assert (sample[1], sample[2]) not in seen, f"a second time: {line}"
        seen.add((sample[1], sample[2]))
assert len(types) == 16, f"{len(types)} families"
END
run 0 --prometheus
python3 "$tmp/check.py" <"$tmp/out" 2>>"$tmp/err" || wrong "dat_top --prometheus: its output is not well formed"
# Each side sends one message, writes and reads once in a round; the other side's message is received.
for pid in $server $client; do
	[ "$(counter $pid 'connection_events_total{event="established"')" = 1 ] || wrong "$pid: not one connection"
	[ "$(counter $pid 'objects_created_total{object="ep"')" = 1 ] || wrong "$pid: not one endpoint"
	[ "$(counter $pid 'posts_total{operation="send"')" -gt 0 ] || wrong "$pid: no sends"
	[ "$(counter $pid 'receives_total{')" -le "$(counter $pid 'posts_total{operation="recv"')" ] ||
		wrong "$pid: more receives were completed than posted"
done
[ "$(counter $server 'connection_requests_total{request="accepted"')" = 1 ] || wrong "the server has not accepted one request"
[ "$(counter $client 'connection_requests_total{request="sent"')" = 1 ] || wrong "the client has not sent one request"
python3 "$tmp/check.py" >/dev/null 2>&1 <<<'dapl_posts_total{ia="x"} 1' && wrong "the check accepts a series without a type"

# ---- a process that does not answer ----

# old PID: is the age of its values more than 0? An age has one decimal.
old() { awk -v pid="$1" '$1 == pid && $14 > 0 { old = 1 } END { exit !old }' "$tmp/out"; }

kill -STOP $client
for i in {1..100}; do
	run 0 --once
	! old $client || break
	sleep 0.1
done
old $client || wrong "dat_top shows values of a stopped process as fresh"
kill -CONT $client

# ---- files that are no page ----

page=$(echo /dev/shm/dapl-direct.$client.*.soft-mlx5-0)
[ "$(stat -c %a:%U "$page")" = "600:$(id -un)" ] || wrong "$page has the mode and owner $(stat -c %a:%U "$page")"
cat >"$tmp/hold.py" <<'END'
"""hold.py PAGE PREFIX: makes files like PAGE, damaged, each with its lock, and waits."""
import fcntl
import os
import sys
import time

good = bytes([1]) * 17
while good[16] & 1:		# the process is writing its page
    with open(sys.argv[1], "rb") as f:
        good = f.read()
ia = b'a"b\\c\n\x1b[31md'
bad = {
    "00000001.truncated": (good[:1000], 0o600), "00000002.empty": (b"", 0o600),
    "00000003.long": (good + good, 0o600), "00000004.shared": (good, 0o644),
    "00000005.magic": (b"x" + good[1:], 0o600), "00000006.release": (good[:8] + b"\xff" + good[9:], 0o600),
    "00000007.endless": (good[:32] + b"y" * 256 + good[288:], 0o600),
    "00000008.odd": (good[:16] + b"\1\0\0\0" + good[20:], 0o600),
    "00000009.strange": (good[:32] + ia.ljust(256, b"\0") + good[288:], 0o600),
    "0000000c.same": (good[:32] + ia.replace(b"\n", b"\xe9").ljust(256, b"\0") + good[288:], 0o600),
    "no-number": (good, 0o600),
}
held = []
for name, (data, mode) in bad.items():
    f = open(f"{sys.argv[2]}.{name}", "wb", buffering=0)
    # Programs that open an IA now remove a page without a lock.
    fcntl.lockf(f, fcntl.LOCK_EX)
    os.fchmod(f.fileno(), mode)
    f.write(data)
    held.append(f)
os.symlink(sys.argv[1], f"{sys.argv[2]}.0000000a.link")
os.mkfifo(f"{sys.argv[2]}.0000000b.fifo", 0o600)
print("holds", flush=True)
time.sleep(600)
END
beside "$tmp/held" python3 "$tmp/hold.py" "$page" "$shm"
holder=$!
until_said $holder "$tmp/held" holds || { cat "$tmp/held"; exit 1; }
run 0 --once
refused() {
	grep -qxF "dat_top: ignored $shm.$1: $2" "$tmp/err" || wrong "dat_top does not refuse $shm.$1 because $2"
}
refused 00000001.truncated 'it has the wrong size'
refused 00000002.empty 'it has the wrong size'
refused 00000003.long 'it has the wrong size'
refused 00000004.shared 'other users have access to it'
refused 00000005.magic 'it is no page of counters'
refused 00000006.release 'another release of dapl-direct made it'
refused 00000007.endless 'a name in it does not end'
refused 00000008.odd 'its content keeps changing'
refused 0000000a.link 'it is a symbolic link'
refused 0000000b.fifo 'it is no regular file'
files=$(grep -cF "$shm." "$tmp/err")		# other programs may have files of that kind, too
[ "$files" = 10 ] || wrong "dat_top reports $files files instead of 10"
[ "$(row $holder 3 | uniq)" = 'a"b\c??[31md' ] || wrong "dat_top shows the name of an IA as $(row $holder 3)"
[ "$(awk -v pid=$holder '$1 == pid' "$tmp/out" | wc -l)" = 2 ] || wrong "dat_top shows pages that it refused"
run 0 --prometheus
python3 "$tmp/check.py" <"$tmp/out" 2>>"$tmp/err" || wrong "dat_top does not escape the name of an IA, or shows two IAs as one series twice"
grep -qF 'ia="a\"b\\c??[31md",pid="'$holder'"' "$tmp/out" || wrong "dat_top does not show the escaped name of an IA"
kill -9 $holder
wait $holder 2>/dev/null
run 0 --once
[ -z "$(row $holder 1)" ] && [ ! -e "$shm.00000009.strange" ] || wrong "the page of a process that was killed remains"
[ ! -e "$shm.00000008.odd" ] || wrong "the page of a process that was killed while it wrote remains"
[ -e "$shm.00000001.truncated" ] || wrong "dat_top removes a file that is no page"

# ---- the end of a process ----

fifo=$page.ask
[ -p "$fifo" ] || wrong "$fifo is no FIFO"
kill -9 $client
wait $client 2>/dev/null
# A program that opens an IA now may remove the page before dat_top does.
run 0 --once
[ -z "$(row $client 1)" ] || wrong "dat_top shows a process that was killed"
[ ! -e "$page" ] && [ ! -e "$fifo" ] || wrong "dat_top does not remove the page of a process that was killed"
wait $server
compgen -G "/dev/shm/dapl-direct.$server.*" >/dev/null && wrong "the server left its page behind"
server= client=

# The provider removes such pages as well.
cp /dev/null "$shm.0000000d.x"
serve "$bin/dat_pingpong" -s
page=$(echo /dev/shm/dapl-direct.$server.*.soft-mlx5-0)
kill -9 $server
wait $server 2>/dev/null
server=
"$bin/dat_info" -i soft-mlx5-0 >"$tmp/out" 2>"$tmp/err" || wrong "dat_info fails"
[ ! -e "$page" ] || wrong "a program that opens an IA does not remove the page of a process that was killed"

# A process dies while dat_top asks it: dat_top goes on. A preloaded library kills it before the byte is written.
if [ -z "${SAN-}" ]; then
	cat >"$tmp/kill.c" <<-'END'
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/syscall.h>
		#include <unistd.h>

		static int is_dead(const char *path)
		{
			char line[128];
			FILE *f = fopen(path, "r");
			int dead = !f;

			while (f && fgets(line, sizeof(line), f))
				dead |= !strncmp(line, "State:\tZ", 8);
			if (f)
				fclose(f);
			return dead;
		}

		/* The pages of other programs are read, too. */
		static int is_of(int fd, const char *victim)
		{
			char path[64], file[256], prefix[64];
			ssize_t n;

			snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
			n = readlink(path, file, sizeof(file) - 1);
			file[n > 0 ? n : 0] = '\0';
			snprintf(prefix, sizeof(prefix), "/dev/shm/dapl-direct.%s.", victim);
			return !strncmp(file, prefix, strlen(prefix));
		}

		ssize_t write(int fd, const void *bytes, size_t n)
		{
			const char *victim = getenv("VICTIM");
			char path[64];

			if (victim && is_of(fd, victim)) {
				kill(atoi(victim), SIGKILL);
				snprintf(path, sizeof(path), "/proc/%s/status", victim);
				while (!is_dead(path))
					usleep(1000);
			}
			return syscall(SYS_write, fd, bytes, n);
		}
	END
	${CC:-gcc} -D_GNU_SOURCE -Wall -shared -fPIC -o "$tmp/kill.so" "$tmp/kill.c" || exit 1
	serve "$bin/dat_pingpong" -s
	export VICTIM=$server
	LD_PRELOAD=$tmp/kill.so run 0 --once
	unset VICTIM
	alive $server && wrong "the preloaded library kills no process"
	wait $server 2>/dev/null
	server=
fi

# ---- terminals ----

# on TERM WORD: the tables on such a terminal have (in) or lack (not in) the characters that clear it
on() {
	TERM=$1 timeout -k 1 60 python3 - "$top" "$2" >"$tmp/out" 2>&1 <<-'END' || wrong "dat_top on a terminal of the type $1"
		import os, pty, signal, sys
		pid, terminal = pty.fork()
		if not pid:
		    os.execv(sys.argv[1], [sys.argv[1], "-d", "0.1"])
		seen = b""
		while seen.count(b"COMMAND") < 2:
		    seen += os.read(terminal, 4096)
		os.kill(pid, signal.SIGKILL)
		os.waitpid(pid, 0)
		assert (b"\033" in seen) == (sys.argv[2] == "in"), seen
	END
}
on xterm in
on dumb 'not in'

# ---- options ----

run 64 --interval 0
run 64 --interval 1x
run 64 --once --prometheus
run 64 --once --interval 2
run 64 argument
run 64 --no-such-option
run 0 --help
grep -q Usage "$tmp/out" || wrong "dat_top --help does not print its usage"
run 0 --version
timeout -k 1 60 "$top" --once >/dev/full 2>"$tmp/err" && wrong "dat_top succeeds when its output cannot be written"
exit $failed
