/* SPDX-License-Identifier: BSD-2-Clause */
/* Every slot of the provider's table, by number: its offset is 16 + 8 * number. */
#ifndef TEST_ABI_SLOTS_H
#define TEST_ABI_SLOTS_H

#define ABI_SLOTS(SLOT)							\
	SLOT(0, ia_open)						\
	SLOT(1, ia_query)						\
	SLOT(2, ia_close)						\
	SLOT(3, set_consumer_context)					\
	SLOT(4, get_consumer_context)					\
	SLOT(5, get_handle_type)					\
	SLOT(6, cno_create)						\
	SLOT(7, cno_modify_agent)					\
	SLOT(8, cno_query)						\
	SLOT(9, cno_free)						\
	SLOT(10, cno_wait)						\
	SLOT(11, cr_query)						\
	SLOT(12, cr_accept)						\
	SLOT(13, cr_reject)						\
	SLOT(14, cr_handoff)						\
	SLOT(15, evd_create)						\
	SLOT(16, evd_query)						\
	SLOT(17, evd_modify_cno)					\
	SLOT(18, evd_enable)						\
	SLOT(19, evd_disable)						\
	SLOT(20, evd_wait)						\
	SLOT(21, evd_resize)						\
	SLOT(22, evd_post_se)						\
	SLOT(23, evd_dequeue)						\
	SLOT(24, evd_free)						\
	SLOT(25, ep_create)						\
	SLOT(26, ep_query)						\
	SLOT(27, ep_modify)						\
	SLOT(28, ep_connect)						\
	SLOT(29, ep_dup_connect)					\
	SLOT(30, ep_disconnect)						\
	SLOT(31, ep_post_send)						\
	SLOT(32, ep_post_recv)						\
	SLOT(33, ep_post_rdma_read)					\
	SLOT(34, ep_post_rdma_write)					\
	SLOT(35, ep_get_status)						\
	SLOT(36, ep_free)						\
	SLOT(37, lmr_create)						\
	SLOT(38, lmr_query)						\
	SLOT(39, lmr_free)						\
	SLOT(40, rmr_create)						\
	SLOT(41, rmr_query)						\
	SLOT(42, rmr_bind)						\
	SLOT(43, rmr_free)						\
	SLOT(44, psp_create)						\
	SLOT(45, psp_query)						\
	SLOT(46, psp_free)						\
	SLOT(47, rsp_create)						\
	SLOT(48, rsp_query)						\
	SLOT(49, rsp_free)						\
	SLOT(50, pz_create)						\
	SLOT(51, pz_query)						\
	SLOT(52, pz_free)						\
	SLOT(53, psp_create_any)					\
	SLOT(54, ep_reset)						\
	SLOT(55, evd_set_unwaitable)					\
	SLOT(56, evd_clear_unwaitable)					\
	SLOT(57, lmr_sync_rdma_read)					\
	SLOT(58, lmr_sync_rdma_write)					\
	SLOT(59, ep_create_with_srq)					\
	SLOT(60, ep_recv_query)						\
	SLOT(61, ep_set_watermark)					\
	SLOT(62, srq_create)						\
	SLOT(63, srq_free)						\
	SLOT(64, srq_post_recv)						\
	SLOT(65, srq_query)						\
	SLOT(66, srq_resize)						\
	SLOT(67, srq_set_lw)

#define ABI_SLOT_COUNT 68

#endif
