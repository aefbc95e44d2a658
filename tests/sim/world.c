/*
 * The world around one sweep, on virtual time: lanes that ask, train and report through a network
 * that delays, doubles, loses and reorders; workers that die or are cut off and go on all the same;
 * a daemon that notices late. After plan->calm_after events all of that stops, and the sweep must
 * come to its end.
 */
#include "tests/sim/world.h"
#include "tests/sim/oracle.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool fault(struct sim_world *w, unsigned per_mille, enum sim_fault kind)
{
	if (w->calm || !sim_chance(&w->rng, per_mille))
		return false;
	w->feed->stats->fault[kind]++;
	return true;
}

/* Between half and one and a half of the mean; now and then far more. */
static double latency(struct sim_world *w)
{
	const double usual = w->plan->latency_s * (0.5 + sim_unit(&w->rng));

	if (w->calm || !sim_chance(&w->rng, w->plan->late))
		return usual;
	return usual * (double)(1 + sim_below(&w->rng, 200));
}

static void later(struct sim_world *w, size_t lane, enum sim_message kind, double in)
{
	sim_world_push(w, in, (struct sim_at){.kind = kind, .lane = lane});
}

/* Something about the attempt that the lane has now. */
static void later_of(struct sim_world *w, size_t lane, enum sim_message kind, double in)
{
	const struct sim_lane *const l = &w->lane[lane];

	sim_world_push(w, in,
		       (struct sim_at){.kind = kind,
				       .lane = lane,
				       .ev = {.trial = l->trial, .attempt = l->attempt}});
}

static bool holds(const struct sim_lane *l, const struct sw_event *ev)
{
	return l->trial != 0 && l->trial == ev->trial && l->attempt == ev->attempt;
}

static void drop(struct sim_world *w, size_t lane)
{
	w->lane[lane].trial = 0;
	later(w, lane, SIM_ASK, latency(w));
}

/* ---- a lane's own doing ---- */

static void tell(struct sim_world *w, size_t lane, enum sw_trial_state end)
{
	struct sim_lane *const l = &w->lane[lane];

	l->told = true;
	sim_world_push(w, latency(w),
		       (struct sim_at){.kind = SIM_TELL,
				       .lane = lane,
				       .ev = {.kind = SW_EVENT_TELL,
					      .trial = l->trial,
					      .attempt = l->attempt,
					      .end = end}});
}

static void take(struct sim_world *w, size_t lane, const struct sw_action *start)
{
	struct sim_lane *const l = &w->lane[lane];
	const sw_status rc = sw_sweep_values(w->feed->sweep, start->trial, l->values);
	uint64_t from = start->resume_step;

	SIM_CHECK(rc == SW_OK, "values", "trial %" PRIu64 " has no values", start->trial);
	if (from > 0 && fault(w, w->plan->checkpoint_lost, SIM_FAULT_CHECKPOINT_LOST))
		from = 0; /* its own: it trains again what is known, and says nothing of it */
	const bool orphan = from == 0 && start->from != 0 && start->from != start->trial;
	*l = (struct sim_lane){.trial = start->trial,
			       .attempt = start->attempt,
			       .step = from,
			       .reported = start->resume_step,
			       .until = start->until,
			       .last = w->plan->epochs,
			       .pace_s = w->plan->pace_s * (0.5 + sim_unit(&w->rng)),
			       .values = {l->values[0], l->values[1], l->values[2]}};
	if (w->plan->doomed || fault(w, w->plan->told, SIM_FAULT_TOLD)) {
		l->end = w->plan->doomed || sim_below(&w->rng, 2) == 0 ? SW_TRIAL_FAILED
								       : SW_TRIAL_INFEASIBLE;
		l->ends_at =
			l->step + 1 + sim_below(&w->rng, w->plan->doomed ? 1 : w->plan->epochs);
	}
	if (orphan) { /* its parent's: it cannot begin */
		tell(w, lane, SW_TRIAL_FAILED);
		return;
	}
	later_of(w, lane, SIM_TRAIN, l->pace_s);
}

