#include "sched/num/ostree.h"
#include "base/memory.h"
#include "sched/num/ostree_internal.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAF_FIRST 4u /* room in the only leaf of a small tree; it doubles up to LEAF_MAX */
/* A node that splits leaves FAN / 2 on one side: 32^6 leaves already are 2^30. */
#define MAX_HEIGHT 12

void sw_ostree_init(struct sw_ostree *t)
{
	*t = (struct sw_ostree){.root = NULL};
}

static void free_below(void *node, uint32_t height)
{
	if (height > 0) {
		inner *in = node;

		for (uint32_t i = 0; i < in->n; i++)
			free_below(in->child[i], height - 1);
	}
	free(node);
}

void sw_ostree_fini(struct sw_ostree *t)
{
	if (t->root != NULL)
		free_below(t->root, t->height);
	while (t->spare != NULL) {
		inner *next = t->spare->child[0];

		free(t->spare);
		t->spare = next;
	}
	free(t->spare_leaf);
	sw_ostree_init(t);
}

/* The only leaf of a small tree, with more room. */
static sw_status grow_leaf(struct sw_ostree *t)
{
	leaf *old = t->root;
	const uint32_t cap = old == NULL ? LEAF_FIRST : 2 * old->cap;
	leaf *grown = sw_malloc(leaf_bytes(cap));

	if (grown == NULL)
		return SW_NOMEM;
	grown->n = 0;
	grown->cap = cap;
	if (old != NULL) {
		t->near = NULL;
		grown->n = old->n;
		memcpy(grown->value, old->value, old->n * sizeof old->value[0]);
		memcpy(ids(grown), ids(old), old->n * sizeof(uint32_t));
		t->bytes -= leaf_bytes(old->cap);
		free(old);
	}
	t->bytes += leaf_bytes(cap);
	t->root = grown;
	return SW_OK;
}

sw_status sw_ostree_reserve(struct sw_ostree *t)
{
	if (t->height == 0) {
		const leaf *only = t->root;

		if (only != NULL && only->n < only->cap)
			return SW_OK;
		if (only == NULL || only->cap < LEAF_MAX)
			return grow_leaf(t);
	}
	if (t->n == UINT32_MAX || t->height + 1 == MAX_HEIGHT)
		return SW_NOMEM;
	if (t->spare_leaf == NULL) {
		t->spare_leaf = sw_malloc(leaf_bytes(LEAF_MAX));
		if (t->spare_leaf == NULL)
			return SW_NOMEM;
		t->bytes += leaf_bytes(LEAF_MAX);
	}
	while (t->spare_n <= t->height) { /* one a level, and a root */
		inner *in = sw_malloc(sizeof *in);

		if (in == NULL)
			return SW_NOMEM;
		in->child[0] = t->spare;
		t->spare = in;
		t->spare_n++;
		t->bytes += sizeof *in;
	}
	return SW_OK;
}

static leaf *take_leaf(struct sw_ostree *t)
{
	leaf *l = t->spare_leaf;

	assert(l != NULL);
	t->spare_leaf = NULL;
	l->n = 0;
	l->cap = LEAF_MAX;
	return l;
}

static inner *take_inner(struct sw_ostree *t)
{
	inner *in = t->spare;

	assert(in != NULL);
	t->spare = in->child[0];
	t->spare_n--;
	in->n = 0;
	return in;
}

/* ---- insertion ---- */

/* Asks for all lines of a node at once: one wait in place of one for each that the search meets. */
static void prefetch(const void *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 64)
		__builtin_prefetch((const char *)p + i);
}

struct path {
	inner *in[MAX_HEIGHT]; /* from the root down to the parent of the leaf */
	uint32_t at[MAX_HEIGHT];
	bool first, last; /* the leaf is at the edge */
};

/* (Written with a falling index into the path, gcc 12 takes the path for unwritten at -O2.) */
static leaf *descend(const struct sw_ostree *t, double value, uint32_t id, struct path *p)
{
	void *node = t->root;

	p->first = p->last = true;
	for (uint32_t d = 0; d < t->height; d++) {
		inner *in = node;

		prefetch(in, offsetof(inner, key_id));
		p->in[d] = in;
		p->at[d] = child_of(in, value, id + 1);
		p->first &= p->at[d] == 0;
		p->last &= p->at[d] == in->n - 1;
		node = in->child[p->at[d]];
	}
	prefetch(node, leaf_bytes(LEAF_MAX));
	return node;
}

