#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each program that follows perftest runs as a pair: rows, verified data, one valid JSON document with a
# record for each size, samples, plots.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/perf-server.sh

front=() both=()		# front: words before the program; both: options of both sides
# table FILE: the heading, the rows and the conditions in the output of a side that follow the client's options
table() { grep -aE '^ (#|[0-9]+ |Duration|Rate|Processes|Warm-up)' "$1"; }

# pair PROGRAM OPTION...: both sides succeed and print the same table; the client's output is in $tmp/out
pair() {
	local program=$1 status
	shift
	serve timeout -k 1 110 "${front[@]}" "$bin/$program" "${both[@]}"
	timeout -k 1 110 "${front[@]}" "$bin/$program" -p $port "${both[@]}" --out_json_file "$tmp/json" "$@" \
		127.0.0.1 >"$tmp/out" 2>&1 </dev/null
	status=$?
	wait $server || status=99
	server=
	[ $status = 0 ] && diff <(table "$tmp/server") <(table "$tmp/out") && return 0
	echo "$program $*: the client ended with status $status, or the server failed, or prints another table:"
	cat "$tmp/out" "$tmp/server"
	exit 1
}

# rate OPTION...: like pair, for the program that forks. With gcc 12's address sanitizer, a fork beside
# other threads may leave a lock of the allocator taken for ever.
rate() {
	[ -z "${SAN-}" ] && pair dat_conn_rate "$@"
}

# records KEY SIZE...: the document has one record for each size, each with that key and a positive value
records() {
	python3 - "$tmp/json" "$@" <<-'END' || { cat "$tmp/json"; exit 1; }
		import json, sys
		run = json.load(open(sys.argv[1]))
		key, sizes = sys.argv[2], [int(s) for s in sys.argv[3:]]
		first = "at_a_time" if "connections_per_s" in run["results"][0] else "MsgSize"
		assert [r[first] for r in run["results"]] == sizes, "sizes"
		assert all(r[key] > 0 and r["n_iterations"] >= 5 for r in run["results"]), key
		for r in run["results"]:
		    if "t_min" in r:
		        assert r["t_min"] <= r["t_typical"] <= r["percentile_99"] <= r["percentile_99.9"] <= r["t_max"]
		        assert r["t_min"] <= r["t_avg"] <= r["t_max"]
		        assert r["worst"][0]["usec"] == r["t_max"]
		started = [r["started_s"] for r in run["results"] if "t_min" in r]
		assert started == sorted(set(started)), "each size has a start of its own"
		assert run["test_info"]["Device"].startswith("soft-") and run["test_info"]["provider"]
	END
}

says() {
	local text
	for text; do
		grep -qe "$text" "$tmp/out" && continue
		echo "the output does not have \"$text\":"
		cat "$tmp/out"
		exit 1
	done
}

# starts: the worst samples of each size have times relative to its start.
starts() {
	sed -n 's/.* over *\([0-9.]*\) s after the start, at [0-9]*:\([0-9]*\):\([0-9.]*\)$/\1 \2 \3/p' "$tmp/out" |
		awk '{ printf "%.4f\n", ($2 * 60 + $3 - $1 + 3600) % 3600 }' | sort -u | wc -l
}

all=$(python3 -c 'print(*[2**i for i in range(1, 24)])')
for p in write read send bind; do
	pair dat_${p}_lat -n 50 --warm-up 5
	says 't_typical\[usec\]' 'worst of' 'Warm-up *: 5 ' 'CPU of the peer'
	pair dat_${p}_bw -n 300 -q 3 -s 512 --verify
	says 'all data verified'
	records MsgRate 512
