/*
 * daemon/api/handlers_submit.c — sweep.submit and sweep.validate: a spec on its way in.
 *
 *   refine resolved -> spec read -> earlier trials read -> state machine built -> worker's check ->
 *   stored
 *
 * What needs the store runs on its reader's thread, what may take longer than a turn of the loop
 * should on the pool; any stage may end the submission with an error.
 */
#include "base/log.h"
#include "base/memory.h"
#include "daemon/api/gang_json.h"
#include "daemon/api/handlers.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/net/conn.h"
#include "daemon/net/pool.h"
#include "daemon/plan/plan.h"
#include "daemon/plan/refine.h"
#include "daemon/plan/warm.h"
#include "daemon/slot/slot.h"
#include "daemon/slot/speccheck.h"
#include "daemon/sweep/driver.h"
#include "daemon/sweep/live.h"
#include "daemon/sweep/need.h"
#include "daemon/sweep/precision.h"
#include "daemon/sweep/program_job.h"
#include "daemon/sweep/settle.h"
#include "daemon/sweep/suggest.h"
#include "proto/json.h"
#include "spec/spec.h"
#include "store/store.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define LOOP_VALUES 1000 /* in a spec that the loop reads itself: a third of a millisecond */

struct submit {
	struct sw_call *call;
	cJSON *resolved; /* the spec with refine's parameters; NULL: as it came */
	struct sw_spec *spec;
	struct sw_buf text; /* the spec as it is stored, and as the worker's check gets it */
	struct sw_warm warm;
	struct sw_sweep *sched;
	struct sw_pool_job job;
	sw_status rc; /* of the stage under way */
	struct sw_err err;
	uint64_t seed;
	bool store;        /* submit; else validate */
	char program[480]; /* the warning about it; "": none */
	bool warmed;
};

static void free_submit(struct submit *s)
{
	sw_warm_fini(&s->warm);
	sw_buf_fini(&s->text);
	cJSON_Delete(s->resolved);
	sw_spec_destroy(s->spec);
	sw_sweep_destroy(s->sched);
	free(s);
}

/* Errors inside the spec are pointed at from the parameters of the call: "/spec/parameters/...". */
static void refuse_submit(struct submit *s, struct sw_err *err)
{
	sw_err_prefix(err, "/spec");
	sw_call_error(s->call, err);
	free_submit(s);
}

/* CPU slots that may take a trial of it. */
static size_t cpus_of(const struct submit *s)
{
	const struct sw_room_need need = sw_need_of_spec(s->spec);
	const struct sw_daemon *d = s->call->d;
	size_t cpus = 0;

	for (size_t i = 0; i < d->slot_n; i++)
		cpus += !d->slots[i].device.gpu && sw_room_takes(&d->slots[i], &need) > 0;
	return cpus;
}

/* Trials go where their precision is: here are slots that get none of them. */
static void warn_of_precision(struct sw_jw *w, const struct submit *s)
{
	char line[240];

	if (sw_precision_warning(s->call->d, s->spec, line, sizeof line))
		sw_jw_str(w, line);
}

/* A grid ends by itself. */
static void warn_of_grid(struct sw_jw *w, const struct submit *s)
{
	const uint64_t points = sw_sweep_points(s->sched);
	char line[160];

	if (points == 0 || s->spec->run_cap <= points)
		return;
	(void)snprintf(line, sizeof line,
		       "/run_cap: the grid has %llu point%s: the sweep ends after %s, before its "
		       "run_cap of %llu",
		       (unsigned long long)points, points == 1 ? "" : "s",
		       points == 1 ? "it" : "them", (unsigned long long)s->spec->run_cap);
	sw_jw_str(w, line);
}

/* The worker would refuse each trial for want of memory. */
static void warn_of_memory(struct sw_jw *w, const struct submit *s,
			   const struct sw_speccheck *facts)
{
	const int64_t most = s->call->d->config.cpu_memory;
	char line[160];

	if (most == 0 || facts->data_bytes < most || cpus_of(s) == 0)
		return;
	(void)snprintf(line, sizeof line,
		       "the data set alone has %lld bytes, and --cpu-memory gives a trial %lld: on "
		       "a CPU slot each trial will be INFEASIBLE (oom)",
		       (long long)facts->data_bytes, (long long)most);
	sw_jw_str(w, line);
}

