#include "sched/sweep/share.h"

#define FIRST_GUESS_US 1e6 /* of an attempt, before any ended */
#define MOST_US        1e18

static double weight_of(const struct sw_share *s)
{
	return s->weight > 0 ? s->weight : 1;
}

static double served(const struct sw_share *s)
{
	/* Running trials count with what they are likely to use, or one sweep would take every free
	 * slot before its first trial ends. */
	const double mean = s->ended > 0 ? (double)s->ended_us / (double)s->ended : FIRST_GUESS_US;

	return ((double)s->used_us + (double)s->running * mean) / weight_of(s);
}

bool sw_share_before(const struct sw_share *a, const struct sw_share *b)
{
	const double x = served(a), y = served(b);

	if (x < y || y < x)
		return x < y;
	return (double)a->running / weight_of(a) < (double)b->running / weight_of(b);
}

/* Weights may be as small as a double goes: the account stays one that slot time can be added
 * to. */
static int64_t account(double used_us)
{
	return used_us < MOST_US ? (int64_t)used_us : (int64_t)MOST_US;
}

int64_t sw_share_join(const struct sw_share *v, size_t n, double weight)
{
	/* With an empty account the newcomer would get every slot until it caught up. */
	double least = n > 0 ? (double)v[0].used_us / weight_of(&v[0]) : 0;

	for (size_t i = 1; i < n; i++) {
		const double used = (double)v[i].used_us / weight_of(&v[i]);

		if (used < least)
			least = used;
	}
	return account(least * (weight > 0 ? weight : 1));
}

void sw_share_reweigh(struct sw_share *s, double weight)
{
	/* Time for each unit of weight stays what it was, so the new weight counts from now on. */
	s->used_us = account((double)s->used_us / weight_of(s) * (weight > 0 ? weight : 1));
	s->weight = weight;
}
