/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The common part of the programs that follow perftest. A program fills in a struct tool_test with a
 * function for the client, which measures one size, and one for the server, which runs meanwhile. The
 * common part does everything else: options, connections, control messages, report.
 *
 * A run is, for each size:
 * 	client: prepare, START ->  server: prepare  <- READY
 * 	client: measure            server: serve, until STOP arrives
 * 	client: STOP ->            server: finish  <- DONE, ROW ->
 */
#ifndef PERF_TOOL_H
#define PERF_TOOL_H

#include "perf/common/consumer.h"
#include "perf/tool/explain.h"
#include "perf/tool/options.h"
#include "perf/tool/record.h"
#include "perf/tool/ticks.h"

enum tool_metric { TOOL_LATENCY, TOOL_BANDWIDTH, TOOL_RATE, TOOL_CONNECTIONS };

/* Bits of tool_test.takes: which options a program has. */
enum {
	TAKES_SIZE = 1 << 0,		/* options -s -a and -f */
	TAKES_DEPTH = 1 << 1,		/* options -t -Q -N -y */
	TAKES_RX = 1 << 2,		/* option -r */
	TAKES_BOTH = 1 << 3,		/* option -b */
	TAKES_READS = 1 << 4,		/* option -o */
	TAKES_VERIFY = 1 << 5,
	TAKES_EVENTS = 1 << 6,		/* option -e */
	TAKES_SAMPLES = 1 << 7,		/* options -H -U -C --histogram */
	TAKES_TARGET = 1 << 8,		/* option --target-polls */
	TAKES_UNBIND = 1 << 9,
	TAKES_INLINE = 1 << 10,		/* option -I */
	TAKES_EPS = 1 << 11,		/* option -q */
	TAKES_PROCESSES = 1 << 12,
	TAKES_BYTES = 1 << 13,		/* options --report_gbits -w */
	TAKES_RATE = 1 << 14,		/* options --rate --explain */
	/* the options that all bandwidth programs have */
	TAKES_STREAM = TAKES_SIZE | TAKES_DEPTH | TAKES_EPS | TAKES_BOTH | TAKES_VERIFY |
		       TAKES_EVENTS | TAKES_BYTES,
};

enum {
	TOOL_SPINS = 4096, TOOL_TEXT = 232,
	/* time limit, in us, for a peer that is alive but sends nothing */
	TOOL_SILENCE_US = 60000000,
};

struct tool;

struct tool_result {
	uint64_t size, iters;
	double peak, average;		/* bytes per second */
	double rate;			/* operations per second */
	double cpu;			/* CPU time of this process, percent of one CPU */
	/* half round trip of a cache line in ns, measured before and after this measurement */
	double line_ns;
	struct record_summary lat;
	uint64_t started_ns;		/* time of its first sample by CLOCK_REALTIME */
	struct record_worst worst[RECORD_WORST];
	/* with --rate: operations that started late, the latest in ns, and those that were due and did
	 * not start */
	uint64_t late, unstarted;
	double late_ns;
	struct explain_result explain;
};

struct tool_test {
	const char *name, *title, *doc;
	enum tool_metric metric;
	unsigned int takes;
	uint64_t size, iters;		/* default values */
	uint32_t depth;
	/* the time of an operation is this part of a sample */
	double part;
	bool looks;			/* the target polls its memory */
	bool spreads;			/* operations in a row go to different places of the target */
	/* These functions return 0, or -1 after a line on stderr. open, prepare and finish may be
	 * NULL. */
	int (*open)(struct tool *t);	/* called once on both sides, after they have connected */
	int (*prepare)(struct tool *t);	/* called on both sides, before each size */
	int (*measure)(struct tool *t, struct tool_result *r);
	int (*serve)(struct tool *t);	/* serves until STOP arrives */
	int (*drain)(struct tool *t);	/* called by the client with -b, between STOP and DONE */
	/* called on both sides after STOP: checks the data for --verify */
	int (*finish)(struct tool *t);
};

