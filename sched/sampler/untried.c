/* No point comes twice before all have come, where the points of a space can be counted: all
 * samplers' suggestions pass here, and one that a trial of the sweep has had gives way to another
 * draw, which keeps to the chances of a category, or in the end to the next point that is left. */
#include "sched/sampler/sampler_internal.h"

#define DRAWS 32

/* 0: too many, or not each of them can be drawn, so that they would never be used up. */
static uint64_t count_points(const struct sw_space *space)
{
	const uint64_t points = sw_space_points(space);

	if (points == 0 || sw_space_conditional(space) || sw_space_constrained(space))
		return 0;
	for (size_t i = 0; i < sw_space_size(space); i++) {
		const struct sw_param *const p = sw_space_param(space, i);

		for (size_t k = 0; p->weights != NULL && k < p->n_choices; k++)
			if (p->weights[k] <= 0)
				return 0;
	}
	return points;
}

/* True: trials have had all points. */
static bool mark_tried(const struct sw_space *space, const struct sw_history *h, uint64_t points,
		       bool *tried)
{
	uint64_t n = 0;

	for (uint64_t t = 0; t < h->trials && n < points; t++) {
		const struct sw_value *const values = h->values + t * h->n_params;

		if (!sw_space_holds(space, values)) /* an edited range has left it behind */
			continue;
		const uint64_t number = sw_space_number(space, values);
		n += !tried[number];
		tried[number] = true;
	}
	return n == points;
}

void sw_sampler_take_untried(const struct sw_sampler *s, const struct sw_history *h, uint64_t made,
			     struct sw_suggestion *out)
{
	const uint64_t points = count_points(s->space);

	if (points == 0)
		return;
	/* The space counts its points only up to SW_SPACE_PROBES, so the array holds them all. */
	bool tried[SW_SPACE_PROBES] = {false};
	uint64_t number = sw_space_number(s->space, out->values);

	if (mark_tried(s->space, h, points, tried) || !tried[number])
		return;
	/* Draw 0 is the one that a random sampler made itself: it would come to the same point. */
	for (uint32_t draw = 1; draw <= DRAWS && tried[number]; draw++) {
		sw_sampler_random_ops.point(s, made, draw, out->values);
		number = sw_space_number(s->space, out->values);
	}
	/* Not all are tried, so the walk round the numbers ends. */
	while (tried[number])
		number = (number + 1) % points;
	sw_space_point(s->space, number, out->values);
	/* Nothing that a model said of its own point is true of this one. */
	out->source = "random";
	out->acquisition = SW_ACQUISITION_NONE;
	out->ei = 0;
}
