/*
 * Once ranges were edited, a sampler that learns sees the trials within the present ranges with
 * all that is known of them. Of the others it sees only that they wait for nothing. The whole
 * history is kept beside it, so that a range that is widened again brings them back.
 */
#include "sched/sweep/sweep.h"
#include "sched/sweep/sweep_internal.h"
#include <assert.h>
#include <string.h>

static const struct sw_value *values_of(const struct sw_sweep *s, uint64_t trial)
{
	return s->history.values + (trial - 1) * s->history.n_params;
}

/* With what an inactive parameter holds in this space. Cannot fail: there is room. */
static void add_trial(struct sw_history *to, const struct sw_space *space,
		      const struct sw_value *values)
{
	sw_status rc = sw_history_add_trial(to, values);

	assert(rc == SW_OK);
	sw_space_canonical(space, to->values + (to->trials - 1) * to->n_params);
	if (sw_space_holds(space, values)) /* its results will come */
		return;
	rc = sw_history_observe(to, (struct sw_obs){.trial = to->trials, .kind = SW_OBS_NONE},
				NULL);
	assert(rc == SW_OK);
}

static sw_status add_priors(const struct sw_history *from, const struct sw_space *space,
			    struct sw_history *to)
{
	sw_status rc = SW_OK;

	for (size_t i = 0; rc == SW_OK && i < from->n_prior; i++) {
		const struct sw_value *values = from->prior_values + i * from->n_params;

		if (sw_space_holds(space, values))
			rc = sw_history_add_prior(to, values, from->prior_y + i * from->n_metrics);
	}
	return rc;
}

sw_status sw_sweep_seen_make(const struct sw_sweep *s, const struct sw_space *space,
			     struct sw_history *to)
{
	const struct sw_history *from = &s->history;

	sw_history_init(to, from->n_params, from->n_metrics);
	sw_status rc = add_priors(from, space, to);
	if (rc == SW_OK)
		/* Each trial may add one NONE to what was observed. */
		rc = sw_history_reserve(to, from->trials, from->trials + from->n_obs);
	if (rc != SW_OK)
		return rc;
	for (uint64_t trial = 1; trial <= from->trials; trial++)
		add_trial(to, space, values_of(s, trial));
	for (size_t i = 0; i < from->n_obs; i++) {
		if (!sw_space_holds(space, values_of(s, from->obs[i].trial)))
			continue;
		rc = sw_history_observe(to, from->obs[i], from->y + i * from->n_metrics);
		assert(rc == SW_OK);
	}
	return SW_OK;
}

void sw_sweep_seen_trial(struct sw_sweep *s, uint64_t trial)
{
	if (s->masked)
		add_trial(&s->seen, s->space, values_of(s, trial));
}

void sw_sweep_seen_observe(struct sw_sweep *s, struct sw_obs obs, const double *y)
{
	if (!s->masked || !sw_space_holds(s->space, values_of(s, obs.trial)))
		return;
	const sw_status rc = sw_history_observe(&s->seen, obs, y);
	assert(rc == SW_OK);
	(void)rc;
}