static void send_report(struct sim_world *w, size_t lane, uint64_t seq)
{
	const struct sim_lane *const l = &w->lane[lane];
	const struct sim_sent *const s = &l->sent[seq % SIM_WINDOW_MAX];
	const struct sw_event ev = {.kind = SW_EVENT_REPORT,
				    .trial = l->trial,
				    .attempt = l->attempt,
				    .seq = seq,
				    .step = s->step,
				    .value = s->value,
				    .has_value = s->has_value,
				    .final = s->final,
				    .result = s->result,
				    .checkpoint = s->checkpoint,
				    .stateless = w->plan->tells && !s->checkpoint};
	const int copies = fault(w, w->plan->duplicate, SIM_FAULT_DUPLICATE) ? 2 : 1;

	for (int i = 0; i < copies; i++)
		sim_world_push(w, latency(w),
			       (struct sim_at){.kind = SIM_REPORT, .lane = lane, .ev = ev});
	sim_world_push(w, 4 * w->plan->latency_s,
		       (struct sim_at){.kind = SIM_RESEND, .lane = lane, .ev = ev});
}

static void report(struct sim_world *w, size_t lane)
{
	struct sim_lane *const l = &w->lane[lane];
	struct sim_sent s = {.step = l->step, .has_value = true};

	s.value = sim_curve_at(w->plan, l->values, l->step);
	s.final = l->step == l->last && w->plan->final;
	s.result = s.final && l->trial % 2 == 0;
	if (fault(w, w->plan->no_metric, SIM_FAULT_NO_METRIC))
		s.has_value = false;
	w->feed->stats->fault[SIM_FAULT_NOT_FINITE] += s.has_value && !isfinite(s.value);
	if (l->step == l->until || (w->plan->every != 0 && l->step % w->plan->every == 0))
		s.checkpoint = !fault(w, w->plan->checkpoint_lost, SIM_FAULT_CHECKPOINT_LOST);
	l->reported = l->step;
	l->sent[++l->made % SIM_WINDOW_MAX] = s;
	send_report(w, lane, l->made);
}

/* The next step that is reported, and what comes in between: a crash, a partition. */
static void train(struct sim_world *w, size_t lane)
{
	struct sim_lane *const l = &w->lane[lane];
	uint64_t next = l->step + 1;

	if (fault(w, w->plan->crash, SIM_FAULT_CRASH)) {
		l->dead = true;
		later_of(w, lane, SIM_NOTICED, latency(w) * 3);
		return;
	}
	if (!l->expired && fault(w, w->plan->expiry, SIM_FAULT_EXPIRY)) {
		l->expired = true; /* and it does not know */
		later_of(w, lane, SIM_NOTICED, latency(w) * 3);
	}
	if (l->step >= l->last) { /* it was cut off between its last report and its word */
		tell(w, lane, SW_TRIAL_COMPLETED);
		return;
	}
	if (next <= l->reported) {
		l->step = next;
		later_of(w, lane, SIM_TRAIN, l->pace_s);
		return;
	}
	if (w->plan->jump > 1 && !w->calm)
		next += sim_below(&w->rng, w->plan->jump);
	w->feed->stats->fault[SIM_FAULT_JUMP] += next > l->step + 1;
	if (l->until > l->step && next > l->until)
		next = l->until;
	l->step = next < l->last ? next : l->last;
	if (l->ends_at != 0 && l->step >= l->ends_at) {
		tell(w, lane, l->end);
		return;
	}
	report(w, lane);
	l->waits = l->step == l->last || l->step == l->until ||
		   l->made - l->acked >= w->plan->window;
	if (!l->waits)
		later_of(w, lane, SIM_TRAIN, l->pace_s);
}

/* ---- what arrives at the daemon ---- */

static void wake(struct sim_world *w)
{
	if (w->idle_n == 0 || !sim_oracle_has_work(w->feed->oracle))
		return;
	later(w, w->idle[--w->idle_n], SIM_ASK, latency(w));
}

/* One event in, and what its actions mean for the lanes. */
static sw_status feed(struct sim_world *w, struct sim_event e)
{
	struct sim_feed *const f = w->feed;

	e.nomem = fault(w, w->plan->nomem, SIM_FAULT_NOMEM) ? 1 + (unsigned)sim_below(&w->rng, 8)
							    : 0;
	if (fault(w, w->plan->restart, SIM_FAULT_RESTART))
		(void)sim_feed_event(f, (struct sim_event){.restart = true});
	const sw_status rc = sim_feed_event(f, e);
	for (size_t i = 0; i < f->actions.n; i++) {
		const struct sw_action *const a = &f->actions.v[i];

		if (a->kind == SW_ACTION_STOP)
			sim_world_push(
				w, latency(w),
				(struct sim_at){.kind = SIM_FREE,
						.lane = w->holder[a->trial],
						.ev = {.trial = a->trial, .attempt = a->attempt}});
	}
	if (sim_oracle_settling(f->oracle) && !w->settling) {
		w->settling = true;
		sim_world_push(w,
			       sim_chance(&w->rng, 500) ? latency(w)
							: 4 * w->plan->pace_s * sim_unit(&w->rng),
			       (struct sim_at){.kind = SIM_SETTLE});
	}
	wake(w);
	return rc;
}