static void write_warnings(struct sw_jw *w, const struct submit *s,
			   const struct sw_speccheck *facts)
{
	struct sw_room_need need = sw_need_of_spec(s->spec);
	const struct sw_daemon *d = s->call->d;
	bool suits = d->slot_n == 0;

	need.precision = false; /* it has a line of its own */
	for (size_t i = 0; i < d->slot_n; i++)
		suits = suits || sw_room_takes(&d->slots[i], &need) > 0;
	sw_jw_karr(w, "warnings");
	if (!sw_spec_driven(s->spec) && d->slot_n == 0)
		sw_jw_str(w, "this daemon has no slots (--devices none): its trials will wait");
	else if (!sw_spec_driven(s->spec) && !suits)
		sw_jw_str(w, need.gpus > 1 ? "there are fewer GPUs than resources.gpu asks for: "
					     "its trials will wait"
			     : s->spec->needs_gpu ? "no slot has a GPU, which resources.gpu asks "
						    "for: its trials will wait"
			     : need.cpu_slots > 1 ? "there are fewer CPU slots than "
						    "resources.cpu_slots asks for: its trials will "
						    "wait"
			     : need.cores > 1     ? "the CPU slots have fewer cores together than "
						    "resources.cpu asks for: its trials will wait"
						  : "every slot has a GPU, and resources.gpu is 0: "
						    "its trials will wait");
	if (s->spec->trainer != NULL)
		warn_of_precision(w, s);
	if (s->warm.outside > 0) {
		char line[120];

		(void)snprintf(line, sizeof line,
			       "warm_start: %zu trials lie outside this space and are left out",
			       s->warm.outside);
		sw_jw_str(w, line);
	}
	if (sw_sweep_run_cap(s->sched) == 0)
		sw_jw_str(w, "no run_cap: the sweep goes on until it is cancelled");
	warn_of_memory(w, s, facts);
	sw_gang_json_warning(w, s->spec, facts);
	warn_of_grid(w, s);
	if (*s->program != '\0')
		sw_jw_str(w, s->program);
	for (size_t i = 0; i < s->spec->n_warnings; i++) {
		const struct sw_err *warning = &s->spec->warnings[i];
		char line[sizeof warning->ptr + sizeof warning->msg + 2];

		(void)snprintf(line, sizeof line, "%s: %s", warning->ptr, warning->msg);
		sw_jw_str(w, line);
	}
	sw_jw_arr_end(w);
}

/* The spec as it was given. Through the writer, which keeps 5.0 apart from 5: by W&B's rules they
 * are two different parameters. */
static sw_status print_spec(struct submit *s)
{
	struct sw_jw w;

	if (!s->store && s->spec->trainer == NULL)
		return SW_OK; /* nobody wants it */
	sw_jw_init(&w, &s->text);
	sw_jw_cjson(&w, s->spec->tree);
	return s->text.failed == SW_OK ? SW_OK : sw_err_set(&s->err, SW_NOMEM, "out of memory");
}

/* facts: zeros without a trainer. */
static void accept_validate(struct submit *s, const struct sw_speccheck *facts)
{
	const struct sw_pruner *pruner = sw_sweep_pruner(s->sched);
	const uint64_t points = s->spec->method[0] == 'g' ? sw_sweep_points(s->sched) : 0;
	struct sw_buf out;
	struct sw_jw w;

	sw_buf_init(&out, SW_REPLY_MAX);
	sw_jw_init_obj(&w, &out);
	sw_jw_kbool(&w, "ok", true);
	sw_jw_kstr(&w, "name", s->spec->name);
	sw_jw_kint(&w, "parameters", (int64_t)s->spec->n_params);
	if (facts->bytes > 0) {
		sw_jw_kint(&w, "weights", facts->parameters);
		sw_jw_kint(&w, "bytes", facts->bytes);
	} else {
		sw_jw_knull(&w, "weights");
		sw_jw_knull(&w, "bytes");
	}
	sw_gang_json(&w, s->spec, facts);
	sw_jw_kint_opt(&w, "points", points > 0, (int64_t)points);
	sw_jw_karr(&w, "rungs");
	for (size_t k = 0; k < sw_pruner_rung_n(pruner, 0); k++)
		sw_jw_int(&w, (int64_t)sw_pruner_rung_step(pruner, 0, k));
	sw_jw_arr_end(&w);
	write_warnings(&w, s, facts);
	sw_jw_obj_end(&w);
	sw_call_result(s->call, &out);
	free_submit(s);
}

static void store_sweep(struct sw_change *c, const struct sw_live *live, const char *spec)
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
		.slice = SW_SETTLE_SLICE,
		.bytes = live->bytes,
		.data_bytes = live->data_bytes,
		.sampler_version = SW_SAMPLER_VERSION,
	};

	sw_tx_sweep_insert(c->tx, &row);
}

static void accept_submit(struct submit *s, const struct sw_speccheck *facts)
{
	struct sw_daemon *d = s->call->d;
	struct sw_change *c = sw_change_begin(d, s->call);
	struct sw_live *live;
	struct sw_jw w;

	sw_jw_init_obj(&w, &c->reply);
	sw_jw_kint(&w, "sweep", (int64_t)d->sweep_n + 1);
	write_warnings(&w, s, facts);
	sw_jw_obj_end(&w);
	live = sw_live_add(d, s->spec, s->sched, s->seed, c->now_ms);
	if (live == NULL || sw_suggest_attach(live) != SW_OK)
		sw_daemon_die("add a sweep", SW_NOMEM);
	live->bytes = facts->bytes;
	live->data_bytes = facts->data_bytes;
	s->spec = NULL; /* they are the live sweep's now */
	s->sched = NULL;
	store_sweep(c, live, s->text.data);
	sw_warm_store(&s->warm, live->sweep, c->tx);
	free_submit(s);
	sw_log(SW_LOG_INFO, "sweep.submit", "sweep=%lld name=\"%s\" method=%s uid=%lld",
	       (long long)live->sweep, live->name, live->method, (long long)c->uid);
	sw_change_commit(c);
	d->slots_due = true;
}

