/* tests/spec/test_pruner.c — "early_terminate": every type, its keys and its mistakes. */
#include "tests/spec/spec_text.h"

#define PRUNED(text) HEAD ",'early_terminate':{" text "}}"

/* What a spec's pruner was read as, in one line. */
static void show(const struct sw_pruner_config *p, char *out, size_t cap)
{
	const struct sw_asha_config *a = &p->asha;
	const struct sw_hyperband_config *h = &p->hyperband;
	const struct sw_median_config *m = &p->median;
	const struct sw_threshold_config *t = &p->threshold;
	int n = 0;

#define ULL(x) ((unsigned long long)(x))
	switch (p->kind) {
	case SW_PRUNER_NONE:
		n = snprintf(out, cap, "none");
		break;
	case SW_PRUNER_ASHA:
	case SW_PRUNER_PROMOTE:
		n = snprintf(out, cap, "%s %llu..%llu rf%llu b%llu m%llu",
			     p->kind == SW_PRUNER_ASHA ? "stop" : "promote", ULL(a->grace_period),
			     ULL(a->max_t), ULL(a->reduction_factor), ULL(a->brackets),
			     ULL(a->min_results));
		break;
	case SW_PRUNER_HYPERBAND:
		n = snprintf(out, cap, "hyperband min%llu max%llu s%llu eta%g%s", ULL(h->min_iter),
			     ULL(h->max_iter), ULL(h->s), h->eta, h->strict ? " strict" : "");
		break;
	case SW_PRUNER_MEDIAN:
		n = m->running_mean
			    ? snprintf(out, cap, "ray grace%llu samples%llu", ULL(m->grace_period),
				       ULL(m->min_samples_required))
			    : snprintf(out, cap, "optuna startup%llu warmup%llu every%llu min%llu",
				       ULL(m->n_startup_trials), ULL(m->n_warmup_steps),
				       ULL(m->interval_steps), ULL(m->n_min_trials));
		break;
	case SW_PRUNER_PATIENCE:
		n = snprintf(out, cap, "patience %llu %g", ULL(p->patience.patience),
			     p->patience.min_delta);
		break;
	case SW_PRUNER_THRESHOLD:
		n = snprintf(out, cap, "threshold %d:%g %d:%g warmup%llu every%llu", t->has_lower,
			     t->lower, t->has_upper, t->upper, ULL(t->n_warmup_steps),
			     ULL(t->interval_steps));
		break;
	case SW_PRUNER_PBT:
		n = snprintf(out, cap, "pbt");
		break;
	}
	ck_assert_int_gt(n, 0);
	ck_assert_uint_lt((size_t)n, cap);
}

