#include "sched/num/ostree.h"
#include "sched/num/ostree_internal.h"
#include <assert.h>
#include <math.h>

uint64_t sw_ostree_rank(const struct sw_ostree *t, double value, uint32_t id)
{
	const void *node = t->root;
	uint64_t rank = 0;

	assert(!isnan(value));
	if (node == NULL)
		return 0;
	for (uint32_t h = t->height; h > 0; h--) {
		const inner *in = node;
		const uint32_t c = child_of(in, value, id);

		rank += sum(in->count, c);
		node = in->child[c];
	}
	const leaf *l = node;
	return rank + lower(l->value, const_ids(l), l->n, value, id);
}

uint64_t sw_ostree_less(const struct sw_ostree *t, double value)
{
	return sw_ostree_rank(t, value, 0);
}

uint64_t sw_ostree_marked_rank(const struct sw_ostree *t, double value, uint32_t id)
{
	const void *node = t->root;
	uint64_t rank = 0;

	if (node == NULL)
		return 0;
	for (uint32_t h = t->height; h > 0; h--) {
		const inner *in = node;
		const uint32_t c = child_of(in, value, id);

		rank += sum(in->marked, c);
		node = in->child[c];
	}
	const leaf *l = node;
	return rank + marks(const_ids(l), lower(l->value, const_ids(l), l->n, value, id));
}

/* The child that holds the k-th of what `count` counts; k becomes its place there. */
static uint32_t child_at(const uint32_t *count, uint64_t *k)
{
	uint32_t c = 0;

	while (*k >= count[c])
		*k -= count[c++];
	return c;
}

uint64_t sw_ostree_marked_among(const struct sw_ostree *t, uint64_t k)
{
	const void *node = t->root;
	uint64_t among = 0;

	assert(k <= t->n);
	if (k == t->n)
		return t->marked;
	assert(node != NULL);
	for (uint32_t h = t->height; h > 0; h--) {
		const inner *in = node;
		const uint32_t c = child_at(in->count, &k);

		among += sum(in->marked, c);
		node = in->child[c];
	}
	return among + marks(const_ids(node), (uint32_t)k);
}

/* The leaf that holds the k-th of all, or of the marked ones; k becomes its place there. */
static leaf *leaf_at(const struct sw_ostree *t, bool marked, uint64_t *k)
{
	void *node = t->root;

	for (uint32_t h = t->height; h > 0; h--) {
		const inner *in = node;

		node = in->child[child_at(marked ? in->marked : in->count, k)];
	}
	return node;
}

double sw_ostree_kth(const struct sw_ostree *t, uint64_t k, uint32_t *id)
{
	assert(k < t->n);
	const leaf *l = leaf_at(t, false, &k);
	if (id != NULL)
		*id = const_ids(l)[k] & ~MARK;
	return l->value[k];
}

double sw_ostree_kth_near(struct sw_ostree *t, uint64_t k)
{
	uint64_t at = k;

	assert(k < t->n);
	if (t->near != NULL && k >= t->near_base && k - t->near_base < t->near->n)
		return t->near->value[k - t->near_base];
	t->near = leaf_at(t, false, &at);
	t->near_base = k - at;
	return t->near->value[at];
}

double sw_ostree_marked_kth(const struct sw_ostree *t, uint64_t k, uint32_t *id)
{
	uint32_t at = 0;

	assert(k < t->marked);
	const leaf *l = leaf_at(t, true, &k);
	const uint32_t *v = const_ids(l);
	while ((v[at] & MARK) == 0 || k-- > 0)
		at++;
	if (id != NULL)
		*id = v[at] & ~MARK;
	return l->value[at];
}

/* ---- the invariant ---- */

struct bound {
	double value;
	uint32_t id;
};

/* Entries below this node; every one is at or between least and most. */
static uint32_t check(const void *node, uint32_t height, struct bound least, struct bound most,
		      uint32_t *marked)
{
	uint32_t n = 0;

	*marked = 0;
	if (height == 0) {
		const leaf *l = node;

		for (uint32_t i = 0; i < l->n; i++) {
			const struct bound here = {l->value[i], const_ids(l)[i] & ~MARK};

			assert(!before(here.value, here.id, least.value, least.id));
			assert(!before(most.value, most.id, here.value, here.id));
			least = here;
		}
		*marked = marks(const_ids(l), l->n);
		return l->n;
	}
	const inner *in = node;
	assert(in->n >= 1 && in->n <= FAN);
	for (uint32_t i = 0; i < in->n; i++) {
		const struct bound from = i > 0 ? (struct bound){in->key[i], in->key_id[i]} : least;
		const struct bound to =
			i + 1 < in->n ? (struct bound){in->key[i + 1], in->key_id[i + 1]} : most;
		uint32_t m;
		const uint32_t count = check(in->child[i], height - 1, from, to, &m);

		assert(count > 0 && count == in->count[i] && m == in->marked[i]);
		n += count;
		*marked += m;
	}
	return n;
}

/* Is the leaf remembered at its place? */
static bool near_invariant(const struct sw_ostree *t)
{
	uint64_t k = t->near_base;

	assert(t->root != NULL);
	return leaf_at(t, false, &k) == t->near && k == 0;
}

void sw_ostree_invariant(const struct sw_ostree *t)
{
	uint32_t marked = 0, n = 0;

	if (t->root != NULL)
		n = check(t->root, t->height, (struct bound){-INFINITY, 0},
			  (struct bound){INFINITY, SW_OSTREE_ID_MAX}, &marked);
	assert(n == t->n && marked == t->marked);
	assert(t->near == NULL || near_invariant(t));
	assert(t->root == NULL || t->height == 0 || ((const inner *)t->root)->n >= 2);
	(void)(n + marked);
}
