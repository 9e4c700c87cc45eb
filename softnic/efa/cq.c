/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues: creation, doorbell, events. cqe.c writes the CQEs. */
#include <errno.h>
#include <stdlib.h>

#include "softnic/efa/nic.h"

static int check_fields(struct sne_nic *nic, const struct softnic_efa_cq_attr *a)
{
	const char *what = NULL;

	if (!a->entries || a->entries > nic->caps.max_cqe || a->entries & (a->entries - 1))
		what = "entries";
	else if (a->entry_size != 16 && a->entry_size != 32)
		what = "entry size";
	else if (a->sub_cqs != nic->caps.sub_cqs)
		what = "number of sub-CQs";
	else if (a->flags & SOFTNIC_EFA_CQ_SGID && a->entry_size != 32)
		what = "entry size for SGIDs";
	else if (a->flags & SOFTNIC_EFA_CQ_BUS && (!nic->config.host.dma || a->bus_addr % a->entry_size))
		what = "bus address";
	if (!what)
		return 0;
	sne_violate(nic, SNE_V_CMD_FIELD, "CQ with a wrong %s", what);
	return -EINVAL;
}

static int check_caps(struct sne_nic *nic, unsigned int flags)
{
	const char *what = NULL;

	if (flags & SOFTNIC_EFA_CQ_EVENTS && !nic->caps.cq_doorbell)
		what = "events";
	else if (flags & SOFTNIC_EFA_CQ_SGID && !nic->caps.cq_with_sgid)
		what = "SGIDs";
	else if (flags & SOFTNIC_EFA_CQ_REQ_ID_64 && !nic->caps.req_id_64)
		what = "64-bit request ids";
	if (!what)
		return 0;
	sne_violate(nic, SNE_V_CMD_CAPS, "CQ with %s", what);
	return -EOPNOTSUPP;
}

/* Returns the size of a CQ's ring in bytes of the device's memory. */
static uint64_t ring_bytes(const struct softnic_efa_cq_attr *a)
{
	return a->flags & SOFTNIC_EFA_CQ_BUS ? 0 : (uint64_t)a->entries * a->entry_size * a->sub_cqs;
}

static void give_ring(struct sne_nic *nic, const struct sne_cq *cq)
{
	if (cq->ring)
		sne_bar_give(&nic->bar, cq->ring_off, ring_bytes(&cq->attr));
}

static int take_memory(struct sne_nic *nic, struct sne_cq *cq)
{
	uint64_t bytes = ring_bytes(&cq->attr);
	int err = bytes ? sne_bar_take(&nic->bar, bytes, &cq->ring_off) : 0;

	if (err)
		return err;
	if (bytes) {
		cq->ring = nic->bar.map + cq->ring_off;
		memset(cq->ring, 0, sne_pages(bytes));
	}
	if (!nic->caps.cq_doorbell)
		return 0;
	err = sne_bar_take(&nic->bar, SNE_PAGE, &cq->db_off);
	if (err) {
		give_ring(nic, cq);
		return err;
	}
	cq->db = (_Atomic uint32_t *)(void *)(nic->bar.map + cq->db_off);
	atomic_store(cq->db, 0);
	return 0;
}

static int create(struct sne_nic *nic, const struct softnic_efa_cq_attr *attr, struct sne_cq **out)
{
	struct sne_cq *cq = calloc(1, sizeof(*cq));
	uint32_t id;
	int err;

	if (!cq)
		return -ENOMEM;
	cq->attr = *attr;
	err = sne_id_take(&nic->cq_ids, &id);
	if (err) {
		sne_violate(nic, SNE_V_CMD_RESOURCE, "more than %u CQs", SNE_CQS);
		free(cq);
		return err;
	}
	cq->number = (uint16_t)id;
	err = take_memory(nic, cq);
	if (err) {
		sne_id_give(&nic->cq_ids, id);
		free(cq);
		return err;
	}
	nic->cqs[id] = cq;
	*out = cq;
	return 0;
}

