/*
 * One event into the sweep. Every accepted event is kept with a digest of its actions, byte by byte
 * of what they mean: a restart makes a second sweep, feeds it the log and demands the same digests
 * and the same state, and goes on with it. So whatever is not a function of the log comes out.
 */
#include "base/fault.h"
#include "tests/sched/sweep/invariant.h"
#include "tests/sim/sim.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct sw_sweep *make_sweep(const struct sim_plan *p)
{
	struct sw_space *space = NULL;
	struct sw_sweep *s = NULL;
	struct sw_err err = SW_ERR_INIT;
	sw_status rc = sw_space_create(&space);

	for (size_t i = 0; rc == SW_OK && i < p->params; i++)
		rc = sw_space_add(space, &p->param[i], &err);
	if (rc == SW_OK)
		rc = sw_sweep_create(&s, &p->sweep, space, &err);
	SIM_CHECK(rc == SW_OK, "create", "%s %s", err.ptr, err.msg);
	return s;
}

void sim_feed_init(struct sim_feed *f, const struct sim_plan *p, struct sim_stats *stats)
{
	*f = (struct sim_feed){.plan = p, .stats = stats};
	f->oracle = sim_oracle_create(p);
	f->sweep = make_sweep(p);
}

static void drop_suggestion(struct sw_suggestion *g)
{
	if (g == NULL)
		return;
	free(g->state);
	free(g);
}

void sim_feed_fini(struct sim_feed *f)
{
	sim_world_free(f);
	sw_sweep_destroy(f->sweep);
	sw_sweep_destroy(f->again);
	sim_oracle_destroy(f->oracle);
	sw_actions_fini(&f->actions);
	free(f->log);
	free(f->digest);
	for (size_t i = 0; i < f->n; i++)
		drop_suggestion(f->made[i]);
	free(f->made);
	*f = (struct sim_feed){.plan = NULL};
}

/* ---- digests ---- */

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
	const unsigned char *const v = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ v[i]) * 0x100000001B3u;
	return h;
}

#define MIX(h, field) mix(h, &(field), sizeof(field))

static uint64_t mix_judgement(uint64_t h, const struct sw_judgement *j)
{
	h = MIX(h, j->verdict);
	h = MIX(h, j->rung);
	h = MIX(h, j->n);
	h = MIX(h, j->better);
	h = MIX(h, j->keep);
	h = MIX(h, j->cutoff);
	h = MIX(h, j->value);
	h = MIX(h, j->bracket);
	return MIX(h, j->donor);
}

static uint64_t digest(const struct sim_plan *p, const struct sw_actions *actions)
{
	uint64_t h = 0xCBF29CE484222325u;

	for (size_t i = 0; i < actions->n; i++) {
		const struct sw_action *const a = &actions->v[i];

		h = MIX(h, a->kind);
		h = MIX(h, a->trial);
		h = MIX(h, a->attempt);
		for (size_t k = 0; a->values != NULL && k < p->params; k++) {
			h = MIX(h, a->values[k].number);
			h = MIX(h, a->values[k].choice);
		}
		if (a->suggestion != NULL) {
			h = mix(h, a->suggestion->source, strlen(a->suggestion->source));
			h = mix(h, a->suggestion->state, a->suggestion->state_n);
		}
		h = MIX(h, a->decision);
		h = mix_judgement(h, &a->judgement);
		h = MIX(h, a->end);
		h = MIX(h, a->sweep);
		h = MIX(h, a->resume_step);
		h = MIX(h, a->from);
		h = MIX(h, a->until);
		h = MIX(h, a->parent);
		h = mix(h, a->cause, strlen(a->cause));
	}
	return h;
}

