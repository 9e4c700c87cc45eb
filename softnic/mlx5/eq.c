/* SPDX-License-Identifier: BSD-2-Clause */
/* Event queues: commands, entries, arming and the interrupt. PRM "Event queue". */
#include <errno.h>
#include <stdlib.h>

#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"
#include "softnic/mlx5/quirk.h"

enum { EQE_SIZE = 64 };

struct eqe {
	uint8_t rsvd0, type, rsvd1, sub_type;
	uint8_t rsvd2[28];
	uint8_t data[28];
	uint8_t rsvd3[3];
	uint8_t owner;
};
SN_SIZE(struct eqe, 64);
SN_AT(struct eqe, data, 32);
SN_AT(struct eqe, owner, 63);

static uint8_t read_context(struct sn_cmd *c, struct sn_eq *eq)
{
	const uint8_t *ctx = c->in + AT_CTX;
	unsigned int log_page = sn_get(ctx, EQC_LOG_PAGE) + 12;

	eq->uid = (uint16_t)sn_get(c->in, CMD_UID);
	eq->log_size = (uint8_t)sn_get(ctx, EQC_LOG_SIZE);
	eq->vector = (uint8_t)sn_get(ctx, EQC_INTR);
	eq->events = sn_get64(c->in, EQ_BITMASK);
	eq->uar = sn_table_find(&c->nic->uars, sn_get(ctx, EQC_UAR));
	if (!eq->uar)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no UAR %u", sn_get(ctx, EQC_UAR));
	if (eq->vector >= SOFTNIC_VECTORS)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "intr %u: no such vector", eq->vector);
	if (eq->log_size > 22)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "log_eq_size %u", eq->log_size);
	return sn_cmd_list(c, &eq->buf, log_page, sn_get(ctx, EQC_PAGE_OFFSET),
			   (uint64_t)EQE_SIZE << eq->log_size);
}

uint8_t sn_cmd_create_eq(struct sn_cmd *c)
{
	struct sn_eq *eq = calloc(1, sizeof(*eq));
	uint8_t status;

	if (!eq)
		return sn_cmd_refuse_errno(c, -ENOMEM);
	status = read_context(c, eq);
	if (!status)
		status = sn_cmd_add(c, &c->nic->eqs, SN_EQN_BITS, SN_LOG_MAX_EQ, eq, &eq->eqn);
	if (status) {
		sn_buf_release(c->nic, &eq->buf);
		free(eq);
		return status;
	}
	eq->uar->refs++;
	eq->uar->eqs_shared |= !LIST_EMPTY(&eq->uar->eqs);
	LIST_INSERT_HEAD(&eq->uar->eqs, eq, link);
	sn_set(c->out, CMD_EQN, eq->eqn);
	return STAT_OK;
}

void sn_eq_free(struct softnic *nic, void *obj)
{
	struct sn_eq *eq = obj;

	sn_table_remove(&nic->eqs, eq->eqn);
	sn_timer_cancel(nic, &eq->late);
	/* A doorbell that was posted before has no effect any more. */
	atomic_store(&nic->dev->eq_db[eq->eqn], 0);
	LIST_REMOVE(eq, link);
	eq->uar->refs--;
	sn_buf_release(nic, &eq->buf);
	free(eq);
}

uint8_t sn_cmd_destroy_eq(struct sn_cmd *c)
{
	struct sn_eq *eq = sn_table_find(&c->nic->eqs, sn_get(c->in, CMD_EQN));

	if (!eq)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no such EQ: %u", sn_get(c->in, CMD_EQN));
	if (eq->refs)
		return sn_cmd_refuse(c, STAT_RES_BUSY, "EQ has %u CQs", eq->refs);
	sn_eq_free(c->nic, eq);
	return STAT_OK;
}

uint8_t sn_cmd_query_eq(struct sn_cmd *c)
{
	struct sn_eq *eq = sn_table_find(&c->nic->eqs, sn_get(c->in, CMD_EQN));
	uint8_t *ctx = c->out + AT_CTX;

	if (!eq)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no such EQ: %u", sn_get(c->in, CMD_EQN));
	sn_set(ctx, EQC_ST, eq->armed ? EQC_ARMED : EQC_FIRED);
	sn_set(ctx, EQC_LOG_SIZE, eq->log_size);
	sn_set(ctx, EQC_UAR, eq->uar->page);
	sn_set(ctx, EQC_INTR, eq->vector);
	sn_set(ctx, EQC_CI, eq->ci);
	sn_set(ctx, EQC_PI, eq->pi);
	sn_set64(c->out, EQ_BITMASK, eq->events);
	return STAT_OK;
}

static void raise_irq(struct softnic *nic, const struct sn_eq *eq)
{
	if (nic->config.host.irq)
		nic->config.host.irq(nic->config.host.ctx, eq->vector);
}

/* PRM: an EQ that has fired raises no interrupt until it is armed again. */
static void fire_eq(struct softnic *nic, struct sn_eq *eq)
{
	eq->armed = false;
	sn_timer_cancel(nic, &eq->late);
	raise_irq(nic, eq);
}

/*
 * A UAR page has one word for arming EQs. If the page is scanned and several EQs share it, the arm of
 * one EQ can overwrite that of another, which cannot happen on hardware. A spurious interrupt costs the
 * driver one poll; a lost one stops the program. So an EQ that seems unarmed raises a late interrupt for
 * its entry. The page keeps this rule after the other EQs are destroyed, because Linux destroys the
 * command EQ last.
 */
enum { LATE_NS = 1000000 };

