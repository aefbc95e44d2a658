/*
 * bench/decide.c — decisions of ASHA a second, and the memory that a finished trial takes.
 *
 * In this process, one thread. A decision is a report that is judged at a rung (eta 3, rungs
 * from 1 to 243); trials have random curves that keep some of their order from rung to rung, and
 * the sweep has a window of 500 of them open at a time, as many lanes would. "stop" and
 * "promote" are reports to sw_sweep_step(); "stop alone" and "promote alone" go to the pruner.
 * Asks, which make a trial or resume one, are not timed. Small sweeps are played again until a
 * million trials were. Times are computing times of the process, so that a busy machine can measure
 * them. It still shares its caches and memory with the others, which the large sweeps feel most.
 *
 * Bytes are what the allocator has given out after the last trial less what it had before the
 * sweep: with random search a sweep keeps no parameters, so they are what is besides them.
 * `most` is the highest that it was on the way from a tenth of the trials on, in bytes a trial
 * made by then. The sweep has no run cap and ends with the last trial made, so what its end
 * costs (an action for each that is paused) is in no row.
 */
#include "bench/lib/flags.h"
#include "bench/lib/jobs.h"
#include "bench/lib/objective.h"
#include "bench/lib/table.h"
#include "sched/pruner/pruners.h"
#include "sched/sweep/sweep.h"
#include <assert.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 500 /* trials open at once */
#define MAX_T  243
#define PLAYED 1000000u