/* What can be asked of a sweep. O(trials). */
static uint64_t portrait(const struct sw_sweep *s)
{
	uint64_t counts[SW_TRIAL_STATE_N], h = 0xCBF29CE484222325u;
	const uint64_t more[] = {sw_sweep_state(s),     sw_sweep_trial_n(s),  sw_sweep_run_cap(s),
				 sw_sweep_has_work(s),  sw_sweep_made(s),     sw_sweep_settling(s),
				 sw_sweep_unsettled(s), sw_sweep_end_state(s)};
	const struct sw_pruner *const pruner = sw_sweep_pruner(s);
	size_t state_n;

	sw_sweep_counts(s, counts);
	h = MIX(h, counts);
	h = MIX(h, more);
	h = mix(h, sw_sweep_cause(s), strlen(sw_sweep_cause(s)));
	for (uint64_t i = 1; i <= sw_sweep_trial_n(s); i++) {
		const struct sw_trial *const t = sw_sweep_trial(s, i);
		const uint64_t v[] = {t->seq,  t->step,  t->resume_step, t->attempt,
				      t->lost, t->state, t->has_value,   t->diverged};

		h = MIX(h, v);
	}
	for (uint32_t b = 0; b < sw_pruner_bracket_n(pruner); b++) {
		for (size_t k = 0; k < sw_pruner_rung_n(pruner, b); k++) {
			const uint64_t n = sw_pruner_rung_count(pruner, b, k);

			h = MIX(h, n);
		}
	}
	const unsigned char *const state = sw_sweep_sampler_state(s, &state_n);
	return mix(h, state, state_n);
}

/* ---- feeding ---- */

/* The pointers of a kept event point into itself, wherever it lies now. */
static const struct sw_event *bind(struct sim_event *e)
{
	e->ev.values = e->values;
	e->ev.edit = &e->edit;
	e->edit.ranges = &e->range;
	e->ev.cause = e->cause;
	return &e->ev;
}

/* Suggestions are made again, or taken from the log, as the daemon does: every other time. */
static void restart(struct sim_feed *f)
{
	const bool given = f->restarts++ % 2 == 0;

	f->again = make_sweep(f->plan);
	for (size_t i = 0; i < f->n; i++) {
		struct sim_event e = f->log[i];

		if (e.restart || e.rc != SW_OK)
			continue;
		if (given)
			e.ev.suggestion = f->made[i];
		const sw_status rc = sw_sweep_step(f->again, bind(&e), &f->actions, NULL);
		SIM_CHECK(rc == SW_OK, "restart refuses", "event %zu: \"%s\" after a restart",
			  i + 1, sw_status_str(rc));
		SIM_CHECK(digest(f->plan, &f->actions) == f->digest[i], "restart differs",
			  "event %zu has other actions after a restart", i + 1);
	}
	SIM_CHECK(portrait(f->again) == portrait(f->sweep), "restart state",
		  "after a restart the sweep is another");
	sweep_invariant(f->again);
	sw_sweep_destroy(f->sweep);
	f->sweep = f->again;
	f->again = NULL;
	f->actions.n = 0;
}

#ifdef SW_FAULTS
/* The event without the memory that it wants: SW_NOMEM, and nothing has changed; or it wanted none.
 * True: it was taken nevertheless. */
static bool without_memory(struct sim_feed *f, struct sim_event *e, sw_status *rc)
{
	const uint64_t before = portrait(f->sweep);

	sw_fault_arm(SW_FAULT_MALLOC, e->nomem, false);
	*rc = sw_sweep_step(f->sweep, bind(e), &f->actions, NULL);
	sw_fault_arm(SW_FAULT_MALLOC, 0, false);
	if (*rc != SW_NOMEM)
		return true;
	f->stats->fault[SIM_FAULT_NOMEM]++;
	SIM_CHECK(f->actions.n == 0, "no memory acts", "%zu actions", f->actions.n);
	SIM_CHECK(portrait(f->sweep) == before, "no memory changes",
		  "an event that failed for want of memory changed the sweep");
	return false;
}
#else
static bool without_memory(struct sim_feed *f, struct sim_event *e, sw_status *rc)
{
	(void)f;
	(void)e;
	*rc = SW_NOMEM;
	return false;
}
#endif

static void keep(struct sim_feed *f, const struct sim_event *e)
{
	if (f->n == f->cap) {
		f->cap = f->cap == 0 ? 256 : 2 * f->cap;
		f->log = sim_realloc(f->log, f->cap, sizeof *f->log);
		f->digest = sim_realloc(f->digest, f->cap, sizeof *f->digest);
		f->made = sim_realloc(f->made, f->cap, sizeof(void *));
	}
	f->made[f->n] = NULL;
	f->log[f->n++] = *e;
}

