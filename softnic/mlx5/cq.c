/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues: commands and arming. PRM "Completion queue". */
#include <errno.h>
#include <stdlib.h>

#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"
#include "softnic/mlx5/quirk.h"

/* This value is no valid arm: all reserved bits are set. */
#define NEVER_ARMED UINT32_C(0xffffffff)

/* Linux shares its EQs of completions with programs, and not those of commands, pages and other events. */
static struct sn_eq *find_eq(const struct sn_cmd *c, uint32_t eqn)
{
	struct sn_eq *eq = sn_table_find(&c->nic->eqs, eqn);

	return eq && (!c->user || eq->uid == SN_UID_SHARED || eq->uid == c->user) ? eq : NULL;
}

/* Checks the CQ context. As firmware does, this refuses features that the capabilities lack. */
static uint8_t check_context(struct sn_cmd *c, const uint8_t *ctx, struct sn_cq *cq)
{
	unsigned int cqe_sz = sn_get(ctx, CQC_CQE_SZ);

	cq->log_size = (uint8_t)sn_get(ctx, CQC_LOG_SIZE);
	cq->oi = sn_get(ctx, CQC_OI);
	cq->cqe_size = cqe_sz ? 128 : 64;
	cq->uar = sn_cmd_find(c, &c->nic->uars, sn_get(ctx, CQC_UAR));
	cq->eq = find_eq(c, sn_get(ctx, CQC_EQN));
	if (!cq->uar)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no UAR %u", sn_get(ctx, CQC_UAR));
	if (!cq->eq)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no EQ %u", sn_get(ctx, CQC_EQN));
	if (cq->log_size > 22)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "log_cq_size %u", cq->log_size);
	if (cqe_sz > 2)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "cqe_sz %u", cqe_sz);
	if (sn_get(ctx, CQC_CC) || sn_get(ctx, CQC_COMP_EN) || sn_get(ctx, CQC_ST))
		return sn_cmd_refuse(c, STAT_BAD_PARAM,
				     "cc, st and compression are not among the capabilities");
	return STAT_OK;
}

/* Reads where the ring is: a umem id from DEVX, or page addresses from a kernel driver. */
static uint8_t read_ring(struct sn_cmd *c, const uint8_t *ctx, struct sn_cq *cq)
{
	uint64_t bytes = (uint64_t)cq->cqe_size << cq->log_size;
	struct sn_umem_at at = { sn_get32(c->in, CQ_UMEM_ID), 6, sn_get64(c->in, CQ_UMEM_OFFSET) };

	if (sn_get(c->in, CQ_UMEM_VALID))
		return sn_cmd_umem_queue(c, &cq->buf, &at, bytes, cq->cqe_size);
	return sn_cmd_list(c, &cq->buf, sn_get(ctx, CQC_LOG_PAGE) + 12,
			   sn_get(ctx, CQC_PAGE_OFFSET), bytes);
}

static uint8_t read_buffers(struct sn_cmd *c, const uint8_t *ctx, struct sn_cq *cq)
{
	uint8_t status = read_ring(c, ctx, cq);

	return status ? status : sn_cmd_record(c, &cq->dbr, sn_get(ctx, CQC_DBR_UMEM),
					       sn_get32(ctx, CQC_DBR_UMEM_ID), sn_get64(ctx, CQC_DBR_ADDR));
}

/*
 * Hardware sees every doorbell. A scan sees only the last one that was stored in a page, and then reads
 * the doorbell records. A record that is not in use is 0, and so may be the first arm word. In the device's
 * own process another value marks such a record. Memory of a guest may be for reading only.
 */
static void mark_never_armed(struct softnic *nic, struct sn_cq *cq)
{
	bool marks = nic->config.flags & SOFTNIC_SCAN_UARS && !nic->config.host.dma;
	uint32_t *rec = marks ? sn_buf_at(nic, &cq->dbr, 4, 4, true) : NULL;

	cq->arm_seen = NEVER_ARMED;
	if (rec)
		__atomic_store_n(rec, NEVER_ARMED, __ATOMIC_RELEASE);
}

static void release_cq(struct softnic *nic, struct sn_cq *cq)
{
	sn_buf_release(nic, &cq->buf);
	sn_buf_release(nic, &cq->dbr);
	free(cq);
}