enum tool_op { OP_START = 1, OP_READY, OP_STOP, OP_DONE, OP_ROW, OP_BYE, OP_WINDOW };

struct tool_msg {
	uint32_t op;
	uint32_t good;			/* in DONE: the verification succeeded */
	uint64_t size, seed;		/* in START */
	/* in STOP and DONE: number of messages, including the warm-up; or the smallest number of writes
	 * of any endpoint */
	uint64_t sent;
	/* in DONE: number of the server's own operations that count, and their time */
	uint64_t count, ns;
	uint64_t addr;			/* in WINDOW: address of the window */
	uint32_t rmr_context;
	char text[TOOL_TEXT - 4];
};

struct tool_peer {			/* private data of the server's answer, for each endpoint */
	uint32_t magic, rmr_context;
	uint64_t addr;
};

struct tool_hello {			/* private data of each request */
	uint32_t magic, version;
	char program[16];
	uint32_t which;			/* 0: the control endpoint; from 1: a measured endpoint */
	uint32_t eps, depth, rx_depth, reads;
	uint32_t both_ways, events, verify, target_polls, gbits, cpu_util, processes;
	uint64_t size, iters, duration_s, margin_s, warm_up, cq_mod, rate;
	struct tool_peer memory;
};

struct tool_ep {
	DAT_EP_HANDLE ep;
	struct tool_peer peer;		/* address of the peer's memory */
	uint64_t posted, completed, signalled;
};

struct tool {
	const struct tool_test *test;
	struct tool_options o;
	bool client;
	const char *port;		/* device and port of the IA, as in mlx5_0-1 */
	struct consumer c;		/* the control endpoint and its EVDs */
	struct consumer data;		/* the EVDs of the measured endpoints, of the same IA */
	struct region ctl_send, ctl_recv;
	/* memory that the peer may access, and private memory; each endpoint has a slice of both */
	struct region mine, local;
	struct tool_ep *eps;
	size_t slice;
	/* A slice has places for operations of the current size: distance of two places; number of the
	 * last place */
	size_t stride;
	uint64_t last_place;
	uint64_t max_size, size;	/* largest size of all measurements, and current size */
	uint64_t seed, deadline, iters;
	uint64_t started_ns;		/* start of the measurement by CLOCK_REALTIME */
	struct record rec;
	struct tool_msg msg;		/* the message received last */
	/* the last message is STOP or DONE, so the peer sends no more operations */
	bool stop;
	/* this side is the client of a run with -b, has sent STOP, and waits for DONE */
	bool draining;
	uint64_t own_count, own_ns;	/* this side's operations that count, and their time */
	uint64_t sent;
	/* number of operations so far, including those that do not count */
	volatile uint64_t progress;
	uint64_t silent_since, seen;	/* state of tool_idle() */
};

/* Each program defines this; main.c passes it to run.c. */
extern const struct tool_test tool_test;
int tool_main(const struct tool_test *test, int argc, char **argv);

/* functions of place.c */
/* Pins the process to a CPU. Returns 0, or -1 after a line on stderr. */
int tool_pin(int cpu);
/* Describes the current CPU and the allowed ones in words. */
void tool_place(const struct tool *t, char *text, size_t len);
/* Returns half a round trip of a cache line between this CPU and another, in ns; 0 if there is no
 * other CPU. */
double tool_line_ns(void);
uint64_t tool_wall_ns(void);		/* returns the time by CLOCK_REALTIME */
double tool_cpu_s(void);		/* returns the CPU time of this process and its children */

/* functions of link.c */
int tool_connect(struct tool *t);
int tool_serve_connect(struct tool *t);
DAT_EP_ATTR tool_ep_attr(const struct tool *t);
/* Sets the current size of the operations. */
void tool_set_size(struct tool *t, uint64_t size);
struct tool_hello tool_hello(const struct tool *t, uint32_t which);
/* Checks the private data of a request. Returns 0 if it is for this endpoint of this client; 1 if it was
 * refused, with a message; -1. */
