/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This library is preloaded into dat_walk, and causes the defect that WALK_PLANT names. The model
 * must find the defect. The calls that every walk begins with still work.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <dat/udat.h>

#define EXPORT __attribute__((visibility("default")))

static bool planted(const char *name)
{
	const char *plant = getenv("WALK_PLANT");

	return plant && !strcmp(plant, name);
}

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

EXPORT DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz)
{
	DAT_RETURN (*call)(DAT_PZ_HANDLE) = real("dat_pz_free");
	DAT_RETURN ret = call(pz);

	/* The call returns a wrong code. */
	if (planted("code") && DAT_GET_TYPE(ret) == DAT_INVALID_STATE)
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER;
	return ret;
}

EXPORT DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
	DAT_RETURN (*call)(DAT_EVD_HANDLE, DAT_EVD_PARAM_MASK, DAT_EVD_PARAM *) = real("dat_evd_query");
	DAT_RETURN ret = call(evd, mask, param);

	/* The query reports the state before the last change. */
	if (planted("query") && ret == DAT_SUCCESS)
		param->evd_state = DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE;
	return ret;
}

EXPORT DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_RETURN (*call)(DAT_EVD_HANDLE, DAT_EVENT *) = real("dat_evd_dequeue");
	DAT_RETURN ret = call(evd, event);
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	if (ret != DAT_SUCCESS || event->event_number != DAT_DTO_COMPLETION_EVENT)
		return ret;
	/* A completion is lost, has a wrong length, or reports a failure as success. */
	if (planted("lost"))
		return call(evd, event);
	if (planted("length") && dto->status == DAT_DTO_SUCCESS)
		dto->transfered_length++;
	if (planted("status"))
		dto->status = DAT_DTO_SUCCESS;
	return ret;
}

/* One more byte is written than requested, or one byte is changed. */
EXPORT DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
					 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
					 DAT_COMPLETION_FLAGS flags)
{
	DAT_RETURN (*call)
	(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE, const DAT_RMR_TRIPLET *,
	 DAT_COMPLETION_FLAGS) = real("dat_ep_post_rdma_write");
	DAT_RMR_TRIPLET moved = *remote;

	if (planted("place"))
		moved.target_address ^= 1;
	if (planted("byte") && n > 0 && iov->segment_length)
		*(unsigned char *)(uintptr_t)iov->virtual_address ^= 0x10;
	return call(ep, n, iov, cookie, &moved, flags);
}

/* The private data are truncated. */
EXPORT DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size, const DAT_PVOID data)
{
	DAT_RETURN (*call)
	(DAT_CR_HANDLE, DAT_EP_HANDLE, DAT_COUNT, const DAT_PVOID) = real("dat_cr_accept");

	return call(cr, ep, planted("private") && size > 16 ? 16 : size, data);
}
