/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of DAT objects: slabs of one type each, which grow and are never freed. A handle of a
 * freed object still points to an object of its type, whose first word is the dead table. Freed
 * slots are reused in the order of their freeing, so that a stale handle meets a new object as
 * late as possible.
 */
#include <string.h>

#include "core/alloc.h"
#include "core/ep/ep.h"
#include "core/evd/cno.h"
#include "core/fork.h"
#include "core/ia.h"
#include "core/mem/lmr.h"
#include "core/mem/srq.h"
#include "core/obj.h"
#include "core/sp/sp.h"

#define DOUBLINGS 16		/* each doubling doubles the number of slots */
#define PARTS 4			/* chunks per doubling, so that little memory is unused */
#define CHUNKS (DOUBLINGS * PARTS)
#define REST 32			/* number of freed slots above which the oldest is reused */

struct pool {
	size_t size;
	unsigned int base;	/* objects in the first PARTS chunks */
	pthread_mutex_t lock;
	char *chunk[CHUNKS];	/* written once, read without the lock */
	unsigned int nchunks;
	uint32_t used;		/* slots handed out so far; atomic */
	uint32_t foreign;	/* slots of the parent, after a fork */
	struct dap_obj *oldest, *newest;	/* freed slots, linked by context */
	unsigned int resting;
};

#define POOL(type, n)                                                                              \
	{                                                                                          \
		.size = (sizeof(type) + 63) & ~(size_t)63, .base = (n),                            \
		.lock = PTHREAD_MUTEX_INITIALIZER                                                  \
	}

static struct pool pools[DAP_TYPES] = {
	[DAP_IA] = POOL(struct core_ia, 4),    [DAP_PZ] = POOL(struct dap_pz, 16),
	[DAP_LMR] = POOL(struct core_lmr, 64), [DAP_RMR] = POOL(struct dap_rmr, 64),
	[DAP_EVD] = POOL(struct core_evd, 64), [DAP_EP] = POOL(struct core_ep, 64),
	[DAP_PSP] = POOL(struct dap_psp, 16),  [DAP_RSP] = POOL(struct dap_psp, 16),
	[DAP_CR] = POOL(struct dap_cr, 64),    [DAP_CNO] = POOL(struct dap_cno, 16),
	[DAP_SRQ] = POOL(struct core_srq, 16),
};

const void *dap_dead_table[DAP_APIS];

static uint32_t chunk_slots(const struct pool *p, unsigned int chunk)
{
	return (p->base << chunk / PARTS) / PARTS;
}

/* Doubling d holds slots [base * (2^d - 1), base * (2^(d+1) - 1)). */
static uint32_t first_slot(const struct pool *p, unsigned int chunk)
{
	return p->base * ((1U << chunk / PARTS) - 1) + chunk % PARTS * chunk_slots(p, chunk);
}

static unsigned int chunk_of(const struct pool *p, uint32_t slot)
{
	unsigned int doubling = 31 - (unsigned int)__builtin_clz(slot / p->base + 1);
	unsigned int first = doubling * PARTS;

	return first + (slot - first_slot(p, first)) / chunk_slots(p, first);
}

static struct dap_obj *at(const struct pool *p, uint32_t slot)
{
	unsigned int chunk = chunk_of(p, slot);
	char *mem = __atomic_load_n(&p->chunk[chunk], __ATOMIC_ACQUIRE);

	return (struct dap_obj *)(void *)(mem + (slot - first_slot(p, chunk)) * p->size);
}

static int grow(struct pool *p)
{
	char *mem;

	if (p->nchunks == CHUNKS)
		return -1;
	mem = dap_aligned_alloc(64, chunk_slots(p, p->nchunks) * p->size);
	if (!mem)
		return -1;
	__atomic_store_n(&p->chunk[p->nchunks++], mem, __ATOMIC_RELEASE);
	return 0;
}

static struct dap_obj *take_fresh(struct pool *p)
{
	uint32_t slot = p->used;
	struct dap_obj *obj;

	if (slot == first_slot(p, p->nchunks) && grow(p))
		return NULL;
	obj = at(p, slot);
	memset(obj, 0, p->size);
	obj->slot = slot;
	__atomic_store_n(&p->used, slot + 1, __ATOMIC_RELEASE);
	return obj;
}

static struct dap_obj *take_rested(struct pool *p)
{
	struct dap_obj *obj = p->oldest;

	if (!obj)
		return NULL;
	p->oldest = obj->context;
	if (!p->oldest)
		p->newest = NULL;
	p->resting--;
	return obj;
}

static bool has_room(const struct pool *p)
{
	return p->used < first_slot(p, p->nchunks);
}

/* Takes unused slots first, then freed ones; allocates more if too few are freed. */
static struct dap_obj *take_slot(struct pool *p)
{
	struct dap_obj *obj = NULL;

	if (has_room(p) || p->resting < REST)
		obj = take_fresh(p);
	return obj ? obj : take_rested(p);
}

