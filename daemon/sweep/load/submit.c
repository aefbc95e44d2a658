#include "daemon/sweep/load/submit.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/net/call.h"
#include "daemon/net/conn.h"
#include "daemon/plan/plan.h"
#include "daemon/plan/refine.h"
#include "daemon/sweep/change.h"
#include "daemon/sweep/files/passed.h"
#include "daemon/sweep/give/need.h"
#include "daemon/sweep/give/program_job.h"
#include "daemon/sweep/run/settle.h"
#include "daemon/sweep/running.h"
#include "daemon/sweep/search/suggest.h"
#include "proto/json.h"
#include "proto/rpc.h"
#include "spec/spec.h"
#include <stdlib.h>
#include <sys/random.h>

#define LOOP_VALUES 1000 /* in a spec that the loop reads itself: a third of a millisecond */

static void free_submit(struct sw_submit *s)
{
	sw_warm_fini(&s->warm);
	sw_buf_fini(&s->text);
	cJSON_Delete(s->resolved);
	sw_spec_destroy(s->spec);
	sw_sweep_destroy(s->sched);
	free(s);
}

/* Errors inside the spec are pointed at from the parameters of the call: "/spec/parameters/...". */
static void refuse_submit(struct sw_submit *s, struct sw_err *err)
{
	/* The reader knows only the spec; the client sent it as a member of its parameters. */
	sw_err_prefix(err, "/spec");
	sw_call_error(s->call, err);
	free_submit(s);
}

/* All of them at once. */
static void refuse_faults(struct sw_submit *s)
{
	struct sw_faults *f = &s->faults;
	const size_t shown = f->n < SW_FAULTS_SHOWN ? f->n : SW_FAULTS_SHOWN;

	for (size_t i = 0; i < shown; i++)
		sw_err_prefix(&f->list[i], "/spec");
	sw_call_errors(s->call, sw_rpc_code(f->list->code), f->list, shown, f->n - shown);
	free_submit(s);
}

static const cJSON *spec_of(const struct sw_submit *s)
{
	return s->resolved != NULL ? s->resolved : sw_json_get(s->call->params, "spec");
}

/* The spec as it was given. Through the writer, which keeps 5.0 apart from 5: by W&B's rules they
 * are two different parameters. */
static sw_status print_spec(struct sw_submit *s, bool trains)
{
	struct sw_jw w;

	/* Nobody wants it, or a build has printed it before it failed. */
	if ((!s->store && !trains) || s->text.len > 0)
		return SW_OK;
	sw_jw_init(&w, &s->text);
	sw_jw_cjson(&w, spec_of(s));
	return s->text.failed == SW_OK ? SW_OK : sw_err_set(&s->err, SW_NOMEM, "out of memory");
}

static void accept_validate(struct sw_submit *s)
{
	struct sw_buf out;
	struct sw_jw w;

	sw_buf_init(&out, SW_REPLY_MAX);
	sw_jw_init_obj(&w, &out);
	s->answer(s, &w);
	sw_jw_obj_end(&w);
	sw_call_result(s->call, &out);
	free_submit(s);
}

static void store_sweep(struct sw_change *c, const struct sw_running *live, const char *spec)
{
	const struct sw_row_sweep row = {
		.sweep = live->sweep,
		.name = live->name,
		.spec = spec,
		.state = sw_sweep_state_name(live->state),
		.metric = live->metric,
		.method = live->method,
		.seed = (int64_t)live->seed,
		.maximize = live->maximize,
		.driven = live->driven,
		.run_cap = live->run_cap,
		.created_ms = live->created_ms,
		.uid = c->uid,
		.bytes = live->bytes,
		.data_bytes = live->data_bytes,
		.data_sum = live->data_sum,
	};

	sw_tx_sweep_insert(c->tx, &row);
}

static void accept_submit(struct sw_submit *s)
{
	struct sw_daemon *d = s->call->d;
	const cJSON *env = s->spec->command != NULL ? sw_json_get(s->call->params, "env") : NULL;
	struct sw_err err = SW_ERR_INIT;
	struct sw_jw w;

	/* Before the change, which cannot be refused any longer: a sweep must not begin without the
	 * environment that it was submitted with. Nothing else takes a number in between. */
	if (sw_passed_write(d, (int64_t)d->sweep.sweep_n + 1, env, &err) != SW_OK) {
		sw_call_error(s->call, &err); /* of the call, not of the spec */
		free_submit(s);
		return;
	}
	struct sw_change *c = sw_change_begin(d, s->call);
	sw_jw_init_obj(&w, &c->reply);
	sw_jw_kint(&w, "sweep", (int64_t)d->sweep.sweep_n + 1);
	s->answer(s, &w); /* before the live sweep takes spec and sched */
	sw_jw_obj_end(&w);
	struct sw_running *live = sw_running_add(d, s->spec, s->sched, s->seed, c->now_ms);
	if (live == NULL || sw_suggest_attach(live) != SW_OK)
		sw_daemon_die("add a sweep", SW_NOMEM);
	live->bytes = s->facts.bytes;
	live->data_bytes = s->facts.data_bytes;
	live->data_sum = s->facts.data_sum;
	/* Taken by the running sweep. */
	s->spec = NULL;
	s->sched = NULL;
	store_sweep(c, live, s->text.data);
	sw_warm_store(&s->warm, live->sweep, c->tx);
	free_submit(s);
	sw_log(SW_LOG_INFO, "sweep.submit", "sweep=%lld name=\"%s\" method=%s uid=%lld",
	       (long long)live->sweep, live->name, live->method, (long long)c->uid);
	sw_change_commit(c);
	/* At the end of this turn: a slot may be given its first trial before the submission is on
	 * the disk, and both are stored in their order. */
	d->slot.due = true;
}

