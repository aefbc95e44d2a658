/*
 * Rungs as sorted arrays. Both variants record alike: a rung takes, once a trial, the trial's last
 * value at or below it. stop: among n values with b strictly better a trial goes on if n <
 * min_results or b < max(1, n / rf). promote: a trial pauses at each rung below max_t; who may go
 * on is the best paused one among the first n / rf of a rung, highest rung first.
 */
#include "tests/sim/oracle.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct sw_asha_config *config(const struct sim_oracle *o)
{
	return &o->plan->sweep.pruner.asha;
}

/* Bands that W&B counts down from max_iter, put in rising order. */
static uint64_t count_down(const struct sw_hyperband_config *c, uint64_t steps[SIM_RUNGS])
{
	uint64_t at = c->max_iter;

	for (uint64_t i = 0; i < c->s; i++) {
		at /= (uint64_t)c->eta; /* the plans have whole ones */
		steps[c->s - 1 - i] = at;
	}
	return c->s;
}

void sim_asha_init(struct sim_oracle *o)
{
	const bool bands = o->plan->sweep.pruner.kind == SW_PRUNER_HYPERBAND;
	const struct sw_hyperband_config *const h = &o->plan->sweep.pruner.hyperband;
	const uint64_t first = bands ? h->min_iter : config(o)->grace_period;
	const uint64_t factor = bands ? (uint64_t)h->eta : config(o)->reduction_factor;
	const uint64_t most = bands ? 1u << 20 : config(o)->max_t;
	uint64_t steps[SIM_RUNGS], n = 0;

	for (uint64_t at = first; at > 0 && at <= most && n < SIM_RUNGS; at *= factor)
		steps[n++] = at;
	if (n == 0)
		n = count_down(h, steps);
	o->rung_n = n;
	for (size_t b = 0; b < (bands ? 1 : config(o)->brackets); b++)
		for (size_t k = 0; b + k < n; k++)
			o->rung[b][k].step = steps[b + k];
}

void sim_asha_fini(struct sim_oracle *o)
{
	for (size_t b = 0; b < SIM_BRACKETS; b++)
		for (size_t k = 0; k < SIM_RUNGS; k++)
			free(o->rung[b][k].v);
}

void sim_asha_insert(struct sim_rung *r, double y, uint64_t trial)
{
	size_t low = 0, high = r->n;

	if (r->n == r->cap) {
		r->cap = r->cap == 0 ? 64 : 2 * r->cap;
		r->v = sim_realloc(r->v, r->cap, sizeof *r->v);
	}
	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (r->v[mid].y < y || (r->v[mid].y == y && r->v[mid].trial < trial))
			low = mid + 1;
		else
			high = mid;
	}
	memmove(r->v + low + 1, r->v + low, (r->n - low) * sizeof *r->v);
	r->v[low] = (struct sim_result){y, trial};
	r->n++;
}

uint64_t sim_asha_better(const struct sim_rung *r, double y)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->v[i].y < y;
	return n;
}

static size_t rungs_of(const struct sim_oracle *o, const struct sim_trial *t)
{
	return o->rung_n - t->bracket;
}

/* Records what the report says of the rungs that it crossed. The highest that took a value. */
struct sim_rung *sim_asha_record(struct sim_oracle *o, uint64_t trial, uint64_t step, double y,
				 double *judged, size_t *rung)
{
	struct sim_trial *const t = sim_oracle_trial(o, trial);
	struct sim_rung *highest = NULL;

	for (size_t k = 0; k < rungs_of(o, t) && o->rung[t->bracket][k].step <= step; k++) {
		struct sim_rung *const r = &o->rung[t->bracket][k];
		const bool at = r->step == step;

		if ((t->filled >> k & 1) != 0)
			continue;
		t->filled |= 1u << k;
		if (!at && t->valued == 0)
			continue;
		*judged = at ? y : t->value;
		*rung = k;
		sim_asha_insert(r, *judged, trial);
		highest = r;
	}
	t->valued = step;
	t->value = y;
	return highest;
}

static uint64_t share_of(const struct sim_oracle *o, const struct sim_rung *r)
{
	return r->n / config(o)->reduction_factor;
}

static void check_judgement(const struct sim_oracle *o, const struct sim_rung *r, double y,
			    uint64_t trial, const struct sw_judgement *j)
{
	const uint64_t share = share_of(o, r), place = sim_asha_better(r, y);
	const bool stop = o->plan->sweep.pruner.kind == SW_PRUNER_ASHA;
	const uint64_t keep = stop && share < 1 ? 1 : share;

	SIM_CHECK(j->rung == r->step, "rung",
		  "trial %" PRIu64 " is judged at %" PRIu64 ", not at %" PRIu64, trial, j->rung,
		  r->step);
	SIM_CHECK(j->n == r->n, "rung count",
		  "rung %" PRIu64 " has %" PRIu64 " values, and the judgement says %" PRIu64,
		  r->step, (uint64_t)r->n, j->n);
	SIM_CHECK(j->better == place, "rank",
		  "trial %" PRIu64 " at rung %" PRIu64 ": rank %" PRIu64 ", not %" PRIu64, trial,
		  r->step, place + 1, j->better + 1);
	SIM_CHECK(j->keep == keep, "places",
		  "rung %" PRIu64 " with %" PRIu64 " values: %" PRIu64 " go on, not %" PRIu64,
		  r->step, (uint64_t)r->n, keep, j->keep);
	const bool all = keep == 0 || (stop && r->n < config(o)->min_results);
	const double cutoff = all ? NAN : r->v[keep - 1].y;
	SIM_CHECK((all && isnan(j->cutoff)) ||
			  j->cutoff == (o->plan->sweep.maximize ? -cutoff : cutoff),
		  "cutoff", "rung %" PRIu64 ": %g, not %g", r->step, j->cutoff, cutoff);
	SIM_CHECK(j->value == (o->plan->sweep.maximize ? -y : y), "value judged", "trial %" PRIu64,
		  trial);
}

