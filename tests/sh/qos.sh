#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Quality of service, partition and GID that a program or dat.conf selects, read from the commands that the
# adapter received: the address path of INIT2RTR_QP.
set -u
. tests/harness/perf-server.sh
. tests/harness/skip.sh
needs_preload
run=$bin/softnic-run
status=0
fields=(tclass dscp eth_prio sl pkey_index src_addr_index)

# path_is FILE LINK VALUES: checks that each QP of this program has these values of $fields
path_is() {
	local found
	found=$(python3 tests/harness/mailboxes.py path "$2:$1" "${fields[@]}" | sort -u)
	[ "$found" = "$3" ] && return
	printf '%s: %s of the QP is "%s" instead of "%s"\n' "${1##*/}" "${fields[*]}" "$found" "$3"
	status=1
}

# pair NAME SERVER_ARGS CLIENT_ARGS COMMAND...: dat_write_lat on mlx5_0-1, each end through COMMAND
pair() {
	local name=$1 mine theirs
	read -ra theirs <<<"$2"
	read -ra mine <<<"$3"
	shift 3
	serve env SOFTNIC_COMMANDS="$tmp/$name-server" "$@" "$bin/dat_write_lat" -d mlx5_0-1 "${theirs[@]}"
	SOFTNIC_COMMANDS=$tmp/$name-client timeout -k 1 60 "$@" "$bin/dat_write_lat" -d mlx5_0-1 -n 5 -p $port \
		"${mine[@]}" 127.0.0.1 >"$tmp/out" 2>&1 && wait $server && server= && return
	echo "$name: the client or the server of dat_write_lat failed:"
	cat "$tmp/out" "$tmp/server"
	exit 1
}

# The options of the measuring programs. RFC 2474: the DSCP is the upper six bits of the traffic class.
pair options "" "--tclass 106 -S 3 -x 0" "$run"
path_is "$tmp/options-client" ethernet+devx "106 26 3 0 0 0"
path_is "$tmp/options-server" ethernet+devx "0 0 0 0 0 0"

# Partitions and service levels of InfiniBand, where a packet to the same subnet has no traffic class.
for pkey in 0xffff:0 0x8001:1 1:1; do
	sed "s/ \"\" \"\"\$/ \"pkey=${pkey%:*} sl=9 tclass=106\" \"\"/" "$DAT_OVERRIDE" >"$tmp/${pkey%:*}.conf"
	pair "pkey-${pkey%:*}" "" "" env DAT_OVERRIDE="$tmp/${pkey%:*}.conf" "$run" --infiniband
	for end in server client; do
		path_is "$tmp/pkey-${pkey%:*}-$end" infiniband+devx "0 0 0 9 ${pkey#*:} 0"
	done
done

# A class of dat_ep_connect: only the connecting end of this example has it.
sed 's/DAT_QOS_BEST_EFFORT/DAT_QOS_LOW_LATENCY/' examples/hello.c >"$tmp/hello.c"
sed 's/ "" ""$/ "dscp=8 dscp=low_latency:46,sl=low_latency:5" ""/' "$DAT_OVERRIDE" >"$tmp/class.conf"
${CC:-gcc} -Iinclude -o "$tmp/hello" "$tmp/hello.c" -L"$DAPL_BUILD_DIR/lib" -ldat -Wl,-rpath,"$DAPL_BUILD_DIR/lib" &&
	SOFTNIC_COMMANDS=$tmp/class DAT_OVERRIDE=$tmp/class.conf timeout -k 1 30 "$tmp/hello" >"$tmp/out" 2>&1 ||
	{ echo "the example hello with a class of service failed:"; cat "$tmp/out"; exit 1; }
found=$(python3 tests/harness/mailboxes.py path "ethernet:$tmp/class" tclass dscp eth_prio | sort)
[ "$found" = "$(printf '%s\n' '184 46 5' '32 8 0')" ] || { echo "the class of hello should set 184 46 5 and 32 8 0 in the adapter, not $found"; status=1; }
exit $status
