/* tests/daemon/verify/test_verify.c — a sweep recorded by hand replays as it is stored; every want
 * of memory on the way, here and in the reading of its curves, is a clean error. */
#include "base/fault.h"
#include "daemon/sweep/names.h"
#include "daemon/sweep/run/suggest_why.h"
#include "daemon/verify/curves.h"
#include "daemon/verify/verify.h"
#include "proto/json.h"
#include "sched/sweep/samplers.h"
#include "store/peek.h"
#include "tests/run.h"
#include "tests/store/fixture.h"
#include <math.h>

#define TRIALS 8

static const char spec_text[] =
	"{\"method\":\"tpe\",\"seed\":5,\"metric\":{\"name\":\"loss\"},\"run_cap\":8,"
	"\"parameters\":{\"x\":{\"min\":0.0,\"max\":1.0},\"k\":{\"values\":[1,2,3]}},"
	"\"early_terminate\":{\"type\":\"asha\",\"max_t\":4,\"reduction_factor\":2}}";

struct recorder {
	struct sw_spec *spec;
	struct sw_sweep *sched;
	struct sw_actions actions;
	struct sw_tx *tx;
	int64_t ev;
};

static void step(struct recorder *r, const struct sw_event *e)
{
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(sw_sweep_step(r->sched, e, &r->actions, &err) == SW_OK, "%s", err.msg);
	r->ev++;
}

static const struct sw_action *action(const struct recorder *r, enum sw_action_kind kind)
{
	for (size_t i = 0; i < r->actions.n; i++)
		if (r->actions.v[i].kind == kind)
			return &r->actions.v[i];
	return NULL;
}

/* From one observation less than there are, where there are some: as one that was made ahead. */
static void suggest_behind(const struct recorder *r, struct sw_suggestion *out)
{
	const struct sw_history *h = sw_sweep_history(r->sched);
	struct sw_sampler *sampler = NULL;
	struct sw_history copy;
	struct sw_err err = SW_ERR_INIT;
	size_t n;
	const unsigned char *state = sw_sweep_sampler_state(r->sched, &n);

	sw_history_init(&copy, h->n_params, h->n_metrics);
	ck_assert_int_eq(sw_history_copy(&copy, h, h->n_obs > 0 ? h->n_obs - 1 : 0), SW_OK);
	ck_assert_int_eq(sw_samplers_create(&sampler, sw_sweep_sampler_config(r->sched), &err),
			 SW_OK);
	ck_assert_int_eq(sw_sampler_restore(sampler, state, n, &err), SW_OK);
	ck_assert_int_eq(sw_sampler_suggest(sampler, &copy, sw_sweep_made(r->sched) + 1, out, &err),
			 SW_OK);
	sw_sampler_destroy(sampler);
	sw_history_fini(&copy);
}

static void put_suggestion(struct recorder *r, const struct sw_action *a)
{
	const struct sw_suggestion *s = a->suggestion;
	struct sw_buf why, state;

	sw_buf_init(&why, 4096);
	sw_buf_init(&state, 1 << 20);
	sw_suggest_why(s, sw_sweep_history(r->sched)->n_obs, r->spec, &why);
	const struct sw_row_suggestion row = {.sweep = 1,
					      .trial = (int64_t)a->trial,
					      .known = (int64_t)s->known,
					      .why = why.data};
	sw_tx_suggestion(r->tx, &row);
	for (size_t i = 0; i < s->state_n; i++)
		(void)sw_buf_addf(&state, "%02x", s->state[i]);
	const struct sw_row_sampler sampler = {
		.sweep = 1, .trial = (int64_t)a->trial, .state = state.data};
	if (s->state_n > 0)
		sw_tx_sampler(r->tx, &sampler);
	sw_buf_fini(&why);
	sw_buf_fini(&state);
}

static void put_event(struct recorder *r, const char *kind)
{
	const struct sw_row_event row = {.sweep = 1, .ev = r->ev, .kind = kind, .uid = -1};

	sw_tx_event(r->tx, &row);
}

/* Trial and attempt as they will be at their end, which the caller writes. */
static uint64_t put_ask(struct recorder *r)
{
	struct sw_suggestion behind = {.state = NULL};
	struct sw_event e = {.kind = SW_EVENT_ASK};
	struct sw_buf params;

	if (sw_sweep_trial_n(r->sched) % 2 == 1) {
		suggest_behind(r, &behind);
		e.suggestion = &behind;
	}
	step(r, &e);
	const struct sw_action *a = action(r, SW_ACTION_CREATE);
	ck_assert_ptr_nonnull(a);
	sw_buf_init(&params, 4096);
	sw_plan_params(r->spec, sw_sweep_space(r->sched), a->values, &params);
	const struct sw_row_trial trial = {
		.sweep = 1, .trial = (int64_t)a->trial, .state = "PENDING", .params = params.data};
	const struct sw_row_attempt attempt = {.sweep = 1,
					       .trial = (int64_t)a->trial,
					       .attempt = 1,
					       .ev = r->ev,
					       .slot = -1,
					       .started_ms = 1000 * r->ev,
					       .state = "RUNNING"};
	sw_tx_trial_insert(r->tx, &trial);
	sw_tx_attempt_start(r->tx, &attempt);
	put_suggestion(r, a);
	put_event(r, "ask");
	sw_buf_fini(&params);
	sw_suggestion_fini(&behind);
	return a->trial;
}

