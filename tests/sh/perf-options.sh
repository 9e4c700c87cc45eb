#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each program that follows perftest: --help, errors on the command line, no server, and plots without
# gnuplot.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/must.sh
programs="dat_write_lat dat_write_bw dat_read_lat dat_read_bw dat_send_lat dat_send_bw dat_bind_lat dat_bind_bw dat_conn_rate"
bin=$DAPL_BUILD_DIR/bin
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
port=$(($$ << 16))		# no process listens there

one_program() {
	local p=$bin/$1
	must 0 '^Usage: ' "$p" --help
	must 0 '^Usage: ' "$p" -h
	must 0 '^dapl-direct [0-9]' "$p" --version
	must 64 'unrecognized option' "$p" --no-such-option
	must 64 "-n 'many' is not a number" "$p" -n many
	must 64 'requires an argument' "$p" -n
	must 64 'requires an argument' "$p" --plot
	must 64 'is not a number from 5' "$p" -n 4
	must 64 "--warm-up '-1' is not a number from 0" "$p" --warm-up=-1
	must 64 'needs -D' "$p" --run_infinitely
	must 64 'one HOST' "$p" one two
	must 64 'ends with .svg or .png' "$p" --plot picture.jpeg
	must 1 'is there a line for it in dat.conf' "$p" -d no-such-adapter
	must 1 'sl=9: must be 0 to 7 on Ethernet' "$p" -S 9 h
	grep -q 'is there a line' <<<"$out" && { echo "$1 has found a line, and doubts it: $out"; exit 1; }
	must 64 "--tclass '256' is not a number from 0 to 255" "$p" --tclass 256
	must 1 'tclass=106: this adapter has no such key' "$p" --tclass 106 -d soft-efa-0 h
	must 1 'apt-get install gnuplot-nox' env PATH=/nowhere "$p" --plot "$tmp/x.svg"
	must 1 'cannot stay on CPU' "$p" --cpu 4095
	must 1 '/nowhere/j cannot be written: No such file' "$p" --out_json_file /nowhere/j h
	must 1 'no.such.host: ' "$p" no.such.host
	grep -q waiting <<<"$out" && { echo "$1 waits although its options name no host: $out"; exit 1; }
	must 1 "no $1 is waiting at 127.0.0.1" "$p" -p $port 127.0.0.1
}

# Compares the options on a page with those of the program, by the first name of each.
documented() {
	sed -n '/that all these programs have, and/,/^\.\(Pp\|Sh\)/p' "man/$1.1" | sed -n 's/^\.Fl -\{0,1\}\([^ ]*\).*/\1/p' | sort
}

offered() {
	"$bin/$1" --help | sed -n 's/^ *\(-\([A-Za-z]\), \)\{0,1\}--\([A-Za-z_-]*\).*/\2 \3/p' |
		awk '{ print $1 }' | grep -vxE 'V|help|usage' | sort
}

# as_documented: a page lists the options of its program beyond the common ones. dat_perf(7) has all
# of them.
as_documented() {
	local p option
	for p in $programs; do offered $p; done | sort | uniq -c | awk '$1 == 9 { print $2 }' >"$tmp/common"
	for p in $programs; do
		diff <(offered $p | grep -vxFf "$tmp/common") <(documented $p) ||
			{ echo "man/$p.1 has other options than $p --help"; exit 1; }
		for option in $("$bin/$p" --help | grep -oE '^ +(-[A-Za-z], +)?--[A-Za-z_-]+' | tr -d ','); do
			case $option in -V | --help | --usage | --version) continue;; esac
			grep -qE "(Fl|,) ${option#-}( |\$)" man/dat_perf.7 ||
				{ echo "man/dat_perf.7 has no $option"; exit 1; }
		done
	done
}

