/* SPDX-License-Identifier: BSD-2-Clause */
/* Hardware behaviour that differs from this model: "quirk=NAME" in the fault script, see quirk.c. */
#ifndef SOFTNIC_QUIRK_H
#define SOFTNIC_QUIRK_H

#include "softnic/mlx5/dev.h"

enum sn_quirk {
	SN_Q_NO_RMP_COUNT,	/* QUERY_RMP always returns hw_counter 0 */
	SN_Q_NO_SRQ_LIMIT,	/* there is no SRQ limit event */
	SN_Q_NO_QP_ERROR,	/* a QP that fails without a CQE causes no event */
	SN_Q_NO_LAST_WQE,	/* there is no Last WQE Reached event */
	SN_Q_NO_UMR,		/* every UMR ends with a bind error */
	SN_Q_NO_REBIND,		/* a UMR of a key that is not free ends with a bind error */
	/* the device checks neither the key byte nor the free state of a key */
	SN_Q_OLD_KEYS,
	SN_Q_UNORDERED,		/* the first packet of a WRITE is written after its last one */
	SN_Q_NO_SCATTER,	/* the device ignores cs_req and cs_res */
	SN_Q_NO_HEARTBEAT,	/* the health counter stands still while there are many mkeys */
	SN_Q_SMALL_MTU,		/* the MTU of the network interface is 1500, as after a reset */
	SN_Q_EARLY_LIMIT,	/* the SRQ limit event comes when the limit is reached, one receive early */
	SN_Q_UMR_DISABLED,	/* every UMR ends with a bind error, and the capabilities say so */
	/* a UMR whose mask has the atomic right ends with a bind error, and the capabilities say so */
	SN_Q_UMR_ATOMIC_DISABLED,
	/* each QP in ERR keeps a receive of its SRQ without completing it, and no event follows */
	SN_Q_LOST_WQE,
	SN_Q_NO_RESIZE_CQE,	/* when a CQ is resized, no CQE ends the old ring */
	SN_Q_SLOW_LINK,		/* the link trains for a minute */
	SN_Q_SLOW_BF,		/* a BlueFlame write takes longer than a doorbell */
	SN_Q_SLOW_INLINE,	/* inline data takes longer than data that the device reads */
	SN_Q_SLOW_READ,		/* a read whose data is not inside its CQE takes longer */
	SN_Q_SLOW_RECV,		/* a received message whose data is not inside its CQE takes longer */
	SN_Q_LATE_LINK,		/* the link trains for 16 s */
	SN_Q_ZERO_BLOCK,	/* a block of zeros in a BlueFlame register causes an internal error event */
};

static inline bool sn_quirk(const struct softnic *nic, enum sn_quirk quirk)
{
	return nic->fault.quirks >> quirk & 1;
}

/* Sleeps if the device has this quirk: one of its steps takes longer. */
void sn_quirk_slows(const struct softnic *nic, enum sn_quirk quirk);
int sn_quirk_parse(struct sn_fault *f, const char *name);	/* returns 0 or -EINVAL */
bool sn_quirk_hides(const struct softnic *nic, enum sn_event type);
/* Writes one packet of a WRITE, instead of sn_mkey_write(), if SN_Q_UNORDERED is set. */
enum sn_acc sn_quirk_write(struct sn_qp *qp, const struct sn_access *a, const void *payload,
			   bool first, bool last);

#endif
