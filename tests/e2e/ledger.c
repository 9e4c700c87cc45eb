/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/e2e/ledger.h"

struct ledger ledger_of(DAT_EVD_HANDLE evd)
{
	return (struct ledger){ .evd = evd };
}

uint64_t ledger_next(const struct ledger *l)
{
	return l->posted;
}

bool ledger_posted(struct ledger *l, DAT_RETURN ret, bool silent)
{
	if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES)
		return false;
	must(ret);
	check(l->posted - l->done < LEDGER_MAX);
	l->silent[l->posted++ % LEDGER_MAX] = silent;
	return true;
}

static void completed(struct ledger *l, uint64_t cookie, DAT_DTO_COMPLETION_STATUS status)
{
	check(cookie >= l->done && cookie < l->posted);
	/* All posts before this one were suppressed, and have succeeded. */
	for (; l->done < cookie; l->done++)
		check(l->silent[l->done % LEDGER_MAX] && !l->failed);
	if (l->failed)
		same(status, FLUSHED);
	else if (status == DAT_DTO_SUCCESS)
		check(!l->silent[cookie % LEDGER_MAX]);
	else
		l->how = status;
	l->failed = l->failed || status != DAT_DTO_SUCCESS;
	l->done = cookie + 1;
}

bool ledger_take(struct ledger *l)
{
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *b;
	const DAT_DTO_COMPLETION_EVENT_DATA *d;
	bool some = false;
	DAT_EVENT ev;

	for (; dat_evd_dequeue(l->evd, &ev) == DAT_SUCCESS; some = true) {
		d = &ev.event_data.dto_completion_event_data;
		b = &ev.event_data.rmr_completion_event_data;
		if (ev.event_number == DAT_RMR_BIND_COMPLETION_EVENT) {
			completed(l, b->user_cookie.as_64, (DAT_DTO_COMPLETION_STATUS)b->status);
		} else {
			same(ev.event_number, DAT_DTO_COMPLETION_EVENT);
			completed(l, d->user_cookie.as_64, d->status);
		}
	}
	return some;
}

/* Has everything completed, except successful suppressed posts? */
static bool is_settled(const struct ledger *l)
{
	uint64_t at = l->done;

	while (!l->failed && at < l->posted && l->silent[at % LEDGER_MAX])
		at++;
	return at == l->posted;
}

void ledger_close(struct ledger *l)
{
	check(TH_WITHIN(SOON_MS, (ledger_take(l), is_settled(l))));
	rig_empty(l->evd);
}