static void on_ask(struct sim_world *w, size_t lane)
{
	struct sim_feed *const f = w->feed;

	if (feed(w, (struct sim_event){.ev = {.kind = SW_EVENT_ASK}}) != SW_OK) {
		w->idle[w->idle_n++] = lane;
		return;
	}
	const struct sw_action *const start = &f->actions.v[f->actions.n - 1];
	if (start->trial >= w->holder_cap) {
		w->holder_cap = 2 * start->trial + 64;
		w->holder = sim_realloc(w->holder, w->holder_cap, sizeof *w->holder);
	}
	w->holder[start->trial] = lane;
	take(w, lane, start);
}

static bool over(const struct sim_feed *f, uint64_t trial)
{
	for (size_t i = 0; i < f->actions.n; i++)
		if (f->actions.v[i].trial == trial && (f->actions.v[i].kind == SW_ACTION_END ||
						       f->actions.v[i].kind == SW_ACTION_PAUSE))
			return true;
	return false;
}

static void answered(struct sim_world *w, size_t lane, uint64_t until)
{
	struct sim_lane *const l = &w->lane[lane];

	l->acked++;
	if (until > l->until)
		l->until = until;
	if (!l->waits || (l->acked != l->made && l->step == l->last))
		return;
	if (l->step == l->last) {
		if (!l->told)
			tell(w, lane, SW_TRIAL_COMPLETED);
		return;
	}
	l->waits = l->step == l->until && l->acked != l->made;
	if (!l->waits) {
		later_of(w, lane, SIM_TRAIN, l->pace_s);
	}
}

static void on_report(struct sim_world *w, const struct sim_at *m)
{
	struct sim_lane *const l = &w->lane[m->lane];
	const bool mine = holds(l, &m->ev), expected = mine && m->ev.seq == l->acked + 1;
	uint64_t *const count = w->feed->stats->fault;
	const sw_status rc = feed(w, (struct sim_event){.ev = m->ev});

	if (rc != SW_OK) {
		const bool ended = !sim_oracle_live(w->feed->oracle, m->ev.trial, m->ev.attempt);

		count[SIM_FAULT_FENCED] += !mine;
		count[SIM_FAULT_AFTER_END] += mine && ended;
		count[SIM_FAULT_REORDERED] += mine && !ended && m->ev.seq > l->acked + 1;
		if (mine && ended && !l->dead)
			drop(w, m->lane);
		return;
	}
	if (!expected || l->dead)
		return;
	if (over(w->feed, m->ev.trial))
		drop(w, m->lane);
	else
		answered(w, m->lane, w->feed->actions.v[0].until);
}

static void on_tell(struct sim_world *w, const struct sim_at *m)
{
	struct sim_lane *const l = &w->lane[m->lane];

	(void)feed(w, (struct sim_event){.ev = m->ev});
	if (holds(l, &m->ev) && !l->dead)
		drop(w, m->lane);
}

static void on_noticed(struct sim_world *w, const struct sim_at *m)
{
	struct sim_lane *const l = &w->lane[m->lane];
	struct sim_event e = {.ev = m->ev};

	e.ev.kind = l->dead ? SW_EVENT_LOST : SW_EVENT_RELEASE;
	e.cause = l->dead ? "signal:9" : "lease expired";
	(void)feed(w, e);
	if (holds(l, &m->ev) && l->dead)
		drop(w, m->lane);
}

static void on_resend(struct sim_world *w, const struct sim_at *m)
{
	const struct sim_lane *const l = &w->lane[m->lane];

	if (holds(l, &m->ev) && !l->dead && l->acked < m->ev.seq)
		send_report(w, m->lane, m->ev.seq);
}