static void on_checked(void *user, const struct sw_err *err, const struct sw_speccheck *facts)
{
	struct sw_submit *s = user;
	struct sw_err wrong = *err;
	sw_status rc = err->code;

	s->facts = *facts;
	sw_faults_add(&s->faults, facts->faults);
	/* What no slot computes in is asked last: by now the precision is a word that there is. */
	if (rc == SW_OK && !s->call->d->config.validate)
		rc = sw_need_check(s->call->d, s->spec, &wrong);
	if (s->faults.n > 0) {
		refuse_faults(s);
	} else if (rc != SW_OK) {
		refuse_submit(s, &wrong);
	} else if (!s->store) {
		accept_validate(s);
	} else if (sw_change_allowed(s->call)) {
		accept_submit(s);
	} else {
		free_submit(s); /* the call is answered */
	}
}

/* The state machine stands: what only a worker can know. */
static void check_submit(struct sw_submit *s)
{
	static const struct sw_speccheck none;
	struct sw_err err = SW_ERR_INIT;

	const bool fits = sw_need_executor(s->call->d, s->spec, &err) == SW_OK &&
			  sw_need_gang(s->call->d, s->spec, &err) == SW_OK;

	if (fits && s->spec->trainer == NULL)
		on_checked(s, &err, &none);
	else if (!fits ||
		 sw_speccheck_start(s->call->d, s->text.data, false, on_checked, s, &err) != SW_OK)
		refuse_submit(s, &err);
}

/* Has the store read for this submission; the call is answered if it cannot. */
static void read_store(struct sw_submit *s, void (*work)(struct sw_db *db, void *arg),
		       void (*done)(void *arg))
{
	if (s->call->d->store == NULL) { /* `sweepd validate` */
		sw_call_refuse(s->call, SW_CONFLICT, "/spec/refine",
			       "\"refine\" begins with an earlier sweep, which a daemon has: "
			       "start one with sweepd");
		free_submit(s);
		return;
	}
	if (sw_store_read(s->call->d->store, SW_READ_LONG, &s->call->conn->reads, work, done, s) ==
	    SW_OK)
		return;
	sw_call_refuse(s->call, SW_BUSY, "", SW_CALL_BUSY);
	free_submit(s);
}

/* --- the spec, and the state machine of it --- */

/* On the pool, or on the loop. Goes as far as it can: what it learns from is read in between. */
static void run_build(void *arg)
{
	struct sw_submit *s = arg;

	if (!s->store && sw_call_gone(s->call)) {
		/* A submission is carried out even if its client has gone: it asked for a sweep,
		 * not for an answer. A check has only its answer. */
		s->rc = sw_err_set(&s->err, SW_CONFLICT, "nobody waits for it");
		return;
	}
	if (s->spec == NULL)
		s->rc = sw_spec_read(&s->spec, spec_of(s), &s->err);
	/* The store comes in between (on_built()), then all goes on here. */
	if (s->rc != SW_OK || (s->spec->n_warm_start > 0 && !s->warmed))
		return;
	const cJSON *env = sw_json_get(s->call->params, "env");
	s->rc = s->spec->command != NULL ? sw_program_job_check(s->spec, env, &s->err) : SW_OK;
	if (s->rc == SW_OK && s->spec->command != NULL)
		(void)sw_program_job_warning(s->spec, s->warning, sizeof s->warning);
	if (s->rc == SW_OK)
		s->rc = print_spec(s, s->spec->trainer != NULL);
	if (s->rc == SW_OK)
		s->rc = sw_plan_build(&s->sched, s->spec, s->seed, &s->warm.priors, &s->err);
}

static void run_warm(struct sw_db *db, void *arg)
{
	struct sw_submit *s = arg;

	s->rc = sw_warm_read(&s->warm, s->spec, db, &s->err);
}

static void on_built(void *arg, bool stopping);

static void on_warm(void *arg)
{
	struct sw_submit *s = arg;

	s->warmed = true;
	if (s->rc != SW_OK)
		refuse_submit(s, &s->err);
	else
		sw_pool_start(&s->job, SW_POOL_LONG, s->call->conn, run_build, on_built, s);
}

