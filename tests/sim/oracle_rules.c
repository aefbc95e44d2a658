/* The pruners that compare without pausing: hyperband, median, patience, threshold. */
#include "tests/sim/oracle.h"
#include <inttypes.h>
#include <stdlib.h>

/* What was judged at which step, against how many. */
static void check(const struct sim_oracle *o, const struct sw_event *ev,
		  const struct sw_judgement *j, const struct sw_judgement *want)
{
	const double sign = o->plan->sweep.maximize ? -1 : 1;

	SIM_CHECK(j->rung == want->rung, "rung",
		  "trial %" PRIu64 " at step %" PRIu64 " is judged at %" PRIu64 ", not at %" PRIu64,
		  ev->trial, ev->step, j->rung, want->rung);
	if (want->rung == 0)
		return;
	SIM_CHECK(j->n == want->n, "rung count", "%" PRIu64 ", not %" PRIu64, j->n, want->n);
	SIM_CHECK(j->better == want->better, "rank", "%" PRIu64 ", not %" PRIu64, j->better,
		  want->better);
	SIM_CHECK(j->keep == want->keep, "places", "%" PRIu64 ", not %" PRIu64, j->keep,
		  want->keep);
	SIM_CHECK(j->cutoff == sign * want->cutoff, "cutoff", "%g, not %g", j->cutoff,
		  sign * want->cutoff);
	SIM_CHECK(j->value == sign * want->value, "value judged", "%g, not %g", j->value,
		  sign * want->value);
}

static const struct sw_judgement unjudged;

static void take_best(struct sim_trial *t, double y)
{
	if (!t->has || y < t->best)
		t->best = y;
	t->has = true;
}

enum sw_verdict sim_hyperband_report(struct sim_oracle *o, const struct sw_event *ev, double y,
				     const struct sw_judgement *j)
{
	const struct sw_hyperband_config *const c = &o->plan->sweep.pruner.hyperband;
	struct sim_trial *const t = sim_oracle_trial(o, ev->trial);
	double judged = NAN;
	size_t k = 0;

	t->bracket = 0;
	if (ev->step <= t->valued) {
		check(o, ev, j, &unjudged);
		return SW_VERDICT_CONTINUE;
	}
	const bool crossed = sim_asha_record(o, ev->trial, ev->step, y, &judged, &k) != NULL;
	if (crossed)
		t->band = k + 1;
	if (!c->strict)
		take_best(t, y);
	else if (crossed)
		t->best = judged;
	if (t->band == 0) {
		check(o, ev, j, &unjudged);
		return SW_VERDICT_CONTINUE;
	}
	const struct sim_rung *const r = &o->rung[0][t->band - 1];
	const double cutoff = r->v[r->n / (uint64_t)c->eta].y;
	const bool stop = t->best > cutoff;
	check(o, ev, j,
	      &(struct sw_judgement){.rung = stop || crossed ? r->step : 0,
				     .n = r->n,
				     .better = sim_asha_better(r, t->best),
				     .keep = r->n / (uint64_t)c->eta + 1,
				     .cutoff = cutoff,
				     .value = t->best});
	return stop ? SW_VERDICT_STOP : SW_VERDICT_CONTINUE;
}

