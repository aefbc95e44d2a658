/*
 * sim [--seeds A..B] [--seed N [-v]] [--first]   Whole sweeps on virtual time; a seed is a run.
 *
 * Status 0: every run kept every invariant. A run that did not prints its seed and the fewest
 * events that break the same invariant. -v prints every event of a seed. --first ends at the first
 * run that fails, in one line.
 */
#include "tests/sim/sim.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const faults[SIM_FAULT_N] = {
	[SIM_FAULT_CRASH] = "crashes",
	[SIM_FAULT_EXPIRY] = "leases expired",
	[SIM_FAULT_FENCED] = "reports of fenced attempts",
	[SIM_FAULT_DUPLICATE] = "reports doubled",
	[SIM_FAULT_REORDERED] = "reports out of order",
	[SIM_FAULT_AFTER_END] = "reports after the end",
	[SIM_FAULT_JUMP] = "steps jumped",
	[SIM_FAULT_NO_METRIC] = "reports without the metric",
	[SIM_FAULT_NOT_FINITE] = "values not finite",
	[SIM_FAULT_CHECKPOINT_LOST] = "checkpoints lost",
	[SIM_FAULT_TOLD] = "trials that go wrong",
	[SIM_FAULT_USER] = "doings of users",
	[SIM_FAULT_ODD] = "messages of a broken peer",
	[SIM_FAULT_RESTART] = "restarts",
	[SIM_FAULT_NOMEM] = "events without memory",
};

struct run {
	struct sim_plan plan;
	struct sim_feed feed;
	struct sim_stats *stats;
	bool verbose;
};

static bool only_first;

static void live(void *ctx)
{
	struct run *const r = ctx;

	sim_feed_init(&r->feed, &r->plan, r->stats);
	r->feed.watch = r->verbose ? sim_print_event : NULL;
	sim_world_run(&r->feed);
	sim_feed_end(&r->feed);
}

struct list {
	struct sim_plan *plan;
	const struct sim_event *v;
	size_t n;
	struct sim_feed feed;
	struct sim_stats stats;
};

static void feed_list(void *ctx)
{
	struct list *const l = ctx;

	sim_feed_init(&l->feed, l->plan, &l->stats);
	l->feed.watch = sim_print_event;
	for (size_t i = 0; i < l->n; i++)
		(void)sim_feed_event(&l->feed, l->v[i]);
	sim_feed_end(&l->feed);
}

static void report_failure(struct run *r)
{
	const struct sim_failure first = sim_failure;
	const size_t n = r->feed.n, shrunk = sim_shrink(&r->plan, r->feed.log, n);
	struct list l = {.plan = &r->plan, .v = r->feed.log, .n = shrunk};

	printf("seed %" PRIu64 " broke \"%s\": %s\n", r->plan.seed, first.which, first.text);
	sim_print_plan(&r->plan);
	printf("  %zu of %zu events break it too:\n", shrunk, n);
	if (shrunk > 200) {
		printf("  (too many to print)\n");
	} else if (!sim_try(feed_list, &l)) {
		if (l.feed.n > 0 && l.feed.n <= shrunk) {
			struct sim_event last = l.feed.log[l.feed.n - 1];

			sim_print_event(l.feed.n, &last, &l.feed.actions);
		}
		printf("  broken: %s: %s\n", sim_failure.which, sim_failure.text);
	}
	sim_feed_fini(&l.feed);
}

static bool run_seed(uint64_t seed, bool verbose, struct sim_stats *stats)
{
	struct run r = {.stats = stats, .verbose = verbose};

	sim_plan_make(&r.plan, seed);
	if (verbose)
		sim_print_plan(&r.plan);
	stats->runs++;
	stats->pruner[r.plan.sweep.pruner.kind]++;
	const bool passed = sim_try(live, &r);
	if (!passed && only_first)
		printf("seed %" PRIu64 " broke \"%s\": %s\n", seed, sim_failure.which,
		       sim_failure.text);
	else if (!passed)
		report_failure(&r);
	sim_feed_fini(&r.feed);
	return passed;
}

