/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of a walk in a process. Objects are named by slots. What a call returns is an outcome, which
 * consists of numbers. dat_walk contains these functions, and so does each program that it prints.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dat/udat.h>

enum { SLOTS = 400, BYTES = 32768, PROCS = 2, THREADS = 2, IOV = 4, VALUES = 10 };

struct shared {
	uint8_t mem[PROCS][BYTES];
	DAT_LMR_CONTEXT lmr_context[PROCS][SLOTS];
	DAT_RMR_CONTEXT rmr_context[PROCS][SLOTS];
	uint64_t qual;
	char ia[64];
	int turn; /* in a printed program, number of the step that may run */
	int wrong;
	int faults; /* packets are lost, processes die, and allocations fail */
};

struct outcome {
	DAT_RETURN ret;
	DAT_UINT32 event; /* number of the event; 0: there is none */
	int64_t v[VALUES];
};

static struct shared *shared;
static int proc; /* number of this process */
static DAT_HANDLE handles[SLOTS];
static __thread struct outcome out;

static inline DAT_HANDLE handle_at(int slot)
{
	return slot < 0 ? DAT_HANDLE_NULL : handles[slot];
}

/* Returns the last slot with this handle: a newer object may have the address of a freed one. */
static inline int slot_of(DAT_HANDLE handle)
{
	int slot = handle ? SLOTS - 1 : -1;

	while (slot >= 0 && handles[slot] != handle)
		slot--;
	return slot;
}

static inline uint8_t pattern(int cookie, int i)
{
	return (uint8_t)(cookie * 37 + i * 7 + (i >> 8) + 1);
}

static inline int64_t sum_of(const uint8_t *bytes, int n)
{
	uint32_t sum = 17;

	for (int i = 0; i < n; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}

static inline uint64_t qual_of(int n)
{
	return shared->qual + (unsigned)n;
}

static inline void fill_memory(struct shared *s)
{
	for (int i = 0; i < PROCS * BYTES; i++)
		s->mem[i / BYTES][i % BYTES] = (uint8_t)(i * 13 + (i >> 8));
}

/* Makes the private data of a connection or of its acceptance. */
static inline void *private_data(int n, uint8_t *bytes)
{
	for (int i = 0; i < n && i < 64; i++)
		bytes[i] = pattern(n, i);
	return n ? bytes : NULL;
}

/* Makes n pieces of len bytes at offset off. The first piece is at the highest address. */
static inline DAT_LMR_TRIPLET *segments(DAT_LMR_TRIPLET *iov, int lmr, int n, int off, int len)
{
	int end = off + len;

	for (int i = 0; i < n && i < IOV; i++) {
		int size = i == n - 1 ? end - off : len / n;

		end -= size;
		iov[i].lmr_context = lmr < 0 ? 0 : shared->lmr_context[proc][lmr];
		iov[i].virtual_address = (uintptr_t)&shared->mem[proc][end];
		iov[i].segment_length = (DAT_VLEN)size;
	}
	return iov;
}

/* Returns the offset of byte i of a message. */
static inline int locate(int n, int off, int len, int i)
{
	int size = n > 0 ? len / n : 0;
	int piece = size ? i / size : n - 1;

	if (piece >= n - 1)
		return off + i - size * (n - 1);
	return off + len - size * (piece + 1) + (i - piece * size);
}

static inline void fill_message(int n, int off, int len, int cookie)
{
	for (int i = 0; i < len; i++)
		shared->mem[proc][locate(n, off, len, i)] = pattern(cookie, i);
}

/* ---- objects ---- */

static inline DAT_RETURN pz_query(DAT_HANDLE pz)
{
	DAT_PZ_PARAM param;
	DAT_RETURN ret = dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param);

	if (ret == DAT_SUCCESS)
		out.v[0] = slot_of(param.ia_handle);
	return ret;
}

static inline DAT_RETURN evd_query(DAT_HANDLE evd)
{
	DAT_EVD_PARAM param;
	DAT_RETURN ret = dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param);

	if (ret == DAT_SUCCESS) {
		out.v[0] = slot_of(param.ia_handle);
		out.v[1] = param.evd_qlen;
		out.v[2] = param.evd_state;
		out.v[3] = slot_of(param.cno_handle);
		out.v[4] = param.evd_flags;
	}
	return ret;
}

static inline DAT_RETURN evd_create(DAT_HANDLE ia, int qlen, DAT_HANDLE cno, int flags, DAT_HANDLE *evd)
{
	DAT_RETURN ret = dat_evd_create(ia, qlen, cno, (DAT_EVD_FLAGS)flags, evd);

	return ret == DAT_SUCCESS ? evd_query(*evd) : ret;
}