static const struct {
	const char *text, *want;
} good[] = {
	{HEAD "}", "none"},
	/* asha, and what other tools call its keys */
	{PRUNED("'type':'asha'"), "stop 1..100 rf4 b1 m4"},
	{PRUNED("'type':'asha','variant':'stop','grace_period':2,'max_t':54,'reduction_factor':3,"
		"'brackets':3,'min_results':7"),
	 "stop 2..54 rf3 b3 m7"},
	{PRUNED("'type':'asha','variant':'promote'"), "promote 1..100 rf4 b1 m4"},
	{PRUNED("'type':'asha','variant':'promote','min_iter':3,'max_iter':27,'eta':3"),
	 "promote 3..27 rf3 b1 m3"},
	{PRUNED("'type':'asha','min_resource':5,'max_resource':5"), "stop 5..5 rf4 b1 m4"},
	{TRAIN "{" REST ",'epochs':9},'early_terminate':{'type':'asha'}}", "stop 1..9 rf4 b1 m4"},
	{TRAIN "{" REST ",'epochs':9},'early_terminate':{'type':'asha','max_t':27}}",
	 "stop 1..27 rf4 b1 m4"},
	/* hyperband */
	{PRUNED("'type':'hyperband','min_iter':3"), "hyperband min3 max0 s0 eta3"},
	{PRUNED("'type':'hyperband','max_iter':27,'s':4,'eta':1.5"),
	 "hyperband min0 max27 s4 eta1.5"},
	{PRUNED("'type':'hyperband','min_iter':1,'eta':2,'strict':true"),
	 "hyperband min1 max0 s0 eta2 strict"},
	{PRUNED("'type':'hyperband','min_iter':1,'max_iter':27"), "hyperband min1 max0 s0 eta3"},
	{PRUNED("'type':'hyperband','min_iter':1,'s':3"), "hyperband min1 max0 s0 eta3"},
	{PRUNED("'type':'hyperband','max_iter':26,'s':3"), "hyperband min0 max26 s2 eta3"},
	{PRUNED("'type':'hyperband','max_iter':26,'s':1000000000"), "hyperband min0 max26 s2 eta3"},
	{PRUNED("'type':'hyperband','min_iter':1,'max_iter':27,'s':2"),
	 "hyperband min0 max27 s2 eta3"},
	/* median */
	{PRUNED("'type':'median'"), "optuna startup5 warmup0 every1 min1"},
	{PRUNED("'type':'median','n_startup_trials':0,'n_warmup_steps':3,'interval_steps':2,"
		"'n_min_trials':4"),
	 "optuna startup0 warmup3 every2 min4"},
	{PRUNED("'type':'median','grace_period':5"), "ray grace5 samples3"},
	{PRUNED("'type':'median','min_samples_required':1"), "ray grace1 samples1"},
	/* patience */
	{PRUNED("'type':'patience','patience':4"), "patience 4 0"},
	{PRUNED("'type':'patience','patience':1,'min_delta':0.25"), "patience 1 0.25"},
	/* threshold */
	{PRUNED("'type':'threshold','upper':2.5"), "threshold 0:0 1:2.5 warmup0 every1"},
	{PRUNED("'type':'threshold','lower':-1,'upper':0,'n_warmup_steps':3,'interval_steps':5"),
	 "threshold 1:-1 1:0 warmup3 every5"},
	{PRUNED("'type':'threshold','lower':0"), "threshold 1:0 0:0 warmup0 every1"},
};

TEST_ROWS(pruner_is_read_with_its_defaults, good)
{
	struct sw_spec *s = read_spec(good[_i].text);
	char line[160];

	show(&s->pruner, line, sizeof line);
	ck_assert_str_eq(line, good[_i].want);
	const bool rungs = strncmp(line, "stop", 4) == 0 || strncmp(line, "promote", 7) == 0;
	ck_assert_uint_eq(sw_spec_max_t(s), rungs ? s->pruner.asha.max_t : 0);
}