static void print_stats(const struct sim_stats *s, double seconds)
{
	printf("%" PRIu64 " runs, %" PRIu64 " events (%" PRIu64 " refused), %" PRIu64 " trials, "
	       "%" PRIu64 " judged at a rung, %" PRIu64 " paused, %" PRIu64 " went on from a "
	       "checkpoint, %" PRIu64 " children, %.1f s\n",
	       s->runs, s->events, s->refused, s->trials, s->decisions, s->paused, s->resumed,
	       s->children, seconds);
	for (int i = 0; i < SW_PRUNER_KIND_N; i++)
		printf("%s%s %" PRIu64, i == 0 ? "pruners: " : ", ",
		       sim_pruner_name((enum sw_pruner_kind)i), s->pruner[i]);
	for (int i = SW_TRIAL_COMPLETED; i < SW_TRIAL_STATE_N; i++)
		printf("%s%s %" PRIu64, i == SW_TRIAL_COMPLETED ? "\ntrials ended: " : ", ",
		       sw_trial_state_name((enum sw_trial_state)i), s->ended[i]);
	for (int i = 0; i < SW_SWEEP_STATE_N; i++)
		printf("%s%s %" PRIu64, i == 0 ? "\nsweeps became: " : ", ",
		       sw_sweep_state_name((enum sw_sweep_state)i), s->sweep[i]);
	printf("\nends in slices: %" PRIu64 " slices after the first, %" PRIu64
	       " events and %" PRIu64 " restarts between two",
	       s->settles, s->between, s->torn);
	for (int i = 0; i < SIM_FAULT_N; i++)
		printf("%s%" PRIu64 " %s", i == 0 ? "\nfaults: " : ", ", s->fault[i], faults[i]);
	printf("\n");
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int run_seeds(uint64_t from, uint64_t to, bool verbose)
{
	struct sim_stats stats = {.runs = 0};
	const double started = now();
	double told = started;
	uint64_t failed = 0;

	for (uint64_t seed = from; seed <= to; seed++) {
		failed += !run_seed(seed, verbose, &stats);
		if (failed > 0 && only_first)
			return 1;
		if (failed == 5) {
			printf("five seeds have failed: the rest is left out\n");
			break;
		}
		if (now() - told > 10 || (isatty(STDERR_FILENO) && now() - told > 0.5)) {
			told = now();
			(void)fprintf(stderr,
				      "%s%" PRIu64 " of %" PRIu64 " seeds, %" PRIu64 " failed%s",
				      isatty(STDERR_FILENO) ? "\r" : "", stats.runs, to - from + 1,
				      failed, isatty(STDERR_FILENO) ? "" : "\n");
		}
	}
	if (isatty(STDERR_FILENO))
		(void)fprintf(stderr, "\r\033[K");
	print_stats(&stats, now() - started);
	/* As the test programs say it, so that what counts tests counts these. */
	printf("%" PRIu64 "%%: Checks: %" PRIu64 ", Failures: %" PRIu64 ", Errors: 0\n",
	       100 * (stats.runs - failed) / stats.runs, stats.runs, failed);
	return failed == 0 ? 0 : 1;
}

static int usage(void)
{
	(void)fprintf(stderr, "usage: sim [--seeds A..B] [--seed N [-v]] [--first]\n");
	return 2;
}

int main(int argc, char **argv)
{
	uint64_t from = 1, to = 200;
	bool verbose = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc) {
			char *end;

			from = strtoull(argv[++i], &end, 10);
			if (strncmp(end, "..", 2) != 0)
				return usage();
			to = strtoull(end + 2, &end, 10);
			if (*end != '\0' || to < from)
				return usage();
		} else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
			from = to = strtoull(argv[++i], NULL, 10);
		} else if (strcmp(argv[i], "-v") == 0) {
			verbose = true;
		} else if (strcmp(argv[i], "--first") == 0) {
			only_first = true;
		} else {
			return usage();
		}
	}
	return run_seeds(from, to, verbose);
}