/* On the pool: one mistake was found, and now all. */
static void run_faults(void *arg)
{
	struct sw_submit *s = arg;

	/* From the beginning again and by the slow way; most submissions are good and never come
	 * here. */
	s->trains = sw_faults_find(&s->faults, spec_of(s), sw_json_get(s->call->params, "env"),
				   s->seed) &&
		    print_spec(s, true) == SW_OK;
}

/* Those of the trainer's part stand behind the others. */
static void on_refused(void *user, const struct sw_err *err, const struct sw_speccheck *facts)
{
	struct sw_submit *s = user;

	sw_faults_add(&s->faults, facts->faults);
	if (facts->faults == NULL && err->code != SW_OK)
		sw_fault_note(&s->faults, "/trainer", "not looked at: %s", err->msg);
	refuse_faults(s);
}

static void on_faults(void *arg, bool stopping)
{
	struct sw_submit *s = arg;
	const struct sw_speccheck nothing = {0};
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf form;

	/* The first mistake, as the quick reader worded it, is what is told alone. */
	if (s->faults.n <= 1) {
		s->faults.n = 1;
		s->fault[0] = s->err;
	}
	if (stopping || !s->trains) {
		refuse_faults(s);
		return;
	}
	sw_buf_init(&form, SW_FRAME_MAX * 2);
	if (sw_buf_addf(&form, "{\"spec\":%s}", s->text.data) != SW_OK)
		(void)sw_err_set(&err, SW_NOMEM, "out of memory");
	if (err.code != SW_OK ||
	    sw_speccheck_start(s->call->d, form.data, true, on_refused, s, &err) != SW_OK)
		on_refused(s, &err, &nothing);
	sw_buf_fini(&form);
}

static void on_built(void *arg, bool stopping)
{
	struct sw_submit *s = arg;

	if (s->rc == SW_OK && stopping)
		s->rc = sw_err_set(&s->err, SW_BUSY, "the daemon is stopping");
	if (s->rc == SW_INVALID && !stopping)
		sw_pool_start(&s->job, SW_POOL_LONG, s->call->conn, run_faults, on_faults, s);
	else if (s->rc != SW_OK)
		refuse_submit(s, &s->err);
	else if (s->sched == NULL)
		read_store(s, run_warm, on_warm);
	else
		check_submit(s);
}

/* Has it more values than the loop should look at? */
static bool is_large(const cJSON *v, size_t *left)
{
	for (; v != NULL && *left > 0; v = v->next) {
		--*left;
		/* As deep as the JSON is, which its reader bounds. */
		if (v->child != NULL && is_large(v->child, left))
			return true;
	}
	return *left == 0;
}

/* Conditions and constraints are tried at thousands of points, a grid's at each of up to 10^6; a
 * program's file may lie on a disk that is far away. */
static bool is_long(const struct sw_spec *spec)
{
	return spec->n_constraints > 0 || spec->n_conds > 0 || spec->command != NULL;
}

static void read_spec(struct sw_submit *s, const cJSON *spec)
{
	size_t left = LOOP_VALUES;
	const bool large = is_large(spec->child, &left);

	if (!large)
		s->rc = sw_spec_read(&s->spec, spec_of(s), &s->err);
	/* Small ones on the loop, since the way over the pool costs more than they do. */
	if (large || (s->rc == SW_OK && is_long(s->spec))) {
		sw_pool_start(&s->job, SW_POOL_LONG, s->call->conn, run_build, on_built, s);
		return;
	}
	if (s->rc == SW_OK)
		run_build(s);
	on_built(s, false);
}

static void run_refine(struct sw_db *db, void *arg)
{
	struct sw_submit *s = arg;

	s->rc = sw_refine_resolve(&s->resolved, sw_json_get(s->call->params, "spec"), db, &s->err);
}

static void on_refined(void *arg)
{
	struct sw_submit *s = arg;

	if (s->rc != SW_OK)
		refuse_submit(s, &s->err);
	else
		read_spec(s, s->resolved);
}

void sw_submit_begin(struct sw_call *call, bool store, sw_submit_answer_cb *answer)
{
	const cJSON *spec = sw_json_get(call->params, "spec");
	struct sw_submit *s = sw_daemon_calloc(1, sizeof *s, "check a spec");
	struct sw_err err = SW_ERR_INIT;

	s->call = call;
	s->store = store;
	s->answer = answer;
	s->warmed = call->d->store == NULL; /* `sweepd validate` has no earlier sweeps */
	sw_buf_init(&s->text, SW_REPLY_MAX);
	s->faults = (struct sw_faults){s->fault, SW_FAULTS_MAX, 0};
	if (getrandom(&s->seed, sizeof s->seed, 0) != (ssize_t)sizeof s->seed)
		sw_daemon_die("draw a seed", SW_IO);
	s->seed >>= 11; /* below 2^53, so that it can be given back in a spec */
	if (sw_refine_check(spec, &err) != SW_OK)
		refuse_submit(s, &err);
	else if (sw_refine_wanted(spec))
		read_store(s, run_refine, on_refined);
	else
		read_spec(s, spec);
}
