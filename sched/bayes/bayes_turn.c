/* A turn of a level. A few bad points, whose numbers may be to blame, are enough for a model to
 * write a category off: it then expects so little there that it never asks again. And a model of
 * all rows carries over which numbers were good with the other levels, where these may be the worst
 * with this one (a step size beside another loss). So the level's own rows alone say what is
 * next. */
#include "sched/bayes/bayes.h"
#include "sched/space/space_internal.h"

#define TURN_TRIES 4  /* levels: some may have no point left */
#define TURN_MOST  64 /* levels; where there are more, the model alone chooses among them */

static void count_levels(const struct sw_bayes_cube *c, size_t k, const double *x, size_t n,
			 size_t *count)
{
	for (size_t i = 0; i < n; i++)
		count[sw_space_decode_one(&c->space->v[c->of[k]], x[i * c->d + k]).choice]++;
}

/* The level that has had the least of the points beside what random draws would have given it, if
 * that is less than `least` of it: its coordinate, and where it stands there; d: all have had
 * enough. tried: bit i of a coordinate's: not its level i. */
static size_t find_level(const struct sw_bayes_data *b, double least, uint64_t *tried, double *at)
{
	const struct sw_bayes_cube *const c = b->cube;
	const double n = (double)(b->n + b->n_pending);
	size_t k_least = c->d;
	uint64_t level = 0;

	for (size_t k = 0; k < c->d; k++) {
		const struct sw_space_entry *const e = &c->space->v[c->of[k]];
		size_t count[TURN_MOST] = {0};

		if (!c->category[k] || !c->always[k] || c->levels[k] > TURN_MOST)
			continue;
		count_levels(c, k, b->x, b->n, count);
		count_levels(c, k, b->pending, b->n_pending, count);
		for (uint64_t i = 0; i < c->levels[k]; i++) {
			const double due = n * sw_space_chance(e, i);

			/* Without any chance, a level is due nothing. */
			if ((tried[k] >> i & 1) == 0 && (double)count[i] < least * due) {
				least = (double)count[i] / due;
				k_least = k;
				level = i;
			}
		}
	}
	if (k_least < c->d) {
		tried[k_least] |= (uint64_t)1 << level;
		*at = sw_bayes_cube_category(c, k_least, level);
	}
	return k_least;
}

sw_status sw_bayes_turn(struct sw_bayes_search *s, struct sw_bayes_model *of_level,
			const struct sw_bayes_data *b, struct sw_bayes_rng *rng, double least,
			struct sw_bayes_found *out)
{
	const struct sw_bayes_model *const of_all = out->model;
	uint64_t tried[SW_SPACE_MAX_PARAMS] = {0};
	sw_status rc = SW_NOT_FOUND;
	int tries = 0;

	/* Constraints may leave no point of a level, or all of them have been tried: then it is the
	 * next level's turn. */
	while (rc == SW_NOT_FOUND && tries < TURN_TRIES) {
		double at = 0;
		const size_t k = find_level(b, least, tried, &at);

		out->model = of_all;
		if (k == s->cube->d)
			return SW_NOT_FOUND;
		rc = sw_bayes_model_of_level(of_level, b, k, at, rng);
		if (rc == SW_OK)
			out->model = of_level;
		/* Where nothing good is known of a level, the model of all rows chooses. */
		else if (rc != SW_NOT_FOUND)
			return rc;
		else if (of_all == NULL)
			continue;
		const double lo = s->lo[k], hi = s->hi[k];

		tries++;
		s->lo[k] = s->hi[k] = at;
		rc = sw_bayes_search_run(s, out->model, b, rng, out);
		s->lo[k] = lo;
		s->hi[k] = hi;
	}
	if (rc == SW_NOT_FOUND)
		out->model = of_all;
	return rc;
}
