/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The event queue of the software ConnectX, read by its interrupt handler. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "hw_mlx5/cmd.h"
#include "hw_mlx5/ctl/soft.h"
#include "softnic/softnic.h"

#define EQ_BYTES ((size_t)sizeof(struct m5_eqe) << SOFT_EQ_LOG)

static void eq_doorbell(struct m5_ctl_soft *s, uint32_t offset)
{
	/* The doorbell word, padded to an MMIO write of 8 bytes. */
	be32_t db[2] = { m5_eq_doorbell(&s->eq.eq) };

	softnic_mmio_write(s->ctl.soft, s->eq.uar.page, offset, db, sizeof(db));
}

/* Called by the thread that drives the device, one at a time. */
void soft_irq(void *ctx, unsigned int vector)
{
	struct m5_ctl_soft *s = ctx;

	(void)vector;
	if (!s->eq.made)
		return;
	while (m5_eq_read(&s->eq.eq, &s->events))
		eq_doorbell(s, M5_UAR_EQ_CI);
	eq_doorbell(s, M5_UAR_EQ_ARM);
}

static void eq_command(struct m5_ctl_soft *s, struct m5_create_eq_in *in)
{
	in->hdr.opcode = cpu_to_be16(M5_CMD_CREATE_EQ);
	in->size_uar = cpu_to_be32((uint32_t)SOFT_EQ_LOG << 24 | s->eq.uar.page);
	in->event_bitmask[0] = cpu_to_be64(1ull << M5_EV_COMPLETION | M5_EVENTS_OF_OBJECTS);
	for (size_t i = 0; i < EQ_BYTES / 4096; i++)
		in->pas[i] = cpu_to_be64((uintptr_t)s->eq.eq.ring + i * 4096);
}

static int eq_create(struct m5_ctl_soft *s)
{
	size_t inlen = sizeof(struct m5_create_eq_in) + EQ_BYTES / 4096 * sizeof(be64_t);
	struct m5_create_eq_in *in = calloc(1, inlen);
	struct m5_obj_out out = { 0 };
	int err;

	if (!in)
		return -ENOMEM;
	eq_command(s, in);
	err = m5_cmd(&s->ctl, in, inlen, &out, sizeof(out));
	if (!err)
		s->eq.eq.eqn = be32_to_cpu(out.number) & 0xff;
	free(in);
	return err;
}

int soft_eq_open(struct m5_ctl_soft *s)
{
	struct m5_eq *eq = &s->eq.eq;
	int err = hw_soft_fails() ? -EMFILE : m5_events_open(&s->events);

	if (err)
		return err;
	eq->log = SOFT_EQ_LOG;
	eq->ring = mmap(NULL, EQ_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (eq->ring == MAP_FAILED) {
		err = -ENOMEM;
		goto err_close;
	}
	m5_eq_init(eq);
	err = soft_uar_alloc(&s->ctl, M5_UAR_NC, &s->eq.uar);
	if (err)
		goto err_unmap;
	err = eq_create(s);
	if (err)
		goto err_uar;
	s->eq.made = true;
	eq_doorbell(s, M5_UAR_EQ_ARM);
	return 0;

err_uar:
	soft_uar_free(&s->ctl, &s->eq.uar);
err_unmap:
	munmap(eq->ring, EQ_BYTES);
err_close:
	m5_events_close(&s->events);
	return err;
}

void soft_eq_close(struct m5_ctl_soft *s)
{
	soft_undo(&s->ctl, M5_CMD_DESTROY_EQ, s->eq.eq.eqn);
	soft_uar_free(&s->ctl, &s->eq.uar);
	munmap(s->eq.eq.ring, EQ_BYTES);
	m5_events_close(&s->events);
}

int soft_evch_create(struct m5_ctl *ctl, struct m5_evch **ch)
{
	return hw_soft_fails() ? -EMFILE : m5_evch_open(ctl, ch);
}

int soft_evch_bind(struct m5_evch *ch, struct m5_obj *cq, uint32_t cqn)
{
	if (hw_soft_fails())
		return -ENOMEM;
	m5_events_bind(&soft_of(ch->ctl)->events, &cq->link, cqn, ch);
	return 0;
}

int soft_async_fd(struct m5_ctl *ctl)
{
	return soft_of(ctl)->events.async_fd;
}

int soft_async_read(struct m5_ctl *ctl, struct m5_event *ev)
{
	return m5_events_read(&soft_of(ctl)->events, ev);
}