static void keep_suggestion(struct sim_feed *f)
{
	if (!sw_sweep_learns(f->sweep))
		return;
	for (size_t i = 0; i < f->actions.n; i++) {
		const struct sw_suggestion *const from = f->actions.v[i].suggestion;

		if (from == NULL)
			continue;
		struct sw_suggestion *const to = sim_realloc(NULL, 1, sizeof *to);
		*to = *from;
		to->state = sim_realloc(NULL, from->state_n + 1, 1);
		if (from->state_n > 0)
			memcpy(to->state, from->state, from->state_n);
		f->made[f->n - 1] = to;
	}
}

/* Who says that a suggestion is wanted must take one, and who takes one must have said so (where
 * members of a population take turns, it may be said too seldom). */
static void check_wants(const struct sim_feed *f, const struct sim_event *e, bool wanted)
{
	bool made = false;

	for (size_t i = 0; i < f->actions.n; i++)
		made = made || f->actions.v[i].kind == SW_ACTION_CREATE;
	if (e->ev.kind != SW_EVENT_ASK || !sw_sweep_learns(f->sweep))
		return;
	SIM_CHECK(made || !wanted, "suggestion wanted", "and no trial was made");
	SIM_CHECK(!made || wanted || f->plan->sweep.pruner.kind == SW_PRUNER_PBT,
		  "suggestion not wanted", "and a trial was made");
}

/* ASK hands something out if there was said to be work, and only then; a sampler that learns may
 * lack a suggestion. */
static void check_work(const struct sim_feed *f, const struct sim_event *e, bool work)
{
	if (e->ev.kind != SW_EVENT_ASK)
		return;
	SIM_CHECK(e->rc != SW_OK || work, "no work", "and something was handed out");
	SIM_CHECK(e->rc == SW_OK || !work || sw_sweep_learns(f->sweep), "work",
		  "and nothing handed out");
}

static void count(struct sim_feed *f, const struct sim_event *e)
{
	f->stats->events++;
	f->stats->refused += e->rc != SW_OK;
	f->stats->settles += e->ev.kind == SW_EVENT_SETTLE && e->rc == SW_OK;
	f->stats->between += e->ev.kind != SW_EVENT_SETTLE && e->rc == SW_OK &&
			     sw_sweep_settling(f->sweep);
	for (size_t i = 0; i < f->actions.n; i++) {
		const struct sw_action *const a = &f->actions.v[i];

		f->stats->trials += a->kind == SW_ACTION_CREATE;
		f->stats->children += a->kind == SW_ACTION_CREATE && a->parent != 0;
		f->stats->decisions += a->kind == SW_ACTION_DECIDE && a->judgement.rung != 0;
		f->stats->resumed += a->kind == SW_ACTION_START && a->resume_step != 0;
		f->stats->paused += a->kind == SW_ACTION_PAUSE;
		if (a->kind == SW_ACTION_END)
			f->stats->ended[a->end]++;
		if (a->kind == SW_ACTION_SWEEP)
			f->stats->sweep[a->sweep]++;
	}
}

sw_status sim_feed_event(struct sim_feed *f, struct sim_event e)
{
	sw_status rc;

	keep(f, &e); /* before it happens, so that it is there when it fails */
	if (e.restart) {
		f->stats->torn += sw_sweep_settling(f->sweep);
		restart(f);
		return SW_OK;
	}
	const bool wanted = sw_sweep_wants_suggestion(f->sweep);
	const bool work = sw_sweep_has_work(f->sweep);
	if (e.nomem == 0 || !without_memory(f, &e, &rc))
		rc = sw_sweep_step(f->sweep, bind(&e), &f->actions, NULL);
	e.rc = rc;
	for (size_t i = 0; i < f->actions.n; i++)
		if (f->actions.v[i].kind == SW_ACTION_START)
			e.started = f->actions.v[i].trial;
	f->log[f->n - 1] = e;
	f->digest[f->n - 1] = digest(f->plan, &f->actions);
	keep_suggestion(f);
	check_wants(f, &e, wanted);
	check_work(f, &e, work);
	sim_oracle_check(f->oracle, &e, rc, &f->actions);
	if ((f->n & 31) == 0) {
		sim_oracle_compare(f->oracle, f->sweep);
		sweep_invariant(f->sweep);
	}
	count(f, &e);
	if (f->watch != NULL)
		f->watch(f->n, &e, &f->actions);
	return rc;
}

void sim_feed_end(struct sim_feed *f)
{
	sim_oracle_compare(f->oracle, f->sweep);
	sweep_invariant(f->sweep);
	(void)sim_feed_event(f, (struct sim_event){.restart = true});
}