#define AT "/early_terminate"
static const struct {
	const char *text, *ptr, *msg;
} bad[] = {
	/* the type */
	{PRUNED(""), AT "/type",
	 "\"type\" is missing: \"asha\", \"hyperband\", \"median\", \"patience\", \"threshold\" or "
	 "\"pbt\""},
	/* keys of other tools and types; the type's mistake comes first */
	{PRUNED("'type':'ashe','strict':1"), AT "/type",
	 "unknown type \"ashe\"; did you mean \"asha\"?"},
	{PRUNED("'type':'asha','strict':true"), AT "/strict",
	 "\"strict\" goes with type \"hyperband\", and this is type \"asha\""},
	/* asha */
	{PRUNED("'type':'asha','variant':'promote','min_results':3"), AT "/min_results",
	 "\"min_results\" is of variant \"stop\": a rung promotes none before it has "
	 "reduction_factor results"},
	{PRUNED("'type':'asha','eta':3,'reduction_factor':3"), AT "/reduction_factor",
	 "\"eta\" and \"reduction_factor\" are two names of one thing: give one"},
	{PRUNED("'type':'asha','min_resource':200"), AT "/min_resource",
	 "\"min_resource\" is 200, beyond the last step 100 (max_t)"},
	{PRUNED("'type':'asha','variant':'promote','grace_period':9,'max_iter':3"),
	 AT "/grace_period", "\"grace_period\" is 9, beyond the last step 3 (max_iter)"},
	{PRUNED("'type':'asha','grace':1"), AT "/grace",
	 "unknown key \"grace\"; known here: type, grace_period, max_t, reduction_factor, "
	 "brackets, min_results, variant"},
	/* hyperband */
	{PRUNED("'type':'hyperband'"), AT "/min_iter",
	 "\"min_iter\" is missing: the first band, or \"max_iter\" with \"s\" in its place"},
	{PRUNED("'type':'hyperband','s':2"), AT "/min_iter",
	 "\"min_iter\" is missing: the first band, or \"max_iter\" with \"s\" in its place"},
	{PRUNED("'type':'hyperband','max_iter':27"), AT "/s",
	 "\"s\" is missing: how many bands lie below max_iter"},
	{PRUNED("'type':'hyperband','max_iter':2,'s':3"), AT "/max_iter",
	 "\"max_iter\" is 2: divided by eta 3 it is below 1, and no band is left"},
	/* median */
	{PRUNED("'type':'median','grace_period':3,'n_warmup_steps':2"), AT "/n_warmup_steps",
	 "\"grace_period\" is of Ray's median and \"n_warmup_steps\" of Optuna's: they are two "
	 "rules, give the keys of one"},
	/* threshold */
	{PRUNED("'type':'threshold'"), AT "/upper",
	 "\"upper\" is missing, and \"lower\" too: give one of them, or both"},
	{PRUNED("'type':'threshold','lower':1,'upper':1"), AT "/lower",
	 "\"lower\" must be below \"upper\": no value lies between them"},
};

TEST_ROWS(pruner_that_is_wrong_is_refused_at_its_place, bad)
{
	check_refused(bad[_i].text, bad[_i].ptr, bad[_i].msg);
}

/* For sweep.simulate: errors are relative to the object, and the spec is not touched. */
TEST(pruner_of_another_kind_is_read_for_the_same_sweep)
{
	struct sw_spec *s =
		read_spec(TRAIN "{" REST ",'epochs':9},'early_terminate':{'type':'asha','eta':2}}");
	cJSON *other = parse("{'type':'asha','variant':'promote'}");
	cJSON *wrong = parse("{'type':'median','grace_period':0}");
	struct sw_pruner_config p;
	struct sw_err err = SW_ERR_INIT;
	char line[160];

	ck_assert_msg(sw_spec_pruner_read(&p, s, other, &err) == SW_OK, "%s", err.msg);
	show(&p, line, sizeof line);
	ck_assert_str_eq(line, "promote 1..9 rf4 b1 m4");
	ck_assert_int_eq(sw_spec_pruner_read(&p, s, wrong, &err), SW_INVALID);
	ck_assert_str_eq(err.ptr, "/grace_period");
	show(&s->pruner, line, sizeof line);
	ck_assert_str_eq(line, "stop 1..9 rf2 b1 m2");
	cJSON_Delete(other);
	cJSON_Delete(wrong);
}

/* --- warnings --- */

#define TRAINED(epochs, text)                                                                      \
	"{'method':'random','metric':{'name':'val_loss'},'parameters':{'lr':{'min':0.1,'max':"     \
	"1.0}},'run_cap':9,'trainer':{'dataset':{'name':'d'},'model':[{'linear':9}],'epochs'"      \
	":" #epochs "},'early_terminate':{" text "}}"
#define PROMOTE(cap, text)                                                                         \
	HEAD ",'run_cap':" #cap ",'early_terminate':{'type':'asha','variant':'promote'," text "}}"