done
pair dat_write_lat -n 20 --warm-up 2 --target-polls -H -U
[ "$(grep -cE '^[0-9]+, [0-9.]+$' "$tmp/out")" = 40 ] || { echo "not all samples are listed"; cat "$tmp/out"; exit 1; }
pair dat_read_lat -a -n 5 --warm-up 1
records t_typical $all
[ "$(starts)" -ge 23 ] || { echo "the worst samples of all sizes have the same start"; cat "$tmp/out"; exit 1; }
says 'Target *: asleep'
pair dat_send_lat -D 1 -f 0 --histogram --cpu_util
says 'tps average' 'CPU_Util' '^ above'
records percentile_99.9 2
pair dat_send_lat -e -n 20 -s 4096 -I 0
says 'asleep in dat_evd_wait' 'Max inline.*: 0$'
pair dat_send_lat -n 20 -r 64 -u 14 -U -C
says '^#, cycles$'
[ "$(grep -cE '^[0-9]+, [0-9]+$' "$tmp/out")" = 20 ] || { echo "not all samples are in ticks"; cat "$tmp/out"; exit 1; }
pair dat_send_bw -n 50 -s 64 -r 64 -N -w 0.001 -F -R -z
says 'RX depth *: 64$' '^ 64  *50  *0\.00  '
pair dat_read_bw -n 50 -s 64 -o 1 --verify
says 'all data verified'
# The last line has the rate: the requested one if it is low, less if no adapter can reach the requested one.
for p in write send read; do
	pair dat_${p}_lat --rate 200 -n 40
	says 'Rate *: 200 operations per second (open loop)' \
		'^ rate of 2 bytes: 200 per second asked, .* reached; [0-9]* of 40 operations started late, by .* usec at most$'
	records rate_reached 2
done
pair dat_write_lat --rate 10000000 -D 2 -f 0
says '^ rate of 2 bytes: 10000000 per second asked, .* usec at most; [1-9][0-9]* more were due and did not start$'
python3 - "$tmp/json" <<'END' || { cat "$tmp/json"; exit 1; }
import json, sys
r = json.load(open(sys.argv[1]))["results"][0]
assert r["rate_asked"] == 10000000 and 0 < r["rate_reached"] < 10000000 and r["unstarted"] > 0
assert r["rate_reached"] == r["tps_average"] and 0 < r["late_starts"] <= r["n_iterations"]
assert abs(r["n_iterations"] + r["unstarted"] - 20000000) <= 1, "each planned operation is counted"
assert r["t_max"] > r["latest_start_usec"] > 1
END
# The table of causes: a software adapter has no counters of a port. perf-slow.sh provokes a cause.
for p in write send read; do
	pair dat_${p}_lat --explain -n 500
	says '^ samples of 2 bytes above 4 times the median, .* usec: [0-9]* of 500$' '^   unexplained  *[0-9]* ' \
		'^   retransmission or RNR  *-  *-$' '^ jitter floor: gaps above .* usec of a loop that only reads the clock for 1 s: [0-9]*; longest '
done
python3 - "$tmp/json" <<'END' || { cat "$tmp/json" "$tmp/out"; exit 1; }
import json, sys
e = json.load(open(sys.argv[1]))["results"][0]["explain"]
assert len(e["causes"]) == 9 and e["limit_usec"] > 0 and e["jitter_floor"]["longest_usec"] > 0
END
# An IA of another name has the counters of the port that it stands for.
mkdir -p "$tmp/sys/class/infiniband/soft-mlx5/ports/0/hw_counters"
echo 0 >"$tmp/sys/class/infiniband/soft-mlx5/ports/0/hw_counters/rnr_nak_retry_err"
sed -n 's/^soft-mlx5-0 \(.*\) "" ""$/ib0 \1 "device=soft-mlx5-0" ""/p' "$DAPL_BUILD_DIR/etc/dat.conf" >"$tmp/dat.conf"
both=(-d ib0) front=(env "SYSFS_PATH=$tmp/sys" "DAT_OVERRIDE=$tmp/dat.conf")
pair dat_write_lat --explain -n 500
says '^   retransmission or RNR  *0 '
both=() front=()
pair dat_bind_lat --unbind --verify -n 50
says 'all data verified'
for p in write read send; do
	pair dat_${p}_bw -b --verify -s 1500 -n 300 -Q 7
	says 'all data verified'
	pair dat_${p}_bw -e -n 50
