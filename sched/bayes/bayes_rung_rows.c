/* The rows of the process. A row's key says how much it is wanted; the largest keys are picked. */
#include "sched/bayes/bayes_rung.h"
#include "sched/num/rng.h"
#include <math.h>
#include <string.h>

#define BAD_ROOM  (BAYES_RUNG_ROWS / 4)
#define BEST_ROWS (BAYES_RUNG_ROWS / 4) /* of those at the top, the lowest always stay */

/* The rows of largest key, falling; of equal keys the first to come. */
struct list {
	struct sw_bayes_rung_row *row;
	size_t n, most;
};

static void consider(struct list *l, const struct sw_bayes_rung_row *row)
{
	if (l->most == 0 || (l->n == l->most && l->row[l->n - 1].key >= row->key))
		return;
	size_t at = l->n < l->most ? l->n : l->most - 1;

	for (; at > 0 && l->row[at - 1].key < row->key; at--)
		l->row[at] = l->row[at - 1];
	l->row[at] = *row;
	l->n += l->n < l->most;
}

/* The next row of subject i at `level` or above; false: none. A subject that failed has one at the
 * top that is bad. */
static bool next_row(const struct sw_bayes_rung_values *r, uint64_t seed, size_t i, size_t level,
		     struct sw_bayes_rung_row *out)
{
	while (level <= r->top && (r->at[i] >> level & 1) == 0 && !(r->bad[i] && level == r->top))
		level++;
	if (level > r->top)
		return false;
	const bool bad = r->bad[i] && level == r->top;
	const double z = bad ? 0 : r->z[i * r->n_levels + level];

	/* Two for each level outweigh the chance, which decides within a level. The chance belongs
	 * to the row, so the pick changes little as rows come. */
	*out = (struct sw_bayes_rung_row){
		.key = sw_rng_unit(seed, SW_RNG_PICK, i + 1, (uint32_t)level) + 2.0 * (double)level,
		.z = bad ? 0 : sw_bayes_rung_foretell(r, level, z),
		.subject = i,
		.level = level,
		.bad = bad};
	return true;
}

/* How low a row at the top must be to be among the lowest; rows that tie with it may be more. */
static double find_bar(const struct sw_bayes_rung_values *r, size_t n_top)
{
	struct sw_bayes_rung_row lowest[BEST_ROWS];
	struct list best = {.row = lowest, .most = BEST_ROWS};

	if (n_top <= BAYES_RUNG_ROWS)
		return -INFINITY;
	for (size_t i = 0; i < r->n; i++) {
		const double z = r->z[i * r->n_levels + r->top];

		if (r->at[i] >> r->top != 0)
			consider(&best, &(struct sw_bayes_rung_row){.key = -z, .z = z});
	}
	return best.row[best.n - 1].z;
}

void sw_bayes_rung_choose(const struct sw_bayes_rung_values *r, uint64_t seed,
			  struct sw_bayes_rung_pick *out)
{
	struct sw_bayes_rung_row spare[BAYES_RUNG_ROWS], row;
	size_t n_good = 0, n_bad = 0, n_top = 0;

	for (size_t i = 0; i < r->n; i++) {
		n_good += (size_t)__builtin_popcountll(r->at[i]);
		n_top += r->at[i] >> r->top != 0;
		n_bad += r->bad[i];
	}
	const size_t room = n_good < BAYES_RUNG_ROWS - BAD_ROOM ? BAYES_RUNG_ROWS - n_good
								: BAD_ROOM;
	struct list bad = {.row = spare, .most = n_bad < room ? n_bad : room};
	struct list good = {.row = out->row, .most = BAYES_RUNG_ROWS - bad.most};
	const double bar = find_bar(r, n_top);

	for (size_t i = 0; i < r->n; i++) {
		for (size_t level = 0; next_row(r, seed, i, level, &row); level = row.level + 1) {
			/* Two more put the lowest at the top before every other row. */
			if (!row.bad && row.level == r->top && row.z <= bar)
				row.key += 2;
			consider(row.bad ? &bad : &good, &row);
		}
	}
	memcpy(out->row + good.n, bad.row, bad.n * sizeof *bad.row);
	out->n = good.n + bad.n;
	out->total = n_good + n_bad;
}
