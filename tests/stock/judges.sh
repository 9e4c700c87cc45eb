# SPDX-License-Identifier: BSD-2-Clause
# The output of stock programs after success. A judge prints what is wrong, or nothing. The function of
# the same name with _says prints the figure for the table. They read $tmp/client and $tmp/server, and
# take the command line from $name.

# option LETTER DEFAULT: prints the option's value in the command line
option() {
	sed -nE "s/.* -$1 ([0-9]+).*/\1/p" <<<"$name " | grep . || echo "$2"
}

has() { [[ " $name " == *" $1 "* ]]; }

both_say() {
	local f
	for f in server client; do
		grep -qE "$1" "$tmp/$f" || echo "$f does not say $2"
	done
}

pingpong() {
	both_say "^$(option n 1000) iters in" "that it is through"
	! grep -q 'invalid data' "$tmp/client" "$tmp/server" || echo "invalid data"
}
pingpong_says() { grep 'iters in' "$tmp/client"; }

# rows: prints the rows of perftest's table, which start with two numbers
rows() { grep -E '^ *[0-9]+ +[0-9]+ ' "$tmp/client"; }

# perftest: checks that there are `sizes` rows, each with all iterations and a figure in column $1.
# Few bytes in a long time are printed as 0.00 MB/s.
perftest() {
	local column=$1 n count=1
	n=$(($(option n 1000) * $(option q 1)))
	! has -a || count=23
	[ "$(rows | wc -l)" = $count ] || echo "$(rows | wc -l) rows and not $count"
	rows | awk -v n=$n -v c="$column" '$2 != n { print $1 " bytes: " $2 " iterations and not " n }
		$c !~ /^[0-9]+\.[0-9]+$/ { print $1 " bytes: no figure" }'
}
latency() { perftest 5; }
latency_says() { rows | awk 'END { print "typical " $5 " us at " $1 " bytes" }'; }
bandwidth() { perftest 4; }
bandwidth_says() { rows | awk 'END { print $4 " MB/s at " $1 " bytes" }'; }

ucx() {
	local n
	n=$(option n 1000)
	grep -qE "^Final: +$n " "$tmp/client" || echo "no final row with $n iterations"
	! grep -h ERROR "$tmp"/* | head -n 1 | grep .
}
ucx_says() { awk '/^Final:/ { print "average " $4 " us, " $7 " MB/s" }' "$tmp/client"; }

ucx_transport() {
	grep -qE "Transport: $(sed 's/.*-t //' <<<"$name")\$" "$tmp/client" || echo "the device is not listed"
	! grep 'failed to open interface' "$tmp/client"
}
ucx_transport_says() { sed -n 's/.*\(latency: .*nsec\).*/\1/p' "$tmp/client" | head -n 1; }

dapl() { both_say "PASSED|Test Complete|CONNECTED on|End of Work|Service Point" "that it has passed"; }
dapl_says() { grep -hoE 'PASSED|Test Complete|[0-9.]+ usec, CPS [0-9.]+|End of Work' "$tmp/client" | tail -n 1; }

devices() {
	local n
	n=$(grep -c '^hca_id:' "$tmp/client")
	[ "$n" = 1 ] || echo "$n devices"
	grep -qE 'state:.*PORT_ACTIVE' "$tmp/client" || echo "port not active"
	grep -qE 'active_mtu:.*4096' "$tmp/client" || echo "MTU is not 4096"
	grep -qE 'link_layer:.*Ethernet' "$tmp/client" || echo "link layer is not Ethernet"
	grep -qE 'GID\[ +0\]:.*fe80:.*RoCE v2' "$tmp/client" || echo "GID 0 is not of RoCE v2"
}
infiniband() {
	grep -qE 'port_lid:[[:space:]]+[1-9]' "$tmp/client" || echo "no LID"
	grep -qE 'link_layer:.*InfiniBand' "$tmp/client" || echo "link layer is not InfiniBand"
}
infiniband_says() { grep -o 'port_lid:.*' "$tmp/client" | tr -s '[:space:]' ' '; }
devices_says() { sed -n 's/.*GID\[ *0\]:[[:space:]]*/GID /p' "$tmp/client"; }

efa_devices() {
	local n
	n=$(grep -c '^hca_id:.*efa_' "$tmp/client")
	[ "$n" = 1 ] || echo "$n devices"
	grep -qE 'state:.*PORT_ACTIVE' "$tmp/client" || echo "port not active"
	grep -qE 'vendor_id:.*0x1d0f' "$tmp/client" || echo "the vendor is wrong"
	grep -qE 'GID\[ +0\]:.*fe80:' "$tmp/client" || echo "no GID"
}
efa_devices_says() { sed -n 's/.*vendor_part_id:[[:space:]]*/part /p' "$tmp/client"; }

efa_info() {
	grep -q 'type: FI_EP_RDM' "$tmp/client" && grep -q 'type: FI_EP_DGRAM' "$tmp/client" ||
		echo "not both kinds of endpoint are listed"
}
efa_info_says() { grep -o 'domain: .*' "$tmp/client" | tr '\n' ' '; }

# rows_of: counts the rows in which all sent messages were acknowledged ("="), on both sides
rows_of() { grep -cE '^[0-9.]+[km]? +[0-9.]+[km]? +=' "$tmp/$1"; }
libfabric() {
	local f
	for f in server client; do
		[ "$(rows_of $f)" -gt 0 ] || echo "$f has no row"
		[ "$(grep -cE '^[0-9]' "$tmp/$f")" = "$(rows_of $f)" ] || echo "$f has an incomplete row"
	done
}
libfabric_says() { awk '/^[0-9]/ { size = $1; us = $7 } END { print us " us at " size " bytes" }' "$tmp/client"; }
