/* tests/daemon/sweep/files/test_files.c — which files of a sweep stay: case by case, and over
 * random lives beside a plain model. */
#include "daemon/sweep/files/checkpoint.h"
#include "daemon/sweep/files/files_rule.h"
#include "tests/run.h"

#define MB    1000000
#define NONE  SW_SPEC_KEEP_NONE
#define ALL   SW_SPEC_KEEP_ALL
#define BOTH  SW_SPEC_KEEP_BEST_AND_LAST
#define RUNS  SW_TRIAL_RUNNING
#define WAITS SW_TRIAL_PENDING
#define PAUSE SW_TRIAL_PAUSED
#define DONE  SW_TRIAL_COMPLETED
#define CUT   SW_TRIAL_PRUNED
#define FAIL  SW_TRIAL_FAILED
#define INF   SW_TRIAL_INFEASIBLE

struct row {
	uint64_t trial;
	enum sw_trial_state state;
	uint64_t last, best;
	double value; /* 0: it has none */
	int64_t ended_ms;
	bool held;
};

static void add(struct sw_files *f, const char *name)
{
	struct sw_file *file = &f->v[f->n++];

	ck_assert_uint_le(f->n, f->cap);
	*file = (struct sw_file){.bytes = MB};
	ck_assert(sw_checkpoint_read_name(name, &file->trial, &file->step, &file->whole));
	(void)snprintf(file->name, sizeof file->name, "%s", name);
}

static void say(const struct sw_files *f, const struct row *row)
{
	struct sw_files_trial *t = sw_files_find(f, row->trial);

	/* It has no files. */
	if (t == NULL)
		return;
	t->known = true;
	t->state = row->state;
	t->last = row->last;
	t->best = row->best;
	t->has_value = row->value != 0;
	t->value = row->value;
	t->ended_ms = row->ended_ms;
	t->held = row->held;
}

/* --- case by case --- */

