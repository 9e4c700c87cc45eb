/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A CQ that is resized, from each position and state. The test simulates the device from the manual: it
 * writes CQEs at its index, answers MODIFY_CQ with a last CQE in the old ring, and continues in the new
 * one. Under traffic, on the software ConnectX: grow.c.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/mlx5/rig.h"

#define LOG 4u

struct played {
	/* the first member, because the driver sees it as struct m5_ctl */
	struct m5_ctl ctl;
	struct m5_cqe *ring, *next;	/* next: the ring that was registered last */
	unsigned int log;
	uint32_t pi;
	unsigned int umems, refuse;
	bool no_end;			/* no CQE ends the old ring */
};

static struct {
	struct dap_ia ia;
	struct dap_ep ep;
	struct dap_evd evd;
	struct m5_uidx_page page;
	struct m5_uidx_page *dir[4096];
	struct m5_slot slots[1 << 10];
	uint32_t dbrec[2];
	struct m5_cqe first[1 << LOG];
	struct played dev;
} t;

static void dev_write(uint8_t opcode)
{
	struct m5_cqe *cqe = &t.dev.ring[t.dev.pi & ((1u << t.dev.log) - 1)];
	uint32_t owner = t.dev.pi >> t.dev.log & 1;

	memset(cqe, 0, sizeof(*cqe));
	cqe->uidx = cpu_to_be32(3);
	cqe->wqe_counter = cpu_to_be16((uint16_t)t.dev.pi);
	cqe->byte_cnt = cpu_to_be32(t.dev.pi);
	cqe->op_own = (uint8_t)((uint32_t)opcode << 4 | owner);
	t.dev.pi++;
}

static int play_umem_reg(struct m5_ctl *ctl, void *addr, size_t len, struct m5_umem *umem)
{
	(void)ctl;
	(void)len;
	*umem = (struct m5_umem){ .id = ++t.dev.umems };
	t.dev.next = addr;
	return 0;
}

static int play_umem_dereg(struct m5_ctl *ctl, struct m5_umem *umem)
{
	(void)ctl;
	(void)umem;
	t.dev.umems--;
	return 0;
}

static int play_obj_cmd(struct m5_obj *obj, const void *in, size_t inlen, void *out, size_t outlen)
{
	const uint8_t *b = in;

	(void)obj;
	(void)outlen;
	memset(out, 0, 16);
	cr_assert_eq(inlen, 272);
	cr_assert(b[0] == 0x04 && b[1] == 0x03 && b[7] == 1,
		  "the command is not MODIFY_CQ with a resize");
	cr_assert_eq(b[11], 77, "the command names another CQ");
	cr_assert_eq(b[15], 7);
	if (t.dev.refuse) {
		*(uint8_t *)out = 0x0f;
		return -EREMOTEIO;
	}
	if (!t.dev.no_end)
		dev_write(M5_CQE_RESIZE);
	t.dev.ring = t.dev.next;
	t.dev.log = b[16 + 12];		/* the field cqc.log_cq_size */
	return 0;
}

static const struct m5_ctl_ops played_ops = {
	.umem_reg = play_umem_reg, .umem_dereg = play_umem_dereg, .obj_cmd = play_obj_cmd,
};

static void start(uint32_t at)
{
	struct m5_ia *ia = m5_ia(&t.ia);
	struct m5_cq *cq = m5_cq(&t.evd);

	memset(&t, 0, sizeof(t));
	t.dev.ctl.ops = &played_ops;
	t.dev.ring = t.first;
	t.dev.log = LOG;
	t.dev.pi = at;
	ia->ctl = &t.dev.ctl;
	ia->dev.max_cqe = 1 << 16;
	ia->dev.cq_resize = true;
	ia->locked = true;
	pthread_mutex_init(&ia->lock, NULL);
	t.ep.obj.ia = t.evd.obj.ia = &t.ia;
	m5_ep(&t.ep)->uidx = 3;
	m5_ep(&t.ep)->done.rq_slots = t.slots;
	m5_ep(&t.ep)->done.rq_mask = (1 << 10) - 1;
	t.page.ep[3] = &t.ep;
	for (int i = 0; i < 4096; i++)
		t.dir[i] = &t.page;
	*cq = (struct m5_cq){ .ring = (uint8_t *)t.first, .ci = at, .mask = (1 << LOG) - 1,
			      .log = LOG, .dbrec = t.dbrec, .dir = t.dir, .cqn = 77, .room = 8 };
	for (uint32_t i = 0; i < 1 << LOG; i++)
		t.first[(at + i) & ((1 << LOG) - 1)].op_own =
			(uint8_t)(0xf0 | (~((at + i) >> LOG) & 1));
}