static void put_entry(leaf *l, uint32_t at, double value, uint32_t id)
{
	uint32_t *v = ids(l);

	memmove(l->value + at + 1, l->value + at, (l->n - at) * sizeof l->value[0]);
	memmove(v + at + 1, v + at, (l->n - at) * sizeof v[0]);
	l->value[at] = value;
	v[at] = id;
	l->n++;
}

struct child {
	void *node;
	double key;
	uint32_t key_id, count, marked;
};

static void put_child(inner *in, uint32_t at, const struct child *c)
{
	const uint32_t n = in->n++ - at;

	memmove(in->key + at + 1, in->key + at, n * sizeof in->key[0]);
	memmove(in->key_id + at + 1, in->key_id + at, n * sizeof in->key_id[0]);
	memmove(in->count + at + 1, in->count + at, n * sizeof in->count[0]);
	memmove(in->marked + at + 1, in->marked + at, n * sizeof in->marked[0]);
	memmove(in->child + at + 1, in->child + at, n * sizeof in->child[0]);
	in->key[at] = c->key;
	in->key_id[at] = c->key_id;
	in->count[at] = c->count;
	in->marked[at] = c->marked;
	in->child[at] = c->node;
}

/* The entries from `from` on become a leaf of their own, and the new one goes where it belongs. */
static struct child split_leaf(leaf *l, leaf *right, uint32_t from, uint32_t at, double value,
			       uint32_t id)
{
	right->n = l->n - from;
	memcpy(right->value, l->value + from, right->n * sizeof l->value[0]);
	memcpy(ids(right), ids(l) + from, right->n * sizeof(uint32_t));
	l->n = from;
	if (at <= from && from < l->cap)
		put_entry(l, at, value, id);
	else
		put_entry(right, at - from, value, id);
	return (struct child){right, right->value[0], ids(right)[0] & ~MARK, right->n,
			      marks(ids(right), right->n)};
}

static struct child split_inner(inner *in, inner *right, uint32_t from, uint32_t at,
				const struct child *c)
{
	for (uint32_t i = from; i < in->n; i++)
		put_child(right, i - from,
			  &(struct child){in->child[i], in->key[i], in->key_id[i], in->count[i],
					  in->marked[i]});
	in->n = from;
	if (at <= from && from < FAN)
		put_child(in, at, c);
	else
		put_child(right, at - from, c);
	return (struct child){right, right->key[0], right->key_id[0],
			      (uint32_t)sum(right->count, right->n),
			      (uint32_t)sum(right->marked, right->n)};
}

/* Hangs a new right neighbour of the leaf into its parent, which may split in turn, up to the
 * root. */
static void hang(struct sw_ostree *t, const struct path *p, struct child c)
{
	for (uint32_t d = t->height; d-- > 0;) {
		inner *in = p->in[d];
		const uint32_t at = p->at[d] + 1;

		in->count[at - 1] -= c.count;
		in->marked[at - 1] -= c.marked;
		if (in->n < FAN) {
			put_child(in, at, &c);
			return;
		}
		c = split_inner(in, take_inner(t), p->last ? FAN : FAN / 2, at, &c);
	}
	inner *root = take_inner(t);
	put_child(root, 0,
		  &(struct child){t->root, -INFINITY, 0, t->n - c.count, t->marked - c.marked});
	put_child(root, 1, &c);
	t->root = root;
	t->height++;
}

/* The leaf that kth_near() remembers stays, and those before it have one more. */
static void move_near(struct sw_ostree *t, const leaf *l, uint64_t rank)
{
	if (l != t->near && rank <= t->near_base)
		t->near_base++;
}