static const struct test {
	const char *name;
	enum sw_spec_keep keep;
	bool program, maximize;
	uint64_t max_mb, most;
	struct row row[6];
	const char *files, *stay; /* by trial and step */
	uint64_t from, step;      /* a child goes on from it */
	bool over;
} tests[] = {
	{"one that runs keeps its last two, and what it is ahead", NONE, .row = {{1, RUNS, 6}},
	 .files = "1-2.ckpt 1-4.ckpt 1-6.ckpt 1-7.ckpt .tmp-1-8-Ab3dEf .tmp-1-3-Ab3dEf",
	 .stay = "1-4.ckpt 1-6.ckpt 1-7.ckpt .tmp-1-8-Ab3dEf"},
	{"one without a checkpoint yet keeps all", NONE, .row = {{1, RUNS}},
	 .files = "1-2.ckpt .tmp-1-3-Ab3dEf", .stay = "1-2.ckpt .tmp-1-3-Ab3dEf"},
	{"one that waits again keeps its last two", NONE, .row = {{1, WAITS, 6}},
	 .files = "1-2.ckpt 1-4.ckpt 1-6.ckpt 1-7.ckpt .tmp-1-8-Ab3dEf",
	 .stay = "1-4.ckpt 1-6.ckpt"},
	{"one that is paused keeps its last", ALL, .row = {{1, PAUSE, 6}},
	 .files = "1-4.ckpt 1-6.ckpt 1-7.ckpt .tmp-1-8-Ab3dEf", .stay = "1-6.ckpt"},
	{"until its worker asks again it keeps all", NONE,
	 .row = {{1, PAUSE, 6, .held = true}, {2, FAIL, 6, .held = true}},
	 .files = "1-4.ckpt 1-7.ckpt 2-6.ckpt .tmp-2-8-Ab3dEf",
	 .stay = "1-4.ckpt 1-7.ckpt 2-6.ckpt .tmp-2-8-Ab3dEf"},
	{"a program keeps its best, its folders, and what its next attempt goes on from", BOTH,
	 true, .row = {{1, RUNS, 6, 2}, {2, PAUSE, 6, 2}},
	 .files = "1.dir 1-2.ckpt 1-3.ckpt 1-4.ckpt 1-6.ckpt 1.live-2 2.dir 2-2.ckpt 2-4.ckpt "
		  "2-6.ckpt 2.resume",
	 .stay = "1.dir 1-2.ckpt 1-4.ckpt 1-6.ckpt 1.live-2 2.dir 2-2.ckpt 2-6.ckpt 2.resume"},
	{"of those that ended each keeps its last", ALL,
	 .row = {{1, DONE, 4, .value = 1}, {2, CUT, 4, .value = 2}, {3, FAIL, 4}, {4, INF, 4}},
	 .files = "1-3.ckpt 1-4.ckpt 1-5.ckpt .tmp-1-6-Ab3dEf 2-4.ckpt 3-4.ckpt 4-4.ckpt 5-4.ckpt",
	 .stay = "1-4.ckpt 2-4.ckpt"},
	{"none is none", NONE, true, .row = {{1, DONE, 4, 2, 1}},
	 .files = "1.dir 1-2.ckpt 1-4.ckpt", .stay = ""},
	{"a program that ended keeps its best, its last, its folder", ALL, true,
	 .row = {{1, DONE, 4, 2, 1}, {2, CUT}},
	 .files = "1.dir 1-2.ckpt 1-3.ckpt 1-4.ckpt 1.live-1 2.dir",
	 .stay = "1.dir 1-2.ckpt 1-4.ckpt 2.dir"},
	{"the best and the last stay, of equals the first and the later end", BOTH,
	 .row = {{1, DONE, 4, 0, 2, 50},
		 {2, DONE, 4, 0, 1, 40},
		 {3, CUT, 4, 0, 1, 90},
		 {4, DONE, 4, 0, 3, 60},
		 {5, DONE, 4, 0, 9, 55}},
	 .files = "1-4.ckpt 2-4.ckpt 3-4.ckpt 4-4.ckpt 5-4.ckpt", .stay = "2-4.ckpt 4-4.ckpt"},
	{"by the metric's goal", BOTH, .maximize = true,
	 .row = {{1, DONE, 4, 0, 2, 50}, {2, DONE, 4, 0, 1, 40}, {3, DONE, 4, 0, 1, 60}},
	 .files = "1-4.ckpt 2-4.ckpt 3-4.ckpt", .stay = "1-4.ckpt 3-4.ckpt"},
	{"beside a better folder the best checkpoint stays", BOTH, true,
	 .row = {{1, DONE, 4, 0, 3, 10},
		 {2, DONE, 0, 0, 1, 20},
		 {3, DONE, 4, 0, 4, 30},
		 {4, DONE, 0, 0, 5, 40},
		 {5, DONE, 0, 0, 2, 50},
		 {6, FAIL, 4, 0, 0.5, 60}},
	 .files = "1.dir 1-4.ckpt 2.dir 3.dir 3-4.ckpt 4.dir 5.dir 6.dir 6-4.ckpt",
	 .stay = "1.dir 1-4.ckpt 2.dir 3.dir 3-4.ckpt 5.dir"},
	{"what a child goes on from stays, whoever its donor", NONE,
	 .row = {{1, DONE, 4, 0, 3, 10}}, .files = "1-3.ckpt 1-4.ckpt", .stay = "1-3.ckpt",
	 .from = 1, .step = 3},
	{"a budget takes the worst, then whose value nobody knows, then the later", ALL,
	 .max_mb = 3,
	 .row = {{1, DONE, 4, 0, 3, 10},
		 {2, CUT, 4, 0, 1, 10},
		 {3, DONE, 4, 0, 2, 10},
		 {4, DONE, 4, 0, 2, 10},
		 {5, DONE, 4},
		 {6, RUNS, 4}},
	 .files = "1-4.ckpt 2-4.ckpt 3-4.ckpt 4-4.ckpt 5-4.ckpt 6-4.ckpt",
	 .stay = "2-4.ckpt 3-4.ckpt 6-4.ckpt"},
	{"it spares the best, those that open trials need, and what a child goes on from", ALL,
	 .max_mb = 1, .row = {{1, DONE, 4, 0, 3, 10}, {2, DONE, 4, 0, 1, 10}, {6, PAUSE, 4}},
	 .files = "1-4.ckpt 2-4.ckpt 6-4.ckpt", .stay = "1-4.ckpt 2-4.ckpt 6-4.ckpt", .from = 1,
	 .step = 4, .over = true},
	{"a program's best and last go one by one", ALL, true, .max_mb = 4,
	 .row = {{1, DONE, 4, 2, 1, 10}, {2, DONE, 4, 2, 2, 10}},
	 .files = "1-2.ckpt 1-4.ckpt 2.dir 2-2.ckpt 2-4.ckpt",
	 .stay = "1-2.ckpt 1-4.ckpt 2.dir 2-2.ckpt"},
	{"so many checkpoints of those that ended stay", ALL, .most = 2,
	 .row = {{1, DONE, 4, 0, 3, 10},
		 {2, DONE, 4, 0, 1, 10},
		 {3, DONE, 4, 0, 2, 10},
		 {6, PAUSE, 4}},
	 .files = "1-4.ckpt 2-4.ckpt 3-4.ckpt 6-4.ckpt", .stay = "2-4.ckpt 3-4.ckpt 6-4.ckpt"},
};

static void compare(const struct test *t, const struct sw_files *f)
{
	char stay[400] = "";
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].stays)
			n += (size_t)snprintf(stay + n, sizeof stay - n, "%s%s", n > 0 ? " " : "",
					      f->v[i].name);
	ck_assert_msg(strcmp(stay, t->stay) == 0, "%s:\n %s, not\n %s", t->name, stay, t->stay);
}