int softnic_efa_cq_create(struct softnic_efa *handle, const struct softnic_efa_cq_attr *attr,
			  struct softnic_efa_cq *out)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	struct sne_cq *cq = NULL;
	int err;

	if (!sne_enter(nic))
		return -ENODEV;
	err = check_fields(nic, attr);
	if (!err)
		err = check_caps(nic, attr->flags);
	if (!err)
		err = sne_refuses(nic, SNE_CMD_CQ) ? -ENOMEM : create(nic, attr, &cq);
	if (!err)
		*out = (struct softnic_efa_cq){
			.cq = cq->number,
			.ring = cq->ring,
			.ring_bytes = sne_pages(ring_bytes(attr)),
			.ring_bar_offset = cq->ring_off,
			.doorbell = (volatile uint32_t *)cq->db,
			.doorbell_bar_offset = cq->db_off,
		};
	sne_leave(nic);
	return err;
}

static void set_armed(struct sne_nic *nic, struct sne_cq *cq, bool armed)
{
	nic->armed_cqs += (uint32_t)armed - (uint32_t)cq->armed;
	cq->armed = armed;
}

void sne_cq_free(struct sne_nic *nic, struct sne_cq *cq)
{
	set_armed(nic, cq, false);
	nic->cqs[cq->number] = NULL;
	give_ring(nic, cq);
	if (cq->db)
		sne_bar_give(&nic->bar, cq->db_off, SNE_PAGE);
	sne_id_give(&nic->cq_ids, cq->number);
	free(cq);
}

struct sne_cq *sne_cq_find(struct sne_nic *nic, uint16_t number)
{
	return number < SNE_CQS ? nic->cqs[number] : NULL;
}

int softnic_efa_cq_destroy(struct softnic_efa *handle, uint16_t number)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	struct sne_cq *cq;
	int err = 0;

	if (!sne_enter(nic))
		return -ENODEV;
	cq = sne_cq_find(nic, number);
	if (!cq) {
		sne_violate(nic, SNE_V_CMD_OBJECT, "destroy of CQ %u, which does not exist",
			    number);
		err = -EINVAL;
	} else if (cq->users) {
		sne_violate(nic, SNE_V_CMD_BUSY, "destroy of CQ %u, which %u queues use", number,
			    cq->users);
		err = -EBUSY;
	} else {
		sne_cq_free(nic, cq);
	}
	sne_leave(nic);
	return err;
}

static void fire(struct sne_nic *nic, struct sne_cq *cq)
{
	set_armed(nic, cq, false);
	cq->events++;
	if (nic->config.host.cq_event)
		nic->config.host.cq_event(nic->config.host.ctx, cq->number);
}

/* libefa reports its consumer counter only now and then, so a counter behind the model's own is no
 * error. */
static void consumed(struct sne_nic *nic, struct sne_cq *cq, uint16_t count)
{
	if ((uint16_t)(cq->written - count) >= 32768 && cq->attr.entries < 32768)
		sne_violate(nic, SNE_V_CQ_CONSUMER,
			    "CQ %u: the driver took %u CQEs, %u were written", cq->number, count,
			    cq->written & 0xffff);
}

void sne_cq_doorbell(struct sne_nic *nic, struct sne_cq *cq)
{
	uint32_t db = cq->db ? atomic_load_explicit(cq->db, memory_order_acquire) : 0;
	uint32_t sn = db >> SNE_CQ_DB_SN_SHIFT & 3;

	if (!cq->db || db == cq->db_seen)
		return;
	cq->db_seen = db;
	nic->ctr.doorbells++;
	consumed(nic, cq, (uint16_t)db);
	if (!(db & SNE_CQ_DB_ARM))
		return;
	cq->db_armed = db;
	if (!(cq->attr.flags & SOFTNIC_EFA_CQ_EVENTS)) {
		sne_violate(nic, SNE_V_CQ_ARM, "arm of CQ %u, which was created without events",
			    cq->number);
		return;
	}
	if (sn != (cq->events & 3)) {
		/* A cmd_sn one behind is no error: the driver has not handled the last event
		 * yet. */
		if (sn != ((cq->events - 1) & 3))
			sne_violate(nic, SNE_V_CQ_CMD_SN, "CQ %u: cmd_sn %u after %u events",
				    cq->number, sn, cq->events);
		return;
	}
	set_armed(nic, cq, true);
	if ((uint16_t)db != (uint16_t)cq->written)
		fire(nic, cq);
}