static inline DAT_RETURN evd_resize(DAT_HANDLE evd, int qlen)
{
	DAT_RETURN ret = dat_evd_resize(evd, qlen);

	return ret == DAT_SUCCESS ? evd_query(evd) : ret;
}

static inline DAT_RETURN cno_query(DAT_HANDLE cno)
{
	DAT_CNO_PARAM param;
	DAT_RETURN ret = dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param);

	if (ret == DAT_SUCCESS)
		out.v[0] = slot_of(param.ia_handle);
	return ret;
}

static inline DAT_RETURN cno_wait(DAT_HANDLE cno, int timeout)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_cno_wait(cno, (DAT_TIMEOUT)timeout, &evd);

	if (ret == DAT_SUCCESS)
		out.v[0] = slot_of(evd);
	return ret;
}

static inline DAT_RETURN lmr_create(DAT_HANDLE ia, DAT_HANDLE pz, int off, int len, int priv, int slot)
{
	DAT_REGION_DESCRIPTION where = {.for_va = &shared->mem[proc][off]};
	DAT_VADDR address;
	DAT_VLEN size;
	DAT_RETURN ret;

	ret = dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, where, (DAT_VLEN)len, pz, (DAT_MEM_PRIV_FLAGS)priv,
			     &handles[slot], &shared->lmr_context[proc][slot],
			     &shared->rmr_context[proc][slot], &size, &address);
	if (ret == DAT_SUCCESS) {
		out.v[0] = (int64_t)((uintptr_t)&shared->mem[proc][off] - address);
		out.v[1] = (int64_t)size;
		out.v[2] = shared->lmr_context[proc][slot];
		out.v[3] = shared->rmr_context[proc][slot];
	}
	return ret;
}

static inline DAT_RETURN lmr_query(DAT_HANDLE lmr)
{
	DAT_LMR_PARAM param;
	DAT_RETURN ret = dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param);

	if (ret == DAT_SUCCESS) {
		out.v[0] = slot_of(param.ia_handle);
		out.v[1] = slot_of(param.pz_handle);
		out.v[2] = (uint8_t *)param.region_desc.for_va - shared->mem[proc];
		out.v[3] = (int64_t)param.length;
		out.v[4] = param.mem_priv;
		out.v[5] = param.lmr_context;
		out.v[6] = param.rmr_context;
	}
	return ret;
}

static inline DAT_RETURN rmr_query(DAT_HANDLE rmr)
{
	DAT_RMR_PARAM param;
	DAT_RETURN ret = dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param);

	if (ret == DAT_SUCCESS) {
		out.v[0] = slot_of(param.ia_handle);
		out.v[1] = slot_of(param.pz_handle);
		out.v[2] = (int64_t)param.lmr_triplet.segment_length;
		out.v[3] = param.mem_priv;
		out.v[4] = param.rmr_context;
	}
	return ret;
}

static inline DAT_RETURN rmr_bind(int rmr, int lmr, DAT_HANDLE ep, int off, int len, int priv, int cookie,
				  int flags)
{
	DAT_LMR_TRIPLET iov[IOV];
	DAT_RMR_COOKIE c = {.as_64 = (DAT_UINT64)cookie};
	DAT_RMR_CONTEXT context;
	DAT_RETURN ret;

	ret = dat_rmr_bind(handle_at(rmr), segments(iov, lmr, 1, off, len), (DAT_MEM_PRIV_FLAGS)priv, ep, c,
			   (DAT_COMPLETION_FLAGS)flags, &context);
	if (ret == DAT_SUCCESS)
		out.v[0] = shared->rmr_context[proc][rmr] = context;
	return ret;
}

static inline DAT_RETURN ep_query(DAT_HANDLE ep)
{
	DAT_EP_PARAM param;
	DAT_RETURN ret = dat_ep_query(ep, DAT_EP_FIELD_ALL, &param);

	if (ret == DAT_SUCCESS) {
		out.v[0] = slot_of(param.ia_handle);
		out.v[1] = param.ep_state;
		out.v[2] = slot_of(param.pz_handle);
		out.v[3] = slot_of(param.recv_evd_handle);
		out.v[4] = slot_of(param.request_evd_handle);
		out.v[5] = slot_of(param.connect_evd_handle);
		out.v[6] = param.ep_attr.max_recv_dtos;
		out.v[7] = param.ep_attr.max_request_dtos;
	}
	return ret;
}

