/*
 * Fewer events that still break the same invariant: chunks are left out, halves first, down to one
 * event; then whole trials, with the numbers of the later ones drawn together; then single reports,
 * with the seqs of the later ones. Each candidate is fed as it is, without a world. Source:
 * Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, TSE 28 (2002), ddmin.
 */
#include "tests/sim/sim.h"
#include <stdlib.h>
#include <string.h>

struct shrink {
	struct sim_plan *plan;
	struct sim_event *list, *candidate; /* [n], and room for as many */
	size_t n, candidate_n;
	unsigned tries;
	char which[sizeof sim_failure.which];
};

enum { MOST_TRIES = 20000 };

struct fed {
	const struct shrink *s;
	struct sim_feed *feed;
};

static void feed_candidate(void *ctx)
{
	struct fed *const fed = ctx;
	const struct shrink *const s = fed->s;
	struct sim_stats stats = {.runs = 0};

	sim_feed_init(fed->feed, s->plan, &stats);
	for (size_t i = 0; i < s->candidate_n; i++) {
		(void)sim_feed_event(fed->feed, s->candidate[i]);
		s->candidate[i].started = fed->feed->log[fed->feed->n - 1].started;
	}
	sim_feed_end(fed->feed);
}

/* The candidate becomes the list if it breaks the same; events after the break go. */
static bool try_it(struct shrink *s)
{
	struct sim_feed feed = {.plan = NULL};
	struct fed fed = {s, &feed};

	s->tries++;
	const bool passed = sim_try(feed_candidate, &fed);
	const bool same = !passed && strcmp(sim_failure.which, s->which) == 0;
	if (same) {
		s->n = feed.n < s->candidate_n ? feed.n : s->candidate_n;
		memcpy(s->list, s->candidate, s->n * sizeof *s->list);
	}
	sim_feed_fini(&feed);
	return same;
}

static void leave_out_chunks(struct shrink *s)
{
	for (size_t size = s->n / 2; size > 0 && s->tries < MOST_TRIES; size /= 2) {
		for (size_t at = 0; at < s->n && s->tries < MOST_TRIES;) {
			const size_t end = at + size < s->n ? at + size : s->n;

			memcpy(s->candidate, s->list, at * sizeof *s->list);
			memcpy(s->candidate + at, s->list + end, (s->n - end) * sizeof *s->list);
			s->candidate_n = at + s->n - end;
			if (!try_it(s))
				at = end;
		}
	}
}

static void leave_out_trial(struct shrink *s, uint64_t trial)
{
	s->candidate_n = 0;
	for (size_t i = 0; i < s->n; i++) {
		struct sim_event e = s->list[i];

		if (e.ev.trial == trial || (e.ev.kind == SW_EVENT_ASK && e.started == trial))
			continue;
		e.ev.trial -= e.ev.trial > trial;
		s->candidate[s->candidate_n++] = e;
	}
}

static bool leave_out_trials(struct shrink *s)
{
	uint64_t most = 0;
	bool shorter = false;

	for (size_t i = 0; i < s->n; i++)
		most = s->list[i].started > most ? s->list[i].started : most;
	for (uint64_t trial = most; trial > 0 && s->tries < MOST_TRIES; trial--) {
		leave_out_trial(s, trial);
		shorter = (s->candidate_n < s->n && try_it(s)) || shorter;
	}
	return shorter;
}

/* A report, and the seqs after it; or an attempt's end and the ask that began the next. */
static bool leave_out_reports(struct shrink *s)
{
	bool shorter = false;

	for (size_t i = s->n; i-- > 0 && s->tries < MOST_TRIES;) {
		if (i >= s->n || s->list[i].ev.kind != SW_EVENT_REPORT)
			continue;
		const struct sw_event gone = s->list[i].ev;

		s->candidate_n = 0;
		for (size_t k = 0; k < s->n; k++) {
			struct sim_event e = s->list[k];

			if (k == i)
				continue;
			if (k > i && e.ev.kind == SW_EVENT_REPORT && e.ev.trial == gone.trial &&
			    e.ev.attempt == gone.attempt && e.ev.seq > gone.seq)
				e.ev.seq--;
			s->candidate[s->candidate_n++] = e;
		}
		shorter = try_it(s) || shorter;
	}
	return shorter;
}

static bool try_whole(struct shrink *s)
{
	s->candidate_n = s->n;
	memcpy(s->candidate, s->list, s->n * sizeof *s->list);
	return try_it(s);
}

/* A run cap that fits the trials that are left out, so that ends come earlier. */
static bool lower_cap(struct shrink *s)
{
	struct sw_sweep_config *const c = &s->plan->sweep;
	const uint64_t before = c->run_cap;

	for (uint64_t to = before / 2; to > 0 && to < before; to = (to + before + 1) / 2) {
		c->run_cap = to;
		s->candidate_n = 0;
		for (size_t i = 0; i < s->n; i++)
			if (s->list[i].ev.trial <= to && s->list[i].started <= to)
				s->candidate[s->candidate_n++] = s->list[i];
		if (try_it(s))
			return true;
	}
	c->run_cap = before;
	return false;
}

/* The same with less around it. */
static void simplify_plan(struct shrink *s)
{
	struct sw_sweep_config *const c = &s->plan->sweep;
	struct sw_sweep_config before = *c;

	c->max_concurrent = 0;
	if (!try_whole(s))
		*c = before;
	before = *c;
	if (c->sampler > SW_SAMPLER_SOBOL)
		c->sampler = SW_SAMPLER_RANDOM;
	if (!try_whole(s))
		*c = before;
}

size_t sim_shrink(struct sim_plan *p, struct sim_event *list, size_t n)
{
	struct shrink s = {.plan = p, .list = list, .n = n};
	const struct sim_failure first = sim_failure;

	memcpy(s.which, first.which, sizeof s.which);
	s.candidate = sim_realloc(NULL, n + 1, sizeof *s.candidate);
	s.candidate_n = n;
	memcpy(s.candidate, list, n * sizeof *list);
	if (try_it(&s)) {
		leave_out_chunks(&s);
		for (bool shorter = true; shorter && s.tries < MOST_TRIES;) {
			const size_t before = s.n;

			(void)leave_out_trials(&s);
			(void)leave_out_reports(&s);
			leave_out_chunks(&s);
			shorter = lower_cap(&s) || s.n < before;
		}
		simplify_plan(&s);
	}
	free(s.candidate);
	sim_failure = first;
	return s.n;
}