static enum sw_verdict stop_or_pause(const struct sim_oracle *o, const struct sim_rung *r,
				     uint64_t place)
{
	const uint64_t share = share_of(o, r);

	if (o->plan->sweep.pruner.kind == SW_PRUNER_PROMOTE)
		return SW_VERDICT_PAUSE;
	if (r->n < config(o)->min_results || place < (share > 1 ? share : 1))
		return SW_VERDICT_CONTINUE;
	return SW_VERDICT_STOP;
}

enum sw_verdict sim_asha_report(struct sim_oracle *o, const struct sw_event *ev, double y,
				const struct sw_judgement *j)
{
	struct sim_trial *const t = sim_oracle_trial(o, ev->trial);
	double judged = NAN;
	size_t k = 0;

	if (t->bracket == SIM_NO_BRACKET)
		t->bracket = j->bracket;
	SIM_CHECK(t->bracket == j->bracket && t->bracket < config(o)->brackets, "bracket",
		  "trial %" PRIu64 " is in bracket %" PRIu32, ev->trial, j->bracket);
	if (ev->step <= t->valued) { /* made again from an older checkpoint */
		SIM_CHECK(j->rung == 0, "judged twice", "trial %" PRIu64 " at step %" PRIu64,
			  ev->trial, ev->step);
		return SW_VERDICT_CONTINUE;
	}
	const struct sim_rung *const r = sim_asha_record(o, ev->trial, ev->step, y, &judged, &k);
	enum sw_verdict verdict = SW_VERDICT_CONTINUE;

	if (r == NULL) {
		SIM_CHECK(j->rung == 0, "judged",
			  "trial %" PRIu64 " at step %" PRIu64 ", where is no rung", ev->trial,
			  ev->step);
	} else {
		check_judgement(o, r, judged, ev->trial, j);
		verdict = stop_or_pause(o, r, j->better); /* which is right by now */
	}
	if (ev->step >= config(o)->max_t)
		verdict = SW_VERDICT_COMPLETE;
	t->rung = k;
	/* Nobody would bring it on any more: it goes on now, or ends. */
	if (verdict == SW_VERDICT_PAUSE && (o->closed || sim_oracle_reached(o, y)))
		verdict = j->better == 0 || j->better < share_of(o, r) ? SW_VERDICT_CONTINUE
								       : SW_VERDICT_STOP;
	return ev->final ? SW_VERDICT_CONTINUE : verdict;
}

/* Highest rung first; rungs of the same step by bracket. */
uint64_t sim_asha_next(const struct sim_oracle *o)
{
	for (size_t i = o->rung_n; i-- > 0;) {
		for (size_t b = 0; b < config(o)->brackets && b <= i; b++) {
			const struct sim_rung *const r = &o->rung[b][i - b];

			for (size_t at = 0; at < share_of(o, r); at++) {
				const struct sim_trial *const t = &o->trial[r->v[at].trial - 1];

				if (t->state == SW_TRIAL_PAUSED && t->rung == i - b)
					return r->v[at].trial;
			}
		}
	}
	return 0;
}

/* The lowest rung that has not been settled, max_t after the last. */
uint64_t sim_asha_until(const struct sim_oracle *o, const struct sim_trial *t)
{
	for (size_t k = 0; k < rungs_of(o, t); k++)
		if ((t->filled >> k & 1) == 0)
			return o->rung[t->bracket][k].step;
	return config(o)->max_t;
}

/* What the sweep says of those that are paused: their places, and how many could go on. */
void sim_asha_compare(const struct sim_oracle *o, const struct sw_sweep *s)
{
	uint64_t n = 0;

	for (size_t b = 0; b < config(o)->brackets; b++) {
		for (size_t k = 0; b + k < o->rung_n; k++) {
			const struct sim_rung *const r = &o->rung[b][k];

			for (size_t at = 0; at < r->n; at++) {
				const struct sim_trial *const t = &o->trial[r->v[at].trial - 1];
				struct sw_pruner_turn place = {.rung = 0};

				if (t->state != SW_TRIAL_PAUSED || t->rung != k)
					continue;
				n += at < share_of(o, r);
				const sw_status rc = sw_sweep_place(s, r->v[at].trial, &place);
				SIM_CHECK(rc == SW_OK && place.rung == r->step &&
						  place.rank == at + 1 && place.n == r->n &&
						  place.keep == share_of(o, r),
					  "place of a paused trial", "trial %" PRIu64,
					  r->v[at].trial);
			}
		}
	}
	SIM_CHECK(sw_pruner_next_n(sw_sweep_pruner(s), o->n) == n, "how many may go on",
		  "%" PRIu64 ", not %" PRIu64, sw_pruner_next_n(sw_sweep_pruner(s), o->n), n);
}
