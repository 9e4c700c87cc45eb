/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Behaviour of hardware that the manual leaves open, or that some generations lack. Each quirk is off by
 * default; the fault script enables it. scripts/first-light must tell such a device from this model.
 */
#include <errno.h>
#include <stdlib.h>

#include "softnic/mlx5/quirk.h"
#include "softnic/mlx5/rc.h"

static const char *const names[] = {
	[SN_Q_NO_RMP_COUNT] = "no_rmp_count",
	[SN_Q_NO_SRQ_LIMIT] = "no_srq_limit",
	[SN_Q_NO_QP_ERROR] = "no_qp_error",
	[SN_Q_NO_LAST_WQE] = "no_last_wqe",
	[SN_Q_NO_UMR] = "no_umr",
	[SN_Q_NO_REBIND] = "no_rebind",
	[SN_Q_OLD_KEYS] = "old_keys",
	[SN_Q_UNORDERED] = "unordered",
	[SN_Q_NO_SCATTER] = "no_scatter",
	[SN_Q_NO_HEARTBEAT] = "no_heartbeat",
	[SN_Q_SMALL_MTU] = "small_mtu",
	[SN_Q_EARLY_LIMIT] = "early_limit",
	[SN_Q_UMR_DISABLED] = "umr_disabled",
	[SN_Q_UMR_ATOMIC_DISABLED] = "umr_atomic_disabled",
	[SN_Q_LOST_WQE] = "lost_wqe",
	[SN_Q_NO_RESIZE_CQE] = "no_resize_cqe",
	[SN_Q_SLOW_LINK] = "slow_link",
	[SN_Q_SLOW_BF] = "slow_bf",
	[SN_Q_SLOW_INLINE] = "slow_inline",
	[SN_Q_SLOW_READ] = "slow_read",
	[SN_Q_SLOW_RECV] = "slow_recv",
	[SN_Q_LATE_LINK] = "late_link",
	[SN_Q_ZERO_BLOCK] = "zero_block",
};

int sn_quirk_parse(struct sn_fault *f, const char *name)
{
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]))
			continue;
		f->quirks |= 1u << i;
		return 0;
	}
	return -EINVAL;
}

bool sn_quirk_hides(const struct softnic *nic, enum sn_event type)
{
	switch (type) {
	case SN_EV_SRQ_LIMIT:
		return sn_quirk(nic, SN_Q_NO_SRQ_LIMIT);
	case SN_EV_SRQ_LAST_WQE:
		return sn_quirk(nic, SN_Q_NO_LAST_WQE);
	case SN_EV_WQ_ACCESS:
	case SN_EV_WQ_CATAS:
	case SN_EV_WQ_INVAL_REQ:
		return sn_quirk(nic, SN_Q_NO_QP_ERROR);
	default:
		return false;
	}
}

/* The delay exceeds the duration of a transfer in this model, so that a comparison of times has a clear
 * result. */
void sn_quirk_slows(const struct softnic *nic, enum sn_quirk quirk)
{
	enum { STEP_US = 50 };

	if (sn_quirk(nic, quirk))
		sn_sleep_us(STEP_US);
}

struct sn_late_write {
	struct sn_access access;
	uint8_t data[];
};

/* Writes the first packet of a WRITE after its last one, late enough for a poller to notice. */
enum sn_acc sn_quirk_write(struct sn_qp *qp, const struct sn_access *a, const void *payload,
			   bool first, bool last)
{
	enum { LATE_US = 200 };
	struct sn_rc_resp *s = &qp->rc->resp;
	enum sn_acc acc;

	if (first && !last) {
		free(s->late);
		s->late = malloc(sizeof(*s->late) + a->len);
		if (!s->late)
			return sn_mkey_write(qp->nic, a, payload);
		s->late->access = *a;
		memcpy(s->late->data, payload, a->len);
		return SN_ACC_OK;
	}
	acc = sn_mkey_write(qp->nic, a, payload);
	if (!last || !s->late)
		return acc;
	sn_sleep_us(LATE_US);
	if (!acc)
		acc = sn_mkey_write(qp->nic, &s->late->access, s->late->data);
	free(s->late);
	s->late = NULL;
	return acc;
}