#define NEVER(epochs, step)                                                                        \
	{                                                                                          \
		AT, "no trial is ever judged: it has " #epochs " epochs, and the first step that " \
		    "counts is " #step                                                             \
	}
#define NONE                                                                                       \
	{                                                                                          \
		NULL                                                                               \
	}

static const struct {
	const char *text, *want[4];
} warned[] = {
	{TRAINED(3, "'type':'asha','max_t':27"),
	 {"/trainer/epochs",
	  "rungs above 3 are never reached: a trial has 3 epochs, and max_t is 27"}},
	{TRAINED(27, "'type':'asha','max_t':27"), NONE},
	{TRAINED(8, "'type':'hyperband','min_iter':9"), NEVER(8, 9)},
	{TRAINED(9, "'type':'hyperband','min_iter':9"), NONE},
	{TRAINED(8, "'type':'hyperband','max_iter':81,'s':2"), NEVER(8, 9)},
	{TRAINED(9, "'type':'hyperband','max_iter':81,'s':2"), NONE},
	{TRAINED(9, "'type':'hyperband','min_iter':9,'max_iter':81"),
	 {AT, "\"max_iter\" has no effect without \"s\": the bands begin at min_iter"}},
	{TRAINED(9, "'type':'hyperband','min_iter':9,'s':2"),
	 {AT, "\"s\" has no effect without \"max_iter\": from min_iter up there are as many "
	      "bands as a trial reaches"}},
	{TRAINED(9, "'type':'hyperband','min_iter':9,'max_iter':81,'s':2"),
	 {AT, "\"min_iter\" has no effect: max_iter and s say where the bands are"}},
	{TRAINED(9, "'type':'hyperband','max_iter':8,'s':2"),
	 {AT, "\"s\" is 2, but bands below step 1 are left out, which leaves 1"}},
	{TRAINED(4, "'type':'median','grace_period':5"), NEVER(4, 5)},
	{TRAINED(4, "'type':'median','n_warmup_steps':5"), NEVER(4, 5)},
	{TRAINED(5, "'type':'median','n_warmup_steps':5"), NONE},
	{TRAINED(5, "'type':'patience','patience':5"), NEVER(5, 6)},
	{TRAINED(6, "'type':'patience','patience':5"), NONE},
	{TRAINED(4, "'type':'threshold','upper':1,'n_warmup_steps':5"), NEVER(4, 5)},
	{TRAINED(5, "'type':'threshold','upper':1,'n_warmup_steps':5"), NONE},
	/* rungs at 1, 3, 9 below 27: 3 * 2 + 1 trials */
	{PROMOTE(6, "'max_t':27,'eta':3"),
	 {"/run_cap", "no trial can be promoted to max_t 27: 3 rungs below it take 7 trials at "
		      "least, and run_cap is 6"}},
	{PROMOTE(7, "'max_t':27,'eta':3"), NONE},
	/* 1, 3, 9, 27 below 28 */
	{PROMOTE(8, "'max_t':28,'eta':3"),
	 {"/run_cap", "no trial can be promoted to max_t 28: 4 rungs below it take 9 trials at "
		      "least, and run_cap is 8"}},
	{PROMOTE(9, "'max_t':28,'eta':3"), NONE},
	/* no rung below max_t: nothing is promoted, and nothing need be */
	{PROMOTE(1, "'grace_period':5,'max_t':5"), NONE},
	/* the trials of the highest bracket begin at 9 */
	{PROMOTE(3, "'max_t':27,'eta':3,'brackets':3"), NONE},
	{HEAD ",'run_cap':2,'early_terminate':{'type':'asha','max_t':27,'eta':3}}", NONE},
	{HEAD ",'early_terminate':{'type':'asha','variant':'promote'}}", NONE},
};

TEST_ROWS(pruner_that_can_do_nothing_is_warned_of, warned)
{
	check_warned(warned[_i].text, warned[_i].want, ROWS(warned[_i].want));
}

RUN_TESTS(NULL, NULL)
