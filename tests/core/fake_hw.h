/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A backend without a device: the test makes the completions, any call can be made to fail, and objects
 * that were created and not destroyed are counted.
 */
#ifndef TESTS_FAKE_HW_H
#define TESTS_FAKE_HW_H

#include <criterion/criterion.h>
#include <dat/udat.h>

#include "core/api.h"
#include "core/hw.h"
#include "tests/harness/assert_ret.h"
#include "tests/harness/harness.h"

enum fake_kind { FAKE_IA, FAKE_PZ, FAKE_LMR, FAKE_RMR, FAKE_CQ, FAKE_QP, FAKE_SRQ, FAKE_KINDS };

struct fake {
	int live[FAKE_KINDS];
	unsigned long calls;		/* number of calls of functions that may fail */
	unsigned long fail_at;		/* the number of the call that fails, from 1; 0: none */
	int fail_with;			/* the error that it returns, as -errno */
	bool mute;			/* open gives no reason */
	bool silent;			/* posts complete only when the test says so */
	bool unsolicited;		/* completions belong to sends without the solicited flag */
	int kept;			/* the result of lmr_destroy and rmr_destroy */
	bool recv_busy;			/* qp_idle reports receives as busy */
	uint32_t recvs;			/* the result of recv_count */
	uint32_t qos;			/* DAT_QOS bits that newly opened IAs support */
	unsigned int arms, polls;
	/* the endpoint of the last hot call, and the flags of that call */
	struct dap_ep *last_post;
	uint32_t last_flags;
	void (*on_poll)(struct dap_evd *evd);	/* called in cq_poll, before it polls */
	bool (*drain_done)(struct dap_ep *ep);	/* the result of qp_drain_done; NULL: true */
};

extern struct fake fake;

/* Opens IA "fake0", or "fake1" as a second one, through libdat. */
DAT_IA_HANDLE fake_open(const char *name);
/* Opens the IA as a threadsafe one. */
DAT_IA_HANDLE fake_open_safe(const char *name);
void fake_params(const char *name, const char *params);
/* Closes the IA abruptly. Asserts that backend and process have no objects left. */
void fake_close(DAT_IA_HANDLE ia);
bool fake_is_clean(void);

/* Writes a completion as a device does, and makes the CQ's descriptor readable if the CQ is armed. */
void fake_complete(DAT_EVD_HANDLE evd, const struct dap_event *ev);
void fake_complete_dto(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie, bool unsignalled);

/* Posts an event without data by dat_evd_post_se(). */
void fake_post_se(DAT_EVD_HANDLE evd);

/* These functions create objects of any size. */
DAT_EVD_HANDLE fake_evd(DAT_IA_HANDLE ia, int qlen, DAT_EVD_FLAGS flags);
DAT_PZ_HANDLE fake_pz(DAT_IA_HANDLE ia);
DAT_EP_HANDLE fake_ep(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE evd);
/* An IA "fake0" and one object of each kind that a post needs. Tests may add a CNO and the async EVD. */
struct fake_objects {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd, async;
	DAT_EP_HANDLE ep;
};
void fake_open_objects(struct fake_objects *o, DAT_EVD_FLAGS flags);
DAT_LMR_HANDLE fake_lmr(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *mem, size_t len,
			DAT_MEM_PRIV_FLAGS priv, DAT_LMR_CONTEXT *context);

#endif
