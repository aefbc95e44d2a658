#include "tests/sim/oracle.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_oracle *sim_oracle_create(const struct sim_plan *p)
{
	struct sim_oracle *const o = sim_realloc(NULL, 1, sizeof *o);

	*o = (struct sim_oracle){.plan = p,
				 .state = SW_SWEEP_RUNNING,
				 .run_cap = p->sweep.run_cap,
				 .max_concurrent = p->sweep.max_concurrent,
				 .has_target = p->sweep.has_target,
				 .target = p->sweep.target,
				 .settle_at = 1,
				 .best = NAN};
	if (p->sweep.sampler == SW_SAMPLER_GRID) {
		o->points = 1;
		for (size_t i = 0; i < p->params; i++)
			o->points *= p->param[i].dist == SW_DIST_CATEGORICAL
					     ? p->param[i].n_choices
					     : (uint64_t)(p->param[i].max - p->param[i].min) + 1;
		o->grid_used = sim_realloc(NULL, o->points, 1);
		memset(o->grid_used, 0, o->points);
	}
	for (size_t i = 0; i < p->params; i++) {
		o->low[i] = p->param[i].min;
		o->high[i] = p->param[i].max;
	}
	sim_prune_init(o);
	return o;
}

void sim_oracle_destroy(struct sim_oracle *o)
{
	if (o == NULL)
		return;
	sim_prune_fini(o);
	free(o->grid_used);
	free(o->plateau);
	free(o->trial);
	free(o);
}

bool sim_oracle_ended(const struct sim_oracle *o)
{
	return o->state != SW_SWEEP_RUNNING && o->state != SW_SWEEP_PAUSED;
}

bool sim_oracle_settling(const struct sim_oracle *o)
{
	return o->settling;
}

enum sw_sweep_state sim_oracle_state(const struct sim_oracle *o)
{
	return o->state;
}

uint64_t sim_oracle_trials(const struct sim_oracle *o)
{
	return o->n;
}

/* Trials of the user's own come on top of a grid's points, children on top of everything. */
uint64_t sim_oracle_cap(const struct sim_oracle *o)
{
	const uint64_t end = o->points != 0 ? o->points + o->enqueued : 0;
	uint64_t cap = o->run_cap;

	if (end != 0 && (cap == 0 || end < cap))
		cap = end;
	return cap != 0 ? cap + o->children : 0;
}

bool sim_oracle_can_create(const struct sim_oracle *o)
{
	const uint64_t cap = sim_oracle_cap(o);

	return !o->closed && (cap == 0 || o->n < cap);
}

bool sim_oracle_has_work(const struct sim_oracle *o)
{
	return o->state == SW_SWEEP_RUNNING && !o->closed &&
	       (o->max_concurrent == 0 || o->counts[SW_TRIAL_RUNNING] < o->max_concurrent) &&
	       (o->counts[SW_TRIAL_PENDING] > 0 || sim_oracle_can_create(o) ||
		sim_prune_next(o) != 0);
}

struct sim_trial *sim_oracle_trial(struct sim_oracle *o, uint64_t trial)
{
	return trial >= 1 && trial <= o->n ? &o->trial[trial - 1] : NULL;
}

bool sim_oracle_live(const struct sim_oracle *o, uint64_t trial, uint32_t attempt)
{
	return trial >= 1 && trial <= o->n && o->trial[trial - 1].state == SW_TRIAL_RUNNING &&
	       o->trial[trial - 1].attempt == attempt;
}

/* The diagram of docs/states.md. */
static bool drawn(enum sw_trial_state from, enum sw_trial_state to)
{
	switch (from) {
	case SW_TRIAL_PENDING:
		return to == SW_TRIAL_RUNNING || to == SW_TRIAL_CANCELLED;
	case SW_TRIAL_PAUSED:
		return to == SW_TRIAL_RUNNING || to == SW_TRIAL_PRUNED || to == SW_TRIAL_CANCELLED;
	case SW_TRIAL_RUNNING:
		return to != SW_TRIAL_RUNNING;
	default:
		return false;
	}
}

