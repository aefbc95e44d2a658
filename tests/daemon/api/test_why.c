/* tests/daemon/api/test_why.c — decisions and queues in words; pruners of a spec in sched's
 * words. */
#include "daemon/api/why_words.h"
#include "daemon/plan/plan.h"
#include "proto/json.h"
#include "sched/pruner/pruners.h"
#include "spec/forms.h"
#include "tests/spec/spec_text.h"

static const struct {
	enum sw_pruner_kind kind;
	bool brackets;
	struct sw_row_decision row;
	const char *says;
} words[] = {
	{SW_PRUNER_ASHA,
	 false,
	 {.rung = 9,
	  .better = 4,
	  .n = 12,
	  .keep = 4,
	  .has_cutoff = true,
	  .cutoff = 0.413,
	  .value = 0.447},
	 "at rung 9: rank 5 of 12, cutoff 0.413, value 0.447"},
	{SW_PRUNER_ASHA,
	 true,
	 {.rung = 9, .bracket = 2, .better = 0, .n = 1, .value = 1.0 / 3},
	 "at bracket 2, rung 9: rank 1 of 1, cutoff none yet, value 0.333333"},
	{SW_PRUNER_PROMOTE,
	 false,
	 {.rung = 3, .better = 1, .n = 7, .keep = 2, .has_cutoff = true, .cutoff = 2, .value = 2},
	 "at rung 3: rank 2 of 7, cutoff 2, value 2"},
	{SW_PRUNER_HYPERBAND,
	 false,
	 {.rung = 27, .better = 3, .n = 9, .has_cutoff = true, .cutoff = -1, .value = -2},
	 "at band 27: rank 4 of 9, cutoff -1, value -2"},
	{SW_PRUNER_PBT,
	 false,
	 {.rung = 20, .better = 7, .n = 8, .has_cutoff = true, .cutoff = 0.5, .value = 0.1},
	 "at step 20: rank 8 of 8, cutoff 0.5, value 0.1"},
	{SW_PRUNER_MEDIAN,
	 false,
	 {.rung = 2, .n = 4, .has_cutoff = true, .cutoff = 2, .value = 2.1},
	 "at step 2: best so far 2.1, median of 3 others 2"},
	{SW_PRUNER_PATIENCE,
	 false,
	 {.rung = 6, .n = 3, .has_cutoff = true, .cutoff = 0.85, .value = 0.79},
	 "at step 6: 3 reports in a row not better than 0.85, this one 0.79"},
	{SW_PRUNER_THRESHOLD,
	 false,
	 {.rung = 3, .n = 1, .has_cutoff = true, .cutoff = 0.8, .value = 0.9},
	 "at step 3: 0.9 is above the upper bound 0.8"},
	{SW_PRUNER_THRESHOLD,
	 false,
	 {.rung = 3, .n = 1, .has_cutoff = true, .cutoff = 0.2, .value = 0.1},
	 "at step 3: 0.1 is below the lower bound 0.2"},
};

TEST_ROWS(decision_row_is_said_in_its_pruner_s_words, words)
{
	char text[256];

	sw_why_decision(words[_i].kind, words[_i].brackets, &words[_i].row, text, sizeof text);
	ck_assert_str_eq(text, words[_i].says);
}

static const struct {
	enum sw_pruner_kind kind;
	struct sw_pruner_turn place;
	const char *says;
} places[] = {
	{SW_PRUNER_PROMOTE,
	 {.rung = 3, .rank = 1, .n = 2, .keep = 0},
	 "waits at rung 3: rank 1 of 2, too few for any to go on"},
	{SW_PRUNER_PROMOTE,
	 {.rung = 3, .rank = 2, .n = 5, .keep = 1},
	 "waits at rung 3: rank 2 of 5, of which the best goes on; not among them so far"},
	{SW_PRUNER_PBT,
	 {.rung = 8, .rank = 5, .n = 6, .keep = 6},
	 "waits at step 8, ranked 5 of 6: members behind it come first; the next of those paused"},
	{SW_PRUNER_PBT,
	 {.rung = 8, .rank = 1, .n = 6, .keep = 6, .ahead = 3},
	 "waits at step 8, ranked 1 of 6: members behind it come first; 3 of those paused before "
	 "it"},
	{SW_PRUNER_PROMOTE,
	 {.rung = 3, .rank = 5, .n = 12, .keep = 4},
	 "waits at rung 3: rank 5 of 12, of which the best 4 go on; not among them so far"},
	{SW_PRUNER_PROMOTE,
	 {.rung = 3, .rank = 1, .n = 12, .keep = 4},
	 "waits at rung 3: rank 1 of 12, of which the best 4 go on; the next to be resumed"},
	{SW_PRUNER_PROMOTE,
	 {.rung = 9, .rank = 4, .n = 12, .keep = 4, .ahead = 2},
	 "waits at rung 9: rank 4 of 12, of which the best 4 go on; 2 to be resumed before it"},
};

