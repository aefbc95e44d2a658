#include "sched/share.h"
#include <assert.h>
#include <stdbool.h>

#define FIRST_GUESS_US 1e6 /* of an attempt, before any ended */

static double weight_of(const struct sw_share *s)
{
	return s->weight > 0 ? s->weight : 1;
}

static double served(const struct sw_share *s)
{
	const double mean = s->ended > 0 ? (double)s->ended_us / (double)s->ended : FIRST_GUESS_US;

	return ((double)s->used_us + (double)s->running * mean) / weight_of(s);
}

static bool before(const struct sw_share *a, const struct sw_share *b)
{
	const double x = served(a), y = served(b);

	if (x < y || y < x)
		return x < y;
	return (double)a->running / weight_of(a) < (double)b->running / weight_of(b);
}

size_t sw_share_pick(const struct sw_share *v, size_t n)
{
	size_t best = 0;

	assert(n >= 1);
	for (size_t i = 1; i < n; i++)
		if (before(&v[i], &v[best]))
			best = i;
	return best;
}

int64_t sw_share_join(const struct sw_share *v, size_t n, double weight)
{
	double least = n > 0 ? (double)v[0].used_us / weight_of(&v[0]) : 0;

	for (size_t i = 1; i < n; i++) {
		const double used = (double)v[i].used_us / weight_of(&v[i]);

		if (used < least)
			least = used;
	}
	return (int64_t)(least * (weight > 0 ? weight : 1));
}