void sim_oracle_move(struct sim_oracle *o, uint64_t trial, enum sw_trial_state to)
{
	struct sim_trial *const t = sim_oracle_trial(o, trial);

	SIM_CHECK(t != NULL && drawn(t->state, to), "trial state", "trial %" PRIu64 ": %s -> %s",
		  trial, t != NULL ? sw_trial_state_name(t->state) : "none",
		  sw_trial_state_name(to));
	o->counts[t->state]--;
	o->counts[to]++;
	t->state = to;
	SIM_CHECK(o->max_concurrent == 0 || to != SW_TRIAL_RUNNING ||
			  o->counts[SW_TRIAL_RUNNING] <= o->max_concurrent,
		  "max_concurrent", "%" PRIu64 " trials run of at most %" PRIu64,
		  o->counts[SW_TRIAL_RUNNING], o->max_concurrent);
}

/* ---- actions ---- */

static const char *const kinds[] = {
	[SW_ACTION_CREATE] = "create", [SW_ACTION_START] = "start", [SW_ACTION_DECIDE] = "decide",
	[SW_ACTION_RETRY] = "retry",   [SW_ACTION_PAUSE] = "pause", [SW_ACTION_END] = "end",
	[SW_ACTION_STOP] = "stop",     [SW_ACTION_SWEEP] = "sweep",
};

const struct sw_action *sim_answer_next(struct sim_answer *a, enum sw_action_kind kind,
					uint64_t trial)
{
	SIM_CHECK(a->i < a->n, "action missing", "%s: no action \"%s\" of trial %" PRIu64, a->event,
		  kinds[kind], trial);
	const struct sw_action *const v = &a->v[a->i++];
	SIM_CHECK(v->kind == kind && v->trial == trial, "action",
		  "%s: action %zu is \"%s\" of trial %" PRIu64 ", not \"%s\" of trial %" PRIu64,
		  a->event, a->i, kinds[v->kind], v->trial, kinds[kind], trial);
	return v;
}

void sim_oracle_end(struct sim_oracle *o, struct sim_answer *a, uint64_t trial,
		    enum sw_trial_state end, const char *cause)
{
	const struct sw_action *const v = sim_answer_next(a, SW_ACTION_END, trial);
	struct sim_trial *const t = sim_oracle_trial(o, trial);

	SIM_CHECK(v->end == end, "end", "%s: trial %" PRIu64 " ends %s, not %s", a->event, trial,
		  sw_trial_state_name(v->end), sw_trial_state_name(end));
	SIM_CHECK(cause == NULL || strcmp(cause, v->cause) == 0, "cause",
		  "%s: trial %" PRIu64 " ends with cause \"%s\", not \"%s\"", a->event, trial,
		  v->cause, cause);
	SIM_CHECK(t != NULL && v->attempt == t->attempt, "attempt of the end",
		  "trial %" PRIu64 " ends with attempt %" PRIu32, trial, v->attempt);
	sim_oracle_move(o, trial, end);
	if (end == SW_TRIAL_FAILED)
		memcpy(o->last_failure, v->cause, sizeof o->last_failure);
	if (end == SW_TRIAL_COMPLETED)
		sim_oracle_note_completed(o, t->last);
}

void sim_oracle_enter(struct sim_oracle *o, struct sim_answer *a, enum sw_sweep_state to)
{
	const struct sw_action *const v = sim_answer_next(a, SW_ACTION_SWEEP, 0);

	SIM_CHECK(v->sweep == to, "sweep state", "%s: the sweep is %s, not %s", a->event,
		  sw_sweep_state_name(v->sweep), sw_sweep_state_name(to));
	o->state = to;
}

/* ---- which events are legal ---- */

static sw_status expect_extend(const struct sim_oracle *o, const struct sw_event *ev)
{
	const uint64_t cap = sim_oracle_cap(o) - o->children;

	if (o->state == SW_SWEEP_CANCELLED || o->state == SW_SWEEP_FAILED ||
	    (o->closed && !sim_oracle_ended(o)) || sim_oracle_cap(o) == 0)
		return SW_CONFLICT;
	if (o->points != 0 && cap == o->points + o->enqueued)
		return SW_INVALID;
	return ev->run_cap > cap ? SW_OK : SW_INVALID;
}