static void on_checked(void *user, const struct sw_err *err, const struct sw_speccheck *facts)
{
	struct submit *s = user;

	if (err->code != SW_OK) {
		struct sw_err copy = *err;

		refuse_submit(s, &copy);
	} else if (!s->store) {
		accept_validate(s, facts);
	} else if (sw_change_allowed(s->call)) {
		accept_submit(s, facts);
	} else {
		free_submit(s);
	}
}

/* The state machine stands: what only a worker can know. */
static void check_submit(struct submit *s)
{
	static const struct sw_speccheck none;
	struct sw_err err = SW_ERR_INIT;

	if (s->spec->trainer == NULL)
		on_checked(s, &err, &none);
	else if (sw_precision_check(s->call->d, s->spec, &err) != SW_OK ||
		 sw_speccheck_start(s->call->d, s->text.data, on_checked, s, &err) != SW_OK)
		refuse_submit(s, &err);
}

/* Has the store read for this submission; the call is answered if it cannot. */
static void read_store(struct submit *s, void (*work)(struct sw_db *db, void *arg),
		       void (*done)(void *arg))
{
	if (sw_store_read(s->call->d->store, SW_READ_LONG, &s->call->conn->reads, work, done, s) ==
	    SW_OK)
		return;
	sw_call_refuse(s->call, SW_BUSY, "", "too much waits; try again");
	free_submit(s);
}

/* --- the spec, and the state machine of it --- */

static void run_read(struct submit *s)
{
	const cJSON *spec = s->resolved != NULL ? s->resolved
						: sw_json_get(s->call->params, "spec");

	s->rc = sw_spec_read(&s->spec, spec, &s->err);
	if (s->rc == SW_OK && s->spec->refused.code != SW_OK) {
		s->err = s->spec->refused;
		s->rc = s->err.code;
	}
}

/* On the pool, or on the loop. Goes as far as it can: what it learns from is read in between. */
static void run_build(void *arg)
{
	struct submit *s = arg;

	if (!s->store && sw_call_gone(s->call)) {
		s->rc = sw_err_set(&s->err, SW_CONFLICT, "nobody waits for it");
		return;
	}
	if (s->spec == NULL)
		run_read(s);
	if (s->rc != SW_OK || (s->spec->n_warm_start > 0 && !s->warmed))
		return;
	if (s->spec->command != NULL)
		sw_program_job_warning(s->spec, s->program, sizeof s->program);
	s->rc = print_spec(s);
	if (s->rc == SW_OK)
		s->rc = sw_plan_build(&s->sched, s->spec, s->seed, SW_SETTLE_SLICE, 0,
				      &s->warm.priors, &s->err);
}

static void run_warm(struct sw_db *db, void *arg)
{
	struct submit *s = arg;

	s->rc = sw_warm_read(&s->warm, s->spec, db, &s->err);
}

static void on_built(void *arg, bool stopping);

static void on_warm(void *arg)
{
	struct submit *s = arg;

	s->warmed = true;
	if (s->rc != SW_OK)
		refuse_submit(s, &s->err);
	else
		sw_pool_start(&s->job, SW_POOL_LONG, s->call->conn, run_build, on_built, s);
}

static void on_built(void *arg, bool stopping)
{
	struct submit *s = arg;

	if (s->rc == SW_OK && stopping)
		s->rc = sw_err_set(&s->err, SW_BUSY, "the daemon is stopping");
	if (s->rc != SW_OK)
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

static void read_spec(struct submit *s, const cJSON *spec)
{
	size_t left = LOOP_VALUES;
	const bool large = is_large(spec->child, &left);

	if (!large)
		run_read(s);
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
	struct submit *s = arg;

	s->rc = sw_refine_resolve(&s->resolved, sw_json_get(s->call->params, "spec"), db, &s->err);
}

static void on_refined(void *arg)
{
	struct submit *s = arg;

	if (s->rc != SW_OK)
		refuse_submit(s, &s->err);
	else
		read_spec(s, s->resolved);
}

static void begin_submit(struct sw_call *call, bool store)
{
	const cJSON *spec = sw_json_get(call->params, "spec");
	struct submit *s = sw_calloc(1, sizeof *s);
	struct sw_err err = SW_ERR_INIT;

	if (s == NULL)
		sw_daemon_die("check a spec", SW_NOMEM);
	s->call = call;
	s->store = store;
	sw_buf_init(&s->text, SW_REPLY_MAX);
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

void sw_handle_sweep_submit(struct sw_call *call)
{
	if (sw_change_allowed(call))
		begin_submit(call, true);
}

void sw_handle_sweep_validate(struct sw_call *call)
{
	begin_submit(call, false);
}
