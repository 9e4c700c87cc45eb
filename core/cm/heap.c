/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pairing heap. The nodes are members of the timed objects, so setting a timer cannot fail, and
 * any timer can be removed. prev is the left sibling, or the parent of a leftmost child.
 */
#include "core/cm/loop.h"

static struct dap_timer *heap_meld(struct dap_timer *a, struct dap_timer *b)
{
	struct dap_timer *late = b;

	if (!a || !b)
		return a ? a : b;
	if (b->due < a->due) {
		late = a;
		a = b;
	}
	late->prev = a;
	late->next = a->child;
	if (late->next)
		late->next->prev = late;
	a->child = late;
	return a;
}

static struct dap_timer *heap_cut(struct dap_timer *t)
{
	struct dap_timer *next = t->next;

	t->next = NULL;
	t->prev = NULL;
	return next;
}

/* Melds pairs from left to right, then the results from right to left. This order makes the amortized
 * cost of a removal logarithmic. */
static struct dap_timer *heap_meld_children(struct dap_timer *t)
{
	struct dap_timer *first = t->child, *pairs = NULL, *root = NULL;

	t->child = NULL;
	while (first) {
		struct dap_timer *a = first, *b = heap_cut(a), *pair;

		first = b ? heap_cut(b) : NULL;
		pair = heap_meld(a, b);
		pair->next = pairs;
		pairs = pair;
	}
	while (pairs) {
		struct dap_timer *pair = pairs;

		pairs = heap_cut(pair);
		root = heap_meld(root, pair);
	}
	return root;
}

struct dap_timer *cm_heap_add(struct dap_timer *root, struct dap_timer *t)
{
	t->child = NULL;
	t->next = NULL;
	t->prev = NULL;
	return heap_meld(root, t);
}

struct dap_timer *cm_heap_remove(struct dap_timer *root, struct dap_timer *t)
{
	if (t == root)
		return heap_meld_children(t);
	if (t->prev->child == t)
		t->prev->child = t->next;
	else
		t->prev->next = t->next;
	if (t->next)
		t->next->prev = t->prev;
	heap_cut(t);
	return heap_meld(root, heap_meld_children(t));
}