static void expect(uint32_t bytes)
{
	struct dap_event ev;

	cr_assert(m5_hw.cq_poll(&t.evd, &ev), "completion %u is lost", bytes);
	cr_assert_eq(ev.dto.length, bytes);
}

static void finish(void)
{
	struct dap_event ev;

	cr_assert(!m5_hw.cq_poll(&t.evd, &ev));
	if (m5_cq(&t.evd)->grown.base)
		m5_mem_free(&t.dev.ctl, &m5_cq(&t.evd)->grown, 0);
	cr_assert_eq(t.dev.umems, 0, "the old ring is still registered");
	cr_assert_null(fake.overflowed);
}

/* Runs from every position of the ring, with every possible number of completions in it, twice. */
Test(resize, cq_resize__moves_completions)
{
	for (uint32_t at = 0; at < 80; at++) {
		for (uint32_t n = 0; n < 1 << LOG; n++) {
			start(at);
			for (uint32_t i = 0; i < n; i++)
				dev_write(M5_CQE_RESP_SEND);
			cr_assert_eq(m5_hw.cq_resize(&t.evd, 30), 0);
			cr_assert_eq(m5_cq(&t.evd)->mask, 31);
			for (uint32_t i = 0; i < 5; i++)
				dev_write(M5_CQE_RESP_SEND);
			for (uint32_t i = 0; i < n; i++)
				expect(at + i);
			cr_assert_eq(m5_hw.cq_resize(&t.evd, 100), 0);
			for (uint32_t i = 0; i < 5; i++)
				expect(at + n + 1 + i);
			for (uint32_t i = 0; i < 300; i++) {
				dev_write(M5_CQE_RESP_SEND);
				expect(at + n + 7 + i);
			}
			cr_assert_eq(be32toh(t.dbrec[0]), at + n + 307);
			finish();
		}
	}
}

Test(resize, cq_resize__that_the_device_refuses_keeps_the_old_ring)
{
	start(5);
	dev_write(M5_CQE_RESP_SEND);
	t.dev.refuse = 1;
	fake.quiet = true;
	cr_assert_eq(m5_hw.cq_resize(&t.evd, 30), -ENOMEM);
	expect(5);
	dev_write(M5_CQE_RESP_SEND);
	expect(6);
	cr_assert_eq(m5_hw.cq_resize(&t.evd, 1 << 17), -ENOSPC);
	finish();
}

/* The device goes on one entry earlier than the driver expects, so one completion is lost: the last one of
 * the old ring, or the first one of the new ring. */
Test(resize, cq_resize__without_a_last_cqe_logs_that_completions_were_lost)
{
	for (uint32_t n = 0; n < 1 << LOG; n++) {
		start(5);
		t.dev.no_end = true;
		fake.quiet = true;
		for (uint32_t i = 0; i < n; i++)
			dev_write(M5_CQE_RESP_SEND);
		cr_assert_eq(m5_hw.cq_resize(&t.evd, 30), 0);
		cr_assert(strstr(fake.log, "completions were lost when its CQ grew"), "the log says: %s",
			  fake.log);
		for (uint32_t i = 0; i < 5; i++)
			dev_write(M5_CQE_RESP_SEND);
		for (uint32_t i = 1; i < n + 5; i++)
			expect(5 + i - (i < n));
		finish();
	}
}
