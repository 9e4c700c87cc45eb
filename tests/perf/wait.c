/* SPDX-License-Identifier: BSD-2-Clause */
/* The waits of perf/tool, on an EVD whose results the test chooses. */
#include <criterion/criterion.h>
#include <dat/udat.h>
#include <dat/dat_registry.h>

#include "perf/tool/tool.h"

/* how many dequeues will find nothing; how many checks the wait has made */
static unsigned int empty, idle;

static DAT_RETURN dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	(void)evd;
	if (empty) {
		empty--;
		return (DAT_RETURN)(DAT_CLASS_ERROR | DAT_QUEUE_EMPTY);
	}
	ev->event_number = DAT_DTO_COMPLETION_EVENT;
	ev->event_data.dto_completion_event_data.status = DAT_DTO_SUCCESS;
	return DAT_SUCCESS;
}

/* Replaces the tool's check: the client is done, and sends STOP. */
int tool_idle(struct tool *t, DAT_RETURN ret)
{
	(void)ret;
	idle++;
	t->stop = true;
	return 1;
}

int tool_bad(struct tool *t, const DAT_EVENT *ev)
{
	(void)t;
	(void)ev;
	return -1;
}

int tool_refused(struct tool *t, DAT_RETURN ret)
{
	(void)t;
	(void)ret;
	return -1;
}

static DAT_PROVIDER table = { .evd_dequeue_func = dequeue };
static struct { DAT_PROVIDER *table; } evd = { &table };

static struct tool a_tool(unsigned int later)
{
	empty = later;
	idle = 0;
	return (struct tool){ .data = { .req_evd = (DAT_EVD_HANDLE)&evd } };
}

Test(wait, wait__ends_with_stop)
{
	struct tool t = a_tool(3 * TOOL_SPINS);
	DAT_EVENT ev;

	cr_assert_eq(tool_wait(&t, t.data.req_evd, &ev), 1);
	cr_assert_eq(idle, 1);
}

/* Without a wait the completion would be taken for that of the first post of the next size. */
Test(wait, own_completion__is_waited_for_after_stop)
{
	struct tool t = a_tool(3 * TOOL_SPINS);

	cr_assert_eq(tool_completes(&t, DAT_SUCCESS), 0);
	cr_assert_eq(idle, 3);
	cr_assert_eq(empty, 0);
}

Test(wait, post__that_is_refused_returns_an_error)
{
	struct tool t = a_tool(0);

	cr_assert_eq(tool_completes(&t, DAT_CLASS_ERROR | DAT_INVALID_STATE), -1);
}
