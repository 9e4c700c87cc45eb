/* SPDX-License-Identifier: BSD-2-Clause */
/* What AWS publishes about the devices, and what the driver has to make of it. */
#include <criterion/criterion.h>
#include <string.h>

#include "hw_efa/efa_lock.h"
#include "tests/efa/rig.h"

static struct rig r;

TestSuite(efa_silicon, .timeout = 60);

static void open_with(const char *params)
{
	rig_open(&r, params);
	rig_endpoints(&r, NULL);
}

static void finish(void)
{
	rig_endpoints_free(&r);
	rig_close(&r);
}

/* ---- packets without the number of their sender's address handle ---- */

static void messages_without_ah(const char *params)
{
	open_with(params);
	cr_assert_eq(softnic_efa_fault(r.nic, "unnamed=1"), 0);
	for (uint64_t i = 0; i < 200; i++) {
		r.a.mem[0] = (uint8_t)i;
		cr_assert_eq(rig_recv(&r, &r.b, i, 0, 64), DAT_SUCCESS);
		cr_assert_eq(rig_send(&r, &r.a, i, 0, 8), DAT_SUCCESS);
		cr_assert_eq(rig_next(&r, r.b.recv).dto.status, DAP_DTO_SUCCESS, "%s", fake.said);
		cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_SUCCESS, "%s", fake.said);
		cr_assert_eq(r.b.mem[0], (uint8_t)i);
		cr_assert_null(fake.broken, "%s", fake.said);
	}
	finish();
}

Test(efa_silicon, message__of_known_peer_without_ah_number_is_delivered)
{
	messages_without_ah("seed=7");
}

Test(efa_silicon, message__without_ah_number_nor_gid_is_delivered)
{
	messages_without_ah("seed=7 efa_profile=efa1");
}

/* The same QP number of another host. */
Test(efa_silicon, message__of_unknown_gid_is_dropped)
{
	struct efa_ep *e;
	struct efa_cqe cqe;
	uint32_t next;

	open_with("seed=7");
	e = efa_ep(r.a.ep);
	next = e->rx.next;
	cqe = (struct efa_cqe){
		.req_id = cpu_to_le16((uint16_t)e->rx.gen),
		.imm = cpu_to_le32(efa_imm(EFA_K_MSG, false, next, 0)),
		.flags = EFA_CQE_HAS_IMM | EFA_CQE_RQ << EFA_CQE_QUEUE_SHIFT,
		.qp_num = cpu_to_le16(e->qpn), .length = cpu_to_le16(8),
		.ah = cpu_to_le16(EFA_NO_AH), .src_qp = cpu_to_le16(e->remote_qpn),
	};
	memcpy(cqe.sgid, r.a.ep->remote_path.gid, sizeof(cqe.sgid));
	cqe.sgid[15] ^= 1;
	efa_take(efa_ia(r.ia)->eng);
	efa_rx_packet(r.a.ep, &cqe);
	efa_give(efa_ia(r.ia)->eng);
	cr_assert_eq(e->rx.next, next);
	cr_assert_null(fake.broken, "%s", fake.said);
	cr_assert_not_null(strstr(fake.said, "stranger"), "it said: %s", fake.said);
}
