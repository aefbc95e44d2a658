/*
 * daemon/api/handlers_submit.c — sweep.submit and sweep.validate: a spec on its way in.
 *
 *   refine resolved -> spec read -> earlier trials read -> state machine built -> worker's check ->
 *   stored
 *
 * Stages that need the store, or may take longer than a turn of the loop should, run on its
 * reader's thread; any of them may end the submission with an error.
 */
#include "base/fault.h"
#include "base/log.h"
#include "daemon/api/handlers.h"
#include "daemon/daemon.h"
#include "daemon/plan/plan.h"
#include "daemon/plan/refine.h"
#include "daemon/plan/warm.h"
#include "daemon/slot/speccheck.h"
#include "daemon/slot/supervisor.h"
#include "daemon/sweep/driver.h"
#include "daemon/sweep/host.h"
#include "daemon/sweep/settle.h"
#include "proto/json.h"
#include "spec/spec.h"
#include "store/store.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct submit {
	struct sw_call *call;
	cJSON *resolved; /* the spec with refine's parameters; NULL: as it came */
	struct sw_spec *spec;
	struct sw_warm warm;
	struct sw_sweep *sched;
	sw_status rc; /* of the read under way */
	struct sw_err err;
	uint64_t seed;
	bool store; /* submit; else validate */
};