void *dap_obj_alloc(enum dap_type type, struct dap_ia *ia)
{
	struct pool *p = &pools[type];
	struct dap_obj *obj;

	pthread_mutex_lock(&p->lock);
	obj = take_slot(p);
	pthread_mutex_unlock(&p->lock);
	if (!obj)
		return NULL;
	/* The members before the context stay: another thread may be calling through the first word, or
	 * looking for objects of another IA. */
	memset((char *)obj + offsetof(struct dap_obj, context), 0,
	       p->size - offsetof(struct dap_obj, context));
	__atomic_store_n(&obj->ia, ia, __ATOMIC_RELAXED);
	obj->api = ia ? ia->obj.api : 0;
	if (ia)
		dap_obj_set_table(obj, DAP_TABLE_CHECKED);
	__atomic_store_n(&obj->type, (uint16_t)type, __ATOMIC_RELEASE);
	if (ia)
		__atomic_add_fetch(&core_ia(ia)->made[type], 1, __ATOMIC_RELAXED);
	return obj;
}

void dap_obj_free(void *object)
{
	struct dap_obj *obj = object;
	struct pool *p = &pools[obj->type];

	if (!dap_invariant(obj, obj->type != DAP_NONE))
		return;
	if (obj->ia && obj->type != DAP_IA)
		__atomic_add_fetch(&core_ia(obj->ia)->freed[obj->type], 1, __ATOMIC_RELEASE);
	__atomic_store_n(&obj->table, __atomic_load_n(&dap_dead_table[obj->api], __ATOMIC_RELAXED),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&obj->type, (uint16_t)DAP_NONE, __ATOMIC_RELEASE);
	pthread_mutex_lock(&p->lock);
	obj->context = NULL;
	if (p->newest)
		p->newest->context = obj;
	else
		p->oldest = obj;
	p->newest = obj;
	p->resting++;
	pthread_mutex_unlock(&p->lock);
}

static bool is_ours(const struct pool *p, size_t slot)
{
	return slot >= p->foreign && slot < __atomic_load_n(&p->used, __ATOMIC_ACQUIRE);
}

/* Is h the address of a slot in use or freed? Does not dereference h. */
static bool is_slot(const struct pool *p, const void *h)
{
	uint32_t used = __atomic_load_n(&p->used, __ATOMIC_ACQUIRE);

	for (unsigned int k = 0; k < CHUNKS && first_slot(p, k) < used; k++) {
		uintptr_t mem = (uintptr_t)__atomic_load_n(&p->chunk[k], __ATOMIC_ACQUIRE);
		uintptr_t off = (uintptr_t)h - mem;

		if ((uintptr_t)h >= mem && off < chunk_slots(p, k) * p->size)
			return off % p->size == 0 && is_ours(p, first_slot(p, k) + off / p->size);
	}
	return false;
}

static bool is_live(const struct dap_obj *obj, enum dap_type type, const struct dap_ia *ia)
{
	return __atomic_load_n(&obj->type, __ATOMIC_ACQUIRE) == type &&
	       (!ia || __atomic_load_n(&obj->ia, __ATOMIC_RELAXED) == ia);
}

void *dap_obj_get(const void *h, enum dap_type type, const struct dap_ia *ia)
{
	if (!is_slot(&pools[type], h) || !is_live(h, type, ia))
		return NULL;
	return (void *)(uintptr_t)h;
}

enum dap_type dap_obj_type(const void *h)
{
	for (unsigned int t = DAP_NONE + 1; t < DAP_TYPES; t++) {
		if (pools[t].size && is_slot(&pools[t], h))
			return is_live(h, t, NULL) ? t : DAP_NONE;
	}
	return DAP_NONE;
}

void dap_obj_each(enum dap_type type, struct dap_ia *ia, void (*fn)(void *obj, void *arg), void *arg)
{
	struct pool *p = &pools[type];
	uint32_t used = __atomic_load_n(&p->used, __ATOMIC_ACQUIRE);

	for (uint32_t slot = p->foreign; slot < used; slot++) {
		struct dap_obj *obj = at(p, slot);

		if (is_live(obj, type, ia))
			fn(obj, arg);
	}
}

static void count_one(void *obj, void *arg)
{
	(void)obj;
	++*(unsigned int *)arg;
}

unsigned int dap_obj_count(enum dap_type type, const struct dap_ia *ia)
{
	unsigned int n = 0;

	dap_obj_each(type, (struct dap_ia *)(uintptr_t)ia, count_one, &n);
	return n;
}

/* Slots freed before the fork are the parent's, too, and are never reused here. */
static void disown_slots(struct pool *p)
{
	p->foreign = p->used;
	p->oldest = p->newest = NULL;
	p->resting = 0;
}

void dap_obj_fork(enum dap_fork phase)
{
	for (unsigned int t = DAP_NONE + 1; t < DAP_TYPES; t++) {
		if (phase == DAP_FORK_CHILD)
			disown_slots(&pools[t]);
		dap_fork_mutex(&pools[t].lock, phase);
	}
}
