/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/tool/perftest_only.h"

#include <stdio.h>
#include <string.h>

enum { KEYS = 2000, NAME = 32 };

/*
 * Each row: names of options, with a letter before the colon; the advice. dat_perf(7) has the same
 * table.
 */
static const struct {
	const char *names, *why;
} table[] = {
	{ "use_cuda use_cuda_bus_id use_cuda_dmabuf use_cuda_pcie_mapping cuda_mem_type use_musa "
	  "use_musa_bus_id use_musa_dmabuf use_musa_pcie_mapping use_rocm use_rocm_dmabuf use_neuron "
	  "use_neuron_dmabuf use_hl use_mlu use_mlu_dmabuf use_opencl opencl_platform_id gpu_touch "
	  "use_ib_dm_dmabuf use_data_direct",
	  "an LMR is memory of the process, not of a GPU or another device; use perftest" },
	{ "B:source_mac E:dest_mac J:dest_ip j:source_ip K:dest_port k:source_port Y:ethertype v:mac_fwd "
	  "G:use_rss Z:server P:client remote_mac local_mac remote_ip local_ip remote_port local_port tcp "
	  "raw_ipv6 raw_mcast promiscuous sniffer flows flows_burst vlan_en vlan_pcp reply_every",
	  "DAT has no raw Ethernet packets; use raw_ethernet_bw or raw_ethernet_lat" },
	{ "c:connection connectionless log_dci_streams log_active_dci_streams g:mcg M:MGID",
	  "an Endpoint has a reliable connection and no multicast; use perftest for other transports" },
	{ "A:atomic_type", "uDAPL 1.2 has no atomic operations; use dtestx of uDAPL 2.0" },
	{ "write_with_imm send_with_imm unsolicited_write",
	  "uDAPL 1.2 has no immediate data; use dat_send_lat or dat_send_bw" },
	{ "l:post_list recv_post_list use_old_post_send",
	  "these programs post one request at a time; use -Q for fewer completions" },
	{ "cqe_poll disable_dynamic_polling",
	  "dat_evd_dequeue returns one event; use -Q for fewer completions" },
	{ "no_lock", "instances of these programs have no locks; nothing needs to be set" },
	{ "X:vector", "DAT has no completion vectors; use --cpu" },
	{ "pin_cores numa_node disable_numa", "use --cpu, or numactl(8)" },
	{ "i:ib-port", "an Interface Adapter is one port; use -d mlx5_0-2, or port= in dat.conf" },
	{ "O:dualport report-per-port", "an Interface Adapter is one port; run a program for each port" },
	{ "m:mtu force-link", "a connection has the MTU and link layer of its port; set them there" },
	{ "T:tos", "DAT uses no rdma_cm; use --tclass, which has the same bits" },
	{ "pkey_index", "use pkey= in dat.conf" },
	{ "retry_count", "use retry_cnt= in dat.conf" },
	{ "L:hop_limit flow_label dlid", "a consumer of DAT does not set this field of packets; use perftest" },
	{ "ipv6 ipv6-addr bind_source_ip", "use an IPv6 address as HOST, and ip= in dat.conf" },
	{ "rate_limit rate_limit_type rate_units burst_size typical_pkt_size congest_type",
	  "DAT has no rate limit; use --rate of latency programs, or --tclass and a limit in the adapter" },
	{ "aes_xts encrypt_on_tx sig_before aes_block_size kek_path credentials_path "
	  "data_enc_keys_number data_enc_key_app_path sig_offload",
	  "DAT has no encryption and no signature of memory; use perftest" },
	{ "tph_mem cpu_id ph disable_pcie_relaxed no_enhanced_reorder use_ooo",
	  "a consumer of DAT does not choose the order or cache of the adapter's accesses; use perftest" },
	{ "odp use-null-mr use_hugepages mmap mmap-offset mr_per_qp payload_file_path",
	  "these programs register ordinary memory; use perftest for other memory" },
	{ "use-srq", "these programs post receives to each Endpoint; use -r" },
	{ "data_validation data_validation_debug", "use --verify" },
	{ "perform_warm_up", "there always is a warm-up; use --warm-up" },
	{ "report-histogrm", "use --report-histogram" },
	{ "report-both output", "both sides print all columns; use --out_json for scripts" },
	{ "W:report-counters", "DAT has no counters of a port; read those below /sys/class/infiniband" },
	{ "reversed", "the client measures; exchange the hosts" },
	{ "latency_gap", "operations have no pause of a given length; use --rate" },
	{ "wait_destroy", "operations have no pause after them; use perftest" },
	{ "dont_xchg_versions", "both sides must be of one release" },
};

static struct {
	char name[NAME];
	int key;
	const char *why;
} options[PERFTEST_ONLY];

/* Adds a hidden option. Its value is optional, so that the program can refuse the option before a
 * missing value is reported. */
static struct argp_option hidden(size_t n, const char *word, size_t len, const char *why)
{
	size_t letter = len > 2 && word[1] == ':' ? 2 : 0;

	snprintf(options[n].name, NAME, "%.*s", (int)(len - letter), word + letter);
	options[n].key = letter ? word[0] : KEYS + (int)n;
	options[n].why = why;
	return (struct argp_option){ .name = options[n].name, .key = options[n].key, .arg = "",
				     .flags = OPTION_HIDDEN | OPTION_ARG_OPTIONAL };
}

size_t perftest_only(struct argp_option *to)
{
	size_t n = 0;

	for (size_t row = 0; row < sizeof(table) / sizeof(*table); row++) {
		const char *at = table[row].names;

		for (; *at && n < PERFTEST_ONLY; n++) {
			size_t len = strcspn(at, " ");

			to[n] = hidden(n, at, len, table[row].why);
			at += len + strspn(at + len, " ");
		}
	}
	return n;
}

void perftest_only_refuse(int key, struct argp_state *state)
{
	for (size_t n = 0; n < PERFTEST_ONLY && options[n].key; n++)
		if (options[n].key == key)
			argp_error(state, "--%s of perftest does not exist here: %s", options[n].name,
				   options[n].why);
}
