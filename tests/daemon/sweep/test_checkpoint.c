/* tests/daemon/sweep/test_checkpoint.c — which checkpoints are kept, beside a plain model; and what
 * a disk budget must not take. */
#include "daemon/daemon.h"
#include "daemon/sweep/checkpoint.h"
#include "daemon/sweep/janitor.h"
#include "daemon/sweep/running.h"
#include "tests/daemon/sweep/live.h"
#include "tests/run.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIALS 60
#define STEPS  12

#define PROGRAM "\"command\":[\"/bin/true\"],\"run\":{\"cwd\":\"/\"},"
#define SPEC    SPEC_OF("")
#define SPEC_OF(keys)                                                                              \
	"{" keys "\"metric\":{\"name\":\"loss\"},\"method\":\"random\",\"run_cap\":60,"            \
	"\"parameters\":{\"lr\":{\"min\":0.25,\"max\":0.5}}}"

/* --- random lives beside a model --- */

struct life {
	struct sw_running live;
	struct sw_unneeded gone;
	struct sw_actions actions;
	bool disk[TRIALS + 1][STEPS + 1];              /* files that are there */
	unsigned last[TRIALS + 1], before[TRIALS + 1]; /* steps of the last two; 0: none */
	unsigned best[TRIALS + 1];                     /* a program's best; 0: none */
	double value[TRIALS + 1];                      /* at it */
	unsigned n[TRIALS + 1];                        /* reports so far */
	bool ended[TRIALS + 1];
	unsigned rng;
};

static unsigned below(struct life *l, unsigned n)
{
	l->rng = l->rng * 1103515245u + 12345u;
	return (l->rng >> 16) % n;
}

static void step(struct life *l, const struct sw_event *ev)
{
	const struct sw_checkpoint before = sw_checkpoint_of(&l->live, ev->trial);

	ck_assert_int_eq(sw_sweep_step(l->live.sched, ev, &l->actions, NULL), SW_OK);
	l->gone.n = 0;
	l->gone.live = &l->live;
	sw_checkpoint_stepped(&l->gone, ev, &before, &l->actions);
	for (size_t i = 0; i < l->gone.n; i++) {
		const struct sw_checkpoint *f = &l->gone.v[i];

		ck_assert_uint_le(f->trial, TRIALS);
		ck_assert_msg(l->disk[f->trial][f->step], "%llu-%llu goes twice, or never was",
			      (unsigned long long)f->trial, (unsigned long long)f->step);
		l->disk[f->trial][f->step] = false;
	}
}

static void report(struct life *l, uint64_t trial)
{
	const unsigned at = ++l->n[trial];
	const struct sw_event ev = {.kind = SW_EVENT_REPORT,
				    .trial = trial,
				    .attempt = 1,
				    .seq = at,
				    .step = at,
				    .has_value = true,
				    .checkpoint = below(l, 3) != 0,
				    .value = below(l, 50)};

	if (ev.checkpoint) { /* a worker writes the file and then reports */
		l->disk[trial][at] = true;
		l->before[trial] = l->last[trial];
		l->last[trial] = at;
		if (l->live.spec->command != NULL &&
		    l->live.spec->checkpoint.keep != SW_SPEC_KEEP_NONE &&
		    (l->best[trial] == 0 || ev.value < l->value[trial])) {
			l->best[trial] = at;
			l->value[trial] = ev.value;
		}
	}
	step(l, &ev);
	ck_assert_uint_eq(sw_checkpoint_best_of(&l->live, trial), l->best[trial]);
}

static void end(struct life *l, uint64_t trial)
{
	const struct sw_event ev = {.kind = SW_EVENT_TELL,
				    .trial = trial,
				    .attempt = 1,
				    .end = below(l, 2) ? SW_TRIAL_COMPLETED : SW_TRIAL_FAILED};

	l->ended[trial] = true;
	step(l, &ev);
}

static void compare(const struct life *l, bool all)
{
	for (unsigned t = 1; t <= TRIALS; t++)
		for (unsigned s = 1; s <= STEPS; s++) {
			const enum sw_trial_state state =
				t <= sw_sweep_trial_n(l->live.sched)
					? (enum sw_trial_state)sw_sweep_trial(l->live.sched, t)
						  ->state
					: SW_TRIAL_PENDING;
			const bool last = s == l->last[t] || s == l->best[t];
			const bool before = s == l->before[t];
			const bool want = l->ended[t] ? last && all && state != SW_TRIAL_FAILED
						      : last || before;

			ck_assert_msg(l->disk[t][s] == want, "trial %u step %u: %d, not %d", t, s,
				      l->disk[t][s], want);
		}
}

