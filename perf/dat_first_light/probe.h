/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Questions that only an adapter can answer. Each is a probe with its own number. A probe runs in its
 * own process, with nothing open, and is killed at its deadline.
 */
#ifndef PERF_DAT_FIRST_LIGHT_PROBE_H
#define PERF_DAT_FIRST_LIGHT_PROBE_H

#include "perf/common/pair.h"

enum verdict {
	NO_ANSWER,		/* a call failed, or the process ended early */
	GOOD,			/* the adapter behaves as this provider assumes */
	TUNE,			/* the adapter works, but another setting works better */
	BAD,			/* the adapter does not behave as this provider assumes */
	SKIPPED,
};

struct answer {
	enum verdict verdict;
	char text[240];
	char set[120];		/* the ia_param or environment variable to set, or "nothing" */
};

/* The context in which each probe runs. */
struct light {
	/* given: the ia_params of -a; params: those of each open, which begin with those of dat.conf */
	const char *ia, *given, *params;
	const char *provider;		/* path of the provider's library */
	bool efa, quick;
	char access[16];		/* access: "devx", "vfio", "efadv" or "model" */
	char adapter[300];
	char device[80];		/* device and port of the IA, which may have any name */
};

enum kind { CONNECTX = 1, EFA = 2 };

struct probe {
	unsigned int number, kinds;
	const char *question;
	void (*run)(const struct light *l, struct answer *a);
	const char *why_not;	/* the reason, if run is NULL */
	const char *set;	/* parameter that the probe may propose */
};

extern const struct probe probes[];	/* the last element has number 0 */

/* ---- Functions of world.c */

/* Writes the answer. set: what the user should set. */
void say(struct answer *a, enum verdict verdict, const char *set, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
#define good(a, ...) say(a, GOOD, "nothing", __VA_ARGS__)
#define skipped(a, ...) say(a, SKIPPED, "nothing", __VA_ARGS__)
#define tune(a, set, ...) say(a, TUNE, set, __VA_ARGS__)
#define bad(a, set, ...) say(a, BAD, set, __VA_ARGS__)

/* Returns the ia_params of this provider's first line for the IA in dat.conf, followed by those given. The
 * caller frees the text. */
char *light_params(const char *ia, const char *given);
/* Makes this process open the IA with the parameters of the run and with these params. To be called once
 * per process. */
void light_conf(const struct light *l, const char *params);
/* Connects two endpoints. If that fails, it writes the failure as the answer and returns false. */
bool light_pair(const struct light *l, const char *params, struct pair *p, struct answer *a);
/* Returns a named attribute of the provider, or "". */
void light_attr(DAT_IA_HANDLE ia, const char *name, char *value, size_t size);

/* The functions post_*() post requests to a.ep and receives to b.ep. They return false after a line on
 * stderr. */
bool post_write(struct pair *p, const struct region *from, const DAT_RMR_TRIPLET *to);
bool post_send(struct pair *p, size_t len);
bool post_recv(struct pair *p, size_t len);
bool post_read(struct pair *p, size_t len);
/* Waits ms milliseconds for the next completion. Returns its status in words, or "none". */
const char *completed(DAT_EVD_HANDLE evd, unsigned int ms);
/* Waits for a successful completion. Any other result becomes the probe's answer. */
bool succeeded(struct answer *a, DAT_EVD_HANDLE evd, const char *of);
/* Like succeeded(), but waits only ms milliseconds: the completion may never come. */
bool succeeded_within(struct answer *a, DAT_EVD_HANDLE evd, unsigned int ms, const char *of);

/* Returns the time at which a probe of many rounds stops early, because a busy machine may take
 * minutes for all of them. */
uint64_t long_enough(void);
/* Like long_enough(), for probes that always use all their time: returns a time shortly before the time
 * limit of a probe. */
uint64_t nearly_a_minute(void);

/*
 * Makes one transfer of len bytes. Waits until a request has completed, or until a message has been
 * received.
 */
typedef bool round_fn(struct pair *p, size_t len);
round_fn write_round, read_round, send_round;
/* Transfers 24 messages of len bytes at once. For messages of 32 KiB an EFA needs more packets than its
 * default window. */
round_fn burst_round;
/* Returns the median time of many transfers, measured in a process of its own. 0: the measurement
 * failed. */
double median_us(const struct light *l, const char *params, round_fn *round, size_t len);

/* ---- Probes of queues.c, shared.c, window.c, data.c, tuning.c and port.c, which use DAT */
typedef void probe_fn(const struct light *l, struct answer *a);
probe_fn probe_endpoints, probe_many, probe_resize, probe_responder_error;
probe_fn probe_srq_count, probe_srq_limit, probe_srq_back;
probe_fn probe_bind, probe_rebind, probe_old_key, probe_bind_cost;
probe_fn probe_order, probe_threads, probe_integrity, probe_connections;
probe_fn probe_doorbell, probe_measure, probe_inline, probe_scatter_recv, probe_scatter_read;
probe_fn probe_mtu, probe_link, probe_heartbeat, probe_bond, probe_mac;
probe_fn probe_wide, probe_rendezvous, probe_window, probe_laps;
/* ---- Probes of efa.c and efa_objects.c, which drive the device directly */
probe_fn probe_flush, probe_consumer, probe_empty, probe_unnamed, probe_refused, probe_rkey;
probe_fn probe_dereg, probe_least, probe_two_pds, probe_rx_op, probe_cq_size;

#endif