done
pair dat_write_bw -a -n 5 --warm-up 0 --report_gbits
says 'Gb/sec'
! grep 'no operation completed' "$tmp/out" || { echo "a run without warm-up reports an empty measurement"; exit 1; }
records BW_average $all
pair dat_write_bw -D 3 -f 0 -s 64 --target-polls
says ' \.\.\. 64 bytes: 2 s, '
pair dat_bind_bw --unbind -n 300 -q 2
# There are as many windows as outstanding binds. They use up all contexts of a key, and then change to
# new keys together.
pair dat_bind_bw -n 40000 -t 64 -Q 1
records MsgRate 4096
! grep 'BW_average' "$tmp/json" || { echo "binds have a bandwidth"; exit 1; }
rate -n 20 -q 2 --processes 2 --warm-up 2 && records connections_per_s 4 && says 'Waiting *: asleep'
# The time of the start is that of the first connection that counts. Nearly all of this run is its warm-up. A
# busy machine may also delay the rest, but not each time.
#
# starts_late BEFORE AFTER: the run between these times started after its warm-up
starts_late() {
	python3 - "$tmp/json" "$@" <<-'END'
		import json, sys
		started = json.load(open(sys.argv[1]))["results"][0]["started_s"]
		before, after = map(float, sys.argv[2:])
		assert before < started < after and started - before > after - started, f"{before} to {after}: {started} is within the warm-up"
	END
}
for try in 1 2 3 4 5; do
	before=$(date +%s.%N)
	rate -n 5 --warm-up 2500 || break
	starts_late "$before" "$(date +%s.%N)" && break
	[ $try -lt 5 ] || exit 1
done
rate -D 3 --cpu_util && says '^ \.\.\. 2 s, [1-9][0-9]* connections'
if command -v gnuplot >/dev/null; then
	for f in svg png; do
		pair dat_send_lat -n 50 --plot "$tmp/plot.$f"
		pair dat_write_bw -n 50 --plot "$tmp/plot-bw.$f"
		[ -s "$tmp/plot.$f" ] && [ -s "$tmp/plot-bw.$f" ] || { echo "plot.$f or plot-bw.$f is missing"; exit 1; }
	done
	grep -q '<svg' "$tmp/plot.svg" || { echo "plot.svg is not an SVG file"; exit 1; }
	rate -n 20 --plot "$tmp/plot.svg" && ! grep -q '20 connections, 1 at a time' "$tmp/plot.svg" &&
		{ echo "the plot labels connections as bytes"; exit 1; }
	pair dat_send_lat -n 50 --plot "$tmp/it's.svg"
	[ -s "$tmp/it's.svg" ] || { echo "a plot whose name has a quote is missing"; exit 1; }
	pair dat_write_bw -a -n 5 --plot "$tmp/plot.svg"
	grep -q '1 MiB' "$tmp/plot.svg" || { echo "the axis is not labeled in MiB"; exit 1; }
fi

# The same runs on a software EFA.
both=(-d soft-efa-0)
for p in write read send bind; do
	pair dat_${p}_lat -n 20 --warm-up 5
	records t_typical $([ $p = bind ] && echo 4096 || echo 2)
	pair dat_${p}_bw -n 100 -q 2 -s 3000 --verify
	says 'all data verified'
	records MsgRate 3000
done
rate -n 20
both=()

# The same runs through the kernel's interface, if a library can be preloaded.
if [ -x "$bin/softnic-run" ] && [ -z "${SAN-}" ]; then
	front=("$bin/softnic-run") both=(-d mlx5_0-1)
	for p in dat_write_bw dat_send_bw dat_read_bw dat_bind_bw; do
		pair $p -n 100 -s 3000 --verify
		says 'all data verified' 'Access *: devx'
	done
	pair dat_write_lat -n 20
	rate -n 20
	front=() both=()
fi

