/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A driver of the software EFA that writes bytes by their offsets and is independent of hw_efa. A side
 * is one device with a PD, a region, a CQ, a QP and an AH for its peer.
 */
#ifndef EFA_RIG_H
#define EFA_RIG_H

#include "softnic/fabric/fabric.h"
#include "softnic/softnic_efa.h"

enum { OP_SEND = 0, OP_READ = 1, OP_WRITE = 2 };
enum { IMM = 0x10, INLINE = 0x20 };
enum { MEM = 1 << 20, QKEY = 0x11223344, PAGE = 4096 };
/* Ranges of bus addresses */
#define BUS_CQ UINT64_C(0x4000000000)
#define BUS_RQ (BUS_CQ + PAGE)


struct side {
	struct softnic_efa *nic;
	struct softnic_efa_caps caps;
	uint16_t pd, ah;
	struct softnic_efa_cq_attr cq_attr;
	struct softnic_efa_cq cq;
	uint32_t cc[2];			/* consumer counters of the sub-CQs */
	struct softnic_efa_qp qp;
	unsigned int qp_flags;
	uint32_t sq_pc, rq_pc;
	uint8_t *mem;
	uint32_t lkey, rkey;
	uint16_t peer_qpn;
	uint8_t *peer_mem;
	uint32_t peer_rkey;
	uint32_t events;
	/* rings of the CQ and the RQ, if `bus` is set */
	uint8_t rings[2 * PAGE] __attribute__((aligned(PAGE)));
	uint64_t refused, refused_len;	/* the range that the IOMMU refuses */
};

struct setup {
	const char *profile;
	unsigned int flags;		/* flags of the device */
	unsigned int qp_flags, cq_flags;
	uint64_t seed;			/* seed of the device; 0 stands for 1 */
	unsigned int window;
	uint32_t sq, rq, cq;		/* depths; 0 stands for 64, 64 and 256 */
	uint8_t rnr_retry;
	uint16_t cqe_size;		/* size of a CQE; 0 stands for 32 */
	bool bus;			/* the rings and mem have bus addresses, and mem is scattered there */
};

/* Returns the bus address of byte off of mem. */
uint64_t bus_of(const struct side *s, uint32_t off);

void side_open(struct side *s, const struct setup *setup);
void side_objects(struct side *s, const struct setup *setup);
/* closes the side, and checks that every object could be destroyed */
void side_close(struct side *s);
void side_free_objects(struct side *s);
void side_modify(struct side *s, enum softnic_efa_qp_state to, uint8_t rnr_retry);
void side_ready(struct side *s, uint8_t rnr_retry);	/* moves the QP to RTS */
void side_meet(struct side *a, struct side *b);	/* creates an AH for the other side in each */
void side_name(struct side *s, uint16_t qpn, void *mem, uint32_t rkey);

/* Opens two QPs of two devices of this process without threads; of one device if loop. */
void pair_open(struct side *a, struct side *b, const struct setup *setup);
void pair_close(struct side *a, struct side *b);
void pair_abandon(struct side *a, struct side *b);	/* closes both with the objects that they have */
/* Runs n turns of each device. */
void pair_turns(struct side *a, struct side *b, unsigned int n);

/* A second fabric with this protocol that reads nothing, and its destination for the side. */
struct sn_fab *side_stranger(const struct side *s, uint32_t protocol, unsigned int number,
			     struct sn_fab_dest *dest);

struct wqe {
	uint8_t b[128];
};
void put16(uint8_t *p, uint16_t v);
void put32(uint8_t *p, uint32_t v);

/* Writes bytes 0 to 31 of a WQE. length: number of buffers, or inline bytes. Posting sets the
 * phase. */
void w_head(const struct side *s, struct wqe *w, unsigned int op, unsigned int flags, uint16_t id,
	    uint16_t length);
void w_buf(struct wqe *w, unsigned int at, const void *addr, uint32_t len, uint32_t lkey);
void w_remote(struct wqe *w, const void *addr, uint32_t len, uint32_t rkey);
void w_send(const struct side *s, struct wqe *w, uint16_t id, uint32_t off, uint32_t len);
void w_rdma(const struct side *s, struct wqe *w, unsigned int op, unsigned int flags, uint16_t id,
	    uint32_t off, uint32_t roff, uint32_t len);
/* posts the WQE unchanged, without a doorbell */
void post_raw(struct side *s, const struct wqe *w);
/* posts the WQE with its phase, without a doorbell */
void post_phase(struct side *s, struct wqe *w);
void ring(struct side *s);				/* stores the doorbell and kicks */
/* writes the WQE with its phase, stores the doorbell and kicks */
void post(struct side *s, struct wqe *w);
void rx_desc(struct side *s, uint16_t id, const void *addr, uint16_t len, uint32_t lkey_ctrl);
void rx_ring(struct side *s);
void rx_post(struct side *s, uint16_t id, uint32_t off, uint16_t len);

struct cqe {
	uint16_t req_id, qpn, ah, src_qpn;
	uint8_t status, flags, queue, op;
	bool has_imm, unsolicited;
	uint32_t length, imm;
	uint64_t req_id_64;
	uint8_t sgid[16];
};
bool cqe_poll(struct side *s, struct cqe *c);
/* Runs turns of both devices until a has a CQE. Fails the test after too many turns. */
struct cqe cqe_wait(struct side *a, struct side *b);
/* Runs at most limit turns until both are idle; false if they are not. */
bool settle(struct side *a, struct side *b, unsigned int limit);

/* Expects exactly these violations, in the order of the model and separated by spaces. Clears them. */
void expect_violations(struct side *s, const char *names);
void fill(uint8_t *p, size_t n, uint32_t seed);

#endif
