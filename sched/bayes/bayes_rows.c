/* Which rows a model sees, and the draws of one suggestion. */
#include "base/memory.h"
#include "base/normal.h"
#include "sched/bayes/bayes.h"
#include "sched/num/rng.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct bayes_key {
	double key;
	uint32_t row;
};

double sw_bayes_rng_unit(struct sw_bayes_rng *r)
{
	/* Half a step up: a probit and a logarithm have no value at 0. */
	return sw_rng_unit(r->seed, SW_RNG_SUGGEST, r->trial, r->draw++) + 0x1p-54;
}

double sw_bayes_rng_normal(struct sw_bayes_rng *r)
{
	const double u = sw_bayes_rng_unit(r);

	return sw_normal_quantile(u < 1 ? u : 1 - 0x1p-53);
}

size_t sw_bayes_rng_below(struct sw_bayes_rng *r, size_t n)
{
	assert(n > 0);
	return sw_rng_below(sw_bayes_rng_unit(r), n);
}

void sw_bayes_pick_fini(struct sw_bayes_pick *p)
{
	free(p->row);
	free(p->key);
	free(p->taken);
	*p = (struct sw_bayes_pick){0};
}

static int by_key(const void *va, const void *vb)
{
	const struct bayes_key *const a = va, *const b = vb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

/* Room for `most` rows picked of `rows`. key: two lists. */
static sw_status reserve(struct sw_bayes_pick *p, size_t rows, size_t most)
{
	if (!sw_array_reserve(&p->row, &p->cap, most, sizeof *p->row))
		return SW_NOMEM;
	if (rows > p->key_cap) {
		if (!sw_array_resize(&p->key, 2 * 2 * rows, sizeof *p->key) ||
		    !sw_array_resize(&p->taken, 2 * rows, sizeof *p->taken))
			return SW_NOMEM;
		p->key_cap = 2 * rows;
	}
	return SW_OK;
}

static double distance2(const struct sw_bayes_data *b, size_t i, size_t k, const double *w)
{
	const size_t d = b->cube->d;
	double sum = 0;

	for (size_t j = 0; j < d; j++) {
		double step = b->x[i * d + j] - b->x[k * d + j];

		/* Two choices are alike or not: their places in the cube say nothing of how far
		 * apart they are. */
		if (b->cube->category[j])
			step = step != 0;
		sum += step * step / (w[j] * w[j]);
	}
	return sum;
}

/* The lowest y among the first rows; bad ones do not count. */
static size_t best_of(const struct sw_bayes_data *b, size_t rows)
{
	size_t best = rows;

	if (b->best < rows)
		return b->best;
	for (size_t i = 0; i < rows; i++) {
		if (!b->bad[i] && (best == rows || b->y[i] < b->y[best]))
			best = i;
	}
	return best == rows ? 0 : best;
}

/* Steps of the golden section over the order of coming: each beginning is even, and no row is left
 * out for much longer than the rows are many (the three-gap theorem). */
static uint32_t spread(size_t at, size_t rows)
{
	return (uint32_t)((at * 0x9E3779B1u & 0xFFFFFFFFu) * rows >> 32);
}

sw_status sw_bayes_pick_mixed(struct sw_bayes_pick *p, const struct sw_bayes_data *b, size_t rows,
			      size_t whole, size_t most, const double *w)
{
	most = rows < most ? rows : most;
	const sw_status rc = reserve(p, rows, most);

	if (rc != SW_OK)
		return rc;
	p->n = 0;
	/* In the order of coming, so that a row that is told later is appended to the same
	 * factor. */
	if (rows <= whole) {
		for (; p->n < rows; p->n++)
			p->row[p->n] = (uint32_t)p->n;
		return SW_OK;
	}
	struct bayes_key *const low = p->key, *const near = p->key + rows;
	const size_t best = best_of(b, rows);
	size_t next[3] = {0, 0, 0};

	for (size_t i = 0; i < rows; i++) {
		/* Bad rows are worse than all. */
		low[i] = (struct bayes_key){b->bad[i] ? b->sorted[b->n_good - 1] : b->y[i],
					    (uint32_t)i};
		near[i] = (struct bayes_key){distance2(b, i, best, w), (uint32_t)i};
	}
	qsort(low, rows, sizeof *low, by_key);
	qsort(near, rows, sizeof *near, by_key);
	memset(p->taken, 0, rows * sizeof *p->taken);
	for (size_t turn = 0; p->n < most; turn = (turn + 1) % 3) {
		uint32_t row;

		do {
			row = turn == 0   ? low[next[0]].row
			      : turn == 1 ? near[next[1]].row
					  : spread(next[2], rows);
			next[turn]++;
			/* Each list still holds a free row: `most` is at most `rows`. */
		} while (p->taken[row]);
		p->taken[row] = true;
		p->row[p->n++] = row;
	}
	return SW_OK;
}

sw_status sw_bayes_pick_near(struct sw_bayes_pick *p, const struct sw_bayes_data *b, size_t most,
			     const double *w)
{
	const size_t rows = b->n, n = rows < most ? rows : most;
	const sw_status rc = reserve(p, rows, n);

	if (rc != SW_OK)
		return rc;
	for (size_t i = 0; i < rows; i++)
		p->key[i] = (struct bayes_key){distance2(b, i, b->best, w), (uint32_t)i};
	p->key[b->best].key = -1; /* others may stand where it stands, and be bad */
	qsort(p->key, rows, sizeof *p->key, by_key);
	for (p->n = 0; p->n < n; p->n++)
		p->row[p->n] = p->key[p->n].row;
	return SW_OK;
}

sw_status sw_bayes_pick_level(struct sw_bayes_pick *p, const struct sw_bayes_data *b, size_t most,
			      size_t k, double at)
{
	const size_t d = b->cube->d;

	if (!sw_array_reserve(&p->row, &p->cap, b->n < most ? b->n : most, sizeof *p->row))
		return SW_NOMEM;
	p->n = 0;
	for (size_t i = b->n; i-- > 0 && p->n < most;) {
		if (b->x[i * d + k] == at)
			p->row[p->n++] = (uint32_t)i;
	}
	return SW_OK;
}