static const struct kind {
	const char *name;
	enum sw_pruner_kind pruner;
	bool sweep; /* through sw_sweep_step() */
} kinds[] = {
	{"stop", SW_PRUNER_ASHA, true},
	{"stop alone", SW_PRUNER_ASHA, false},
	{"promote", SW_PRUNER_PROMOTE, true},
	{"promote alone", SW_PRUNER_PROMOTE, false},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct result {
	double decisions, seconds; /* of reports */
	double bytes, most;        /* a trial */
};

struct lane {
	uint64_t trial; /* 0: free */
	uint32_t attempt;
	uint64_t seq, step; /* of the last report */
};

struct play {
	const struct kind *kind;
	size_t n;
	struct sw_sweep *sweep;
	struct sw_actions actions;
	struct sw_pruner *alone;
	struct sw_prune_trial *state; /* [n], alone */
	uint64_t made;
	struct lane lane[WINDOW];
	size_t base; /* bytes given out before */
	struct result r;
};

static size_t given_out(void)
{
	const struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static double unit(uint64_t x)
{
	uint64_t z = x * UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Lower with every rung, and what a trial is at a later rung is less and less luck. */
static double curve(uint64_t trial, uint64_t step)
{
	return unit(trial) + (0.1 + unit(trial * 1024 + step)) / (double)step;
}

static void open_play(struct play *p)
{
	const struct sw_pruner_config pruner = {.kind = p->kind->pruner,
						.asha = {.grace_period = 1,
							 .max_t = MAX_T,
							 .reduction_factor = 3,
							 .brackets = 1,
							 .min_results = 3}};
	const struct sw_sweep_config config = {
		.seed = 1, .pruner = pruner, .sampler = SW_SAMPLER_RANDOM};
	struct sw_err err = SW_ERR_INIT;
	sw_status rc;

	p->base = given_out();
	if (p->kind->sweep) {
		rc = sw_sweep_create(&p->sweep, &config, bench_space_cube(1, 0, 1), &err);
	} else {
		p->state = calloc(p->n, sizeof *p->state);
		assert(p->state != NULL);
		rc = sw_pruners_create(&p->alone, &pruner, 1, &err);
	}
	assert(rc == SW_OK);
}

static void close_play(struct play *p)
{
	sw_actions_fini(&p->actions);
	sw_sweep_destroy(p->sweep);
	sw_pruner_destroy(p->alone);
	free(p->state);
}

/* --- asks --- */

static bool ask_sweep(struct play *p, struct lane *l)
{
	const struct sw_event ev = {.kind = SW_EVENT_ASK};

	if (p->made == p->n)
		return false;
	const sw_status rc = sw_sweep_step(p->sweep, &ev, &p->actions, NULL);
	assert(rc == SW_OK);
	const struct sw_action *start = &p->actions.v[p->actions.n - 1];
	assert(start->kind == SW_ACTION_START);
	*l = (struct lane){start->trial, start->attempt, 0, start->resume_step};
	p->made = sw_sweep_trial_n(p->sweep);
	return true;
}

static bool ask_alone(struct play *p, struct lane *l)
{
	if (p->made == p->n)
		return false;
	const uint64_t next = sw_pruner_next(p->alone);
	if (next != 0) {
		struct sw_prune_trial *t = &p->state[next - 1];

		sw_pruner_resumed(p->alone, next, t);
		sw_pruner_begin(p->alone, next, t, t->step);
		*l = (struct lane){.trial = next, .step = t->step};
		return true;
	}
	p->made++;
	sw_pruner_enter(p->alone, p->made, &p->state[p->made - 1]);
	sw_pruner_begin(p->alone, p->made, &p->state[p->made - 1], 0);
	*l = (struct lane){.trial = p->made};
	return true;
}

/* --- reports: each is at the trial's next rung --- */

static void report_sweep(struct play *p, struct lane *l)
{
	const uint64_t step = l->step == 0 ? 1 : 3 * l->step;
	const struct sw_event ev = {.kind = SW_EVENT_REPORT,
				    .trial = l->trial,
				    .attempt = l->attempt,
				    .seq = ++l->seq,
				    .step = step,
				    .has_value = true,
				    .checkpoint = p->kind->pruner == SW_PRUNER_PROMOTE,
				    .value = curve(l->trial, step)};
	const sw_status rc = sw_sweep_step(p->sweep, &ev, &p->actions, NULL);

	assert(rc == SW_OK && p->actions.v[0].kind == SW_ACTION_DECIDE &&
	       p->actions.v[0].judgement.rung == step);
	l->step = step;
	if (p->actions.v[0].decision != SW_DECISION_CONTINUE)
		l->trial = 0;
}

static void report_alone(struct play *p, struct lane *l)
{
	const uint64_t step = l->step == 0 ? 1 : 3 * l->step;
	struct sw_prune_trial *t = &p->state[l->trial - 1];
	struct sw_judgement j;
	const sw_status rc =
		sw_pruner_report(p->alone, l->trial, t, step, curve(l->trial, step), false, &j);

	assert(rc == SW_OK && j.rung == step);
	l->step = step;
	if (j.verdict == SW_VERDICT_CONTINUE)
		return;
	if (j.verdict != SW_VERDICT_PAUSE)
		sw_pruner_ended(p->alone, l->trial, t, j.verdict == SW_VERDICT_COMPLETE);
	l->trial = 0;
}

/* --- a row --- */

static bool ask_all(struct play *p)
{
	bool any = false;

	for (size_t i = 0; i < WINDOW; i++) {
		struct lane *l = &p->lane[i];

		if (l->trial != 0 || (p->kind->sweep ? ask_sweep(p, l) : ask_alone(p, l)))
			any = true;
	}
	return any;
}

static void report_all(struct play *p)
{
	for (size_t i = 0; i < WINDOW; i++) {
		struct lane *l = &p->lane[i];

		if (l->trial == 0)
			continue;
		if (p->kind->sweep)
			report_sweep(p, l);
		else
			report_alone(p, l);
		p->r.decisions++;
	}
}

static void note_bytes(struct play *p, bool last)
{
	const double a_trial = (double)(given_out() - p->base) / (double)p->made;

	if (p->made * 10 > p->n && a_trial > p->r.most)
		p->r.most = a_trial;
	if (last)
		p->r.bytes = a_trial;
}

static void play_once(struct play *p)
{
	open_play(p);
	while (ask_all(p)) {
		const double from = bench_cpu_now();

		report_all(p);
		p->r.seconds += bench_cpu_now() - from;
		note_bytes(p, false);
	}
	note_bytes(p, true);
	assert(p->made == p->n);
	close_play(p);
}

/* Job i: kind i % KINDS of the size i / KINDS. */
static void measure(void *ctx, size_t i, void *result)
{
	static struct play p;
	const size_t n = ((const struct bench_counts *)ctx)->v[i / KINDS];
	struct result r = {.decisions = 0};

	for (size_t played = 0; played < PLAYED; played += n) {
		memset(&p, 0, sizeof p);
		p.kind = &kinds[i % KINDS];
		p.n = n;
		p.r = r;
		play_once(&p);
		r = p.r;
	}
	memcpy(result, &r, sizeof r);
}

static void show(const struct result *r, const size_t *n, size_t ns, const char *csv)
{
	struct bench_table *const t =
		bench_table_create("asha|trials|decisions|a second|ns|of first|bytes a trial|most");
	double least = 1e300, flat[2] = {0}, bytes = 0, most = 0; /* flat: pruner alone, sweep */

	for (size_t k = 0; k < KINDS; k++) {
		for (size_t i = 0; i < ns; i++) {
			const struct result *x = &r[i * KINDS + k], *first = &r[k];
			const double ns_each = 1e9 * x->seconds / x->decisions;
			const double ratio = ns_each / (1e9 * first->seconds / first->decisions);

			bench_table_cells(t, 0, "%s|%zu|%.0f|%.0f|%.0f|%.2f|%.1f|%.1f",
					  kinds[k].name, n[i], x->decisions, 1e9 / ns_each, ns_each,
					  ratio, x->bytes, x->most);
			least = 1e9 / ns_each < least ? 1e9 / ns_each : least;
			flat[kinds[k].sweep] = fmax(flat[kinds[k].sweep], ratio);
			if (kinds[k].sweep) {
				bytes = fmax(bytes, x->bytes);
				most = fmax(most, x->most);
			}
		}
	}
	if (bench_table_end(t, csv) != 0)
		exit(EXIT_FAILURE);
	(void)printf("decide: %.0f decisions/s (the least of all rows; a sweep's take at most %.2f "
		     "times those of the smallest, the pruner's in it %.2f; %.0f bytes a finished "
		     "trial at the end, %.0f on the way)\n",
		     least, flat[true], flat[false], bytes, most);
}

int main(int argc, char **argv)
{
	struct bench_counts n = {{1000, 10000, 100000, 1000000}, 4};
	const char *csv = NULL;
	const struct bench_flag flags[] = {
		{"trials", BENCH_COUNTS, &n, 1, 1e8, .help = "N,N  of a sweep (1000 to 1000000)"},
		{"csv", BENCH_TEXT, &csv, .help = "FILE  the rows"},
		{.name = NULL}};

	if (bench_flags_read("decide", flags, argc, argv) != 0)
		return 2;
	struct result *results =
		bench_jobs_run(n.n * KINDS, sizeof *results, 1, measure, &n, "rows");
	if (results == NULL)
		return EXIT_FAILURE;
	show(results, n.v, n.n, csv);
	bench_jobs_free(results);
	return EXIT_SUCCESS;
}