# If the other side runs another program, or misses a limit, this is reported with status 1.
serve timeout -k 1 60 "$bin/dat_read_lat"
timeout -k 1 60 "$bin/dat_write_lat" -p $port 127.0.0.1 >"$tmp/out" 2>&1 && exit 1
says 'PEER_REJECTED' 'it is no dat_write_lat of this version'
timeout -k 1 60 "$bin/dat_read_lat" -p $port -n 5 127.0.0.1 >"$tmp/out" 2>&1 || { cat "$tmp/out"; exit 1; }
wait $server || exit 1
grep -q 'refused a client: another program' "$tmp/server" || { cat "$tmp/server"; exit 1; }

# If the other side has another kind of adapter, both report it, and the server waits for a client
# that fits.
serve timeout -k 1 110 "$bin/dat_read_bw"
timeout -k 1 60 "$bin/dat_read_bw" -p $port -d soft-efa-0 127.0.0.1 >"$tmp/out" 2>&1 && exit 1
says 'PEER_REJECTED' 'uses another kind of adapter'
timeout -k 1 60 "$bin/dat_read_bw" -p $port -n 5 127.0.0.1 >"$tmp/out" 2>&1 || { cat "$tmp/out"; exit 1; }
wait $server || exit 1

# While a client runs, a second client gets the message that no server is waiting.
serve timeout -k 1 110 "$bin/dat_send_bw"
beside "$tmp/first" timeout -k 1 110 "$bin/dat_send_bw" -p $port -D 100 127.0.0.1
first=$!
until_said $first "$tmp/first" '^ #'
timeout -k 1 60 "$bin/dat_send_bw" -p $port 127.0.0.1 >"$tmp/out" 2>&1
status=$?
kill $first
[ $status = 1 ] || { echo "the second client should be refused with status 1, but its status is $status"; cat "$tmp/out"; exit 1; }
says 'NON_PEER_REJECTED' 'each serves one client'
grep -q TIMED_OUT "$tmp/out" && { cat "$tmp/out"; exit 1; }
wait $server
[ $? = 1 ] || { echo "the server of a client that was killed does not fail:"; cat "$tmp/server"; exit 1; }

# The server of dat_conn_rate listens during the measurement. It refuses a second client, and goes on.
if [ -z "${SAN-}" ]; then
	serve timeout -k 1 110 "$bin/dat_conn_rate"
	beside "$tmp/first" timeout -k 1 110 "$bin/dat_conn_rate" -p $port -D 100 127.0.0.1
	first=$!
	until_said $first "$tmp/first" ' connections$'
	timeout -k 1 60 "$bin/dat_conn_rate" -p $port 127.0.0.1 >"$tmp/out" 2>&1
	status=$?
	alive $first || status=99
	kill $first
	[ $status = 1 ] || { echo "the second client of dat_conn_rate has status $status, or the first one ends"; cat "$tmp/out"; exit 1; }
	says 'PEER_REJECTED' 'already has a client'
	grep -q 'refused a client: the server has a client already' "$tmp/server" || { cat "$tmp/server"; exit 1; }
	wait $server
	[ $? = 1 ] || { echo "the server of a client that was killed does not fail:"; cat "$tmp/server"; exit 1; }
fi

# At 2.0 a program with -I starts itself again, and still knows the other CPUs from which a cache line comes.
level2=$DAPL_BUILD_DIR/libexec/dapl-direct/dat2
if [ -x "$level2/dat_write_lat" ] && [ "$(nproc)" != 1 ]; then
	bin=$level2 DAT_OVERRIDE=$DAPL_BUILD_DIR/etc/dat2.conf pair dat_write_lat -n 5 -I 64 \
		--cpu "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')"
	records cache_line_ns 2
fi

serve timeout -k 1 60 "$bin/dat_write_bw"
timeout -k 1 60 "$bin/dat_write_bw" -p $port -n 50 -y 1000000 127.0.0.1 >"$tmp/out" 2>&1
[ $? = 1 ] || { cat "$tmp/out"; exit 1; }
says 'below the limit'
wait $server || { echo "the server fails because its client misses a limit:"; cat "$tmp/server"; exit 1; }
server=