TEST_ROWS(place_row_says_who_comes_before, places)
{
	struct sw_buf text;

	sw_buf_init(&text, 1000);
	sw_why_place(places[_i].kind, &places[_i].place, &text);
	ck_assert_str_eq(text.data, places[_i].says);
	sw_buf_fini(&text);
}

static const struct sw_spec *plan(const char *early, bool maximize, struct sw_pruner_config *out)
{
	char text[400];

	(void)snprintf(text, sizeof text,
		       "{'metric':{'name':'loss','goal':'%s'},'method':'random','run_cap':9,"
		       "'parameters':{'x':{'min':0.0,'max':1},'y':{'min':0.0,'max':1}},"
		       "'early_terminate':%s}",
		       maximize ? "maximize" : "minimize", early);
	const struct sw_spec *spec = read_spec(text);
	*out = sw_plan_pruner(&spec->pruner, maximize);
	return spec;
}

TEST(threshold_turns_round_where_higher_is_better)
{
	struct sw_pruner_config c;

	(void)plan("{'type':'threshold','upper':3}", false, &c);
	ck_assert(c.threshold.has_upper && !c.threshold.has_lower);
	ck_assert_double_eq(c.threshold.upper, 3);
	(void)plan("{'type':'threshold','lower':1,'upper':3,'n_warmup_steps':6}", true, &c);
	ck_assert(c.threshold.has_upper && c.threshold.has_lower);
	ck_assert_double_eq(c.threshold.lower, -3);
	ck_assert_double_eq(c.threshold.upper, -1);
	ck_assert_uint_eq(c.threshold.n_warmup_steps, 6);
	(void)plan("{'type':'threshold','lower':1}", true, &c);
	ck_assert(c.threshold.has_upper && !c.threshold.has_lower);
	ck_assert_double_eq(c.threshold.upper, -1);
}

/* Numbers at the ends of their ranges, or left out: a digit of base 3 of `code` says which of each
 * key. False: there are fewer keys. */
static bool make_at_ends(const struct sw_spec *spec, const struct sw_form *form, unsigned code,
			 unsigned *made)
{
	struct sw_pruner_config c;
	struct sw_pruner *p = NULL;
	struct sw_err err = SW_ERR_INIT;
	cJSON *v = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(v, "type", form->name);
	for (size_t i = 0; i < form->n; i++) {
		const struct sw_form_key *k = &form->keys[i];

		if (k->means != NULL || (k->kind != SW_KEY_INTEGER && k->kind != SW_KEY_REAL))
			continue;
		if (code % 3 != 0)
			(void)cJSON_AddNumberToObject(
				v, k->name,
				code % 3 == 1 ? k->min + (k->min_open ? 1e-9 : 0) : k->max);
		code /= 3;
	}
	if (sw_spec_pruner_read(&c, spec, v, &err) == SW_OK) {
		c = sw_plan_pruner(&c, code % 2 != 0);
		if (sw_pruners_create(&p, &c, 1, &err) != SW_OK)
			ck_assert_str_eq(err.ptr, "/brackets");
		*made += p != NULL;
		sw_pruner_destroy(p);
	}
	cJSON_Delete(v);
	return code == 0;
}

/* sched asserts what the spec has checked. */
TEST(pruner_that_a_spec_takes_can_be_made)
{
	struct sw_pruner_config c;
	const struct sw_spec *spec = plan("{'type':'patience','patience':1}", false, &c);

	for (size_t i = 0; i < sw_forms_pruner.n; i++) {
		unsigned made = 0;

		for (unsigned code = 0; make_at_ends(spec, &sw_forms_pruner.list[i], code, &made);)
			code++;
		ck_assert_msg(made >= 4, "%s: %u", sw_forms_pruner.list[i].name, made);
	}
}

RUN_TESTS(NULL, NULL)