uint8_t sn_cmd_create_cq(struct sn_cmd *c)
{
	const uint8_t *ctx = c->in + AT_CTX;
	struct sn_cq *cq = calloc(1, sizeof(*cq));
	uint8_t status;

	if (!cq)
		return sn_cmd_refuse_errno(c, -ENOMEM);
	status = check_context(c, ctx, cq);
	if (!status)
		status = read_buffers(c, ctx, cq);
	if (!status)
		status = sn_cmd_add(c, &c->nic->cqs, SN_NUMBER_BITS, SN_LOG_MAX_CQ, cq, &cq->cqn);
	if (status) {
		release_cq(c->nic, cq);
		return status;
	}
	mark_never_armed(c->nic, cq);
	cq->uar->refs++;
	cq->eq->refs++;
	LIST_INSERT_HEAD(&cq->uar->cqs, cq, link);
	sn_set(c->out, CMD_NUMBER, cq->cqn);
	return STAT_OK;
}

void sn_cq_free(struct softnic *nic, void *obj)
{
	struct sn_cq *cq = obj;

	sn_cq_set_armed(nic, cq, false, false);
	sn_table_remove(&nic->cqs, cq->cqn);
	LIST_REMOVE(cq, link);
	cq->uar->refs--;
	cq->eq->refs--;
	release_cq(nic, cq);
}

uint8_t sn_cmd_query_cq(struct sn_cmd *c)
{
	struct sn_cq *cq = sn_table_find(&c->nic->cqs, sn_get(c->in, CMD_NUMBER));
	uint8_t *ctx = c->out + AT_CTX;

	if (!cq)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no such CQ: %#x", sn_get(c->in, CMD_NUMBER));
	sn_set(ctx, CQC_STATUS, cq->error);
	sn_set(ctx, CQC_ST, cq->armed ? CQC_ARMED : cq->armed_solicited ? CQC_ARMED_SOL : CQC_FIRED);
	sn_set(ctx, CQC_CQE_SZ, cq->cqe_size == 128);
	sn_set(ctx, CQC_OI, cq->oi);
	sn_set(ctx, CQC_LOG_SIZE, cq->log_size);
	sn_set(ctx, CQC_UAR, cq->uar->page);
	sn_set(ctx, CQC_EQN, cq->eq->eqn);
	sn_set(ctx, CQC_CI, cq->ci);
	sn_set(ctx, CQC_PI, cq->pi);
	return STAT_OK;
}

/*
 * PRM "Resizing a CQ": a special CQE ends the old ring, and the index continues in the new ring.
 * The driver itself copies the CQEs that are left in the old ring.
 */
static uint8_t resize(struct sn_cmd *c, struct sn_cq *cq, uint32_t select)
{
	const uint8_t *ctx = c->in + AT_CTX;
	struct sn_cq new = { .cqe_size = cq->cqe_size, .log_size = (uint8_t)sn_get(ctx, CQC_LOG_SIZE) };
	uint8_t status;
	uint32_t ci;

	if (select != CQ_SEL_RING)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "resize: field select %#x", select);
	if (new.log_size > 22)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "log_cq_size %u", new.log_size);
	if ((sn_get(ctx, CQC_CQE_SZ) ? 128 : 64) != cq->cqe_size)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "resize must not change the size of CQEs");
	if (!sn_dbr_read(c->nic, &cq->dbr, 0, &ci))
		return sn_cmd_refuse(c, STAT_BAD_RES_STATE, "resize: no doorbell record");
	if (((cq->pi + 1 - ci) & 0xffffff) > UINT32_C(1) << new.log_size)
		return sn_cmd_refuse(c, STAT_BAD_SIZE,
				     "%u CQEs are in the CQ, too many for the new size %u",
				     (cq->pi - ci) & 0xffffff, 1u << new.log_size);
	status = read_ring(c, ctx, &new);
	if (status)
		return status;
	if (!sn_quirk(c->nic, SN_Q_NO_RESIZE_CQE) && !sn_cqe_end(c->nic, cq)) {
		sn_buf_release(c->nic, &new.buf);
		return sn_cmd_refuse(c, STAT_BAD_RES_STATE, "resize: the CQ has overrun");
	}
	sn_buf_release(c->nic, &cq->buf);
	cq->buf = new.buf;
	cq->log_size = new.log_size;
	return STAT_OK;
}

