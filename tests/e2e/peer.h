/* SPDX-License-Identifier: BSD-2-Clause */
/* A second process with an end of its own that does one thing for as long as it lives. */
#ifndef TESTS_E2E_PEER_H
#define TESTS_E2E_PEER_H

#include "tests/e2e/ledger.h"

enum activity { IDLES, SENDS, RECEIVES, WRITES, READS, BINDS, ACTIVITIES };

/* What two processes tell each other before they are connected. */
struct card {
	DAT_CONN_QUAL qual;
	DAT_RMR_TRIPLET memory;
};

/* Exchanges cards. One of the two listens, the other dials. */
void card_swap(int sock, struct end *e, struct card *other, bool listens);
/* Over the line: connected to the other process, which dials or listens, too. */
void peer_join(int sock, struct end *e, struct card *other, bool listens);

struct peer_plan {
	enum activity does;
	bool listens;			/* else it dials */
};

/* Spawns it; then peer_meet(), once this process has its own end. */
void peer_start(struct th_child *child, const struct peer_plan *plan);
void peer_meet(struct th_child *child, const struct peer_plan *plan, struct end *e,
	       struct card *other);

/* This side's work beside a peer that does that: posts, and takes what has completed. */
struct opposite {
	struct end *e;
	struct card peer;
	enum activity peer_does;
	struct ledger requests, receives;
	uint64_t moved;			/* completions of success */
};
void opposite_init(struct opposite *o, struct end *e, const struct card *peer, enum activity does);
void opposite_work(struct opposite *o);

#endif
