#include "sched/num/stair.h"
#include <string.h>

/* The first step that is at least as wide as a, or n. */
static size_t place(const struct sw_stair *s, double a)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (s->step[mid].a < a)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Of all that are wide enough the narrowest is the highest. */
const struct sw_stair_step *sw_stair_cover(const struct sw_stair *s, double a, double b)
{
	const size_t at = place(s, a);

	return at < s->n && s->step[at].b >= b ? &s->step[at] : NULL;
}

void sw_stair_add(struct sw_stair *s, double a, double b)
{
	const size_t at = place(s, a);
	double right = a, below = at < s->n ? s->step[at].b : 0;
	size_t first = at;

	/* The next wider step already covers it, and all steps beyond are lower. */
	if (at < s->n && s->step[at].b >= b)
		return;
	/* A step as wide and lower goes as well. */
	const size_t end = at < s->n && s->step[at].a == a ? at + 1 : at;

	/* Narrower steps that are no higher vanish below the new one. Each goes once, so adding is
	 * O(1) on average but for the move. */
	while (first > 0 && s->step[first - 1].b <= b) {
		first--;
		s->area += (right - s->step[first].a) * (b - below);
		right = s->step[first].a;
		below = s->step[first].b;
	}
	/* The last piece reaches from the narrowest step that went to the first that stays
	 * higher. */
	s->area += (right - (first > 0 ? s->step[first - 1].a : 0)) * (b - below);
	memmove(s->step + first + 1, s->step + end, (s->n - end) * sizeof *s->step);
	s->step[first] = (struct sw_stair_step){a, b};
	s->n = s->n - (end - first) + 1;
}
