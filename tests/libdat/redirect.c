/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The redirected calls: each handles a null handle itself, and otherwise jumps through its own slot. The
 * test calls all of them through one type with more arguments than any of them has. On x86_64 extra
 * arguments do no harm, because the caller removes them.
 */
#include <criterion/criterion.h>
#include <dat/dat_registry.h>

#include "tests/abi/slots.h"
#include "tests/libdat/util.h"

typedef DAT_RETURN (*any_call)(void *handle, long, long, long, long, long, long, long, long, long,
			       long, long);

/* For each call, the number of its slot, and the subtype of its error for a null handle. */
static const struct {
	const char *name;
	any_call call;
	int slot;
	DAT_RETURN_SUBTYPE null;
} calls[] = {
#define ROW(slot, name, null) \
	{"dat_" #name, (any_call)(void *)dat_##name, slot, DAT_INVALID_HANDLE##null}
	ROW(1, ia_query, _IA),
	ROW(3, set_consumer_context, 1),
	ROW(4, get_consumer_context, 1),
	ROW(5, get_handle_type, 1),
	ROW(6, cno_create, _IA),
	ROW(7, cno_modify_agent, _CNO),
	ROW(8, cno_query, _CNO),
	ROW(9, cno_free, _CNO),
	ROW(10, cno_wait, _CNO),
	ROW(11, cr_query, _CR),
	ROW(12, cr_accept, _CR),
	ROW(13, cr_reject, _CR),
	ROW(14, cr_handoff, _CR),
	ROW(15, evd_create, _IA),
	ROW(16, evd_query, 1),
	ROW(17, evd_modify_cno, 1),
	ROW(18, evd_enable, 1),
	ROW(19, evd_disable, 1),
	ROW(20, evd_wait, 1),
	ROW(21, evd_resize, 1),
	ROW(22, evd_post_se, 1),
	ROW(23, evd_dequeue, 1),
	ROW(24, evd_free, 1),
	ROW(25, ep_create, _IA),
	ROW(26, ep_query, _EP),
	ROW(27, ep_modify, _EP),
	ROW(28, ep_connect, _EP),
	ROW(29, ep_dup_connect, _EP),
	ROW(30, ep_disconnect, _EP),
	ROW(31, ep_post_send, _EP),
	ROW(32, ep_post_recv, _EP),
	ROW(33, ep_post_rdma_read, _EP),
	ROW(34, ep_post_rdma_write, _EP),
	ROW(35, ep_get_status, _EP),
	ROW(36, ep_free, _EP),
	ROW(37, lmr_create, _IA),
	ROW(38, lmr_query, _LMR),
	ROW(39, lmr_free, _LMR),
	ROW(40, rmr_create, _PZ),
	ROW(41, rmr_query, _RMR),
	ROW(42, rmr_bind, _RMR),
	ROW(43, rmr_free, _RMR),
	ROW(44, psp_create, _IA),
	ROW(45, psp_query, _PSP),
	ROW(46, psp_free, _PSP),
	ROW(47, rsp_create, _IA),
	ROW(48, rsp_query, _RSP),
	ROW(49, rsp_free, _RSP),
	ROW(50, pz_create, _IA),
	ROW(51, pz_query, _PZ),
	ROW(52, pz_free, _PZ),
	ROW(53, psp_create_any, _IA),
	ROW(54, ep_reset, _EP),
	ROW(55, evd_set_unwaitable, 1),
	ROW(56, evd_clear_unwaitable, 1),
	ROW(57, lmr_sync_rdma_read, _IA),
	ROW(58, lmr_sync_rdma_write, _IA),
	ROW(59, ep_create_with_srq, _IA),
	ROW(60, ep_recv_query, _EP),
	ROW(61, ep_set_watermark, _EP),
	ROW(62, srq_create, _IA),
	ROW(63, srq_free, _SRQ),
	ROW(64, srq_post_recv, _SRQ),
	ROW(65, srq_query, _SRQ),
	ROW(66, srq_resize, _SRQ),
	ROW(67, srq_set_lw, _SRQ),
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static DAT_RETURN call(size_t i, void *handle)
{
	return calls[i].call(handle, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

/* The 72 calls of libdat are these 66, dat_ia_openv, dat_ia_close, dat_strerror, and three of the
 * registry. */
_Static_assert(CALLS == 66, "every redirected call");

Test(libdat, redirect__null_handle_is_refused_by_each_call)
{
	for (size_t i = 0; i < CALLS; i++)
		cr_expect_eq(call(i, NULL), DAT_CLASS_ERROR | DAT_INVALID_HANDLE | calls[i].null,
			     "%s did not refuse a NULL handle", calls[i].name);
}

/* A table of distinct addresses, and an object that has this table. */
static union {
	struct dat_provider provider;
	struct {
		void *device_name, *extension;
		any_call slot[ABI_SLOT_COUNT];
	};
} table;
static const void *object[4] = {&table};

static DAT_RETURN wrong_slot(void *handle, long a, long b, long c, long d, long e, long f, long g,
			     long h, long i, long j, long k)
{
	(void)handle;
	return (DAT_RETURN)(1 + 0 * (a + b + c + d + e + f + g + h + i + j + k));
}

static DAT_RETURN right_slot(void *handle, long a, long b, long c, long d, long e, long f, long g,
			     long h, long i, long j, long k)
{
	return handle == object ? 2 : wrong_slot(handle, a, b, c, d, e, f, g, h, i, j, k);
}

Test(libdat, redirect__reaches_its_own_slot)
{
	for (int i = 0; i < ABI_SLOT_COUNT; i++)
		table.slot[i] = wrong_slot;
	for (size_t i = 0; i < CALLS; i++) {
		table.slot[calls[i].slot] = right_slot;
		cr_expect_eq(call(i, object), 2, "%s did not call its own function of the table",
			     calls[i].name);
		table.slot[calls[i].slot] = wrong_slot;
		cr_expect_eq(call(i, object), 1, "%s called two functions of the table",
			     calls[i].name);
	}
}

static struct {
	DAT_IA_HANDLE ia;
	DAT_MEM_TYPE type;
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN length, *size;
	DAT_PZ_HANDLE pz;
	DAT_MEM_PRIV_FLAGS priv;
	DAT_LMR_HANDLE *lmr;
	DAT_LMR_CONTEXT *lmr_context;
	DAT_RMR_CONTEXT *rmr_context;
	DAT_VADDR *address;
} got;

static DAT_RETURN record_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
				    DAT_REGION_DESCRIPTION region, DAT_VLEN length,
				    DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv, DAT_LMR_HANDLE *lmr,
				    DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context,
				    DAT_VLEN *size, DAT_VADDR *address)
{
	got.ia = ia;
	got.type = type;
	got.region = region;
	got.length = length;
	got.pz = pz;
	got.priv = priv;
	got.lmr = lmr;
	got.lmr_context = lmr_context;
	got.rmr_context = rmr_context;
	got.size = size;
	got.address = address;
	return 0x1234;
}

/* The call with the most arguments, in registers and on the stack, one of them a union. */
Test(libdat, redirect__hands_every_argument_on)
{
	char cookie[DAT_LMR_COOKIE_SIZE];
	DAT_REGION_DESCRIPTION region = {.for_shared_memory = {&got, &cookie}};
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_LMR_HANDLE lmr;
	DAT_VLEN size;
	DAT_VADDR address;

	table.provider.lmr_create_func = record_lmr_create;
	cr_assert_eq(dat_lmr_create(object, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 0x123456789abc,
				    &table, DAT_MEM_PRIV_ALL_FLAG, &lmr, &lmr_context, &rmr_context,
				    &size, &address), 0x1234);
	cr_assert_eq(got.ia, (DAT_IA_HANDLE)object);
	cr_assert_eq(got.type, DAT_MEM_TYPE_SHARED_VIRTUAL);
	cr_assert_eq(got.region.for_shared_memory.virtual_address, (void *)&got);
	cr_assert_eq((void *)got.region.for_shared_memory.shared_memory_id, (void *)&cookie);
	cr_assert_eq(got.length, 0x123456789abc);
	cr_assert_eq(got.pz, (DAT_PZ_HANDLE)&table);
	cr_assert_eq(got.priv, DAT_MEM_PRIV_ALL_FLAG);
	cr_assert_eq(got.lmr, &lmr);
	cr_assert_eq(got.lmr_context, &lmr_context);
	cr_assert_eq(got.rmr_context, &rmr_context);
	cr_assert_eq(got.size, &size);
	cr_assert_eq(got.address, &address);
}
