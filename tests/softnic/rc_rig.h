/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A minimal driver of the software ConnectX for the transport's tests: a device with one PD, CQ, EQ and
 * memory key, and its QPs. Like a driver it uses commands, queues and doorbells.
 */
#ifndef TEST_RC_RIG_H
#define TEST_RC_RIG_H

#include "softnic/be.h"
#include "softnic/softnic.h"

#define RIG_DATA (8u << 20)

struct rig {
	struct softnic *nic;
	uint8_t *arena, *data;		/* data: RIG_DATA bytes that the key covers */
	size_t used;			/* bytes used for queues */
	uint32_t uar, pdn, eqn, cqn, mkey, key;
	uint8_t *cq, *eq;
	be32_t *cq_dbr;
	uint32_t cq_ci, eq_ci;
	uint8_t gid[16], mac[6];
	uint16_t udp_port;
};

struct rig_qp {
	struct rig *rig;
	uint32_t qpn, psn;
	uint8_t *rq, *sq;
	be32_t *dbr;
	uint16_t rq_pi, sq_pi;
	unsigned int ce;		/* completion mode of posted WQEs; initially 2 */
	unsigned int fence, solicited;
	/* the first bytes of the last WQE: the value of its doorbell */
	uint8_t last[8];
};

/* The attributes of a connection; a zero field means the default in brackets. */
struct rig_conn {
	unsigned int mtu;		/* PRM code, 1: 256 .. 5: 4096 [3] */
	uint32_t psn_a, psn_b;		/* first PSN of each side */
	unsigned int retry, rnr_retry;	/* [7, 7]; RIG_NO: 0 */
	unsigned int timeout;		/* [12] */
	unsigned int min_rnr;		/* [1: 0.01 ms] */
	unsigned int log_rd;		/* reads in flight, log2 [4]; RIG_NO: 0 */
	unsigned int log_rd_b;		/* reads that b grants to a, if fewer */
	unsigned int rights;		/* rights RIG_R... of the QPs [all] */
	unsigned int tclass, dscp;
	bool loop;			/* force loopback: the path has no address */
};
/* RIG_NO_MODE: RAE without an atomic mode */
enum { RIG_NO = ~0u, RIG_RRE = 1, RIG_RWE = 2, RIG_RAE = 4, RIG_NO_MODE = 8 };

struct rig_cqe {
	unsigned int op;		/* 0 REQ, 1.. responder, 13 REQ_ERR, 14 RESP_ERR */
	unsigned int syndrome, counter, wqe_op;
	uint32_t len, qpn, imm;
	bool solicited;
	unsigned int format;		/* 1: the data begins at `at`; 2: 64 bytes before it */
	const uint8_t *at;
};

/* Attributes that a peer needs, possibly in another process. */
struct rig_peer {
	uint32_t qpn, psn, key;
	uint8_t gid[16], mac[6];
	uint16_t udp_port;		/* 0: the peer is reached by memory */
	void *data;
};

/* Settings for the rigs that are opened next: CQE size, 64 or 128; for their QPs PRM cs_req and
 * cs_res. */
extern struct rig_scatter { unsigned int cqe_size, req, res; } rig_scatter;
/* The rigs that are opened next reach each other by UDP at this address of this host, as devices of two
 * hosts do. NULL, initially: by memory. */
extern const char *rig_udp;
/* The IP address of the rigs that are opened next is also GID 1, and their QPs connect from it, as with
 * devices that are not ours. */
extern bool rig_foreign;
void rig_open(struct rig *rig, unsigned int flags, uint64_t seed);
/* The thread that drives the device calls irq with the rig. */
void rig_open_irq(struct rig *rig, unsigned int flags, uint64_t seed,
		  void (*irq)(void *rig, unsigned int vector));
void rig_close(struct rig *rig);
/* Creates a key for [va, va + len) of the data, with rights of the mkey context (bits LR 1, LW 2,
 * RR 4, RW 8). */
uint32_t rig_key(struct rig *rig, void *va, size_t len, unsigned int rights);
/* Creates a key that only this QP may use. */
uint32_t rig_key_of(struct rig *rig, uint32_t qpn, void *va, size_t len, unsigned int rights);
void rig_destroy_key(struct rig *rig, uint32_t key);

void rig_qp(struct rig *rig, struct rig_qp *qp);
void rig_connect(struct rig_qp *a, struct rig_qp *b, const struct rig_conn *conn);
struct rig_peer rig_peer(const struct rig_qp *qp);
/* Opens two rigs and connects a QP of each. */
void rig_open_pair(struct rig *ra, struct rig *rb, struct rig_qp *a, struct rig_qp *b, unsigned int flags,
		   const struct rig_conn *conn);
/* Closes both, after rig_expect_violations for each. */
void rig_close_pair(struct rig *ra, struct rig *rb, const char *violations_a, const char *violations_b);
/* Connects one side. Set qp->psn before. */
void rig_connect_to(struct rig_qp *qp, const struct rig_peer *peer, const struct rig_conn *conn);
/* Starts fn in a child, opens the device here, and connects its QP to the child's. Returns this QP. */
struct th_child;
struct rig_peer rig_spawn(struct th_child *child, int (*fn)(int sock, void *arg), struct rig *rig,
			  struct rig_qp *qp, const struct rig_conn *conn);
/* Does in that child what rig_spawn does in the parent. */
struct rig_peer rig_join(int sock, struct rig *rig, struct rig_qp *qp, const struct rig_conn *conn);
/* Sends self to the other process, and connects the QP to what that sends. Returns the latter. */
struct rig_peer rig_exchange(int sock, struct rig_qp *qp, const struct rig_peer *self,
			     const struct rig_conn *conn);
void rig_qp_to(struct rig_qp *qp, uint16_t opcode);	/* opcode: 2ERR or 2RST */
unsigned int rig_qp_state(struct rig_qp *qp);

void rig_recv(struct rig_qp *qp, void *va, uint32_t len);
enum { RIG_NOP = 0, RIG_SEND_INV = 1, RIG_WRITE = 8, RIG_WRITE_IMM = 9, RIG_SEND = 10, RIG_SEND_IMM = 11,
       RIG_READ = 16, RIG_CS = 17, RIG_FA = 18 };
struct rig_wr {
	unsigned int op;
	void *va;
	uint32_t len, lkey;		/* lkey 0 stands for the key of the rig */
	void *raddr;
	uint32_t rkey, imm;
	uint64_t swap_add, compare;
	unsigned int pieces;		/* number of data elements; 0 also means one */
};
/* Writes the WQE and returns its index. rig_ring rings the doorbell for all WQEs written so far. */
uint16_t rig_post(struct rig_qp *qp, const struct rig_wr *wr);
void rig_ring(struct rig_qp *qp);
uint16_t rig_post_ring(struct rig_qp *qp, const struct rig_wr *wr);

bool rig_poll(struct rig *rig, struct rig_cqe *cqe);
/* Returns the type of the next asynchronous event; -1: none. */
int rig_event(struct rig *rig);

/* Drives both devices (one may be NULL) until neither has work. */
void rig_settle(struct rig *a, struct rig *b);
/* Drives both devices until the rig has a CQE; fails the test after 20 s. */
struct rig_cqe rig_wait(struct rig *rig, struct rig *other);

struct softnic_counters rig_counters(struct rig *rig);
/* Fails the test if the device counted a violation that is not in the comma-separated list. */
void rig_expect_violations(struct rig *rig, const char *names);

void rig_fill(void *va, size_t len, uint32_t seed);
bool rig_filled(const void *va, size_t len, uint32_t seed);

#endif