/* In the order of their numbers, from the last, or at random: the open ones keep two files each,
 * and those of a program their best. */
TEST_LOOP(checkpoint_of_open_trials_stay_while_others_end, 0, 24)
{
	static struct sw_daemon d;
	static struct life l;
	const bool all = _i % 2 != 0;

	l = (struct life){.live = {.d = &d, .sweep = 1}, .rng = (unsigned)_i + 1};
	live_fill(&l.live, _i < 12 ? SPEC : SPEC_OF(PROGRAM));
	l.live.spec->checkpoint.keep = all ? SW_SPEC_KEEP_ALL : SW_SPEC_KEEP_NONE;
	for (unsigned t = 1; t <= TRIALS; t++)
		step(&l, &(struct sw_event){.kind = SW_EVENT_ASK});
	for (unsigned k = 0; k < 3 * TRIALS; k++) {
		const uint64_t t = 1 + below(&l, TRIALS);

		if (l.n[t] < STEPS)
			report(&l, t);
	}
	compare(&l, all);
	for (unsigned k = 0; k < TRIALS; k++) {
		uint64_t t = _i % 12 < 2 ? k + 1 : _i % 12 < 4 ? TRIALS - k : 1 + below(&l, TRIALS);

		while (l.ended[t])
			t = t % TRIALS + 1;
		end(&l, t);
		const uint64_t other = 1 + below(&l, TRIALS);
		if (!l.ended[other] && l.n[other] < STEPS)
			report(&l, other);
		compare(&l, all);
	}
	ck_assert_uint_le(l.live.files.keeping.open_n, 1); /* room was given back on the way */
	free(l.gone.v);
	sw_actions_fini(&l.actions);
	live_empty(&l.live);
}

/* --- the best --- */

static void says(struct life *l, uint64_t trial, double value, bool checkpoint)
{
	const unsigned at = ++l->n[trial];

	l->disk[trial][at] = checkpoint;
	step(l, &(struct sw_event){.kind = SW_EVENT_REPORT,
				   .trial = trial,
				   .attempt = 1,
				   .seq = at,
				   .step = at,
				   .has_value = true,
				   .checkpoint = checkpoint,
				   .value = value});
}

static void ends(struct life *l, uint64_t trial, enum sw_trial_state state)
{
	step(l,
	     &(struct sw_event){.kind = SW_EVENT_TELL, .trial = trial, .attempt = 1, .end = state});
}

/* By its best report, whatever it reported last; one that fails is nobody's best. */
TEST(checkpoint_of_the_trial_with_the_best_report_stays)
{
	static struct sw_daemon d;
	static struct life l;

	l = (struct life){.live = {.d = &d, .sweep = 1}, .rng = 1};
	live_fill(&l.live, SPEC);
	l.live.spec->checkpoint.keep = SW_SPEC_KEEP_BEST_AND_LAST;
	for (unsigned t = 1; t <= 4; t++)
		step(&l, &(struct sw_event){.kind = SW_EVENT_ASK});
	says(&l, 1, 1, true);
	says(&l, 1, 9, false);
	ends(&l, 1, SW_TRIAL_COMPLETED);
	says(&l, 2, 3, false);
	says(&l, 2, 2, true);
	ends(&l, 2, SW_TRIAL_COMPLETED);
	ck_assert_double_eq(l.live.files.keeping.record, 1);
	says(&l, 4, 0.5, true);
	ck_assert_double_eq(l.live.files.keeping.record, 0.5);
	ends(&l, 4, SW_TRIAL_FAILED);
	ck_assert_double_eq(l.live.files.keeping.record, 1);
	says(&l, 3, 4, true);
	ends(&l, 3, SW_TRIAL_COMPLETED);
	ck_assert(l.disk[1][1] && !l.disk[2][2] && l.disk[3][1] && !l.disk[4][1]);
	free(l.gone.v);
	sw_actions_fini(&l.actions);
	live_empty(&l.live);
}