static void free_submit(struct submit *s)
{
	sw_warm_fini(&s->warm);
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

/* A CPU makes products in fp32 alone: a trial that asks for more ends as FAILED there. */
static void warn_of_precision(struct sw_jw *w, const struct submit *s)
{
	const struct sw_daemon *d = s->call->d;
	const cJSON *precision = sw_json_get(s->spec->trainer, "precision");
	size_t cpus = 0;
	char line[160];

	if (!cJSON_IsString(precision) || (strcmp(precision->valuestring, "tf32") != 0 &&
					   strcmp(precision->valuestring, "bf16") != 0))
		return;
	for (size_t i = 0; i < d->slot_n; i++)
		cpus += !d->slots[i].device.gpu && sw_supervisor_suits(&d->slots[i], s->spec->gpu);
	(void)snprintf(line, sizeof line,
		       "/trainer/precision: %zu of %zu slots are CPUs, on which a trial in %s "
		       "fails; resources.gpu keeps it off them",
		       cpus, d->slot_n, precision->valuestring);
	if (cpus > 0)
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

static void write_warnings(struct sw_jw *w, const struct submit *s)
{
	const struct sw_daemon *d = s->call->d;
	bool suits = d->slot_n == 0;

	for (size_t i = 0; i < d->slot_n; i++)
		suits = suits || sw_supervisor_suits(&d->slots[i], s->spec->gpu);
	sw_jw_key(w, "warnings");
	sw_jw_arr(w);
	if (s->spec->trainer != NULL && d->slot_n == 0)
		sw_jw_str(w, "this daemon has no slots (--devices none): its trials will wait");
	else if (s->spec->trainer != NULL && !suits)
		sw_jw_str(w, s->spec->needs_gpu ? "no slot has a GPU, which resources.gpu asks "
						  "for: its trials will wait"
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
	warn_of_grid(w, s);
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
static void print_spec(const struct sw_spec *spec, struct sw_buf *out)
{
	struct sw_jw w;

	sw_buf_init(out, SW_REPLY_MAX);
	sw_jw_init(&w, out);
	sw_jw_cjson(&w, spec->tree);
}

/* facts: zeros without a trainer. */
static void accept_validate(struct submit *s, const struct sw_speccheck *facts)
{
	const struct sw_pruner *pruner = sw_sweep_pruner(s->sched);
	const uint64_t points = s->spec->method[0] == 'g' ? sw_sweep_points(s->sched) : 0;
	struct sw_buf out;
	struct sw_jw w;

	sw_buf_init(&out, SW_REPLY_MAX);
	sw_jw_init(&w, &out);
	sw_jw_obj(&w);
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
	if (points > 0)
		sw_jw_kint(&w, "points", (int64_t)points);
	else
		sw_jw_knull(&w, "points");
	sw_jw_key(&w, "rungs");
	sw_jw_arr(&w);
	for (size_t k = 0; k < sw_pruner_rung_n(pruner, 0); k++)
		sw_jw_int(&w, (int64_t)sw_pruner_rung_step(pruner, 0, k));
	sw_jw_arr_end(&w);
	write_warnings(&w, s);
	sw_jw_obj_end(&w);
	sw_call_result(s->call, &out);
	free_submit(s);
}

static void store_sweep(struct sw_change *c, const struct sw_host *h, const char *spec)
{
	const struct sw_row_sweep row = {
		.sweep = h->sweep,
		.name = h->name,
		.spec = spec,
		.state = sw_sweep_state_name(h->state),
		.metric = h->metric,
		.method = h->method,
		.seed = (int64_t)h->seed,
		.maximize = h->maximize,
		.driven = h->driven,
		.run_cap = h->run_cap,
		.created_ms = h->created_ms,
		.uid = c->uid,
		.slice = SW_SETTLE_SLICE,
		.bytes = h->bytes,
		.sampler_version = SW_SAMPLER_VERSION,
	};

	sw_tx_sweep_insert(c->tx, &row);
}

static void accept_submit(struct submit *s, const struct sw_speccheck *facts)
{
	struct sw_daemon *d = s->call->d;
	struct sw_change *c;
	struct sw_buf text;
	struct sw_host *h;
	struct sw_jw w;

	print_spec(s->spec, &text);
	if (text.failed != SW_OK)
		sw_daemon_die("store a sweep", SW_NOMEM);
	c = sw_change_begin(d, s->call);
	sw_jw_init(&w, &c->reply);
	sw_jw_obj(&w);
	sw_jw_kint(&w, "sweep", (int64_t)d->host_n + 1);
	write_warnings(&w, s);
	sw_jw_obj_end(&w);
	h = sw_host_add(d, s->spec, s->sched, s->seed, c->now_ms);
	if (h == NULL)
		sw_daemon_die("add a sweep", SW_NOMEM);
	h->bytes = facts->bytes;
	s->spec = NULL; /* they are the host's now */
	s->sched = NULL;
	c->host = h;
	store_sweep(c, h, text.data);
	sw_warm_store(&s->warm, h->sweep, c->tx);
	free_submit(s);
	sw_buf_fini(&text);
	sw_log(SW_LOG_INFO, "sweep.submit", "sweep=%lld name=\"%s\" method=%s uid=%lld",
	       (long long)h->sweep, h->name, h->method, (long long)c->uid);
	sw_change_commit(c);
	sw_supervisor_feed(d);
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
static void check(struct submit *s)
{
	static const struct sw_speccheck none;
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf text;
	sw_status rc = SW_OK;

	if (s->spec->trainer != NULL) {
		print_spec(s->spec, &text);
		if (text.failed != SW_OK)
			rc = sw_err_set(&err, SW_NOMEM, "out of memory");
		else
			rc = sw_speccheck_start(s->call->d, text.data, on_checked, s, &err);
		sw_buf_fini(&text);
		if (rc == SW_OK)
			return;
	}
	if (rc != SW_OK)
		refuse_submit(s, &err);
	else
		on_checked(s, &err, &none);
}

/* The spec is whole: the trials to learn from, and the state machine. */
static void run_build(struct sw_db *db, void *arg)
{
	struct submit *s = arg;

	s->rc = SW_OK;
	if (s->spec->n_warm_start > 0)
		s->rc = sw_warm_read(&s->warm, s->spec, db, &s->err);
	if (s->rc == SW_OK)
		s->rc = sw_plan_build(&s->sched, s->spec, s->seed, SW_SETTLE_SLICE, 0,
				      &s->warm.priors, &s->err);
}

static void on_built(void *arg)
{
	struct submit *s = arg;

	if (s->rc != SW_OK)
		refuse_submit(s, &s->err);
	else
		check(s);
}

/* Has the store read for this submission; the call is answered if it cannot. */
static void read_store(struct submit *s, void (*work)(struct sw_db *db, void *arg),
		       void (*done)(void *arg))
{
	struct sw_err err = SW_ERR_INIT;

	if (sw_store_read(s->call->d->store, work, done, s) == SW_OK)
		return;
	(void)sw_err_set(&err, SW_BUSY, "too much waits; try again");
	sw_call_error(s->call, &err);
	free_submit(s);
}

/* Conditions and constraints are tried at thousands of points, a grid's at each of up to 10^6. */
static bool is_long(const struct sw_spec *spec)
{
	return spec->n_warm_start > 0 || spec->n_constraints > 0 || spec->n_conds > 0;
}

static void read_spec(struct submit *s, const cJSON *spec)
{
	struct sw_err err = SW_ERR_INIT;

	if (sw_spec_read(&s->spec, spec, &err) != SW_OK) {
		refuse_submit(s, &err);
	} else if (s->spec->refused.code != SW_OK) {
		err = s->spec->refused; /* the spec goes with the submission */
		refuse_submit(s, &err);
	} else if (is_long(s->spec)) {
		read_store(s, run_build, on_built);
	} else {
		run_build(NULL, s);
		on_built(s);
	}
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

static void submit(struct sw_call *call, bool store)
{
	const cJSON *spec = sw_json_get(call->params, "spec");
	struct submit *s = sw_calloc(1, sizeof *s);
	struct sw_err err = SW_ERR_INIT;

	if (s == NULL)
		sw_daemon_die("check a spec", SW_NOMEM);
	s->call = call;
	s->store = store;
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
		submit(call, true);
}

void sw_handle_sweep_validate(struct sw_call *call)
{
	submit(call, false);
}
