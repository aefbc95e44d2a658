#include "daemon/sweep/standby.h"
#include "base/fault.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include "daemon/plan/plan.h"
#include "daemon/sweep/driver.h"
#include "daemon/sweep/handed.h"
#include "daemon/sweep/host.h"
#include "daemon/sweep/suggest_internal.h"
#include "proto/json.h"
#include "store/read.h"
#include <stdlib.h>
#include <string.h>

/* --- into the store --- */

/* Of the rows those of trials from..to stay. */
static void keep(struct sw_change *c, struct sw_suggester *s, uint64_t from, uint64_t to)
{
	sw_tx_prepared_keep(c->tx, s->h->sweep, (int64_t)from, (int64_t)to);
	s->standby.from = from;
	s->standby.to = to >= from ? to : 0;
}

static void on_stored(void *arg)
{
	struct sw_suggester *s = arg;

	s->standby.busy = false;
	for (size_t i = 0; i < s->queue.n; i++)
		if (s->queue.v[i]->sent)
			s->queue.v[i]->stored = true;
	if (s->h->d->phase == SW_UP)
		sw_standby_store(s);
}

static void send_one(struct sw_change *c, struct sw_suggester *s, size_t i)
{
	struct sw_prepared_one *one = s->queue.v[i];

	if (one->text.params == NULL)
		sw_prepared_write(s->h, &one->suggestion, one->suggestion.known, &one->text);
	const struct sw_row_prepared row = {.sweep = s->h->sweep,
					    .run = (int64_t)s->h->d->handed.run,
					    .trial = (int64_t)(s->queue.first + i),
					    .known = (int64_t)one->suggestion.known,
					    .params = one->text.params,
					    .why = one->text.why,
					    .state = one->text.state};
	sw_tx_prepared(c->tx, &row);
	one->sent = true;
}

void sw_standby_store(struct sw_suggester *s)
{
	const struct sw_prepared *q = &s->queue;
	const struct sw_host *h = s->h;
	size_t had = 0;

	while (had < q->n && q->v[had]->sent)
		had++;
	if (!h->driven || h->ended_ms != 0 || s->standby.busy || had == q->n || h->d->handed.fd < 0)
		return;
	struct sw_change *c = sw_change_begin(h->d, NULL);
	keep(c, s, q->first, q->first + had - 1);
	for (size_t i = had; i < q->n; i++)
		send_one(c, s, i);
	s->standby.from = q->first;
	s->standby.to = q->first + q->n - 1;
	s->standby.busy = true;
	c->then = on_stored;
	c->arg = s;
	sw_change_commit(c);
}

void sw_standby_changed(struct sw_change *c, struct sw_suggester *s)
{
	const struct sw_prepared *q = &s->queue;
	const struct sw_standby *b = &s->standby;

	if (b->to == 0)
		return;
	if (q->n == 0 || s->h->ended_ms != 0)
		keep(c, s, 1, 0);
	else if (q->first > b->from || q->first + q->n - 1 < b->to)
		keep(c, s, q->first, q->first + q->n - 1);
}

bool sw_standby_note(const struct sw_host *h, uint64_t trial)
{
	return sw_handed_note(&h->d->handed, h->sweep, trial);
}

/* --- at start --- */

/* What a start finds prepared of one sweep. */
struct found {
	struct sw_host *h;
	const struct sw_handed *past;
	struct sw_change *c;
	size_t rows;
	uint64_t unknown_from, unknown_to; /* handed out, or not; to 0: none */
	struct sw_err err;
	sw_status rc;
};

static sw_status read_values(const struct sw_host *h, const struct sw_row_prepared *row,
			     struct sw_suggestion *out, struct sw_err *err)
{
	const struct sw_space *space = sw_sweep_space(h->sched);
	bool given[SW_SPACE_MAX_PARAMS];
	cJSON *tree = NULL;
	sw_status rc = sw_json_parse(&tree, row->params, strlen(row->params), err);

	if (rc == SW_OK)
		rc = sw_plan_read(h->spec, space, tree, out->values, given, err);
	cJSON_Delete(tree);
	if (rc == SW_OK && sw_plan_missing(space, out->values, given) != sw_space_size(space))
		rc = sw_err_set(err, SW_IO, "it lacks a parameter");
	if (rc != SW_OK)
		return rc;
	sw_space_canonical(space, out->values);
	out->source = "";
	out->known = (uint64_t)row->known;
	rc = sw_prepared_state(row->state, &out->state, &out->state_n);
	return rc == SW_OK ? rc : sw_err_set(err, rc, "the sampler's state is damaged");
}

static sw_status hand_out(struct found *f, const struct sw_row_prepared *row,
			  struct sw_suggestion *made)
{
	const struct sw_event event = {.kind = SW_EVENT_ASK, .suggestion = made};
	struct sw_prepared_text text = {.params = (char *)row->params, .state = (char *)row->state};
	struct sw_buf why;
	sw_status rc = read_values(f->h, row, made, &f->err);

	if (rc != SW_OK)
		return rc;
	sw_buf_init(&why, SW_REPLY_MAX);
	sw_suggest_why_again(row->why, sw_sweep_history(f->h->sched)->n_obs - made->known, &why);
	text.why = why.data;
	f->c->text = &text;
	rc = why.failed != SW_OK ? sw_err_set(&f->err, why.failed, "out of memory")
				 : sw_driver_step(f->c, f->h, &event, -1, NULL, NULL, &f->err);
	f->c->text = NULL;
	sw_buf_fini(&why);
	return rc;
}

