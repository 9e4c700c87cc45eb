/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two connected endpoints of one software EFA that only the test drives, so that a seed gives one run:
 * no thread, no clock, no connection manager.
 */
#ifndef TESTS_EFA_RIG_H
#define TESTS_EFA_RIG_H

#include "core/hot.h"
#include "core/hw.h"
#include "hw_efa/calls.h"
#include "hw_efa/ops.h"
#include "softnic/softnic_efa.h"

struct fake {
	struct dap_ep *broken;
	struct dap_evd *overflowed;
	unsigned int broken_count, said_kind;
	struct dap_event event;
	char said[512];
	int err;			/* argument of the last front_return */
};
extern struct fake fake;
extern struct dap_ep *fake_ends[2];	/* the two endpoints of rig_endpoints */

#define RIG_MEM (256u * 1024)
#define RIG_DTOS 24u

struct side {
	struct dap_pz *pz;
	struct dap_lmr *lmr;
	struct dap_evd *req, *recv;
	struct dap_ep *ep;
	uint8_t *mem;
};

struct rig {
	struct dap_ia *ia;
	struct softnic_efa *nic;
	const struct dap_hot *hot;
	struct side a, b;
	uint64_t trace;			/* hash of the polls for each completion */
};

/*
 * Makes the driver's random numbers depend on the seed from here on, so that the seed determines the run.
 */
void rig_draw(uint64_t seed);

/* params: ia_params in addition to efa_step=1. Asserts success. */
void rig_open(struct rig *r, const char *params);
void rig_close(struct rig *r);
void rig_endpoints(struct rig *r);	/* creates and connects new endpoints */
void rig_endpoints_free(struct rig *r);
void rig_memory(struct rig *r, size_t len);	/* other memory for both sides; len: a multiple of 4096 */
/* opens the rig and creates the endpoints, and the reverse */
void rig_open_pair(struct rig *r, const char *params);
void rig_close_pair(struct rig *r);
/* creates an RMR in the zone of s */
struct dap_rmr *rig_rmr(struct rig *r, const struct side *s);
/* Binds to the first bytes of the side's memory with all remote rights; 0 bytes: unbinds. */
int rig_bind(struct dap_rmr *rmr, const struct side *s, uint32_t len, uint32_t *context);
/* Takes the next completion. False: there is none. */
bool rig_poll(struct dap_evd *evd, struct dap_event *ev);
/* Like rig_poll, but a completion must come before the device becomes idle. */
struct dap_event rig_next(struct rig *r, struct dap_evd *evd);

DAT_RETURN rig_send(struct rig *r, struct side *s, uint64_t cookie, uint32_t off, uint32_t len);
DAT_RETURN rig_recv(struct rig *r, struct side *s, uint64_t cookie, uint32_t off, uint32_t len);
DAT_RETURN rig_write(struct rig *r, struct side *s, uint64_t cookie, uint32_t off, uint32_t to,
		     uint32_t len);
DAT_RETURN rig_read(struct rig *r, struct side *s, uint64_t cookie, uint32_t off, uint32_t from,
		    uint32_t len);

#endif
