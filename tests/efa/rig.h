/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two connected endpoints of one software EFA that nothing drives but the test, so that a seed is a
 * run: no thread, no clock, no connection manager.
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
};
extern struct fake fake;

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
	uint64_t trace;			/* of how often was polled for each completion */
};

/* What is random in the driver, from here on: a run is then its seeds alone. */
void rig_draw(uint64_t seed);

/* params: ia_params besides efa_step=1. Asserts that it works. */
void rig_open(struct rig *r, const char *params);
void rig_close(struct rig *r);		/* and the model reports no violation */
/* The endpoints anew, connected; change: between their addresses and the connection, or NULL. */
void rig_endpoints(struct rig *r, void (*change)(struct dap_path *a, struct dap_path *b));
void rig_endpoints_free(struct rig *r);
struct dap_rmr *rig_rmr(struct rig *r, const struct side *s);	/* in its zone */
/* To the first bytes of its memory for all that a peer may have; 0 bytes: to nothing. */
int rig_bind(struct dap_rmr *rmr, const struct side *s, uint32_t len, uint32_t *context);
/* The next completion, or false. */
bool rig_poll(struct dap_evd *evd, struct dap_event *ev);
/* As a rig_poll that must find one before the device has nothing left to do. */
struct dap_event rig_next(struct rig *r, struct dap_evd *evd);

DAT_RETURN rig_send(struct rig *r, struct side *s, uint64_t cookie, uint32_t off, uint32_t len);
DAT_RETURN rig_recv(struct rig *r, struct side *s, uint64_t cookie, uint32_t off, uint32_t len);
DAT_RETURN rig_write(struct rig *r, struct side *s, uint64_t cookie, uint32_t off, uint32_t to,
		     uint32_t len);
DAT_RETURN rig_read(struct rig *r, struct side *s, uint64_t cookie, uint32_t off, uint32_t from,
		    uint32_t len);

#endif