/* The next trial, if it was handed out or nobody knows. What comes after one that was not was not
 * either. */
static bool take_row(const struct sw_row_prepared *row, void *arg)
{
	struct found *f = arg;
	const struct sw_sweep *sched = f->h->sched;
	const uint64_t trial = (uint64_t)row->trial;
	const bool noted = row->run != 0 && (uint64_t)row->run == f->past->run;
	const bool handed = noted && trial <= sw_handed_up_to(f->past, f->h->sweep);
	const bool fits = trial == sw_sweep_trial_n(sched) + 1 &&
			  sw_sweep_wants_suggestion(sched) && row->known >= 0 &&
			  (uint64_t)row->known <= sw_sweep_history(sched)->n_obs;
	struct sw_suggestion *made;

	f->rows++;
	if (!fits && handed)
		f->rc = sw_err_set(&f->err, SW_IO,
				   "trial %lld was handed out, and does not follow from what is "
				   "stored",
				   (long long)row->trial);
	if (!fits || (noted && !handed))
		return false;
	made = sw_calloc(1, sizeof *made);
	if (made == NULL)
		sw_daemon_die("take what was prepared", SW_NOMEM);
	f->rc = hand_out(f, row, made);
	sw_suggestion_fini(made);
	free(made);
	if (f->rc == SW_OK && !noted) {
		f->unknown_from = f->unknown_to == 0 ? trial : f->unknown_from;
		f->unknown_to = trial;
	}
	return f->rc == SW_OK;
}

static void read_found(struct sw_db *db, void *arg)
{
	struct found *f = arg;
	const sw_status rc = sw_read_prepared(db, f->h->sweep, take_row, f, &f->err);

	if (f->rc == SW_OK)
		f->rc = rc;
}

/* They wait for whoever asks next, as their second attempt. */
static void release(struct found *f)
{
	for (uint64_t trial = f->unknown_from; f->unknown_to != 0 && trial <= f->unknown_to;
	     trial++) {
		const struct sw_event event = {.kind = SW_EVENT_RELEASE,
					       .trial = trial,
					       .attempt = 1,
					       .cause = "the machine went down before it was "
							"stored who has it"};

		if (sw_driver_step(f->c, f->h, &event, -1, NULL, NULL, &f->err) != SW_OK)
			sw_daemon_die("release what was prepared", f->err.code);
	}
}

/* From now on what is prepared may be stored. Not before all that the last run's file says is. */
static void begin(struct sw_daemon *d)
{
	sw_handed_begin(&d->handed, d->config.state);
	for (size_t i = 0; i < d->host_n; i++)
		if (d->hosts[i]->suggest != NULL)
			sw_standby_store(d->hosts[i]->suggest);
}

static void on_recovered(void *arg)
{
	struct sw_daemon *d = arg;

	if (--d->standby_left == 0)
		begin(d);
}

static sw_status recover(struct sw_host *h, const struct sw_handed *past, struct sw_err *err)
{
	const uint64_t before = sw_sweep_trial_n(h->sched);
	struct found f = {.h = h, .past = past, .c = sw_change_begin(h->d, NULL)};

	sw_store_read_now(h->d->store, read_found, &f);
	if (f.rc != SW_OK || f.rows == 0) {
		sw_change_drop(f.c);
		return f.rc == SW_OK ? SW_OK
				     : sw_err_set(err, f.rc,
						  "cannot recover what sweep %lld had prepared: %s",
						  (long long)h->sweep, f.err.msg);
	}
	release(&f);
	sw_log(SW_LOG_INFO, "standby.recovered", "sweep=%lld prepared=%zu handed_out=%llu%s",
	       (long long)h->sweep, f.rows,
	       (unsigned long long)(sw_sweep_trial_n(h->sched) - before),
	       f.unknown_to != 0 ? " released" : "");
	keep(f.c, h->suggest, 1, 0);
	f.c->then = on_recovered;
	f.c->arg = h->d;
	h->d->standby_left++;
	sw_change_commit(f.c);
	return SW_OK;
}

sw_status sw_standby_recover(struct sw_daemon *d, struct sw_err *err)
{
	struct sw_handed past;
	sw_status rc = SW_OK;

	sw_handed_open(&past, d->config.state);
	sw_handed_draw(&d->handed);
	for (size_t i = 0; rc == SW_OK && i < d->host_n; i++)
		if (d->hosts[i]->driven && d->hosts[i]->suggest != NULL &&
		    d->hosts[i]->ended_ms == 0)
			rc = recover(d->hosts[i], &past, err);
	sw_handed_close(&past);
	if (rc == SW_OK && d->standby_left == 0)
		begin(d);
	return rc;
}

/* --- at the end --- */

void sw_standby_forget(struct sw_daemon *d)
{
	struct sw_change *c = sw_change_begin(d, NULL);

	for (size_t i = 0; i < d->host_n; i++) {
		struct sw_suggester *s = d->hosts[i]->suggest;

		if (s != NULL && s->standby.to != 0)
			keep(c, s, 1, 0);
	}
	sw_change_commit(c);
}

void sw_standby_free(struct sw_daemon *d)
{
	sw_handed_close(&d->handed);
}
