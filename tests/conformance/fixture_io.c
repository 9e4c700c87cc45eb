/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts and events of the fixture. */
#include "tests/conformance/fixture.h"

DAT_LMR_TRIPLET seg(const struct side *s, size_t off, size_t len)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = s->lmr_context,
				  .virtual_address = (DAT_VADDR)(uintptr_t)(s->mem + off),
				  .segment_length = len };
}

DAT_RMR_TRIPLET through(DAT_RMR_CONTEXT context, const struct side *s, size_t off, size_t len)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = context,
				  .target_address = (DAT_VADDR)(uintptr_t)(s->mem + off),
				  .segment_length = len };
}

DAT_RMR_TRIPLET far(const struct side *s, size_t off, size_t len)
{
	return through(s->rmr_context, s, off, len);
}

DAT_CONTEXT cookie(uint64_t n)
{
	return (DAT_CONTEXT){ .as_64 = n };
}

DAT_RETURN do_recv(struct side *s, uint64_t n, size_t off, size_t len)
{
	DAT_LMR_TRIPLET t = seg(s, off, len);

	return tried(dat_ep_post_recv(s->ep, 1, &t, cookie(n), DEFAULT));
}

DAT_RETURN do_send(struct side *s, uint64_t n, size_t off, size_t len, int flags)
{
	DAT_LMR_TRIPLET t = seg(s, off, len);

	return tried(dat_ep_post_send(s->ep, 1, &t, cookie(n), (DAT_COMPLETION_FLAGS)flags));
}

DAT_RETURN do_write(struct side *s, uint64_t n, size_t off, DAT_RMR_TRIPLET to, int flags)
{
	DAT_LMR_TRIPLET t = seg(s, off, to.segment_length);

	return tried(dat_ep_post_rdma_write(s->ep, 1, &t, cookie(n), &to,
					    (DAT_COMPLETION_FLAGS)flags));
}

DAT_RETURN do_read(struct side *s, uint64_t n, size_t off, DAT_RMR_TRIPLET from, int flags)
{
	DAT_LMR_TRIPLET t = seg(s, off, from.segment_length);

	return tried(dat_ep_post_rdma_read(s->ep, 1, &t, cookie(n), &from,
					   (DAT_COMPLETION_FLAGS)flags));
}

DAT_RETURN do_bind(struct side *s, DAT_RMR_HANDLE rmr, uint64_t n, size_t off, size_t len, int priv,
		   DAT_RMR_CONTEXT *context)
{
	DAT_LMR_TRIPLET t = seg(s, off, len);

	return tried(dat_rmr_bind(rmr, &t, (DAT_MEM_PRIV_FLAGS)priv, s->ep, cookie(n), DEFAULT,
				  context));
}

/* For a provider whose waits poll all the time, the time that has passed is enough too. */
void is_waiting(const pid_t *tid)
{
	(void)th_asleep(tid, 3000);
}

DAT_EVENT took(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	check(TH_WITHIN(SOON_MS, is(tried(dat_evd_dequeue(evd, &ev)), DAT_SUCCESS)));
	check(ev.evd_handle == evd);
	return ev;
}

DAT_DTO_COMPLETION_EVENT_DATA took_any(DAT_EVD_HANDLE evd, uint64_t n)
{
	DAT_EVENT ev = took(evd);

	same(ev.event_number, DAT_DTO_COMPLETION_EVENT);
	same(ev.event_data.dto_completion_event_data.user_cookie.as_64, n);
	return ev.event_data.dto_completion_event_data;
}

size_t took_dto(DAT_EVD_HANDLE evd, uint64_t n, DAT_DTO_COMPLETION_STATUS status)
{
	DAT_DTO_COMPLETION_EVENT_DATA d = took_any(evd, n);

	same(d.status, status);
	return d.transfered_length;
}

void took_bind(DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr, uint64_t n, DAT_DTO_COMPLETION_STATUS status)
{
	DAT_EVENT ev = took(evd);
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *d = &ev.event_data.rmr_completion_event_data;

	same(ev.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	check(d->rmr_handle == rmr);
	same(d->user_cookie.as_64, n);
	same(d->status, status);
}

void nothing_on(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	must_be(DAT_QUEUE_EMPTY, dat_evd_dequeue(evd, &ev));
}

void post_soft(DAT_EVD_HANDLE evd, uintptr_t n)
{
	DAT_EVENT ev = { .event_number = DAT_SOFTWARE_EVENT };

	ev.event_data.software_event_data.pointer = (DAT_PVOID)n;
	must(dat_evd_post_se(evd, &ev));
}

uintptr_t took_soft(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev = took(evd);

	same(ev.event_number, DAT_SOFTWARE_EVENT);
	return (uintptr_t)ev.event_data.software_event_data.pointer;
}
