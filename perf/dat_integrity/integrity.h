/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of dat_integrity: two endpoints of one process, transfers of many shapes, and refusals. */
#ifndef INTEGRITY_H
#define INTEGRITY_H

#include "perf/common/consumer.h"

enum { LEN_MAX = 1 << 20, SEGS_MAX = 64, GUARD = 64, AREA = LEN_MAX + SEGS_MAX * 256, DONE_MAX = 4 };

/* Memory of one side, registered with all rights. */
struct area {
	unsigned char *mem;
	DAT_LMR_HANDLE handle;
	DAT_LMR_CONTEXT lmr;
	DAT_RMR_CONTEXT rmr;
};

enum queue { Q_REQUEST, Q_RECEIVE, Q_BIND, QUEUES };

struct done {
	DAT_DTO_COMPLETION_STATUS status;
	DAT_VLEN length;
};

/* Two consumers of one process: `a` posts all transfers, `b` receives and binds the windows. */
struct world {
	struct consumer a, b;
	struct area local, remote;	/* local is memory of a, remote is memory of b */
	DAT_RMR_HANDLE rmr;		/* the RMR of b */
	bool windows;			/* true if the adapter has RMRs */
	DAT_CONN_QUAL qual;
	DAT_IA_ATTR attr;
	struct done done[QUEUES][DONE_MAX];
};

enum op { OP_SEND, OP_WRITE, OP_READ, OP_WINDOW, OPS };
enum plant { PLANT_NOTHING, PLANT_DATA, PLANT_GUARD };

struct tally {
	uint64_t transfers, bytes, failed;
};

enum { MESSAGES_MAX = 20, MESSAGE_LEN = 256, REFUSALS_MAX = 128 };

struct refusal {
	const char *name;
	size_t len;
	const char *expected, *found;	/* expected and found status */
	bool good;
};

struct report {
	const char *ia, *json;
	uint64_t seed, rounds;
	bool quick, data, refusals;
	enum plant plant;
	struct tally op[OPS];
	struct refusal refusal[REFUSALS_MAX];
	unsigned int n_refusals;
	char message[MESSAGES_MAX][MESSAGE_LEN];
	unsigned int n_messages;	/* number of messages in the list */
	uint64_t failures;
};

extern const char *const op_names[OPS];

/* Counts a failure, prints it on stderr and keeps the first MESSAGES_MAX. */
__attribute__((format(printf, 2, 3))) void report_failure(struct report *r, const char *form, ...);
/* Writes the file r->json; -1 after a message. */
int report_json(const struct report *r, const struct world *w);

/* world.c: functions return 0, or -1 after a message on stderr */
int world_open(struct world *w, const char *ia);
void world_close(struct world *w);
/* Waits for this many completions: of requests at a, and of receives and binds at b. Counts them in
 * w->done. */
int world_wait(struct world *w, const unsigned int count[QUEUES]);
/* Waits until both sides have got the event that ends the connection. */
int world_wait_end(struct world *w);
/* Ends the connection, if it has not ended, and connects two new endpoints. */
int world_reconnect(struct world *w);
/* Creates an LMR of the bytes at mem. */
int world_register(struct consumer *c, void *mem, size_t len, DAT_MEM_PRIV_FLAGS rights,
		   DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *local, DAT_RMR_CONTEXT *remote);
/* Binds b's window to these bytes of b's area, and waits for the completion; len 0 unbinds. */
int world_bind(struct world *w, size_t at, size_t len, DAT_MEM_PRIV_FLAGS rights,
	       DAT_RMR_CONTEXT *context);

/* Functions of transfer.c and refuse.c. They return -1 if the connection cannot be used any more;
 * failures are in the report. */
int transfer_all(struct world *w, struct report *r);
int refuse_all(struct world *w, struct report *r);

#endif
