#include "sched/ostree.h"
#include "base/fault.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* A child is at most 3/4 of its parent's weight, and log(2^32) / log(4/3) < 78. */
#define MAX_HEIGHT 80
#define MAX_N      (UINT32_MAX - 1)

void sw_ostree_init(struct sw_ostree *t)
{
	*t = (struct sw_ostree){.node = NULL};
}

void sw_ostree_fini(struct sw_ostree *t)
{
	free(t->node);
	sw_ostree_init(t);
}

sw_status sw_ostree_reserve(struct sw_ostree *t)
{
	if (t->n < t->cap)
		return SW_OK;
	if (t->cap == MAX_N)
		return SW_NOMEM;
	const uint32_t cap = t->cap == 0 ? 15 : t->cap > MAX_N / 2 ? MAX_N : 2 * t->cap + 1;
	struct sw_ostree_node *grown = sw_realloc(t->node, ((size_t)cap + 1) * sizeof *grown);
	if (grown == NULL)
		return SW_NOMEM;
	if (t->node == NULL)
		grown[0] = (struct sw_ostree_node){.size = 0};
	t->node = grown;
	t->cap = cap;
	return SW_OK;
}

static uint64_t weight(const struct sw_ostree_node *v, uint32_t i)
{
	return (uint64_t)v[i].size + 1;
}

static void resize(struct sw_ostree_node *v, uint32_t i)
{
	v[i].size = v[v[i].left].size + v[v[i].right].size + 1;
}

static uint32_t rotate_left(struct sw_ostree_node *v, uint32_t p)
{
	const uint32_t r = v[p].right;

	v[p].right = v[r].left;
	v[r].left = p;
	resize(v, p);
	resize(v, r);
	return r;
}

static uint32_t rotate_right(struct sw_ostree_node *v, uint32_t p)
{
	const uint32_t l = v[p].left;

	v[p].left = v[l].right;
	v[l].right = p;
	resize(v, p);
	resize(v, l);
	return l;
}

/* The root of what was the subtree of p, balanced again after one insertion below it. */
static uint32_t rebalance(struct sw_ostree_node *v, uint32_t p)
{
	const uint32_t l = v[p].left, r = v[p].right;

	if (weight(v, r) > 3 * weight(v, l)) {
		if (weight(v, v[r].left) >= 2 * weight(v, v[r].right))
			v[p].right = rotate_right(v, r);
		return rotate_left(v, p);
	}
	if (weight(v, l) > 3 * weight(v, r)) {
		if (weight(v, v[l].right) >= 2 * weight(v, v[l].left))
			v[p].left = rotate_left(v, l);
		return rotate_right(v, p);
	}
	return p;
}

void sw_ostree_insert(struct sw_ostree *t, double value)
{
	uint32_t path[MAX_HEIGHT];
	unsigned depth = 0;

	assert(t->n < t->cap && !isnan(value));
	struct sw_ostree_node *v = t->node;
	const uint32_t added = ++t->n;
	for (uint32_t i = t->root; i != 0; i = value < v[i].value ? v[i].left : v[i].right) {
		assert(depth < MAX_HEIGHT);
		path[depth++] = i;
		v[i].size++;
	}
	v[added] = (struct sw_ostree_node){.value = value, .size = 1};
	uint32_t below = added;
	while (depth-- > 0) {
		const uint32_t p = path[depth];

		/* A rotation below keeps the order, so the side is still the one that was taken. */
		if (value < v[p].value)
			v[p].left = below;
		else
			v[p].right = below;
		below = rebalance(v, p);
	}
	t->root = below;
}

uint64_t sw_ostree_less(const struct sw_ostree *t, double value)
{
	uint64_t less = 0;
	uint32_t i = t->root;

	while (i != 0) {
		const struct sw_ostree_node *node = &t->node[i];

		if (node->value < value) {
			less += (uint64_t)t->node[node->left].size + 1;
			i = node->right;
		} else {
			i = node->left;
		}
	}
	return less;
}

double sw_ostree_kth(const struct sw_ostree *t, uint64_t k)
{
	uint32_t i = t->root;

	assert(k < t->n);
	for (;;) {
		const struct sw_ostree_node *node = &t->node[i];
		const uint64_t left = t->node[node->left].size;

		if (k == left)
			return node->value;
		if (k < left) {
			i = node->left;
		} else {
			k -= left + 1;
			i = node->right;
		}
	}
}

static void check(const struct sw_ostree *t, uint32_t i, double least, double most)
{
	if (i == 0)
		return;
	const struct sw_ostree_node *node = &t->node[i];
	const uint64_t l = weight(t->node, node->left), r = weight(t->node, node->right);

	assert(i <= t->n && least <= node->value && node->value <= most);
	assert(node->size + (uint64_t)1 == l + r);
	assert(l <= 3 * r && r <= 3 * l);
	(void)(l + r);
	check(t, node->left, least, node->value);
	check(t, node->right, node->value, most);
}

void sw_ostree_invariant(const struct sw_ostree *t)
{
	if (t->node == NULL) {
		assert(t->n == 0 && t->root == 0);
		return;
	}
	assert(t->node[0].size == 0 && t->node[t->root].size == t->n);
	check(t, t->root, -INFINITY, INFINITY);
}