/* Between two slices the daemon may be started again, and the user may lose patience. */
static void on_settle(struct sim_world *w)
{
	static const enum sw_event_kind ends[] = {SW_EVENT_CANCEL, SW_EVENT_FAIL, SW_EVENT_STOP};
	struct sim_feed *const f = w->feed;

	w->settling = false;
	if (w->plan->restart > 0 && sim_chance(&w->rng, 100))
		(void)sim_feed_event(f, (struct sim_event){.restart = true});
	if (!sim_oracle_settling(f->oracle))
		return;
	if (w->plan->user_s > 0 && sim_chance(&w->rng, 100))
		(void)feed(w, (struct sim_event){.ev = {.kind = ends[sim_below(&w->rng, 3)]}});
	else
		(void)feed(w, (struct sim_event){.ev = {.kind = SW_EVENT_SETTLE}});
}

static void happen(struct sim_world *w, const struct sim_at *m)
{
	const bool mine = holds(&w->lane[m->lane], &m->ev);

	switch (m->kind) {
	case SIM_ASK:
		on_ask(w, m->lane);
		break;
	case SIM_TRAIN:
		if (mine && !w->lane[m->lane].dead)
			train(w, m->lane);
		break;
	case SIM_REPORT:
		on_report(w, m);
		break;
	case SIM_RESEND:
		on_resend(w, m);
		break;
	case SIM_TELL:
		on_tell(w, m);
		break;
	case SIM_NOTICED:
		on_noticed(w, m);
		break;
	case SIM_FREE:
		if (mine && !w->lane[m->lane].dead)
			drop(w, m->lane);
		break;
	case SIM_SETTLE:
		on_settle(w);
		break;
	case SIM_USER: {
		struct sim_event e;

		sim_world_push(w, w->plan->user_s * 2 * sim_unit(&w->rng),
			       (struct sim_at){.kind = SIM_USER});
		if (sim_user_act(w, &e))
			(void)feed(w, e);
		break;
	}
	}
}

/* Events that a sweep may take once faults have stopped: what each trial that can still be can do,
 * twice; in a population, each member once more at each of its intervals. */
static uint64_t most_events(const struct sim_world *w)
{
	const struct sim_plan *const p = w->plan;
	const uint64_t made = sim_oracle_trials(w->feed->oracle),
		       cap = sim_oracle_cap(w->feed->oracle);
	const uint64_t trials = 200 + (cap > made ? cap : made);
	uint64_t rounds = 4;

	if (p->sweep.pruner.kind == SW_PRUNER_PBT)
		rounds *= 1 + p->epochs / p->sweep.pruner.pbt.perturbation_interval;
	return 20000 + trials * rounds * (p->epochs + 20);
}

void sim_world_run(struct sim_feed *f)
{
	const struct sim_plan *const p = f->plan;
	struct sim_world *const w = sim_realloc(NULL, 1, sizeof *w);
	struct sim_at m;
	uint64_t calm_at = 0, most = 0, after_end = 0;

	*w = (struct sim_world){.feed = f, .plan = p, .rng = sim_hash(p->seed, 2, 0)};
	f->world = w;
	w->lane = sim_realloc(NULL, p->workers, sizeof *w->lane);
	w->idle = sim_realloc(NULL, p->workers, sizeof *w->idle);
	memset(w->lane, 0, p->workers * sizeof *w->lane);
	for (size_t i = 0; i < p->workers; i++)
		later(w, i, SIM_ASK, p->pace_s * sim_unit(&w->rng));
	if (p->user_s > 0)
		sim_world_push(w, p->user_s, (struct sim_at){.kind = SIM_USER});
	while (sim_world_pop(w, &m)) {
		w->calm = w->calm || f->n >= p->calm_after;
		if (w->calm && most == 0) {
			calm_at = f->n;
			most = most_events(w);
		}
		SIM_CHECK(most == 0 || f->n < calm_at + most, "no end",
			  "the sweep still runs %" PRIu64 " events after the last fault",
			  (uint64_t)f->n - calm_at);
		if (sim_oracle_ended(f->oracle) && (w->calm || after_end++ > 200))
			break;
		happen(w, &m);
	}
	SIM_CHECK(sim_oracle_ended(f->oracle), "stuck", "nothing happens, and the sweep runs");
	sim_world_free(f);
}

void sim_world_free(struct sim_feed *f)
{
	struct sim_world *const w = f->world;

	if (w == NULL)
		return;
	free(w->lane);
	free(w->idle);
	free(w->holder);
	free(w->heap);
	free(w);
	f->world = NULL;
}