void softnic_efa_kick_cq(struct softnic_efa *handle, uint16_t number)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	struct sne_cq *cq;

	if (!sne_enter(nic))
		return;
	cq = sne_cq_find(nic, number);
	if (cq)
		sne_cq_doorbell(nic, cq);
	else
		sne_violate(nic, SNE_V_DB_UNKNOWN, "doorbell of CQ %u, which does not exist",
			    number);
	sne_thread_watch(nic);
	sne_leave(nic);
}

/* Asks the driver only if its last answer is too old to exclude an overrun. */
static void check_overrun(struct sne_nic *nic, struct sne_cq *cq, uint16_t sub)
{
	const struct softnic_efa_host *host = &nic->config.host;
	uint16_t unread = (uint16_t)(cq->put[sub] - cq->taken[sub]);

	if (unread < cq->attr.entries || !host->cq_taken)
		return;
	cq->taken[sub] = host->cq_taken(host->ctx, cq->number, sub);
	unread = (uint16_t)(cq->put[sub] - cq->taken[sub]);
	if (unread >= cq->attr.entries)
		sne_violate(nic, SNE_V_CQ_OVERRUN,
			    "CQ %u of %u entries: the driver has not taken %u", cq->number,
			    cq->attr.entries, unread);
}

/* With the fault word `consumer`, only the counter in the CQ's doorbell frees entries. */
static bool is_full(const struct sne_nic *nic, const struct sne_cq *cq)
{
	uint32_t consumed = cq->db ? atomic_load_explicit(cq->db, memory_order_acquire) : 0;

	if (nic->fault.arm_only)
		consumed = cq->db_armed;
	return (nic->fault.consumer || nic->fault.arm_only) && cq->db &&
	       (uint16_t)(cq->written - consumed) >= cq->attr.entries;
}

/* The word with the phase bit is stored last and in one piece, because a driver reads it first. */
static void store(struct sne_nic *nic, const struct sne_cq *cq, uint64_t index, const struct sne_cqe *cqe)
{
	uint32_t size = cq->attr.entry_size;
	uint8_t *at = cq->ring ? cq->ring + index * size :
		sne_dma(nic, cq->attr.bus_addr + index * size, size);
	uint64_t first;

	_Static_assert(offsetof(struct sne_cqe, flags) < sizeof(first), "the first word has the phase");
	if (!at)
		return;
	memcpy(&first, cqe, sizeof(first));
	memcpy(at + sizeof(first), (const uint8_t *)cqe + sizeof(first), size - sizeof(first));
	atomic_store_explicit((_Atomic uint64_t *)(void *)at, first, memory_order_release);
}

void sne_cqe_put(struct sne_nic *nic, struct sne_cq *cq, uint16_t sub, struct sne_cqe *cqe)
{
	uint32_t n = cq->put[sub];

	if (is_full(nic, cq))
		return;
	check_overrun(nic, cq, sub);
	if (!(n & cq->attr.entries))
		cqe->flags |= SNE_CQE_PHASE;
	store(nic, cq, (uint64_t)sub * cq->attr.entries + (n & (cq->attr.entries - 1)), cqe);
	cq->put[sub] = n + 1;
	cq->written++;
	if (cq->armed)
		fire(nic, cq);
}