static void put_decision(struct recorder *r, const struct sw_event *e, const struct sw_action *a)
{
	const struct sw_judgement *j = &a->judgement;
	const struct sw_row_decision row = {.sweep = 1,
					    .trial = (int64_t)e->trial,
					    .attempt = 1,
					    .seq = (int64_t)e->seq,
					    .verdict = sw_names_decision(a->decision),
					    .bracket = j->bracket,
					    .rung = (int64_t)j->rung,
					    .n = (int64_t)j->n,
					    .better = (int64_t)j->better,
					    .keep = (int64_t)j->keep,
					    .has_cutoff = isfinite(j->cutoff),
					    .cutoff = j->cutoff,
					    .value = j->value};

	if (j->rung != 0)
		sw_tx_decision(r->tx, &row);
}

/* Returns whether the trial goes on. */
static bool put_reported(struct recorder *r, uint64_t trial, uint64_t seq)
{
	char metrics[64];
	const struct sw_event e = {.kind = SW_EVENT_REPORT,
				   .trial = trial,
				   .attempt = 1,
				   .seq = seq,
				   .step = seq,
				   .has_value = true,
				   .value = (double)(trial * 7 % 5) + 1.0 / (double)seq};

	step(r, &e);
	const struct sw_action *a = action(r, SW_ACTION_DECIDE), *end = action(r, SW_ACTION_END);
	(void)snprintf(metrics, sizeof metrics, "{\"loss\":%.17g}", e.value);
	const struct sw_row_report row = {.sweep = 1,
					  .trial = (int64_t)trial,
					  .attempt = 1,
					  .seq = (int64_t)seq,
					  .ev = r->ev,
					  .step = (int64_t)seq,
					  .time_ms = 1000 * r->ev,
					  .has_value = true,
					  .value = e.value,
					  .metrics = metrics,
					  .verdict = sw_names_decision(a->decision)};
	sw_tx_report(r->tx, &row);
	put_decision(r, &e, a);
	if (end == NULL)
		return true;
	const char *state = sw_trial_state_name(end->end);
	const char *cause = *end->cause != '\0' ? end->cause : NULL;
	const struct sw_row_attempt attempt = {.sweep = 1,
					       .trial = (int64_t)trial,
					       .attempt = 1,
					       .ended_ms = 1000 * r->ev,
					       .state = state,
					       .cause = cause};
	const struct sw_row_trial over = {
		.sweep = 1, .trial = (int64_t)trial, .state = state, .cause = cause, .attempt = 1};
	sw_tx_attempt_end(r->tx, &attempt);
	sw_tx_trial_state(r->tx, &over);
	return false;
}

static void record(struct fixture *f)
{
	struct recorder r = {.ev = 0};
	struct sw_err err = SW_ERR_INIT;
	cJSON *tree = NULL;
	const struct sw_row_sweep row = {.sweep = 1,
					 .name = "s",
					 .spec = spec_text,
					 .state = "COMPLETED",
					 .metric = "loss",
					 .method = "tpe",
					 .seed = 5,
					 .run_cap = TRIALS,
					 .ended_ms = 1};

	fixture_init(f);
	fixture_open(f);
	ck_assert_int_eq(sw_json_parse(&tree, spec_text, strlen(spec_text), &err), SW_OK);
	ck_assert_msg(sw_spec_read(&r.spec, tree, &err) == SW_OK, "%s %s", err.ptr, err.msg);
	cJSON_Delete(tree);
	ck_assert_int_eq(sw_plan_build(&r.sched, r.spec, 5, NULL, &err), SW_OK);
	r.tx = tx_new();
	sw_tx_sweep_insert(r.tx, &row);
	while (sw_sweep_state(r.sched) == SW_SWEEP_RUNNING) {
		const uint64_t trial = put_ask(&r);

		for (uint64_t seq = 1; put_reported(&r, trial, seq); seq++)
			;
	}
	commit_now(f, r.tx);
	fixture_close(f);
	sw_sweep_destroy(r.sched);
	sw_spec_destroy(r.spec);
	sw_actions_fini(&r.actions);
}

static struct sw_db *open_db(const struct fixture *f)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_db *db = NULL;

	ck_assert_msg(sw_peek_open(&db, f->path, &err) == SW_OK, "%s", err.msg);
	ck_assert_int_eq(sw_peek_begin(db, &err), SW_OK);
	return db;
}

