#include "trainer/data/split.h"
#include "base/memory.h"
#include "kernels/philox.h"
#include "trainer/data/shuffle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum part { VAL, TEST, TRAIN, PARTS };

/* A row of a table that is sorted by its key, then by its place. */
struct keyed {
	uint64_t key;
	int32_t at; /* in the order that it came in */
	int32_t row;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* A double's bits, so that they sort as the numbers do. */
static uint64_t sortable(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

/* The rows of s->order, sorted by their key. */
static void keys_make(struct keyed *k, const struct sw_split *s, const struct sw_split_by *by)
{
	for (size_t i = 0; i < s->rows; i++) {
		const int32_t row = s->order[i];

		k[i] = (struct keyed){.at = (int32_t)i, .row = row};
		if (by->order)
			k[i].key = sortable(by->order[row]);
		else if (by->group)
			k[i].key = by->group[row];
		else
			k[i].key = (uint64_t)by->label[row];
	}
	qsort(k, s->rows, sizeof *k, by_key);
}

/* Every so-manieth of the sorted rows, so that each class has its share. */
static void deal_classes(const struct keyed *k, const struct sw_split *s,
			 const struct sw_split_by *by, unsigned char *part)
{
	const double n = (double)s->rows;
	const double val = floor(n * by->val) / n, test = floor(n * by->test) / n;
	double v = 0, t = 0;

	for (size_t i = 0; i < s->rows; i++) {
		/* what each part is due of the rows so far, less what it has */
		const double due_v = val * (double)(i + 1) - v, due_t = test * (double)(i + 1) - t;
		const bool is_v = due_v >= due_t && due_v > 0.5, is_t = !is_v && due_t > 0.5;

		v += is_v;
		t += is_t;
		part[k[i].row] = is_v ? VAL : is_t ? TEST : TRAIN;
	}
}

/* A part that no group fits has the smallest of those that are left, if more rows are left to train
 * on. false: there is none. */
static bool smallest_take(unsigned char *to, const size_t *first, size_t groups, enum part p,
			  size_t *left)
{
	size_t best = groups;

	for (size_t g = 0; g < groups; g++)
		if (to[g] == TRAIN &&
		    (best == groups || first[g + 1] - first[g] < first[best + 1] - first[best]))
			best = g;
	if (best == groups || 2 * (first[best + 1] - first[best]) >= *left)
		return false;
	to[best] = (unsigned char)p;
	*left -= first[best + 1] - first[best];
	return true;
}

/* Groups in a shuffled order: into a part that they fit, else they are trained on.
 * first: size_t[groups + 1], where each begins; to: of each. */
static bool groups_deal(const size_t *first, size_t groups, const int32_t *order, size_t rows,
			const struct sw_split_by *by, unsigned char *to)
{
	const size_t most[] = {(size_t)floor((double)rows * by->val),
			       (size_t)floor((double)rows * by->test)};
	size_t has[2] = {0, 0}, left = rows;

	for (size_t i = 0; i < groups; i++) {
		const size_t g = (size_t)order[i], n = first[g + 1] - first[g];

		to[g] = TRAIN;
		/* of two that it fits the one that lacks the larger part of its rows */
		if (has[VAL] + n <= most[VAL])
			to[g] = VAL;
		if (has[TEST] + n <= most[TEST] &&
		    (to[g] == TRAIN || has[VAL] * most[TEST] > has[TEST] * most[VAL]))
			to[g] = TEST;
		if (to[g] != TRAIN) {
			has[to[g]] += n;
			left -= n;
		}
	}
	for (int p = VAL; p < TRAIN; p++)
		if (most[p] > 0 && has[p] == 0 &&
		    !smallest_take(to, first, groups, (enum part)p, &left))
			return false;
	return left > 0;
}

static sw_status deal_groups(const struct keyed *k, const struct sw_split *s,
			     const struct sw_split_by *by, unsigned char *part)
{
	size_t *first = sw_malloc((s->rows + 1) * sizeof *first), groups = 0;
	int32_t *order = sw_malloc(s->rows * sizeof *order);
	unsigned char *to = sw_malloc(s->rows);
	sw_status rc = first && order && to ? SW_OK : SW_NOMEM;

	if (rc == SW_OK) {
		for (size_t i = 0; i < s->rows; i++)
			if (i == 0 || k[i].key != k[i - 1].key)
				first[groups++] = i;
		first[groups] = s->rows;
		sw_shuffle(order, groups, by->seed, SW_PHILOX_SPLIT, 1);
		if (!groups_deal(first, groups, order, s->rows, by, to))
			rc = SW_INVALID;
		for (size_t g = 0; rc == SW_OK && g < groups; g++)
			for (size_t i = first[g]; i < first[g + 1]; i++)
				part[k[i].row] = to[g];
	}
	free(first);
	free(order);
	free(to);
	return rc;
}

static void deal_order(const struct keyed *k, const struct sw_split *s,
		       const struct sw_split_by *by, unsigned char *part)
{
	const size_t val = (size_t)floor((double)s->rows * by->val);
	const size_t test = (size_t)floor((double)s->rows * by->test);

	for (size_t i = 0; i < s->rows; i++)
		part[k[i].row] = i >= s->rows - test         ? TEST
				 : i >= s->rows - test - val ? VAL
							     : TRAIN;
}

/* The parts one behind the other, each in the order that the rows have now. */
static sw_status parts_sort(struct sw_split *s, const unsigned char *part)
{
	size_t at[PARTS] = {0}, n[PARTS] = {0};
	int32_t *sorted = sw_malloc(s->rows * sizeof *sorted);

	if (!sorted)
		return SW_NOMEM;
	for (size_t i = 0; i < s->rows; i++)
		n[part[i]]++;
	at[TEST] = n[VAL];
	at[TRAIN] = n[VAL] + n[TEST];
	for (size_t i = 0; i < s->rows; i++)
		sorted[at[part[s->order[i]]]++] = s->order[i];
	free(s->order);
	s->order = sorted;
	s->val = n[VAL];
	s->test = n[TEST];
	return SW_OK;
}

sw_status sw_split_make(struct sw_split *split, size_t rows, const struct sw_split_by *by)
{
	struct keyed *k = NULL;
	unsigned char *part = NULL;
	sw_status rc = SW_NOMEM;

	*split = (struct sw_split){.rows = rows};
	split->order = sw_malloc(rows * sizeof *split->order);
	if (!split->order)
		return SW_NOMEM;
	sw_shuffle(split->order, rows, by->seed, SW_PHILOX_SPLIT, 0);
	if (!by->label && !by->group && !by->order) {
		split->val = (size_t)floor((double)rows * by->val);
		split->test = (size_t)floor((double)rows * by->test);
		return SW_OK;
	}
	k = sw_malloc(rows * sizeof *k);
	part = sw_malloc(rows);
	if (!k || !part)
		goto out;
	keys_make(k, split, by);
	rc = SW_OK;
	if (by->order)
		deal_order(k, split, by, part);
	else if (by->group)
		rc = deal_groups(k, split, by, part);
	else
		deal_classes(k, split, by, part);
	if (rc == SW_OK)
		rc = parts_sort(split, part);
out:
	free(k);
	free(part);
	return rc;
}