static inline DAT_RETURN ep_create(DAT_HANDLE ia, DAT_HANDLE pz, DAT_HANDLE recv, DAT_HANDLE request,
				   DAT_HANDLE connect, int dtos, DAT_HANDLE *ep)
{
	DAT_EP_ATTR attr = {
		.max_recv_dtos = dtos,
		.max_request_dtos = dtos,
		.max_recv_iov = IOV,
		.max_request_iov = IOV,
		.max_rdma_read_in = 2,
		.max_rdma_read_out = 2,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 2,
	};

	return dat_ep_create(ia, pz, recv, request, connect, &attr, ep);
}

static inline DAT_RETURN ep_get_status(DAT_HANDLE ep)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;
	DAT_RETURN ret = dat_ep_get_status(ep, &state, &recv_idle, &request_idle);

	if (ret == DAT_SUCCESS) {
		out.v[0] = state;
		out.v[1] = recv_idle;
		out.v[2] = request_idle;
	}
	return ret;
}

static inline DAT_RETURN psp_query(DAT_HANDLE psp)
{
	DAT_PSP_PARAM param;
	DAT_RETURN ret = dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param);

	if (ret == DAT_SUCCESS) {
		out.v[0] = slot_of(param.ia_handle);
		out.v[1] = (int64_t)(param.conn_qual - shared->qual);
		out.v[2] = slot_of(param.evd_handle);
		out.v[3] = param.psp_flags;
	}
	return ret;
}

static inline DAT_RETURN get_handle_type(DAT_HANDLE handle)
{
	DAT_HANDLE_TYPE type;
	DAT_RETURN ret = dat_get_handle_type(handle, &type);

	if (ret == DAT_SUCCESS)
		out.v[0] = type;
	return ret;
}

static inline DAT_RETURN set_context(DAT_HANDLE handle, int value)
{
	DAT_CONTEXT context = {.as_64 = (DAT_UINT64)value};

	return dat_set_consumer_context(handle, context);
}

static inline DAT_RETURN get_context(DAT_HANDLE handle)
{
	DAT_CONTEXT context;
	DAT_RETURN ret = dat_get_consumer_context(handle, &context);

	if (ret == DAT_SUCCESS)
		out.v[0] = (int64_t)context.as_64;
	return ret;
}

/* ---- connections ---- */