/* Whose last value is below a threshold is not the best, whatever it reported before. */
TEST(checkpoint_of_the_trial_that_a_threshold_believes_stays)
{
	static struct sw_daemon d;
	static struct life l;

	l = (struct life){.live = {.d = &d, .sweep = 1}, .rng = 1};
	live_fill(&l.live, SPEC_OF("\"early_terminate\":{\"type\":\"threshold\",\"lower\":0.2,"
				   "\"n_warmup_steps\":5},"));
	l.live.spec->checkpoint.keep = SW_SPEC_KEEP_BEST_AND_LAST;
	for (unsigned t = 1; t <= 3; t++)
		step(&l, &(struct sw_event){.kind = SW_EVENT_ASK});
	says(&l, 1, 0.5, true);
	ends(&l, 1, SW_TRIAL_COMPLETED);
	says(&l, 2, 0.3, true);
	ck_assert_double_eq(l.live.files.keeping.record, 0.3);
	says(&l, 2, 0.1, true);
	ends(&l, 2, SW_TRIAL_COMPLETED);
	ck_assert_double_eq(l.live.files.keeping.record, 0.5);
	says(&l, 3, 0.9, true);
	ends(&l, 3, SW_TRIAL_COMPLETED);
	ck_assert(l.disk[1][1] && !l.disk[2][1] && !l.disk[2][2] && l.disk[3][1]);
	free(l.gone.v);
	sw_actions_fini(&l.actions);
	live_empty(&l.live);
}

/* Its last and its best go together, of a program. */
TEST(checkpoint_of_a_program_s_best_stays_with_its_last)
{
	static struct sw_daemon d;
	static struct life l;

	l = (struct life){.live = {.d = &d, .sweep = 1}, .rng = 1};
	live_fill(&l.live, SPEC_OF(PROGRAM));
	for (unsigned t = 1; t <= 3; t++) {
		step(&l, &(struct sw_event){.kind = SW_EVENT_ASK});
		l.disk[t][0] = true; /* its own folder */
	}
	for (unsigned t = 1; t <= 3; t++) {
		says(&l, t, 5 - t, true);
		says(&l, t, 5 - t, true);
		says(&l, t, 9 - t, true);
		says(&l, t, -1.0 * t, false); /* nothing is kept of its best report */
		says(&l, t, 9, true);
		ck_assert(l.disk[t][1] && !l.disk[t][2] && l.disk[t][3] && l.disk[t][5]);
	}
	ends(&l, 1, SW_TRIAL_COMPLETED);
	ck_assert(l.disk[1][1] && !l.disk[1][3] && l.disk[1][5]);
	ends(&l, 3, SW_TRIAL_COMPLETED);
	ck_assert(!l.disk[1][1] && !l.disk[1][5] && l.disk[3][1] && l.disk[3][5]);
	ends(&l, 2, SW_TRIAL_FAILED);
	ck_assert(!l.disk[2][1] && !l.disk[2][3] && !l.disk[2][5]);
	free(l.gone.v);
	sw_actions_fini(&l.actions);
	live_empty(&l.live);
}

/* A program's own folder, as of step 0, goes by the same rule; and where the best has no
 * checkpoint, the best of those that have one keeps it. */
TEST(checkpoint_of_a_program_stays_beside_a_better_folder)
{
	static struct sw_daemon d;
	static struct life l;

	l = (struct life){.live = {.d = &d, .sweep = 1}, .rng = 1};
	live_fill(&l.live, SPEC_OF(PROGRAM));
	l.live.spec->checkpoint.keep = SW_SPEC_KEEP_BEST_AND_LAST;
	for (unsigned t = 1; t <= 6; t++) {
		step(&l, &(struct sw_event){.kind = SW_EVENT_ASK});
		l.disk[t][0] = true;
	}
	says(&l, 1, 3, true);
	says(&l, 2, 1, false);
	says(&l, 3, 4, true);
	says(&l, 4, 5, false);
	says(&l, 5, 2, false);
	says(&l, 6, 0, true);
	for (unsigned t = 1; t <= 5; t++)
		ends(&l, t, SW_TRIAL_COMPLETED);
	ck_assert(l.disk[1][0] && l.disk[1][1]); /* the best with a checkpoint */
	ck_assert(l.disk[2][0]);                 /* the best */
	ck_assert(l.disk[3][0] && l.disk[3][1]); /* the last with a checkpoint */
	ck_assert(!l.disk[4][0]);                /* none of these */
	ck_assert(l.disk[5][0]);                 /* the last */
	ends(&l, 6, SW_TRIAL_FAILED);
	ck_assert(!l.disk[6][1]);
	for (unsigned t = 1; t <= 6; t++)
		ck_assert_int_eq(sw_checkpoint_goes(&l.live, t), t == 4 || t == 6);
	free(l.gone.v);
	sw_actions_fini(&l.actions);
	live_empty(&l.live);
}