# means_nothing: options without an effect in a program are refused.
means_nothing() {
	local p rate most
	for p in dat_bind_lat dat_bind_bw dat_read_lat dat_read_bw; do
		must 64 'invalid option' "$bin/$p" -I 64
	done
	for p in dat_write_lat dat_read_lat dat_send_lat; do
		for rate in 0 -1 10000001 many 5x ''; do
			must 64 "--rate '$rate' is not a number from 1 to 10000000" "$bin/$p" "--rate=$rate" h
		done
		must 64 'requires an argument' "$bin/$p" --rate
		must 64 'not with --rate' "$bin/$p" --explain --rate 5 h
	done
	for rate in 0 -1 many 5x nan inf ''; do
		must 64 "-w '$rate' is not a number above 0" "$bin/dat_write_bw" -w "$rate" h || return 1
	done
	# A run without an end reports nothing at its end.
	must 64 'has no end: not with --explain, -w or -y' "$bin/dat_write_lat" -D 1 --run_infinitely --explain h
	must 64 'has no end: not with --explain, -w or -y' "$bin/dat_write_bw" -D 1 --run_infinitely -w 1 h
	must 64 'has no end: not with --explain, -w or -y' "$bin/dat_bind_bw" -D 1 --run_infinitely -y 1 h
	must 64 'each one sleeps' "$bin/dat_send_lat" --explain -e h
	must 64 'unrecognized option' "$bin/dat_write_bw" --explain
	must 64 "'--rate=5'" "$bin/dat_write_bw" --rate=5
	must 64 "'--rate=5'" "$bin/dat_bind_lat" --rate=5
	for p in dat_write_lat dat_read_lat dat_send_lat dat_bind_lat; do
		must 64 'unrecognized option' "$bin/$p" --report_gbits
		must 64 'up to 16777216 samples' "$bin/$p" -n 16777217 -H h
		must 64 'leave nothing' "$bin/$p" -D 4 -f 2
		must 64 '-f needs -D' "$bin/$p" -f 1 h
	done
	must 64 'invalid option' "$bin/dat_bind_bw" -w 1
	must 64 'invalid option' "$bin/dat_conn_rate" -D 4 -f 1
	must 64 'up to 16777216 samples' "$bin/dat_conn_rate" -n 9000000 --processes 2 -U h
	must 1 '^-t: 16384 is too large: soft-mlx5-0 allows at most ' "$bin/dat_write_bw" -t 16384 localhost
	most=$(sed -n 's/^-t: .* allows at most \([0-9]*\)$/\1/p' <<<"$out")
	must 1 'no dat_write_bw is waiting' "$bin/dat_write_bw" -t "$most" -p $port 127.0.0.1
	must 1 "^-t: $((most + 1)) is too large: soft-mlx5-0 allows at most $most" "$bin/dat_write_bw" -t $((most + 1)) localhost
	must 1 '^-o: 128 is too large: soft-mlx5-0 allows at most ' "$bin/dat_read_bw" -o 128 localhost
	must 64 'invalid option' "$bin/dat_write_lat" -e
	must 64 'invalid option' "$bin/dat_conn_rate" -s 64
	must 64 'needs -t' "$bin/dat_write_bw" -t 16 -Q 17
	must 64 'not with -b' "$bin/dat_send_bw" -b -e
}

# The long options of perftest 26.
perftest="
port ib-dev ib-port mtu size iters tx-depth qp-timeout sl gid-index all CPU-freq connection qp events
vector inline_size outs mcg comm_rdma_cm rdma_cm tos hop_limit help MGID rx-depth bidirectional cq-mod
noPeak version report-cycles report-histogrm report-unsorted atomic_type dualport post_list duration
margin source_mac dest_mac dest_ip source_ip dest_port source_port ethertype limit_bw limit_msgrate
server client mac_fwd use_rss report-counters force-link remote_mac local_mac remote_ip local_ip
remote_port local_port run_infinitely report_gbits use-srq no_lock use-null-mr report-both reversed
pkey_index tcp burst_size typical_pkt_size rate_limit rate_limit_type rate_units output cpu_util
out_json out_json_file latency_gap flow_label retry_count dont_xchg_versions payload_file_path use_cuda
use_cuda_bus_id use_cuda_dmabuf use_cuda_pcie_mapping use_data_direct cuda_mem_type use_musa
use_musa_bus_id use_musa_dmabuf use_musa_pcie_mapping use_rocm use_rocm_dmabuf use_neuron
use_neuron_dmabuf use_hl use_mlu use_mlu_dmabuf use_opencl opencl_platform_id use_ib_dm_dmabuf gpu_touch
mmap mmap-offset ipv6 ipv6-addr raw_ipv6 report-per-port odp use_hugepages use_old_post_send promiscuous
sniffer raw_mcast mr_per_qp dlid tclass wait_destroy flows flows_burst reply_every perform_warm_up
vlan_en vlan_pcp recv_post_list aes_xts encrypt_on_tx sig_before aes_block_size kek_path
credentials_path data_enc_keys_number data_enc_key_app_path log_dci_streams log_active_dci_streams
disable_pcie_relaxed use_ooo congest_type bind_source_ip write_with_imm send_with_imm
no_enhanced_reorder unsolicited_write connectionless cqe_poll tph_mem cpu_id ph disable_dynamic_polling
sig_offload data_validation data_validation_debug pin_cores numa_node disable_numa"