static inline DAT_RETURN ep_connect(DAT_HANDLE ep, int qual, int n)
{
	DAT_IA_ATTR attr;
	uint8_t bytes[64];
	DAT_RETURN ret = dat_ia_query(handles[0], NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL);

	if (ret != DAT_SUCCESS)
		return ret;
	return dat_ep_connect(ep, attr.ia_address_ptr, qual_of(qual), DAT_TIMEOUT_INFINITE, n,
			      private_data(n, bytes), DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static inline DAT_RETURN cr_accept(DAT_HANDLE cr, DAT_HANDLE ep, int n)
{
	uint8_t bytes[64];

	return dat_cr_accept(cr, ep, n, private_data(n, bytes));
}

static inline DAT_RETURN cr_query(DAT_HANDLE cr)
{
	DAT_CR_PARAM param;
	DAT_RETURN ret = dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);

	if (ret == DAT_SUCCESS) {
		out.v[0] = param.private_data_size;
		out.v[1] = sum_of(param.private_data, param.private_data_size);
		out.v[2] = slot_of(param.local_ep_handle);
	}
	return ret;
}

/* ---- transfers ---- */

static inline DAT_RETURN post_recv(DAT_HANDLE ep, int lmr, int n, int off, int len, int cookie, int flags)
{
	DAT_LMR_TRIPLET iov[IOV];
	DAT_DTO_COOKIE c = {.as_64 = (DAT_UINT64)cookie};

	return dat_ep_post_recv(ep, n, segments(iov, lmr, n, off, len), c, (DAT_COMPLETION_FLAGS)flags);
}

static inline DAT_RETURN post_send(DAT_HANDLE ep, int lmr, int n, int off, int len, int cookie, int flags)
{
	DAT_LMR_TRIPLET iov[IOV];
	DAT_DTO_COOKIE c = {.as_64 = (DAT_UINT64)cookie};

	fill_message(n, off, len, cookie);
	return dat_ep_post_send(ep, n, segments(iov, lmr, n, off, len), c, (DAT_COMPLETION_FLAGS)flags);
}

/* Posts an RDMA. The remote side is len bytes at offset `at` in the LMR or RMR of this process and
 * slot. */
static inline DAT_RETURN post_rdma(DAT_HANDLE ep, bool read, int lmr, int n, int off, int len, int cookie,
				   int flags, int process, int slot, int at)
{
	DAT_LMR_TRIPLET iov[IOV];
	DAT_DTO_COOKIE c = {.as_64 = (DAT_UINT64)cookie};
	DAT_RMR_TRIPLET remote = {.target_address = (uintptr_t)&shared->mem[process][at],
				  .segment_length = (DAT_VLEN)len};

	remote.rmr_context = slot < 0 ? 0 : shared->rmr_context[process][slot];
	if (read)
		return dat_ep_post_rdma_read(ep, n, segments(iov, lmr, n, off, len), c, &remote,
					     (DAT_COMPLETION_FLAGS)flags);
	fill_message(n, off, len, cookie);
	return dat_ep_post_rdma_write(ep, n, segments(iov, lmr, n, off, len), c, &remote,
				      (DAT_COMPLETION_FLAGS)flags);
}

/* ---- events ---- */

static inline void note_event(const DAT_EVENT *ev, DAT_HANDLE evd, DAT_HANDLE *cr)
{
	const DAT_EVENT_DATA *data = &ev->event_data;

	out.event = ev->event_number;
	out.v[6] = ev->evd_handle == evd;
	switch ((unsigned)ev->event_number >> 12) {
	case 0:
		out.v[0] = slot_of(data->dto_completion_event_data.ep_handle);
		out.v[1] = (int64_t)data->dto_completion_event_data.user_cookie.as_64;
		out.v[2] = data->dto_completion_event_data.status;
		out.v[3] = out.v[2] ? 0 : (int64_t)data->dto_completion_event_data.transfered_length;
		break;
	case 1:
		out.v[0] = slot_of(data->rmr_completion_event_data.rmr_handle);
		out.v[1] = (int64_t)data->rmr_completion_event_data.user_cookie.as_64;
		out.v[2] = data->rmr_completion_event_data.status;
		break;
	case 2:
		out.v[0] = slot_of(data->cr_arrival_event_data.sp_handle.psp_handle);
		out.v[1] = (int64_t)(data->cr_arrival_event_data.conn_qual - shared->qual);
		*cr = data->cr_arrival_event_data.cr_handle;
		break;
	case 4:
		out.v[0] = slot_of(data->connect_event_data.ep_handle);
		out.v[1] = data->connect_event_data.private_data_size;
		out.v[2] = sum_of(data->connect_event_data.private_data, (int)out.v[1]);
		break;
	case 8:
		out.v[0] = slot_of(data->asynch_error_event_data.dat_handle);
		out.v[1] = data->asynch_error_event_data.reason;
		break;
	default:
		out.v[0] = (int64_t)(uintptr_t)data->software_event_data.pointer;
		break;
	}
}

static inline DAT_RETURN post_se(DAT_HANDLE evd, int n)
{
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	ev.event_data.software_event_data.pointer = (DAT_PVOID)(uintptr_t)n;
	return dat_evd_post_se(evd, &ev);
}

static inline DAT_RETURN die(void)
{
	raise(SIGKILL);
	return DAT_SUCCESS;
}

static inline int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* Polls for limit_ms at most; 0 polls once. */
static inline DAT_RETURN dequeue(DAT_HANDLE evd, int limit_ms, DAT_HANDLE *cr)
{
	int64_t end = limit_ms ? now_ms() + limit_ms : 0;
	DAT_EVENT ev = {0};
	DAT_RETURN ret;

	while (DAT_GET_TYPE(ret = dat_evd_dequeue(evd, &ev)) == DAT_QUEUE_EMPTY && end && now_ms() < end)
		poll(NULL, 0, 0);
	if (ret == DAT_SUCCESS)
		note_event(&ev, evd, cr);
	return ret;
}

static inline DAT_RETURN wait_event(DAT_HANDLE evd, int timeout_us, int threshold, DAT_HANDLE *cr)
{
	DAT_COUNT more = 0;
	DAT_EVENT ev = {0};
	DAT_RETURN ret = dat_evd_wait(evd, (DAT_TIMEOUT)timeout_us, threshold, &ev, &more);

	if (ret == DAT_SUCCESS)
		note_event(&ev, evd, cr);
	if (ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
		out.v[7] = more;
	return ret;
}

/* Polls until the transfer has been seen, or for a while. */
static inline bool byte_differs(int process, int at, int value)
{
	int64_t end = now_ms() + 500;

	while (shared->mem[process][at] == value && now_ms() < end)
		poll(NULL, 0, 1);
	return shared->mem[process][at] != value;
}

static inline void describe(const struct outcome *o, char *text, size_t size)
{
	const char *major = "?", *minor = "";
	int n;

	dat_strerror(o->ret, &major, &minor);
	n = snprintf(text, size, "%s", major);
	if (o->event)
		n += snprintf(text + n, size - (size_t)n, " event 0x%x", o->event);
	for (int i = 0; i < VALUES && n < (int)size; i++)
		n += snprintf(text + n, size - (size_t)n, " %lld", (long long)o->v[i]);
}
