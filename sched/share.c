#include "sched/share.h"
#include <assert.h>
#include <stdbool.h>

static bool before(const struct sw_share *a, const struct sw_share *b)
{
	if (a->running != b->running)
		return a->running < b->running;
	return a->used_us < b->used_us;
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

int64_t sw_share_join(const struct sw_share *v, size_t n)
{
	int64_t least = n > 0 ? v[0].used_us : 0;

	for (size_t i = 1; i < n; i++)
		if (v[i].used_us < least)
			least = v[i].used_us;
	return least;
}