# perftest_is_known: each option exists in some program, or is refused with the reason, which is
# also on the page.
perftest_is_known() {
	local name p
	for p in $programs; do "$bin/$p" --help; done >"$tmp/help"
	for name in $perftest; do
		case $name in rdma_cm | comm_rdma_cm) continue ;; esac	# hidden
		grep -qE -e "--$name([= ]|\$)" "$tmp/help" && continue
		must 64 "^dat_write_bw: --$name of perftest does not exist here: .* .*" "$bin/dat_write_bw" "--$name=1"
		grep -qE -e "^\.Fl .*-$name [,.]" man/dat_perf.7 || { echo "man/dat_perf.7 has no --$name"; exit 1; }
	done
	must 64 'of perftest does not exist here: ' "$bin/dat_send_lat" -c UD
	must 64 'of perftest does not exist here: ' "$bin/dat_read_bw" -a -i 1
}

# Options are added to the ia_params of the line. They come after OpenFabrics' form, override the line's
# values, and the line's ia_params need no quotes. no.such.host is looked up only after the adapter is
# open.
line_has_params() {
	local params sl p=$bin/dat_write_lat
	export DAT_OVERRIDE=$tmp/dat.conf
	for params in '"soft-mlx5-0 1"' '"soft-mlx5-0 1 sl=9 tclass=low_latency:8"' device=soft-mlx5-0 '"device=soft-mlx5-0,sl=9"'; do
		echo "ib0 u1.2 nonthreadsafe default libdapl-direct.so dapl_direct.1.2 $params \"\"" >"$tmp/dat.conf"
		must 1 '^cannot find the address of host no.such.host: ' "$p" -d ib0 -S 3 --tclass 106 no.such.host
		must 1 'sl=9: must be 0 to 7 on Ethernet' "$p" -d ib0 -S 9 h
	done
	# A byte order mark is ignored, and a carriage return is a blank.
	for params in $' "device=soft-mlx5-0" ""\r' $'\rdevice=soft-mlx5-0\r"" # ib0'; do
		echo $'\xef\xbb\xbf'"ib0 u1.2 nonthreadsafe default libdapl-direct.so dapl_direct.1.2$params" >"$tmp/dat.conf"
		must 1 'sl=9: must be 0 to 7 on Ethernet' "$p" -d ib0 -S 9 h
	done
	# The name may be quoted, and a number may be octal or hexadecimal.
	echo '"ib0" u1.2 nonthreadsafe default libdapl-direct.so dapl_direct.1.2 device=soft-mlx5-0 ""' >"$tmp/dat.conf"
	for sl in 9 011 0x9 +9; do
		must 1 'sl=9: must be 0 to 7 on Ethernet' "$p" -d ib0 -S "$sl" h
	done
}

# At 2.0 the registry reads its file before main().
level_2_has_params() {
	local p=$DAPL_BUILD_DIR/libexec/dapl-direct/dat2/dat_write_lat
	[ -x "$p" ] || return 0
	export DAT_OVERRIDE=$DAPL_BUILD_DIR/etc/dat2.conf
	must 1 '^cannot find the address of host no.such.host: ' "$p" -d soft-mlx5-0 -S 3 no.such.host
	must 1 'sl=9: must be 0 to 7 on Ethernet' "$p" -d soft-mlx5-0 -S 9 h
}

# Without a line for a software adapter, the options are added to libdat's own entry.
built_in_entry_has_params() {
	[ -e /etc/dat/dat.conf ] && return 0	# it replaces the entries
	unset DAT_OVERRIDE
	must 1 '^cannot find the address of host no.such.host: ' "$bin/dat_write_lat" -d soft-mlx5-0 -I 64 no.such.host
}

(line_has_params) || exit 1
(built_in_entry_has_params) || exit 1
(level_2_has_params) || exit 1
perftest_is_known
means_nothing
as_documented
for program in $programs; do
	one_program $program >"$tmp/$program" &
done
wait
for program in $programs; do
	[ -s "$tmp/$program" ] && cat "$tmp/$program" && exit 1
done
exit 0
