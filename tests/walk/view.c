/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries of the model's objects, for the choice of the next call. */
#include "tests/walk/model.h"

enum kind model_kind(const struct model *m, int process, int slot)
{
	return slot < 0 ? NONE : m->objs[process][slot].kind;
}

bool model_live(const struct model *m, int process, int slot)
{
	return slot >= 0 && m->objs[process][slot].live;
}

int model_events(const struct model *m, int process, int slot)
{
	int certain, possible;

	count_events(m, process, slot, &certain, &possible);
	return certain;
}

unsigned model_states(const struct model *m, int process, int slot, int peer[2])
{
	const struct obj *ep = find(m, process, slot, EP);

	peer[0] = ep ? ep->peer_process : 0;
	peer[1] = ep ? ep->peer : -1;
	return ep ? ep->states : 0;
}

bool model_requests_out(const struct model *m)
{
	for (int p = 0; p < PROCS; p++) {
		for (int i = 0; i < SLOTS; i++) {
			const struct obj *o = &m->objs[p][i];

			if (o->live && o->request && o->request->n)
				return true;
		}
	}
	return false;
}

void model_range(const struct model *m, int process, int slot, int *off, int *len)
{
	*off = m->objs[process][slot].off;
	*len = m->objs[process][slot].len;
}

int model_evd_flags(const struct model *m, int process, int slot)
{
	return m->objs[process][slot].flags;
}

bool model_waiting(const struct model *m, int process, int slot)
{
	return m->objs[process][slot].waiting;
}
