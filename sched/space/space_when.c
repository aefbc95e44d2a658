/* Which parameters are active at a point. The conditions are kept in an order in which those of a
 * parent come before those of its children: one pass over them settles everything. */
#include "base/memory.h"
#include "sched/num/order.h"
#include "sched/space/space.h"
#include "sched/space/space_internal.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

void sw_space_conds_fini(struct sw_space *s)
{
	for (size_t i = 0; i < s->n_conds; i++)
		free(s->conds[i].allowed);
	free(s->conds);
}

static double key_of(const struct sw_space_entry *e, struct sw_value v)
{
	return sw_space_is_choice(e) ? (double)v.choice : v.number;
}

static sw_status check_cond(const struct sw_space *s, size_t child, size_t parent,
			    const struct sw_value *allowed, size_t n, struct sw_err *err)
{
	if (child == parent)
		return sw_err_at(err, SW_INVALID, "/when", "a parameter cannot depend on itself");
	if (sw_space_is_continuous(&s->v[parent]))
		return sw_err_at(err, SW_INVALID, "/when",
				 "the parameter that it depends on is continuous");
	if (n == 0)
		return sw_err_at(err, SW_INVALID, "/when", "no value is allowed");
	for (size_t i = 0; i < s->n_conds; i++)
		/* Of two lists for one parent both would have to hold: that is a slip, not a
		 * wish. */
		if (s->conds[i].child == child && s->conds[i].parent == parent)
			return sw_err_at(err, SW_INVALID, "/when",
					 "the same parameter is given twice");
	for (size_t i = 0; i < n; i++)
		if (sw_space_check_value(s, parent, allowed[i], NULL) != SW_OK)
			return sw_err_at(err, SW_INVALID, "/when",
					 "value %zu is not one that the parameter can have", i + 1);
	return SW_OK;
}

sw_status sw_space_when(struct sw_space *s, size_t child, size_t parent,
			const struct sw_value *allowed, size_t n, struct sw_err *err)
{
	assert(child < s->n && parent < s->n);
	const sw_status rc = check_cond(s, child, parent, allowed, n, err);

	if (rc != SW_OK)
		return rc;
	double *keys = sw_calloc(n, sizeof *keys);
	if (keys == NULL ||
	    !sw_array_reserve(&s->conds, &s->cap_conds, s->n_conds + 1, sizeof *s->conds)) {
		free(keys);
		return sw_err_set(err, SW_NOMEM, "no memory for the search space");
	}
	for (size_t i = 0; i < n; i++)
		keys[i] = key_of(&s->v[parent], allowed[i]);
	/* They are looked up at each point, by bsearch(). */
	qsort(keys, n, sizeof *keys, sw_order_doubles);
	s->conds[s->n_conds++] =
		(struct sw_space_cond){.child = child, .parent = parent, .allowed = keys, .n = n};
	s->sealed = false;
	return SW_OK;
}

static int by_depth(const void *pa, const void *pb)
{
	const struct sw_space_cond *a = pa, *b = pb;

	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	if (a->child != b->child)
		return a->child < b->child ? -1 : 1;
	/* No two conditions share child and parent, so the order is the same on each machine. */
	return (a->parent > b->parent) - (a->parent < b->parent);
}

/* Longest paths by relaxation: without a circle none is longer than the parameters are many. */
sw_status sw_space_seal(struct sw_space *s, struct sw_err *err)
{
	size_t depth[SW_SPACE_MAX_PARAMS] = {0}, moved = 0;
	char ptr[48];

	if (s->sealed || s->n_conds == 0)
		return SW_OK;
	for (size_t round = 0; round <= s->n; round++) {
		moved = 0;
		for (size_t i = 0; i < s->n_conds; i++) {
			const struct sw_space_cond *c = &s->conds[i];
			if (depth[c->child] > depth[c->parent])
				continue;
			depth[c->child] = depth[c->parent] + 1;
			moved = i + 1;
		}
		if (moved == 0)
			break;
	}
	if (moved != 0) {
		/* Something still moved after n rounds, and whatever moves then lies on a circle or
		 * behind one. */
		(void)snprintf(ptr, sizeof ptr, "/%zu/when", s->conds[moved - 1].child);
		return sw_err_at(err, SW_INVALID, ptr, "the conditions run in a circle");
	}
	for (size_t i = 0; i < s->n_conds; i++)
		s->conds[i].depth = depth[s->conds[i].child];
	qsort(s->conds, s->n_conds, sizeof *s->conds, by_depth);
	s->sealed = true;
	return SW_OK;
}

const struct sw_space_cond *sw_space_cond(const struct sw_space *s, size_t param, size_t n)
{
	for (size_t i = 0; i < s->n_conds; i++)
		if (s->conds[i].child == param && n-- == 0)
			return &s->conds[i];
	return NULL;
}

bool sw_space_conditional(const struct sw_space *s)
{
	return s->n_conds > 0;
}

void sw_space_active(const struct sw_space *s, const struct sw_value *values, bool *active)
{
	assert(s->sealed || s->n_conds == 0);
	for (size_t i = 0; i < s->n; i++)
		active[i] = true;
	for (size_t i = 0; i < s->n_conds; i++) {
		const struct sw_space_cond *c = &s->conds[i];
		/* Its parent is settled: the conditions are in the order of their depth. */
		const double key = key_of(&s->v[c->parent], values[c->parent]);

		active[c->child] = active[c->child] && active[c->parent] &&
				   bsearch(&key, c->allowed, c->n, sizeof key, sw_order_doubles) !=
					   NULL;
	}
}

void sw_space_canonical(const struct sw_space *s, struct sw_value *values)
{
	bool active[SW_SPACE_MAX_PARAMS];

	if (s->n_conds == 0)
		return;
	sw_space_active(s, values, active);
	for (size_t i = 0; i < s->n; i++)
		/* Any value would do, if it is always the same: points that differ in it alone are
		 * one. */
		if (!active[i])
			values[i] = sw_space_decode_one(&s->v[i], 0.5);
}

/* If all that is active in a has the same value in b, then b has the same ones active, because
 * parents come before their children. */
bool sw_space_equal(const struct sw_space *s, const struct sw_value *a, const struct sw_value *b)
{
	bool active[SW_SPACE_MAX_PARAMS];

	sw_space_active(s, a, active);
	for (size_t i = 0; i < s->n; i++)
		if (active[i] && (a[i].number != b[i].number || a[i].choice != b[i].choice))
			return false;
	return true;
}
