/*
 * sched/num/ostree_internal.h — the nodes of the tree, and the search in one, which its files
 * share:
 *   ostree.c        room, insertion, removal, marks
 *   ostree_rank.c   questions, the invariant
 */
#ifndef SW_SCHED_NUM_OSTREE_INTERNAL_H
#define SW_SCHED_NUM_OSTREE_INTERNAL_H

#include "sched/num/ostree.h"

#define LEAF_MAX 64u
#define FAN      64u
#define MARK     0x80000000u

struct sw_ostree_leaf {
	uint32_t n, cap;
	double value[]; /* [cap], and behind them id[cap], with the mark as its highest bit */
};

struct sw_ostree_inner {
	uint32_t n;
	double key[FAN]; /* child i holds nothing below key[i], child i - 1 nothing above; key[0] is
			    not looked at */
	uint32_t key_id[FAN];
	uint32_t count[FAN], marked[FAN];
	void *child[FAN];
};

typedef struct sw_ostree_leaf leaf;
typedef struct sw_ostree_inner inner;

static inline uint32_t *ids(leaf *l)
{
	return (uint32_t *)(void *)(l->value + l->cap);
}

static inline const uint32_t *const_ids(const leaf *l)
{
	return (const uint32_t *)(const void *)(l->value + l->cap);
}

static inline size_t leaf_bytes(uint32_t cap)
{
	return sizeof(leaf) + cap * (sizeof(double) + sizeof(uint32_t));
}

static inline bool before(double value, uint32_t id, double v, uint32_t x)
{
	return value < v || (value == v && id < x);
}

/* How many of n sorted entries come before (v, x). For the number up to and with (v, x), ask for x
 * + 1. The ids are looked at only where values are equal: they are on other lines of the cache. */
static inline uint32_t lower(const double *value, const uint32_t *id, uint32_t n, double v,
			     uint32_t x)
{
	uint32_t at = 0;

	for (uint32_t left = n; left > 0;) {
		const uint32_t half = left - left / 2;

		at = value[at + half - 1] < v ? at + half : at;
		left /= 2;
	}
	while (at < n && value[at] == v && (id[at] & ~MARK) < x)
		at++;
	return at;
}

/* The child where what is at (v, x) begins. */
static inline uint32_t child_of(const inner *in, double v, uint32_t x)
{
	return lower(in->key + 1, in->key_id + 1, in->n - 1, v, x);
}

static inline uint64_t sum(const uint32_t *v, uint32_t n)
{
	uint32_t even = 0, odd = 0, i = 0;

	for (; i + 1 < n; i += 2) {
		even += v[i];
		odd += v[i + 1];
	}
	return (uint64_t)even + odd + (i < n ? v[i] : 0);
}

static inline uint32_t marks(const uint32_t *id, uint32_t n)
{
	uint32_t s = 0;

	for (uint32_t i = 0; i < n; i++)
		s += id[i] >> 31;
	return s;
}

#endif