/* --- a budget --- */

static void put(const char *state, uint64_t trial, uint64_t at, off_t bytes)
{
	char path[200];

	(void)snprintf(path, sizeof path, "%s/" SW_CHECKPOINT_FOLDER "/1/%llu-%llu.ckpt", state,
		       (unsigned long long)trial, (unsigned long long)at);
	const int fd = open(path, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, bytes), 0);
	(void)close(fd);
}

static bool there(const char *state, uint64_t trial, uint64_t at)
{
	char path[200];

	(void)snprintf(path, sizeof path, "%s/" SW_CHECKPOINT_FOLDER "/1/%llu-%llu.ckpt", state,
		       (unsigned long long)trial, (unsigned long long)at);
	return access(path, F_OK) == 0;
}

/* Trials 1 to 4 have ended, the later the worse; a child that waits begins from the worst. */
TEST_LOOP(checkpoint_budget_spares_the_best_and_what_a_child_begins_from, 0, 2)
{
	char state[] = "/tmp/sw-checkpoint-XXXXXX", path[200];
	struct sw_heir *heir = malloc(sizeof *heir);
	uv_loop_t loop;
	struct sw_running live = {.sweep = 1}, *sweeps[] = {&live};
	struct sw_daemon d = {.loop = &loop, .sweep = {.sweeps = sweeps, .sweep_n = 1}};
	struct sw_err err = SW_ERR_INIT;

	ck_assert_ptr_nonnull(mkdtemp(state));
	ck_assert_int_eq(uv_loop_init(&loop), 0);
	(void)snprintf(d.config.state, sizeof d.config.state, "%s", state);
	live.d = &d;
	live_fill(&live, SPEC);
	live.spec->checkpoint.keep = SW_SPEC_KEEP_ALL;
	live.spec->checkpoint.max_mb = 1;
	ck_assert_int_eq(sw_checkpoint_make_folder(&live, &err), SW_OK);
	for (uint64_t t = 1; t <= 4; t++) {
		for (uint64_t at = 8; at >= 4; at -= 4) { /* its last, its best */
			put(state, t, at, 200000);
			sw_checkpoint_ended(&live, &(struct sw_keeping_ended){.trial = t,
									      .step = at,
									      .completed = true,
									      .has_value = true,
									      .value = (double)t});
		}
	}
	ck_assert_ptr_nonnull(heir);
	*heir = (struct sw_heir){.child = 9, .from = _i == 0 ? 0 : 4, .step = 8};
	live.files.heirs.v = heir;
	live.files.heirs.n = live.files.heirs.cap = 1;
	sw_janitor_shrink(&live);
	ck_assert_int_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
	/* Five of eight are 1 MB. */
	ck_assert(there(state, 1, 4) && there(state, 1, 8) && !there(state, 4, 4));
	ck_assert_int_eq(there(state, 4, 8), _i == 1);
	ck_assert_int_eq(there(state, 3, 4) + there(state, 3, 8), _i == 0);
	ck_assert(there(state, 2, 4) && there(state, 2, 8));
	ck_assert_uint_eq(live.files.keeping.ended_n, 5);
	for (uint64_t i = 0; i < 8; i++) {
		(void)snprintf(path, sizeof path, "%s/" SW_CHECKPOINT_FOLDER "/1/%llu-%d.ckpt",
			       state, (unsigned long long)(i / 2 + 1), i % 2 != 0 ? 8 : 4);
		(void)unlink(path);
	}
	(void)snprintf(path, sizeof path, "%s/" SW_CHECKPOINT_FOLDER "/1", state);
	ck_assert_int_eq(rmdir(path), 0);
	(void)snprintf(path, sizeof path, "%s/" SW_CHECKPOINT_FOLDER, state);
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(rmdir(state), 0);
	sw_janitor_free(&d);
	live_empty(&live);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
}

RUN_TESTS(NULL, NULL)
