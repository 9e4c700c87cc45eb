/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The questions. Their numbers never change, because reports contain them. 1 to 9 apply to both kinds of
 * adapter, 10 to 59 to a ConnectX, 60 and up to an EFA. Questions whose answer may require a setting
 * come first.
 */
#include "perf/dat_first_light/probe.h"

const struct probe probes[] = {
	{ 1, CONNECTX | EFA, "Do endpoints connect?", probe_endpoints, NULL, NULL },
	{ 2, CONNECTX | EFA, "Do polls of a write's last byte see all of it?", probe_order, NULL, NULL },
	{ 3, CONNECTX | EFA, "Do writes arrive byte for byte?", probe_integrity, NULL, NULL },
	{ 4, CONNECTX | EFA, "Do connections follow each other fast?", probe_connections, NULL, NULL },
	{ 5, CONNECTX | EFA, "Can many queues be made?", probe_many, NULL, NULL },
	{ 6, CONNECTX | EFA, "May two threads post in turns?", probe_threads, NULL, NULL },
	{ 7, CONNECTX | EFA, "How long does a bind take?", probe_bind_cost, NULL, NULL },

	{ 10, CONNECTX, "Is BlueFlame the best doorbell?", probe_doorbell, NULL, NULL },
	{ 11, CONNECTX, "Is mmio=measure safe?", probe_measure, NULL, NULL },
	{ 12, CONNECTX, "Is inline data faster?", probe_inline, NULL, NULL },
	{ 13, CONNECTX, "Is scatter_cqe=1 faster?", probe_scatter_recv, NULL, NULL },
	{ 14, CONNECTX, "Is scatter_cqe=2 faster?", probe_scatter_read, NULL, NULL },
	{ 15, CONNECTX, "Is the path MTU 4096?", probe_mtu, NULL, NULL },
	{ 16, CONNECTX, "Does VFIO raise the link?", probe_link, NULL, NULL },
	{ 17, CONNECTX, "Is the port part of a bond?", probe_bond, NULL, NULL },
	{ 18, CONNECTX, "Does firmware report the MAC of the port?", probe_mac, NULL, NULL },
	{ 44, CONNECTX, "Does live firmware stop its heartbeat for seconds (VFIO)?", probe_heartbeat, NULL,
	  NULL },

	{ 20, CONNECTX, "Can an EVD grow while requests complete?", probe_resize, NULL, NULL },
	{ 21, CONNECTX, "Are the receives of an SRQ counted?", probe_srq_count, NULL, NULL },
	{ 22, CONNECTX, "Does an SRQ signal its low watermark?", probe_srq_limit, NULL, NULL },
	{ 23, CONNECTX, "Does an SRQ keep its receives when connections end?", probe_srq_back, NULL, NULL },
	{ 24, CONNECTX, "Does the target of a refused write get an event?", probe_responder_error, NULL,
	  NULL },

	{ 30, CONNECTX, "Can windows be bound?", probe_bind, NULL, NULL },
	{ 31, CONNECTX, "Can a bound window be bound again?", probe_rebind, NULL, NULL },
	{ 32, CONNECTX | EFA, "Does a bind end the context before?", probe_old_key, NULL, NULL },

	{ 40, CONNECTX, "Do frames of other hosts arrive by VFIO?", NULL,
	  "this needs a second host: run dat_pingpong -s here and dat_pingpong there", "nothing" },
	{ 41, CONNECTX, "Is traffic in the right class of a lossless fabric?", NULL,
	  "only the switch's counters can show it", "sl=PRIORITY" },
	{ 42, CONNECTX, "Is data in order where the fabric has several paths?", NULL,
	  "loopback has one path; write_order of dat_info says what the adapter promises", "nothing" },
	{ 43, CONNECTX, "Are queue counters, ECE and isolate_vl_tc needed?", NULL,
	  "they are statistics and tuning: no transfer depends on them", "nothing" },

	{ 60, EFA, "Is efa_inline=80 better?", probe_wide, NULL, NULL },
	{ 61, EFA, "Is rendezvous faster for long messages?", probe_rendezvous, NULL, NULL },
	{ 62, EFA, "Is a window of 64 packets enough?", probe_window, NULL, NULL },
	{ 63, EFA, "Can a CQ of 32768 entries be made?", probe_cq_size, NULL, NULL },

	{ 70, EFA, "Does a QP in ERR flush its work?", probe_flush, NULL, NULL },
	{ 71, EFA, "Does a CQ stop if its doorbell is never written?", probe_consumer, NULL, NULL },
	{ 72, EFA, "Can an empty message be sent?", probe_empty, NULL, NULL },
	{ 73, EFA, "Do the first receives lack the address handle?", probe_unnamed, NULL, NULL },
	{ 74, EFA, "Is the first RDMA of a peer refused?", probe_refused, NULL, NULL },
	{ 75, EFA, "Are rkeys reused?", probe_rkey, NULL, NULL },
	{ 76, EFA, "Does a deregistration end writes under way?", probe_dereg, NULL, NULL },
	{ 77, EFA, "Can the shortest queues be made?", probe_least, NULL, NULL },
	{ 78, EFA, "Does each PD get its own number for an address handle?", probe_two_pds, NULL, NULL },
	{ 79, EFA, "Do receives of sends have operation 0?", probe_rx_op, NULL, NULL },
	{ 81, EFA, "Does the IA's CQ go on for two laps without a wait?", probe_laps, NULL, NULL },

	{ 90, EFA, "Does another availability zone answer?", NULL,
	  "this needs a second host there; both ends have to be in one zone", "nothing" },
	{ 91, EFA, "Is an RDMA write inside its request faster?", NULL,
	  "this provider posts no such write", "nothing" },
	{ .number = 0 },
};
