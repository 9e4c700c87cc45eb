/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two connected endpoints of one adapter, with memory: the minimum that moves data through the backend
 * and the software ConnectX, without core.
 */
#ifndef TESTS_MLX5_RIG_H
#define TESTS_MLX5_RIG_H

#include "hw_mlx5/mlx5.h"
#include "hw_mlx5/hot/hot.h"
#include "hw_mlx5/obj.h"
#include "tests/mlx5/fake_core.h"

#define RIG_BYTES 65536

struct rig_side {
	struct dap_ep *ep;
	struct dap_evd *request, *recv;
	struct dap_lmr *lmr;
	struct dap_srq *srq;		/* an SRQ for later calls of rig_ep */
	uint8_t *mem;
};

struct rig {
	struct dap_ia *ia;
	struct dap_pz *pz;
	const struct dap_hot *hot;
	struct rig_side a, b;
	struct dap_ep_attr attr;
};

struct rig_config {
	const char *params;		/* ia_params */
	/* members that are zero stand for 16 DTOs, 4 segments and 4 reads */
	struct dap_ep_attr attr;
	unsigned int qlen;		/* length of every EVD; 0: 64 */
};

/* Returns 0, or the first error; then nothing has leaked. */
int rig_open(struct rig *r, const struct rig_config *config);
/*
 * Closes all. Fails the test if the device reported a violation, or has objects left. excused: one
 * expected violation, or NULL.
 */
void rig_close(struct rig *r, const char *excused);

/* Variants of hot functions and device for the rigs of a test. */
enum rig_variant { RIG_MODEL, RIG_SILICON, RIG_LOCKED, RIG_ADVERSARIAL };
extern enum rig_variant rig_variant;

/* Defines a test that runs with a rig, once for each variant. */
#define RIG_TEST(suite, call)                                                                      \
	static void suite##_##call(void);                                                          \
	RIG_TEST_ON(suite, call, RIG_MODEL, model)                                                 \
	RIG_TEST_ON(suite, call, RIG_SILICON, silicon)                                             \
	RIG_TEST_ON(suite, call, RIG_LOCKED, locked)                                               \
	RIG_TEST_ON(suite, call, RIG_ADVERSARIAL, adversarial)                                     \
	static void suite##_##call(void)

#define RIG_TEST_ON(suite, call, variant, name)                                                    \
	Test(suite, call##__on_##name, .timeout = 120)                                             \
	{                                                                                          \
		rig_variant = variant;                                                             \
		open_rig();                                                                        \
		suite##_##call();                                                                  \
		close_rig();                                                                       \
	}

/* The following functions return 0 or -errno, for tests that make one of them fail. */
int rig_evd(struct rig *r, unsigned int qlen, struct dap_evd **evd);
int rig_ep(struct rig *r, struct rig_side *s, struct dap_ep **ep);
int rig_connect(struct dap_ep *a, struct dap_ep *b);
int rig_rmr(struct rig *r, struct dap_rmr **rmr);
/* Registers the side's memory. */
int rig_lmr(struct rig *r, const struct rig_side *s, bool zero_based, struct dap_lmr **lmr);
void rig_lmr_free(struct dap_lmr *lmr);
int rig_srq(struct rig *r, uint32_t recvs, uint32_t iov, struct dap_srq **srq);
void rig_srq_free(struct dap_srq *srq);
void rig_rmr_free(struct dap_rmr *rmr);
void rig_ep_free(struct dap_ep *ep);
void rig_evd_free(struct dap_evd *evd);

DAT_LMR_TRIPLET rig_local(const struct rig_side *s, size_t off, size_t len);
DAT_RMR_TRIPLET rig_remote(const struct rig_side *s, size_t off, size_t len);
/* Waits a few seconds for the next event. False: there is none. */
bool rig_event(struct rig *r, struct dap_evd *evd, DAT_EVENT *event);
/* True if no event is there after the device was driven. */
bool rig_empty(struct rig *r, struct dap_evd *evd);

static inline DAT_DTO_COOKIE rig_cookie(uint64_t v)
{
	DAT_DTO_COOKIE c = { .as_64 = v };

	return c;
}

#endif