static void late(struct softnic *nic, struct sn_timer *timer)
{
	struct sn_eq *eq = (struct sn_eq *)((uint8_t *)timer - offsetof(struct sn_eq, late));

	if (eq->pi != eq->ci)
		raise_irq(nic, eq);
}

static void interrupt_late(struct softnic *nic, struct sn_eq *eq)
{
	if (!(nic->config.flags & SOFTNIC_SCAN_UARS) || !eq->uar->eqs_shared || eq->late.slot)
		return;
	eq->late.fire = late;
	/* After a fatal error no timers run, so the interrupt is raised at once. */
	if (nic->fatal || sn_timer_arm(nic, &eq->late, sn_now() + LATE_NS))
		raise_irq(nic, eq);
}

static bool is_full(const struct sn_eq *eq)
{
	return ((eq->pi - eq->ci) & 0xffffff) >= UINT32_C(1) << eq->log_size;
}

void sn_eq_event(struct softnic *nic, struct sn_eq *eq, enum sn_event type, uint8_t sub_type,
		 const uint8_t data[28])
{
	uint32_t size = UINT32_C(1) << eq->log_size;
	struct eqe *e = sn_buf_at(nic, &eq->buf, (uint64_t)(eq->pi & (size - 1)) * EQE_SIZE,
				  EQE_SIZE, true);

	/* The handler may have read entries since this round began, and its doorbell is only posted. */
	if (is_full(eq) && atomic_load(&nic->dev->any_eq_db))
		sn_eq_take_posted(nic);
	if (is_full(eq)) {
		sn_violate(nic, SN_V_EQ_OVERRUN,
			   "overrun of EQ %u, which has %u entries", eq->eqn, size);
		return;
	}
	if (!e)
		return;
	/* PRM: the owner bit is written last. It alternates with each lap of the ring. */
	e->type = (uint8_t)type;
	e->sub_type = sub_type;
	memcpy(e->data, data, sizeof(e->data));
	__atomic_store_n(&e->owner, (uint8_t)(eq->pi >> eq->log_size & 1), __ATOMIC_RELEASE);
	eq->pi = (eq->pi + 1) & 0xffffff;
	if (eq->armed)
		fire_eq(nic, eq);
	else
		interrupt_late(nic, eq);
}

/* Returns the first EQ that subscribed to this type of event, or NULL. */
static struct sn_eq *subscriber(struct softnic *nic, enum sn_event type)
{
	for (uint32_t i = 0; nic->eqs.slot && i <= nic->eqs.mask; i++) {
		struct sn_eq *eq = nic->eqs.slot[i];

		if (eq && eq->events >> type & 1)
			return eq;
	}
	return NULL;
}

bool sn_eq_subscribed(struct softnic *nic, enum sn_event type)
{
	return subscriber(nic, type);
}

void sn_async(struct softnic *nic, enum sn_event type, uint8_t sub_type, const uint8_t data[28])
{
	struct sn_eq *eq = sn_quirk_hides(nic, type) ? NULL : subscriber(nic, type);

	if (eq)
		sn_eq_event(nic, eq, type, sub_type, data);
}

/* PRM EQ doorbell: eqn(8) consumer index(24). Arming fires at once if an entry is unread. */
void sn_eq_doorbell(struct softnic *nic, uint32_t page, uint32_t value, bool arm)
{
	struct sn_eq *eq = sn_table_find(&nic->eqs, value >> 24);
	uint32_t ci = value & 0xffffff;

	if (!eq || eq->uar->page != page) {
		sn_violate(nic, SN_V_EQ_UNKNOWN, "doorbell of EQ %u on UAR %u", value >> 24, page);
		return;
	}
	if (((ci - eq->ci) & 0xffffff) > ((eq->pi - eq->ci) & 0xffffff)) {
		sn_violate(nic, SN_V_EQ_CI,
			   "EQ %u: consumer index %u after %u, producer index %u", eq->eqn, ci,
			   eq->ci, eq->pi);
		return;
	}
	eq->ci = ci;
	if (!arm)
		return;
	eq->armed = true;
	if (eq->pi != eq->ci)
		fire_eq(nic, eq);
}

/*
 * Stores an EQ doorbell for the thread that drives the device. A later doorbell of the EQ replaces an
 * earlier one, but an update of the index must not cancel an arm.
 */
enum { POSTED_ARM = 32, POSTED_VALID = 33, POSTED_PAGE = 34 };

void sn_eq_post(struct softnic *nic, uint32_t page, uint32_t value, bool arm)
{
	_Atomic uint64_t *slot = &nic->dev->eq_db[value >> 24];
	uint64_t old = atomic_load(slot), new;

	do {
		new = value | UINT64_C(1) << POSTED_VALID | (uint64_t)page << POSTED_PAGE;
		new |= (uint64_t)arm << POSTED_ARM | (old & UINT64_C(1) << POSTED_ARM);
	} while (!atomic_compare_exchange_weak(slot, &old, new));
	atomic_store(&nic->dev->any_eq_db, true);
}

bool sn_eq_take_posted(struct softnic *nic)
{
	bool any = false;

	atomic_store(&nic->dev->any_eq_db, false);
	for (unsigned int i = 0; i < 256; i++) {
		uint64_t v = atomic_load_explicit(&nic->dev->eq_db[i], memory_order_relaxed);

		if (!v)
			continue;
		v = atomic_exchange(&nic->dev->eq_db[i], 0);
		sn_eq_doorbell(nic, (uint32_t)(v >> POSTED_PAGE), (uint32_t)v,
			       v >> POSTED_ARM & 1);
		any = true;
	}
	return any;
}