/* Moderation is accepted without effect: this device sends an event for each completion at once. */
uint8_t sn_cmd_modify_cq(struct sn_cmd *c)
{
	struct sn_cq *cq = sn_table_find(&c->nic->cqs, sn_get(c->in, CMD_NUMBER));
	uint32_t select = sn_get32(c->in, CQ_MODIFY_SELECT);

	if (!cq)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no such CQ: %#x", sn_get(c->in, CMD_NUMBER));
	if (sn_get(c->in, CMD_OP_MOD) == CQ_MODIFY_RESIZE)
		return resize(c, cq, select);
	if (sn_get(c->in, CMD_OP_MOD))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "op_mod %u", sn_get(c->in, CMD_OP_MOD));
	if (select & ~(uint32_t)(CQ_SEL_PERIOD | CQ_SEL_MAX_COUNT | CQ_SEL_OI))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "field select %#x", select);
	if (select & CQ_SEL_OI)
		cq->oi = sn_get(c->in + AT_CTX, CQC_OI);
	return STAT_OK;
}

/*
 * The index up to which an arm with this consumer index ignores completions. PRM last_notified_index. A
 * completion that has had its event gets no second one if the host arms before it polls; perftest relies
 * on that.
 */
static uint32_t notified_index(const struct sn_cq *cq, uint32_t ci)
{
	bool later = ((cq->notified - ci) & 0xffffff) <= ((cq->pi - ci) & 0xffffff);

	return cq->had_event && later ? cq->notified : ci;
}

/* PRM CQ arm: command sequence number (2 bits at 28), solicited (bit 24), consumer index (24 bits). */
static void arm_cq(struct softnic *nic, struct sn_cq *cq, uint32_t word)
{
	uint32_t ci = word & 0xffffff, from = notified_index(cq, ci);
	bool solicited = word >> 24 & 1;
	uint32_t made = solicited ? cq->solicited : cq->pi;

	cq->arm_seen = word;
	if (((cq->pi - ci) & 0xffffff) > 0x7fffff) {
		sn_violate(nic, SN_V_CQ_CI_AHEAD,
			   "CQ %#x: armed with consumer index %u, producer index %u", cq->cqn, ci,
			   cq->pi);
		return;
	}
	/* If there is a completion after the armed index, the event is raised at once. The last solicited one
	 * may be any number of completions ago. */
	if (((made - from - 1) & 0xffffff) < ((cq->pi - from) & 0xffffff)) {
		sn_cq_event(nic, cq);
		return;
	}
	/* IBTA 11.4.2.2: a request for solicited completions does not cancel an earlier request for any
	 * completion. */
	sn_cq_set_armed(nic, cq, !solicited || cq->armed, solicited && !cq->armed);
}

/*
 * PRM "CQ Doorbell": hi is the command, cqn the number. Hardware ignores it on a page that is not the CQ's
 * (Linux, security note in mlx5/devx.c), so no program can arm the CQs of others.
 */
void sn_cq_doorbell(struct softnic *nic, uint32_t page, uint32_t hi, uint32_t cqn, bool trapped)
{
	struct sn_cq *cq = sn_table_find(&nic->cqs, cqn);
	uint32_t rec;

	if (!cq) {
		sn_violate(nic, SN_V_CQ_UNKNOWN, "CQ %#x: the armed CQ does not exist", cqn);
		return;
	}
	if (cq->uar->page != page) {
		sn_violate(nic, SN_V_DB_UAR, "doorbell of CQ %#x of UAR %u on UAR %u", cqn, cq->uar->page,
			   page);
		return;
	}
	if (hi & 0xce000000)
		sn_violate(nic, SN_V_CQ_ARM, "CQ %#x: reserved bits in %#x", cqn, hi);
	if (trapped && sn_dbr_read(nic, &cq->dbr, 1, &rec) && rec != hi)
		sn_violate(nic, SN_V_CQ_ARM, "CQ %#x: doorbell %#x, record %#x", cqn, hi, rec);
	/*
	 * PRM: the sequence number distinguishes a new arm from a repeated one. It advances with each
	 * event that the host has handled. If a scan has seen the arm already, its doorbell is a
	 * repetition.
	 */
	if (hi != cq->arm_seen)
		arm_cq(nic, cq, hi);
}

/*
 * Handles an arm word in the doorbell record whose doorbell is still to come, or was overwritten by that of
 * another CQ. If a record without a mark is 0, the CQ may have been armed or not. The device assumes an arm:
 * a host can ignore an event that it did not request, but may wait for a missing one.
 */
void sn_cq_scan(struct softnic *nic, struct sn_cq *cq)
{
	uint32_t rec;

	if (!sn_dbr_read(nic, &cq->dbr, 1, &rec) || rec == cq->arm_seen)
		return;
	/* An arm with the index 0 cannot be that far behind. */
	if (cq->arm_seen == NEVER_ARMED && !rec && cq->pi > 0x7fffff)
		return;
	arm_cq(nic, cq, rec);
}