TEST_LOOP(files_that_stay_are_those_of_the_rule, 0, sizeof tests / sizeof tests[0])
{
	const struct test *t = &tests[_i];
	struct sw_files f = {.spec = {.keep = t->keep, .max_mb = t->max_mb},
			     .program = t->program,
			     .maximize = t->maximize,
			     .most = t->most,
			     .v = calloc(20, sizeof *f.v),
			     .cap = 20};
	char names[400], *rest = names;
	uint64_t bytes;
	bool over;

	ck_assert_ptr_nonnull(f.v);
	(void)snprintf(names, sizeof names, "%s", t->files);
	for (const char *name; (name = strsep(&rest, " ")) != NULL;)
		add(&f, name);
	ck_assert(sw_files_group(&f));
	for (size_t i = 0; i < sizeof t->row / sizeof t->row[0]; i++)
		say(&f, &t->row[i]);
	if (t->from != 0)
		sw_files_at(&f, t->from, t->step)->heir = true;
	sw_files_judge(&f);
	ck_assert_int_eq(sw_files_shrink(&f, &over, &bytes), SW_OK);
	compare(t, &f);
	ck_assert_int_eq(over, t->over);
	sw_files_fini(&f);
}

/* --- random lives beside a model --- */

#define TRIALS 30
#define STEPS  12

struct life {
	bool disk[TRIALS + 1][STEPS + 1];
	struct row row[TRIALS + 1];
	uint64_t before[TRIALS + 1], n[TRIALS + 1];
	bool all, program;
	unsigned rng;
};

static unsigned below(struct life *l, unsigned n)
{
	l->rng = l->rng * 1103515245u + 12345u;
	return (l->rng >> 16) % n;
}

static void report(struct life *l, uint64_t trial)
{
	struct row *row = &l->row[trial];
	const uint64_t at = ++l->n[trial];
	const double value = 1 + below(l, 50);

	/* It reports without a checkpoint. */
	if (below(l, 3) == 0)
		return;
	l->disk[trial][at] = true;
	l->before[trial] = row->last;
	row->last = at;
	if (l->program && l->all && (row->best == 0 || value < row->value)) {
		row->best = at;
		row->value = value;
	}
}

static void pass(struct life *l)
{
	struct sw_files f = {.spec = {.keep = l->all ? ALL : NONE},
			     .program = l->program,
			     .v = calloc(TRIALS * STEPS, sizeof *f.v),
			     .cap = TRIALS * STEPS};
	char name[SW_CHECKPOINT_NAME_MAX];

	ck_assert_ptr_nonnull(f.v);
	for (uint64_t t = TRIALS; t >= 1; t--)
		for (uint64_t s = 1; s <= STEPS; s++)
			if (l->disk[t][s]) {
				sw_checkpoint_path(name, sizeof name, NULL, t, s);
				add(&f, name);
			}
	ck_assert(sw_files_group(&f));
	for (size_t t = 1; t <= TRIALS; t++)
		say(&f, &l->row[t]);
	sw_files_judge(&f);
	for (size_t i = 0; i < f.n; i++)
		l->disk[f.v[i].trial][f.v[i].step] = f.v[i].stays;
	sw_files_fini(&f);
}

static void check(const struct life *l)
{
	for (size_t t = 1; t <= TRIALS; t++)
		for (uint64_t s = 1; s <= STEPS; s++) {
			const struct row *row = &l->row[t];
			const bool last = s == row->last || s == row->best;
			const bool want = row->state == RUNS ? last || s == l->before[t]
							     : last && l->all && row->state == DONE;

			ck_assert_msg(l->disk[t][s] == want, "trial %zu step %llu: %d, not %d", t,
				      (unsigned long long)s, l->disk[t][s], want);
		}
}

/* Passes come now and then, however many reports and ends there were since the last. */
TEST_LOOP(files_of_open_trials_stay_while_others_end, 0, 24)
{
	static struct life l;

	l = (struct life){.all = _i % 2 != 0, .program = _i >= 12, .rng = (unsigned)_i + 1};
	for (uint64_t t = 1; t <= TRIALS; t++)
		l.row[t] = (struct row){.trial = t, .state = RUNS};
	for (unsigned k = 0; k < 20 * TRIALS; k++) {
		const uint64_t t = 1 + below(&l, TRIALS);

		if (l.row[t].state == RUNS && l.n[t] < STEPS)
			report(&l, t);
		else if (l.row[t].state == RUNS)
			l.row[t].state = below(&l, 2) ? DONE : FAIL;
		if (below(&l, 5) == 0) {
			pass(&l);
			check(&l);
		}
	}
}

RUN_TESTS(NULL, NULL)