static sw_status expect(struct sim_oracle *o, const struct sim_event *e)
{
	const struct sw_event *const ev = &e->ev;
	const bool ended = sim_oracle_ended(o);

	switch (ev->kind) {
	case SW_EVENT_ASK:
		return sim_oracle_has_work(o) ? SW_OK : SW_EXHAUSTED;
	case SW_EVENT_REPORT:
		return sim_oracle_expect_report(o, ev);
	case SW_EVENT_TELL:
		if (sim_oracle_live(o, ev->trial, ev->attempt) && ev->end != SW_TRIAL_COMPLETED &&
		    ev->end != SW_TRIAL_PRUNED && ev->end != SW_TRIAL_FAILED &&
		    ev->end != SW_TRIAL_INFEASIBLE)
			return SW_INVALID;
		return sim_oracle_expect_live(o, ev);
	case SW_EVENT_LOST:
	case SW_EVENT_RELEASE:
		return sim_oracle_expect_live(o, ev);
	case SW_EVENT_CANCEL_TRIAL: {
		const struct sim_trial *const t = sim_oracle_trial(o, ev->trial);

		if (t == NULL)
			return SW_NOT_FOUND;
		return sw_trial_ended(t->state) ? SW_CONFLICT : SW_OK;
	}
	case SW_EVENT_PAUSE:
		return o->state == SW_SWEEP_RUNNING ? SW_OK : SW_CONFLICT;
	case SW_EVENT_RESUME:
		return o->state == SW_SWEEP_PAUSED ? SW_OK : SW_CONFLICT;
	case SW_EVENT_EXTEND:
		return expect_extend(o, ev);
	case SW_EVENT_ENQUEUE:
		return ended || o->closed || (o->run_cap != 0 && o->n - o->children >= o->run_cap)
			       ? SW_CONFLICT
			       : SW_OK;
	case SW_EVENT_EDIT:
		return sim_oracle_expect_edit(o, e);
	case SW_EVENT_SETTLE:
		return o->settling ? SW_OK : SW_CONFLICT;
	default:
		return ended || o->killed ? SW_CONFLICT : SW_OK;
	}
}

static void extend(struct sim_oracle *o, const struct sw_event *ev, struct sim_answer *a)
{
	o->run_cap = ev->run_cap;
	if (o->state != SW_SWEEP_COMPLETED)
		return;
	o->closed = o->killed = false;
	o->settle_at = 1;
	o->flat = 0;
	sim_oracle_enter(o, a, SW_SWEEP_RUNNING);
}

static void cancel_trial(struct sim_oracle *o, const struct sw_event *ev, struct sim_answer *a)
{
	if (sim_oracle_trial(o, ev->trial)->state == SW_TRIAL_RUNNING)
		(void)sim_answer_next(a, SW_ACTION_STOP, ev->trial);
	sim_oracle_end(o, a, ev->trial, SW_TRIAL_CANCELLED, "cancelled");
}

static void apply(struct sim_oracle *o, const struct sim_event *e, struct sim_answer *a)
{
	const struct sw_event *const ev = &e->ev;

	switch (ev->kind) {
	case SW_EVENT_ASK:
		sim_oracle_on_ask(o, a);
		break;
	case SW_EVENT_REPORT:
		sim_oracle_on_report(o, ev, a);
		break;
	case SW_EVENT_TELL:
		sim_oracle_on_tell(o, ev, a);
		break;
	case SW_EVENT_LOST:
	case SW_EVENT_RELEASE:
		sim_oracle_on_gone(o, ev, a);
		break;
	case SW_EVENT_CANCEL_TRIAL:
		cancel_trial(o, ev, a);
		break;
	case SW_EVENT_PAUSE:
		sim_oracle_enter(o, a, SW_SWEEP_PAUSED);
		break;
	case SW_EVENT_RESUME:
		sim_oracle_enter(o, a, SW_SWEEP_RUNNING);
		break;
	case SW_EVENT_CANCEL:
		sim_oracle_kill(o, SW_SWEEP_CANCELLED, "sweep-cancelled");
		break;
	case SW_EVENT_FAIL:
		sim_oracle_kill(o, SW_SWEEP_FAILED, "sweep-failed");
		break;
	case SW_EVENT_STOP:
		sim_oracle_kill(o, SW_SWEEP_COMPLETED, "sweep-ended");
		break;
	case SW_EVENT_EXTEND:
		extend(o, ev, a);
		break;
	case SW_EVENT_ENQUEUE:
		(void)sim_oracle_created(o, a, true);
		break;
	case SW_EVENT_EDIT:
		sim_oracle_on_edit(o, e);
		break;
	default: /* SETTLE */
		break;
	}
	sim_oracle_settle(o, a, ev->kind == SW_EVENT_SETTLE);
}

