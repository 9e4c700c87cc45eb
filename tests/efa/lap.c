/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order of loads from a CQE that the device writes at the same time: the phase must be loaded
 * first. No model of the device writes between two loads of a dequeue. So the test lets a CQE
 * arrive before each instruction of a dequeue in turn.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "hw_efa/lock.h"
#include "tests/efa/rig.h"
#include "tests/harness/harness.h"

enum { MESSAGES = 3, RING = 64, WINDOW = 4, LEN = 8 };

static struct rig r;
static volatile unsigned int steps, arrive_at;
/* the CQEs that arrive during the dequeue, and where */
static struct efa_cqe *late_at, late[2];

static void arrive(void)
{
	memcpy(late_at, late, sizeof(late));
}

static void look(const uint8_t *insn)
{
	(void)insn;
	if (steps++ == arrive_at)
		arrive();
}

static DAT_EVENT event;
static DAT_RETURN ret;

/* Dequeues without driving the device, as on hardware. */
static DAT_RETURN dequeue(struct dap_evd *evd)
{
	struct efa_engine *eng = efa_ia(r.ia)->eng;
	DAT_RETURN got;

	eng->driven = false;
	got = r.hot->evd_dequeue(evd, &event);
	eng->driven = true;
	return got;
}

static void dequeue_message(void)
{
	ret = dequeue(r.b.recv);
}

/* Returns a CQE of the previous lap: it has the other phase, and the immediate of a packet in the
 * window. */
static struct efa_cqe of_last_lap(struct efa_cqe cqe)
{
	uint32_t imm = (uint32_t)le32_to_cpu(cqe.imm);

	cqe.flags ^= EFA_CQE_PHASE;
	cqe.imm = cpu_to_le32(imm + (WINDOW << 12));
	return cqe;
}

/* Puts the CQEs of both ends for three messages on the CQ: the requests first, then messages 1, 2
 * and 0. */
static void messages_on_cq(void)
{
	struct efa_engine *eng = efa_ia(r.ia)->eng;
	struct efa_cqring *cq = &eng->cq;
	struct efa_cqe *at = (void *)(uintptr_t)&cq->base[cq->ci & cq->mask], others[RING], messages[RING];
	unsigned int n = 0, nothers = 0, nmessages = 0;

	for (unsigned int i = 0; i < MESSAGES; i++) {
		cr_assert_eq(rig_recv(&r, &r.b, i, i * LEN, LEN), DAT_SUCCESS);
		cr_assert_eq(rig_send(&r, &r.a, i, i * LEN, LEN), DAT_SUCCESS);
	}
	efa_enter(eng);
	for (unsigned int i = 0; i < 64; i++)
		efa_pump(eng);
	efa_leave(eng);
	for (; (at[n].flags & EFA_CQE_PHASE) != (cq->ci >> cq->log & 1); n++)
		if (le16_to_cpu(at[n].qp_num) == efa_ep(r.b.ep)->qpn &&
		    (at[n].flags & EFA_CQE_QUEUE_MASK) >> EFA_CQE_QUEUE_SHIFT == EFA_CQE_RQ)
			messages[nmessages++] = at[n];
		else
			others[nothers++] = at[n];
	cr_assert_eq(nmessages, MESSAGES,
		     "%u messages and %u other completions arrived in round %u", nmessages, nothers,
		     arrive_at);
	memcpy(at, others, nothers * sizeof(*at));
	at += nothers;
	at[0] = messages[1];
	late_at = &at[1];
	late[0] = messages[2];
	late[1] = messages[0];
	at[1] = of_last_lap(late[0]);
	at[2] = of_last_lap(late[1]);
}

Test(efa_lap, dequeue__beside_the_device_reads_no_number_of_the_last_lap, .timeout = 60)
{
	if (TH_ASAN)	/* the dequeue has thousands of instructions, and each is one round */
		cr_skip_test("not under a sanitizer");
	rig_open_pair(&r, "seed=7");
	do {
		messages_on_cq();
		for (unsigned int i = 0; i < MESSAGES; i++)
			cr_assert_eq(dequeue(r.a.req), DAT_SUCCESS);
		steps = 0;
		if (!th_step(dequeue_message, look))
			cr_skip_test("a call can be executed step by step only on x86-64");
		if (arrive_at >= steps)
			arrive();
		for (unsigned int i = 0; i < MESSAGES; i++) {
			if (i || ret != DAT_SUCCESS)
				dequeue_message();
			cr_assert_eq(ret, DAT_SUCCESS,
				     "message %u was missed; its CQE came before instruction %u of "
				     "%u",
				     i, arrive_at, steps);
			cr_assert_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, i);
		}
	} while (arrive_at++ < steps);
	cr_assert_gt(steps, 10);
	rig_close_pair(&r);
}
