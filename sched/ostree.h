/*
 * sched/ostree.h — a multiset of doubles that knows ranks: how many are below x, the k-th.
 *
 *            5 {size 6}            A node is a value, two children and the size of its subtree,
 *           /          \           kept in one array and linked by index (0: none), 24 bytes a
 *      2 {3}            8 {2}      value. No pointers, so growing it is one realloc, and no random
 *     /     \          /           numbers, so equal inserts build equal trees.
 *   1 {1}   3 {1}    7 {1}
 *
 * Pure     No I/O, clock, thread or global.
 * Balance  By weight (size + 1): no child outweighs its sibling by more than 3 to 1, so that the
 *          height stays below log(n + 1) / log(4/3).
 * Memory   init/fini; the struct is the caller's. sw_ostree_reserve() alone can fail, so a caller
 *          that fills several trees reserves in all of them first.
 * Source   Nievergelt and Reingold, SIAM J. Comput. 2 (1973); the pair (3, 2) for single and double
 *          rotations: Hirai and Yamamoto, J. Funct. Program. 21 (2011), section 4.
 */
#ifndef SW_SCHED_OSTREE_H
#define SW_SCHED_OSTREE_H

#include "base/status.h"
#include <stdint.h>

struct sw_ostree_node {
	double value;
	uint32_t left, right; /* index, 0: none; left <= value <= right */
	uint32_t size;        /* nodes of the subtree, this one included */
};

struct sw_ostree {
	struct sw_ostree_node *node; /* node[0] is the empty tree, size 0 */
	uint32_t root, n, cap;       /* values held; values there is room for */
};

void sw_ostree_init(struct sw_ostree *t);
void sw_ostree_fini(struct sw_ostree *t);

/* Makes room for one more value. Amortised O(1). SW_NOMEM: nothing changed. */
SW_NODISCARD sw_status sw_ostree_reserve(struct sw_ostree *t);

/* value is no NaN; equal values are kept as many times as they come. Asserts that there is room.
 * O(log n). */
void sw_ostree_insert(struct sw_ostree *t, double value);

uint64_t sw_ostree_less(const struct sw_ostree *t, double value); /* strictly below; O(log n) */
double sw_ostree_kth(const struct sw_ostree *t, uint64_t k); /* from 0; asserts k < n; O(log n) */

/* Asserts order, sizes and balance. O(n); for tests. */
void sw_ostree_invariant(const struct sw_ostree *t);

#endif