static const char *const events[SW_EVENT_KIND_N] = {
	[SW_EVENT_ASK] = "ask",         [SW_EVENT_REPORT] = "report",
	[SW_EVENT_TELL] = "tell",       [SW_EVENT_LOST] = "lost",
	[SW_EVENT_RELEASE] = "release", [SW_EVENT_CANCEL_TRIAL] = "cancel trial",
	[SW_EVENT_PAUSE] = "pause",     [SW_EVENT_RESUME] = "resume",
	[SW_EVENT_CANCEL] = "cancel",   [SW_EVENT_FAIL] = "fail",
	[SW_EVENT_EXTEND] = "extend",   [SW_EVENT_ENQUEUE] = "enqueue",
	[SW_EVENT_STOP] = "stop",       [SW_EVENT_EDIT] = "edit",
	[SW_EVENT_SETTLE] = "settle",
};

const char *sim_event_name(enum sw_event_kind kind)
{
	return events[kind];
}

void sim_oracle_check(struct sim_oracle *o, const struct sim_event *e, sw_status rc,
		      const struct sw_actions *actions)
{
	struct sim_answer a = {.v = actions->v, .n = actions->n, .event = events[e->ev.kind]};
	const sw_status want = expect(o, e);
	char which[64];

	(void)snprintf(which, sizeof which, "status of %s", a.event);
	SIM_CHECK(rc == want, which, "%s of trial %" PRIu64 ": \"%s\", and it should be \"%s\"",
		  a.event, e->ev.trial, sw_status_str(rc), sw_status_str(want));
	SIM_CHECK(rc == SW_OK || a.n == 0, "refused", "%s was refused and has actions", a.event);
	if (rc != SW_OK)
		return;
	apply(o, e, &a);
	SIM_CHECK(a.i == a.n, "action too many", "%s: \"%s\" of trial %" PRIu64, a.event,
		  kinds[a.v[a.i].kind], a.v[a.i].trial);
	const uint64_t cap = sim_oracle_cap(o);
	SIM_CHECK(cap == 0 || o->n <= cap, "budget", "%" PRIu64 " trials of at most %" PRIu64, o->n,
		  cap);
}

void sim_oracle_compare(const struct sim_oracle *o, const struct sw_sweep *s)
{
	uint64_t counts[SW_TRIAL_STATE_N];

	SIM_CHECK(sw_sweep_state(s) == o->state, "says state", "the sweep says it is %s",
		  sw_sweep_state_name(sw_sweep_state(s)));
	SIM_CHECK(sw_sweep_trial_n(s) == o->n, "says trials", "the sweep counts %" PRIu64 " trials",
		  sw_sweep_trial_n(s));
	SIM_CHECK(sw_sweep_settling(s) == o->settling, "says settling", "the sweep is %s settling",
		  sw_sweep_settling(s) ? "" : "not");
	SIM_CHECK(sw_sweep_has_work(s) == sim_oracle_has_work(o), "says work",
		  "the sweep has %s work", sw_sweep_has_work(s) ? "" : "no");
	if (o->plan->sweep.pruner.kind == SW_PRUNER_PROMOTE)
		sim_asha_compare(o, s);
	sw_sweep_counts(s, counts);
	for (size_t i = 0; i < SW_TRIAL_STATE_N; i++)
		SIM_CHECK(counts[i] == o->counts[i], "says counts", "%s: %" PRIu64 ", not %" PRIu64,
			  sw_trial_state_name((enum sw_trial_state)i), counts[i], o->counts[i]);
	for (uint64_t i = 1; i <= o->n; i++) {
		const struct sw_trial *const t = sw_sweep_trial(s, i);
		const struct sim_trial *const mine = &o->trial[i - 1];
		struct sw_value values[SIM_PARAMS];
		const sw_status rc = sw_sweep_values(s, i, values);

		for (size_t k = 0; k < o->plan->params; k++)
			SIM_CHECK(rc == SW_OK && values[k].number == mine->values[k].number &&
					  values[k].choice == mine->values[k].choice,
				  "values change", "trial %" PRIu64, i);

		SIM_CHECK(t != NULL && t->state == mine->state && t->attempt == mine->attempt &&
				  t->lost == mine->lost &&
				  (mine->state != SW_TRIAL_RUNNING || t->seq == mine->seq),
			  "says trial", "trial %" PRIu64, i);
	}
}