int tool_screen(const struct tool *t, uint32_t which, DAT_CR_HANDLE cr, struct tool_hello *h);
/* limits.c: -1, after a message, if the options exceed the adapter's limits. */
int tool_fits(struct tool *t);

/* functions of ctl.c */
int ctl_open(struct tool *t);
/* Creates an endpoint to be connected. If one has failed to connect, replaces it. */
int ctl_endpoint(struct tool *t);
int ctl_send(struct tool *t, const struct tool_msg *m);
/* Sends BYE, upon which the server exits, perhaps before this side has the completion. */
void ctl_bye(struct tool *t);
/* Sleeps until a message arrives, and stores it in t->msg. */
int ctl_wait_any(struct tool *t);
/* Waits for a message of that kind. Any other message is an error. */
int ctl_wait(struct tool *t, enum tool_op op);
/* Returns true if a message has arrived, and stores it in t->msg. Does not wait. */
bool ctl_poll(struct tool *t);

/* functions of loop.c, for waiting */
/* To be called while waiting. Returns 0: continue to wait; 1: the peer has sent STOP; -1: the peer is
 * gone. */
int tool_idle(struct tool *t, DAT_RETURN ret);
/* Prints the status of a failed completion, and returns -1. */
int tool_bad(struct tool *t, const DAT_EVENT *ev);
/* Prints why a post was refused, and returns -1. */
int tool_refused(struct tool *t, DAT_RETURN ret);
/* Prints that the connection has ended, and returns -1. */
int tool_lost(struct tool *t);
/* Returns -1 after a failure that has printed a message. If the connection has ended, prints that,
 * too. */
int tool_failed(struct tool *t);
int tool_post_recv(struct tool *t, unsigned int ep);
int tool_post_recvs(struct tool *t);
/* tool_test.serve of a side that is only a target: sleeps, or polls an empty EVD. */
int target_serve(struct tool *t);
/* True while the measurement continues, by number of iterations or seconds. */
static inline bool tool_more(const struct tool *t, uint64_t done)
{
	return t->o.duration_s ? ticks() < t->deadline : done < t->iters;
}

static inline bool tool_good(const DAT_EVENT *ev)
{
	if (ev->event_number == DAT_DTO_COMPLETION_EVENT)
		return ev->event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
	return ev->event_number == DAT_RMR_BIND_COMPLETION_EVENT &&
	       ev->event_data.rmr_completion_event_data.status == DAT_RMR_BIND_SUCCESS;
}

/* Waits for the next completion. Returns 0; 1: STOP came instead; -1. */
static inline int tool_wait(struct tool *t, DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	unsigned int spins = 0;
	DAT_COUNT more;
	DAT_RETURN ret;
	int rc;

	for (;;) {
		ret = t->o.events ? dat_evd_wait(evd, 100000, 1, ev, &more) :
				    dat_evd_dequeue(evd, ev);
		if (ret == DAT_SUCCESS)
			return tool_good(ev) ? 0 : tool_bad(t, ev);
		if (!t->o.events && ++spins % TOOL_SPINS)
			continue;
		rc = tool_idle(t, ret);
		if (rc)
			return rc;
	}
}

/*
 * Handles the return code of a post, then waits for its completion, even after STOP. The peer may see
 * the data before the completion comes; a completion left in the EVD would be taken for that of the
 * next post.
 */
static inline int tool_completes(struct tool *t, DAT_RETURN ret)
{
	DAT_EVENT ev;
	int rc;

	if (ret != DAT_SUCCESS)
		return tool_refused(t, ret);
	do
		rc = tool_wait(t, t->data.req_evd, &ev);
	while (rc > 0);
	return rc;
}

static inline DAT_RMR_TRIPLET tool_target(const struct tool_ep *e, size_t off, uint64_t len)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = e->peer.rmr_context,
				  .TARGET_ADDRESS = e->peer.addr + off, .segment_length = len };
}

#endif
