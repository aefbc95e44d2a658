/*
 * sched/num/ostree.h — a set of (value, id) in order that knows ranks, and ranks among the marked
 * ones.
 *
 *        [ | 3 | 9 ]           A B+ tree. An inner node has up to 64 children, and for each the
 *        {5}  {3}  {6}         least key that it may hold, how many entries are below it, how many
 *       /      |     \         of them are marked. Entries stand in the leaves, up to 64 each,
 *   1 1 2 2 2  3 5 7  9 ...    sorted: a million of them are four levels, and all but the leaves
 *                              stay in the cache.
 *
 * Pure     No I/O, clock, thread or global. The same calls build the same tree.
 * Order    By value, then by id. less() and the k-th are those of a multiset of values; equal
 *          (value, id) may stand in it more than once, unless they are marked or removed.
 * Cost     O(log n) each. A node splits when it is full (at the edge it stays full, so that
 *          rising values fill their nodes) and is freed when it is empty; there is no merging.
 * Memory   init/fini; the struct is the caller's. 12 bytes an entry and what is free in its
 *          leaf: about 18 for values in random order, 24 at worst if nothing is removed; a tree
 *          of few starts with room for 4. sw_ostree_reserve() alone can fail, so a caller that
 *          fills several trees reserves in all of them first.
 * Source   Bayer and McCreight, Acta Informatica 1 (1972). Free-at-empty: Johnson and Shasha, J.
 *          Comput. Syst. Sci. 47 (1993).
 */
#ifndef SW_SCHED_NUM_OSTREE_H
#define SW_SCHED_NUM_OSTREE_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_OSTREE_ID_MAX ((uint32_t)INT32_MAX) /* so that id + 1 and a bit beside it have room */

struct sw_ostree_inner;
struct sw_ostree_leaf;

struct sw_ostree {
	void *root;      /* a leaf where height is 0, else an inner node; NULL: no room yet */
	uint32_t n;      /* entries */
	uint32_t marked; /* of them */
	uint32_t height; /* levels of inner nodes */
	uint32_t spare_n;
	struct sw_ostree_inner *spare; /* what the next insertion may need */
	struct sw_ostree_leaf *spare_leaf;
	struct sw_ostree_leaf *near; /* where kth_near() was last; NULL: nowhere */
	uint64_t near_base;          /* entries before that leaf */
	size_t bytes;                /* held, the spares included */
};

void sw_ostree_init(struct sw_ostree *t);
void sw_ostree_fini(struct sw_ostree *t);

/* Makes room for one more. Amortised O(1). SW_NOMEM: nothing changed that anyone sees. */
SW_NODISCARD sw_status sw_ostree_reserve(struct sw_ostree *t);

/* Returns how many values are below the new one. Asserts that there is room, that value is a number
 * and id at most SW_OSTREE_ID_MAX. */
uint64_t sw_ostree_insert(struct sw_ostree *t, double value, uint32_t id, bool marked);
/* Asserts that it is there, and for mark() that its mark changes. */
void sw_ostree_remove(struct sw_ostree *t, double value, uint32_t id);
void sw_ostree_mark(struct sw_ostree *t, double value, uint32_t id, bool marked);

/* How many values are below this one. Not NaN. */
uint64_t sw_ostree_less(const struct sw_ostree *t, double value);
/* How many entries come before (value, id), which need not be there. */
uint64_t sw_ostree_rank(const struct sw_ostree *t, double value, uint32_t id);
/* How many marked ones do. */
uint64_t sw_ostree_marked_rank(const struct sw_ostree *t, double value, uint32_t id);
/* How many of the first k entries are marked. k <= n. */
uint64_t sw_ostree_marked_among(const struct sw_ostree *t, uint64_t k);

/* The k-th entry (from 0), k < n; the k-th of the marked ones, k < marked. id may be NULL. */
double sw_ostree_kth(const struct sw_ostree *t, uint64_t k, uint32_t *id);
/* The same value, found at once where it stands in the leaf that the last such call looked at,
 * which insertions do not move: for a k that moves slowly. */
double sw_ostree_kth_near(struct sw_ostree *t, uint64_t k);
double sw_ostree_marked_kth(const struct sw_ostree *t, uint64_t k, uint32_t *id);

/* Asserts the order, the counts and the marks. O(n); for tests. */
void sw_ostree_invariant(const struct sw_ostree *t);

#endif
