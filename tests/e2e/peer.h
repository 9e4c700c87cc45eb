/* SPDX-License-Identifier: BSD-2-Clause */
/* A second process with its own end that does one thing for as long as it lives. */
#ifndef TESTS_E2E_PEER_H
#define TESTS_E2E_PEER_H

#include "tests/e2e/ledger.h"

enum activity { IDLES, SENDS, RECEIVES, WRITES, READS, BINDS, ACTIVITIES };

/* The data that two processes must exchange before they connect. */
struct card {
	DAT_CONN_QUAL qual;
	DAT_RMR_TRIPLET memory;
};

/* Exchanges cards. One of the two listens, the other connects. */
void card_swap(int sock, struct end *e, struct card *other, bool listens);
/* Connects to the other process, after an exchange of cards over the socket. */
void peer_join(int sock, struct end *e, struct card *other, bool listens);

struct peer_plan {
	enum activity does;
	bool listens;			/* true if the peer listens; otherwise it connects */
};

/* Spawns the peer. Call peer_meet() once this process has its own end. The peer sends a byte after its first
 * completion. */
void peer_start(struct th_child *child, const struct peer_plan *plan);
void peer_meet(struct th_child *child, const struct peer_plan *plan, struct end *e,
	       struct card *other);

/* Does this side's work while such a peer works: posts, and dequeues completions. */
struct opposite {
	struct end *e;
	struct card peer;
	enum activity peer_does;
	struct ledger requests, receives;
	uint64_t moved;			/* number of successful completions */
};
void opposite_init(struct opposite *o, struct end *e, const struct card *peer, enum activity does);
void opposite_work(struct opposite *o);

#endif