uint64_t sw_ostree_insert(struct sw_ostree *t, double value, uint32_t id, bool marked)
{
	struct path p;
	uint64_t rank = 0;

	assert(t->root != NULL && !isnan(value) && id <= SW_OSTREE_ID_MAX);
	leaf *l = descend(t, value, id, &p);
	for (uint32_t d = 0; d < t->height; d++) {
		rank += sum(p.in[d]->count, p.at[d]);
		p.in[d]->count[p.at[d]]++;
		if (marked)
			p.in[d]->marked[p.at[d]]++;
	}
	t->n++;
	t->marked += marked;
	const uint32_t at = lower(l->value, ids(l), l->n, value, id + 1);
	const uint32_t entry = id | (marked ? MARK : 0);
	rank += at;
	/* Equal ones may stand before it. At the beginning of a leaf they would be in the one
	 * before. */
	const bool ties = rank > 0 && (at == 0 || !(l->value[at - 1] < value));
	if (l->n < l->cap) {
		put_entry(l, at, value, entry);
		move_near(t, l, rank);
	} else {
		const uint32_t n = l->n;
		const uint32_t from = p.last && at == n ? n : p.first && at == 0 ? 0 : n / 2;

		t->near = NULL;
		hang(t, &p, split_leaf(l, take_leaf(t), from, at, value, entry));
	}
	return ties ? sw_ostree_less(t, value) : rank;
}

/* ---- what is there ---- */

static uint32_t leaf_find(const leaf *l, double value, uint32_t id)
{
	const uint32_t at = lower(l->value, const_ids(l), l->n, value, id);

	assert(at < l->n && l->value[at] == value && (const_ids(l)[at] & ~MARK) == id);
	return at;
}

void sw_ostree_mark(struct sw_ostree *t, double value, uint32_t id, bool marked)
{
	struct path p;
	const uint32_t by = marked ? 1 : UINT32_MAX; /* modulo 2^32: one less */

	assert(t->n > 0);
	leaf *l = descend(t, value, id, &p);
	uint32_t *entry = &ids(l)[leaf_find(l, value, id)];
	assert((*entry & MARK) != (marked ? MARK : 0));
	*entry ^= MARK;
	t->marked += by;
	for (uint32_t d = 0; d < t->height; d++)
		p.in[d]->marked[p.at[d]] += by;
}

static void drop_child(inner *in, uint32_t at)
{
	const uint32_t n = --in->n - at;

	memmove(in->key + at, in->key + at + 1, n * sizeof in->key[0]);
	memmove(in->key_id + at, in->key_id + at + 1, n * sizeof in->key_id[0]);
	memmove(in->count + at, in->count + at + 1, n * sizeof in->count[0]);
	memmove(in->marked + at, in->marked + at + 1, n * sizeof in->marked[0]);
	memmove(in->child + at, in->child + at + 1, n * sizeof in->child[0]);
}

/* Frees the empty leaf, the nodes that it leaves empty, and roots with one child. */
static void prune_empty(struct sw_ostree *t, const struct path *p, leaf *l)
{
	t->bytes -= leaf_bytes(l->cap);
	free(l);
	for (uint32_t d = t->height; d-- > 0;) {
		drop_child(p->in[d], p->at[d]);
		if (p->in[d]->n > 0)
			break;
		t->bytes -= sizeof *p->in[d];
		free(p->in[d]);
		assert(d > 0); /* a root has two children */
	}
	while (t->height > 0 && ((inner *)t->root)->n == 1) {
		void *only = ((inner *)t->root)->child[0];

		t->bytes -= sizeof(inner);
		free(t->root);
		t->root = only;
		t->height--;
	}
}

void sw_ostree_remove(struct sw_ostree *t, double value, uint32_t id)
{
	struct path p;

	assert(t->n > 0);
	leaf *l = descend(t, value, id, &p);
	const uint32_t at = leaf_find(l, value, id), marked = ids(l)[at] >> 31;
	t->near = NULL;
	memmove(l->value + at, l->value + at + 1, (l->n - at - 1) * sizeof l->value[0]);
	memmove(ids(l) + at, ids(l) + at + 1, (l->n - at - 1) * sizeof(uint32_t));
	l->n--;
	t->n--;
	t->marked -= marked;
	for (uint32_t d = 0; d < t->height; d++) {
		p.in[d]->count[p.at[d]]--;
		p.in[d]->marked[p.at[d]] -= marked;
	}
	if (l->n == 0 && t->height > 0)
		prune_empty(t, &p, l);
}