/* The first report of an interval: from warmup on, every interval steps, one is judged. */
static bool first_in_interval(uint64_t step, uint64_t before, uint64_t warmup, uint64_t interval)
{
	uint64_t begins = warmup;

	if (step < warmup)
		return false;
	while (begins + interval <= step)
		begins += interval;
	return before == 0 || before < begins;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Of the values at a step; completed: of COMPLETED trials alone. n: how many they are; better: than
 * y. */
static double median(const struct sim_oracle *o, const struct sim_rung *at, bool completed,
		     double y, uint64_t *n, uint64_t *better)
{
	double *const v = sim_realloc(NULL, at->n + 1, sizeof *v);

	*n = *better = 0;
	for (size_t i = 0; i < at->n; i++) {
		if (completed && o->trial[at->v[i].trial - 1].state != SW_TRIAL_COMPLETED)
			continue;
		*better += at->v[i].y < y;
		v[(*n)++] = at->v[i].y;
	}
	qsort(v, *n, sizeof *v, by_value);
	const double m = *n == 0       ? NAN
			 : *n % 2 != 0 ? v[*n / 2]
				       : v[*n / 2 - 1] / 2 + v[*n / 2] / 2;
	free(v);
	return m;
}

enum sw_verdict sim_median_report(struct sim_oracle *o, const struct sw_event *ev, double y,
				  const struct sw_judgement *j)
{
	const struct sw_median_config *const c = &o->plan->sweep.pruner.median;
	struct sim_trial *const t = sim_oracle_trial(o, ev->trial);
	struct sim_rung *const at = &o->at[ev->step < o->at_n ? ev->step : 0];
	const uint64_t before = t->valued;
	uint64_t n, better;

	if (ev->step <= before) {
		check(o, ev, j, &unjudged);
		return SW_VERDICT_CONTINUE;
	}
	SIM_CHECK(at->step == ev->step, "simulator", "step %" PRIu64 " is none", ev->step);
	t->valued = ev->step;
	take_best(t, y);
	const double m = median(o, at, !c->running_mean, t->best, &n, &better);
	bool judged = n > 0 && n >= c->min_samples_required && ev->step >= c->grace_period;
	if (!c->running_mean)
		judged = n >= c->n_min_trials &&
			 o->counts[SW_TRIAL_COMPLETED] >= c->n_startup_trials &&
			 first_in_interval(ev->step, before, c->n_warmup_steps, c->interval_steps);
	check(o, ev, j,
	      &(struct sw_judgement){.rung = judged ? ev->step : 0,
				     .n = n + 1,
				     .better = better,
				     .keep = n / 2 + 1,
				     .cutoff = m,
				     .value = t->best});
	if (c->running_mean && ev->step >= c->grace_period) {
		/* One after another, as sched/pruner/median.c: what is equal stays equal. */
		t->reports++;
		t->mean += y / t->reports - t->mean / t->reports;
		sim_asha_insert(at, t->mean, ev->trial);
	} else if (!c->running_mean) {
		sim_asha_insert(at, y, ev->trial);
	}
	return judged && t->best > m ? SW_VERDICT_STOP : SW_VERDICT_CONTINUE;
}

enum sw_verdict sim_patience_report(struct sim_oracle *o, const struct sw_event *ev, double y,
				    const struct sw_judgement *j)
{
	const struct sw_patience_config *const c = &o->plan->sweep.pruner.patience;
	struct sim_trial *const t = sim_oracle_trial(o, ev->trial);
	const bool again = ev->step <= t->valued;
	const bool improved = !again && (!t->has || y < t->best - c->min_delta);

	if (improved) {
		t->best = y;
		t->has = true;
		t->reports = 0;
	} else if (!again) {
		t->reports++;
	}
	t->valued = again ? t->valued : ev->step;
	const bool stop = !again && t->reports >= (double)c->patience;
	check(o, ev, j,
	      &(struct sw_judgement){.rung = stop ? ev->step : 0,
				     .n = (uint64_t)t->reports,
				     .cutoff = t->best,
				     .value = y});
	return stop ? SW_VERDICT_STOP : SW_VERDICT_CONTINUE;
}

enum sw_verdict sim_threshold_report(struct sim_oracle *o, const struct sw_event *ev, double y,
				     const struct sw_judgement *j)
{
	const struct sw_threshold_config *const c = &o->plan->sweep.pruner.threshold;
	struct sim_trial *const t = sim_oracle_trial(o, ev->trial);
	const uint64_t before = t->valued;
	const bool low = c->has_lower && y < c->lower, high = c->has_upper && y > c->upper;
	bool stop = false;

	if (ev->step > before) {
		t->valued = ev->step;
		stop = (low || high) &&
		       first_in_interval(ev->step, before, c->n_warmup_steps, c->interval_steps);
	}
	check(o, ev, j,
	      &(struct sw_judgement){.rung = stop ? ev->step : 0,
				     .n = 1,
				     .cutoff = low ? c->lower : c->upper,
				     .value = y});
	return stop ? SW_VERDICT_STOP : SW_VERDICT_CONTINUE;
}