TEST(sweep_recorded_by_hand_replays_as_stored)
{
	struct fixture f;
	struct sw_verify v;
	struct sw_err err = SW_ERR_INIT;

	record(&f);
	struct sw_db *db = open_db(&f);
	sw_verify_init(&v, 1);
	ck_assert_msg(sw_verify_run(&v, db, &err) == SW_OK, "%s", err.msg);
	ck_assert_msg(!v.differs, "%s", v.line.data);
	ck_assert_uint_eq(v.trials, TRIALS);
	ck_assert_uint_eq(v.suggestions, TRIALS);
	ck_assert_uint_eq(v.events, v.events_n);
	ck_assert_uint_ge(v.decisions, TRIALS);
	ck_assert_str_eq(v.state, "COMPLETED");
	sw_verify_fini(&v);
	sw_peek_close(db);
	fixture_fini(&f);
}

TEST(sweep_that_is_not_there_is_no_difference)
{
	struct fixture f;
	struct sw_verify v;
	struct sw_err err = SW_ERR_INIT;

	record(&f);
	struct sw_db *db = open_db(&f);
	sw_verify_init(&v, 2);
	ck_assert_int_eq(sw_verify_run(&v, db, &err), SW_NOT_FOUND);
	ck_assert(!v.differs);
	sw_verify_fini(&v);
	sw_peek_close(db);
	fixture_fini(&f);
}

static sw_status read_curves(struct sw_curves *c, struct sw_db *db, int64_t sweep,
			     struct sw_err *err)
{
	bool more = true;
	sw_status rc = SW_OK;

	*c = (struct sw_curves){.n = 0};
	while (rc == SW_OK && more)
		rc = sw_curves_part(c, db, sweep, &more, err);
	return rc;
}

TEST(curves_are_those_that_were_reported)
{
	struct fixture f;
	struct sw_curves c;
	struct sw_err err = SW_ERR_INIT;

	record(&f);
	struct sw_db *db = open_db(&f);
	ck_assert_msg(read_curves(&c, db, 1, &err) == SW_OK, "%s", err.msg);
	ck_assert_uint_eq(c.n, TRIALS);
	ck_assert_uint_eq(c.lanes, 1);
	size_t n = 0;
	for (size_t t = 0; t < c.n; t++) {
		const struct sw_simulate_curve *curve = &c.curve[t];

		ck_assert_uint_eq(curve->first, n);
		for (size_t i = 0; i < curve->n; i++) {
			const struct sw_simulate_point *p = &c.point[n + i];

			ck_assert_uint_eq(p->step, i + 1);
			ck_assert_double_eq(p->value,
					    (double)((t + 1) * 7 % 5) + 1.0 / (double)(i + 1));
		}
		n += curve->n;
		ck_assert_double_eq_tol(curve->step_s, 1.0, 1e-9); /* an event a second */
		ck_assert_int_eq(curve->end, SW_SIMULATE_CUT);     /* by its pruner */
	}
	ck_assert_uint_eq(n, c.point_n);
	sw_curves_fini(&c);
	ck_assert_int_eq(read_curves(&c, db, 2, &err), SW_NOT_FOUND);
	sw_curves_fini(&c);
	sw_peek_close(db);
	fixture_fini(&f);
}

#ifdef SW_FAULTS
static sw_status verify_once(struct sw_db *db, struct sw_err *err)
{
	struct sw_verify v;

	sw_verify_init(&v, 1);
	const sw_status rc = sw_verify_run(&v, db, err);
	ck_assert_msg(!v.differs, "%s", v.line.data);
	sw_verify_fini(&v);
	return rc;
}

static sw_status curves_once(struct sw_db *db, struct sw_err *err)
{
	struct sw_curves c;
	const sw_status rc = read_curves(&c, db, 1, err);

	sw_curves_fini(&c);
	return rc;
}

TEST_LOOP(want_of_memory_is_a_clean_error_and_no_difference, 0, 2)
{
	sw_status (*const work[])(struct sw_db * db, struct sw_err * err) = {verify_once,
									     curves_once};
	struct fixture f;
	unsigned fired = 1, nth = 1;

	record(&f);
	struct sw_db *db = open_db(&f);
	for (; fired > 0; nth++) {
		struct sw_err err = SW_ERR_INIT;

		ck_assert_uint_lt(nth, 20000);
		sw_fault_arm(SW_FAULT_MALLOC, nth, false);
		const sw_status rc = work[_i](db, &err);
		fired = sw_fault_fired(SW_FAULT_MALLOC);
		sw_fault_arm(SW_FAULT_MALLOC, 0, false);
		ck_assert_msg(rc == (fired > 0 ? SW_NOMEM : SW_OK), "call %u: %s", nth, err.msg);
		ck_assert_int_eq(err.code, rc);
	}
	ck_assert_uint_gt(nth, 5);
	sw_peek_close(db);
	fixture_fini(&f);
}
#endif

RUN_TESTS(NULL, NULL)
