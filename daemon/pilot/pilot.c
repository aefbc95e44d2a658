#include "daemon/pilot/pilot.h"
#include "base/log.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/net/conn.h"
#include "daemon/net/port.h"
#include "daemon/pilot/files.h"
#include "daemon/pilot/job.h"
#include "daemon/pilot/orders.h"
#include "daemon/pilot/others.h"
#include "daemon/slot/slot.h"
#include "daemon/slot/supervisor.h"
#include "spec/spec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_US       ((int64_t)10 * 1000000)
#define DARK_US       ((int64_t)600 * 1000000)
#define PAUSE_US      ((int64_t)30 * 1000000)
#define ASK_US        ((int64_t)1000000)
#define MISSED_MOST   2 /* good lists in a row without its name: it is gone */
#define BYE_LISTS     3
#define BYE_US        ((int64_t)60 * 1000000)
#define OUTLIVE_LISTS 6 /* a minute */
#define BATCHES       2 /* submissions whose jobs wait, at a time */

/* --- what becomes of a job --- */

void sw_pilot_hello(struct sw_slot *s, const char *node, bool files)
{
	struct sw_daemon *d = s->d;

	if (!s->device.kind->away)
		return;
	struct sw_pilot *p = sw_pilot_of(s->worker);
	if (p->began_ms == 0) {
		p->began_ms = d->clock->wall_ms();
		sw_pilot_files_began(p);
	}
	if (!p->greeted)
		p->idle_us = d->clock->mono_us();
	p->greeted = true;
	(void)snprintf(p->node, sizeof p->node, "%s", node);
	s->worker->no_files = !files;
	struct sw_job_shape *sh = sw_job_shape_find(d, s->worker->shape);
	if (sh != NULL) {
		/* One that came up shows that the options are right: failures before it were of
		 * nodes or of luck. */
		sh->failed = sh->pauses = 0;
		sh->pause_us = 0;
		sh->blind = !files;
	}
	sw_pilot_write_causes(d);
}

void sw_pilot_bye(struct sw_slot *s, const char *cause, const char *end)
{
	if (!s->device.kind->away)
		return;
	struct sw_pilot *p = sw_pilot_of(s->worker);
	/* In order it says so once its trial has stopped. Else its job will show how it ended, and
	 * then it is known whether the trial is to blame. */
	if (s->state != SW_SLOT_BUSY || end != NULL || p->leaving)
		(void)snprintf(p->bye, sizeof p->bye, "%s",
			       *cause != '\0' ? cause : "it ended by itself");
	p->bye_told = end != NULL && strcmp(end, "told") == 0;
	p->bye_us = s->d->clock->mono_us();
	s->rest_us = INT64_MAX;
}

/* Told to end, and not by this daemon: the executor will know by whom. That is waited for, but not
 * for ever. */
static bool is_unexplained(const struct sw_pilot *p, int64_t now_us)
{
	const struct sw_daemon *d = p->w->slots->d;

	return p->bye_told && !p->leaving && d->phase == SW_UP && !sw_pilot_is_over(p->state) &&
	       p->missed < MISSED_MOST && p->bye_lists < BYE_LISTS && now_us - p->bye_us < BYE_US;
}

static bool end_if_over(struct sw_pilot *p, int64_t now_us)
{
	const char *executor = p->w->slots->d->config.pilots.executor;
	char cause[320];

	/* The pilot's own word goes before all lists; they only add why. */
	if (p->bye[0] != '\0' && is_unexplained(p, now_us))
		return false;
	if (p->bye[0] != '\0') {
		/* It said bye, so that it ended is nothing new. */
		if (sw_pilot_is_over(p->state) && p->state != SW_PILOT_DONE)
			sw_pilot_words(p, cause, sizeof cause);
		else
			(void)snprintf(cause, sizeof cause, "%.110s",
				       p->idle ? "it had no trial" : p->bye);
		sw_pilot_end(p, false, cause);
		return true;
	}
	/* A worker that speaks lives, whatever a list says. */
	if (sw_pilot_is_connected(p))
		return false;
	if (sw_pilot_is_over(p->state)) {
		/* A worker failed by itself if its job did; all else is the cluster's doing. */
		sw_pilot_words(p, cause, sizeof cause);
		sw_pilot_end(p, p->state == SW_PILOT_FAILED, cause);
		return true;
	}
	(void)snprintf(cause, sizeof cause, "%s: %s", executor,
		       p->idle      ? "no sweep wants it any more"
		       : p->leaving ? "cancelled"
				    : "no list names it any more");
	/* A cancel ends a job that waited; one that runs has its time to save what it has. */
	if ((p->missed >= MISSED_MOST) || (p->leaving && p->submitted_us == 0) ||
	    (p->leaving && !p->greeted && p->cancelled == SW_PILOT_DONE_SO)) {
		sw_pilot_end(p, false, cause);
		return true;
	}
	return false;
}

static void tell_to_end(struct sw_pilot *p)
{
	p->leaving = true;
	p->w->slots->rest_us = INT64_MAX; /* it takes no further trial */
	sw_conn_push(p->w->slots->conn, "worker.exit", "{}");
}

/* The cluster calls it over, and its processes run on: of a node that was taken for dead, say. Its
 * time to leave by itself is over, too. */
static void end_if_outlived(struct sw_pilot *p, int64_t now_us)
{
	if (!sw_pilot_is_over(p->state))
		p->over_us = 0;
	else if (p->over_us == 0)
		p->over_us = now_us;
	if (p->over_us != 0 && !p->leaving &&
	    now_us - p->over_us > OUTLIVE_LISTS * p->w->slots->d->pilot.list_us)
		tell_to_end(p);
}

static void end_idle(struct sw_pilot *p)
{
	sw_log(SW_LOG_INFO, "pilot.idle", "name=%s slot=%d", p->name, p->w->slots->index);
	p->idle = true;
	tell_to_end(p);
}

/* Nothing to do for so long: it goes. */
static void end_if_idle(struct sw_pilot *p, int64_t now_us)
{
	struct sw_slot *s = p->w->slots;
	const int64_t idle_us = (int64_t)s->d->config.pilots.idle_s * 1000000;

	/* Between two looks it may have had a short trial, or many. */
	if (s->state != SW_SLOT_IDLE || s->busy_since_us > p->idle_us)
		p->idle_us = now_us;
	if (now_us - p->idle_us >= idle_us && !p->leaving)
		end_idle(p);
}

static void tend(struct sw_pilot *p, int64_t now_us)
{
	if (end_if_over(p, now_us))
		return;
	if (sw_pilot_is_connected(p) || p->state != SW_PILOT_RUNNING)
		/* Darkness begins only once the cluster says that it runs: in the queue nobody
		 * dials. */
		p->dark_us = now_us;
	if (now_us - p->dark_us > p->w->slots->d->pilot.dark_us && !p->cancel) {
		sw_log(SW_LOG_WARN, "pilot.dark", "name=%s why=\"it runs and is not connected\"",
		       p->name);
		p->cancel = true;
	}
	if (!sw_pilot_is_connected(p))
		return;
	end_if_outlived(p, now_us);
	end_if_idle(p, now_us);
}

/* --- asking for more --- */

/* Submissions of that shape of which some job has not become a pilot yet. */
static size_t count_batches(struct sw_daemon *d, uint64_t shape)
{
	uint64_t seen[BATCHES];
	size_t n = 0;

	for (struct sw_pilot *p = NULL; n < BATCHES && (p = sw_pilot_next(d, p)) != NULL;) {
		bool known = p->greeted || p->leaving || p->w->shape != shape;

		for (size_t k = 0; k < n && !known; k++)
			known = seen[k] == p->batch;
		if (!known)
			seen[n++] = p->batch;
	}
	return n;
}

/* Ends one that still waits in the cluster's queue. False: it does not. */
static bool take_back(struct sw_pilot *p)
{
	if (p->greeted || p->state != SW_PILOT_PENDING)
		return false;
	p->cancel = p->leaving = p->idle = true;
	return true;
}

/* No sweep has had a trial for a pilot of that shape for as long as one is idle: what still waits
 * in the queue would only be idle, too. Without a job the shape goes, unless it is the daemon's. */
static void end_unwanted(struct sw_daemon *d, struct sw_job_shape *sh, int64_t now_us)
{
	bool any = sh->id == SW_SPEC_SHAPE_USUAL;

	if (sh->id == 0 || now_us - sh->wanted_us < (int64_t)d->config.pilots.idle_s * 1000000)
		return;
	sh->refused = false; /* no sweep waits for that now */
	for (struct sw_pilot *p = NULL; (p = sw_pilot_next(d, p)) != NULL;)
		if (p->w->shape == sh->id) {
			any = true;
			(void)take_back(p);
		}
	if (!any)
		sw_job_shape_close(sh);
}

/* Had a sweep a trial for a pilot of that shape just now? */
static bool is_wanted(const struct sw_pilot *p, int64_t now_us)
{
	const struct sw_job_shape *sh = sw_job_shape_find(p->w->slots->d, p->w->shape);

	return sh != NULL && sh->wanted_us == now_us;
}

/* Jobs that are wanted have no slot left (full), or wait in the queue: those of a shape that no
 * sweep wants may hold the very nodes, and go without their grace. */
static void give_way(struct sw_daemon *d, bool full, int64_t now_us)
{
	bool wait = full;

	for (struct sw_pilot *p = NULL; !wait && (p = sw_pilot_next(d, p)) != NULL;)
		wait = !p->greeted && p->state == SW_PILOT_PENDING && is_wanted(p, now_us);
	for (struct sw_pilot *p = NULL; wait && (p = sw_pilot_next(d, p)) != NULL;) {
		if (p->leaving || is_wanted(p, now_us) || take_back(p))
			continue;
		if (sw_pilot_is_connected(p) && p->w->slots->state == SW_SLOT_IDLE)
			end_idle(p);
	}
}

static void note_want(struct sw_daemon *d, const struct sw_job_want *want, int64_t now_us)
{
	struct sw_job_shape *sh = sw_job_shape_open(d, want->id);
	char options[SW_PILOT_OPTIONS];

	if (sh == NULL) /* its turn comes */
		return;
	/* Noted at each look and not as a flag: end_unwanted() measures how long nobody has wanted
	 * it. */
	sh->wanted_us = now_us;
	if (sh->options != NULL || want->options == NULL)
		return;
	sw_pilot_options_over(&d->config.pilots, want->options, &sh->time_s, options);
	sh->options = sw_strdup(options);
	if (sh->options == NULL)
		sw_daemon_die("ask for pilots", SW_NOMEM);
}

/* False: that shape's turn is later. */
static bool may_ask(struct sw_daemon *d, const struct sw_job_want *want, int64_t now_us)
{
	const struct sw_job_shape *sh = sw_job_shape_find(d, want->id);

	return sh != NULL && want->n > 0 && now_us >= sh->pause_us &&
	       count_batches(d, want->id) < BATCHES;
}

/* One submission. */
static void ask_for(struct sw_daemon *d, const struct sw_job_want *want, size_t n)
{
	n = want->n < n ? want->n : n;
	d->pilot.next++;
	d->pilot.placed = 0;
	for (size_t i = 0; i < d->pilot.n && d->pilot.placed < n; i++) {
		/* Its slot has a job, of whatever state. */
		if (d->pilot.jobs[i].w->proc != NULL)
			continue;
		d->pilot.jobs[i].w->shape = want->id;
		sw_supervisor_start_one(d->pilot.jobs[i].w);
	}
}

static void ask_for_more(struct sw_daemon *d, int64_t now_us)
{
	struct sw_job_want want[SW_JOB_SHAPES], *first = NULL;
	size_t most = 0, hungry = 0;

	if (d->phase != SW_UP || now_us - d->pilot.asked_us < ASK_US)
		return;
	/* Once a second: each look goes over all sweeps. */
	d->pilot.asked_us = now_us;
	for (size_t i = 0; i < d->pilot.n; i++)
		most += d->pilot.jobs[i].w->proc == NULL;
	most = most < SW_PILOT_BATCH ? most : SW_PILOT_BATCH;
	const size_t n = d->pilot.wanted(d, most, want);
	for (size_t i = 0; i < n; i++)
		note_want(d, &want[i], now_us);
	for (size_t i = 0; i < SW_JOB_SHAPES; i++)
		end_unwanted(d, &d->slot.shapes[i], now_us);
	/* From the last to the first, so that `first` ends as the shape that would be served
	 * first. */
	for (size_t i = n; i-- > 0;)
		if (may_ask(d, &want[i], now_us)) {
			first = &want[i];
			hungry++;
		}
	give_way(d, hungry > 0 && most == 0, now_us);
	/* It must not have all that are left: the next would wait until a pilot goes. */
	if (first != NULL && most > 0 && !d->draining)
		ask_for(d, first, (most + hungry - 1) / hungry);
}

void sw_pilot_tick(struct sw_daemon *d, int64_t now_us)
{
	for (struct sw_pilot *p = NULL; (p = sw_pilot_next(d, p)) != NULL;)
		tend(p, now_us);
	if (d->pilot.n > 0)
		ask_for_more(d, now_us);
	/* After the wants: what was just asked for is submitted in the same tick. */
	sw_pilot_orders(d, now_us);
	if (d->pilot.n > 0)
		sw_pilot_write_causes(d);
}

/* --- start and end --- */

/* "10000,600000,30000": other waits, for tests. */
static void set_waits(struct sw_daemon *d)
{
	const char *given = getenv("SWEEPD_PILOT_MS");
	long long list, dark, pause;

	d->pilot.list_us = LIST_US;
	d->pilot.dark_us = DARK_US;
	d->pilot.first_us = PAUSE_US;
	if (given == NULL || sscanf(given, "%9lld,%9lld,%9lld", &list, &dark, &pause) != 3 ||
	    list < 1 || dark < 1 || pause < 1)
		return;
	d->pilot.list_us = list * 1000;
	d->pilot.dark_us = dark * 1000;
	d->pilot.first_us = pause * 1000;
}

/* The port of the last start, where its pilots dial; another one if that is taken meanwhile. */
static sw_status listen_for_pilots(struct sw_daemon *d, struct sw_err *err)
{
	const struct sw_pilot_options *o = &d->config.pilots;
	const unsigned port = o->port != 0 ? o->port : d->pilot.port;
	struct sw_err first = SW_ERR_INIT;
	sw_status rc = sw_port_start(d, o->listen, port, o->max, &first);

	if (rc != SW_OK && o->port == 0 && port != 0) {
		sw_log(SW_LOG_WARN, "port.moved", "why=\"%s\"", first.msg);
		first = (struct sw_err)SW_ERR_INIT;
		/* Pilots of before dial the old port in vain: their jobs are cancelled as dark. */
		rc = sw_port_start(d, o->listen, 0, o->max, &first);
	}
	if (rc != SW_OK)
		return sw_err_set(err, rc, "%s", first.msg);
	d->pilot.port = sw_port_number(d);
	sw_log(SW_LOG_INFO, "port.listen", "host=%s port=%u", o->listen, d->pilot.port);
	return sw_pilot_files_save(d, err);
}

sw_status sw_pilot_open(struct sw_daemon *d, struct sw_err *err)
{
	const struct sw_pilot_options *o = &d->config.pilots;

	set_waits(d);
	if (o->max == 0)
		return SW_OK;
	(void)sw_job_shape_open(d, SW_SPEC_SHAPE_USUAL); /* the first, for ever */
	if (!sw_pilot_find_program(o->executor, d->pilot.program, sizeof d->pilot.program))
		return sw_err_set(err, SW_NOT_FOUND, "--executor %s: there is none in %.200s",
				  o->executor, d->pilot.program);
	d->pilot.jobs = sw_calloc(o->max, sizeof *d->pilot.jobs);
	if (d->pilot.jobs == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	for (size_t i = 0; i < d->slot.worker_n; i++)
		if (d->slot.workers[i].slots->device.kind->away)
			d->pilot.jobs[d->pilot.n++].w = &d->slot.workers[i];
	if (sw_pilot_files_open(d, err) != SW_OK || listen_for_pilots(d, err) != SW_OK)
		return err->code;
	/* A list at once: jobs that an earlier daemon left cost their owner by the minute. */
	d->pilot.listed_us = d->clock->mono_us() - d->pilot.list_us;
	d->pilot.list_due = true;
	sw_pilot_check(d);
	return SW_OK;
}

void sw_pilot_close(struct sw_daemon *d)
{
	for (size_t i = 0; i < SW_PILOT_VERBS; i++)
		if (d->pilot.run[i] != NULL)
			sw_errand_kill(d->pilot.run[i]);
	sw_port_stop(d);
}

void sw_pilot_free(struct sw_daemon *d)
{
	sw_pilot_orders_free(d);
	for (size_t i = 0; i < SW_JOB_SHAPES; i++)
		sw_job_shape_close(&d->slot.shapes[i]);
	free(d->pilot.jobs);
	d->pilot.jobs = NULL;
	d->pilot.n = 0;
	sw_port_free(d);
}

/* --- device.list --- */

void sw_pilot_write_slot(const struct sw_slot *s, struct sw_jw *w)
{
	const struct sw_pilot *p = s->device.kind->away ? sw_pilot_of(s->worker) : NULL;

	if (p != NULL && !p->used)
		p = NULL;
	sw_jw_kstr(w, "node", p != NULL && p->node[0] != '\0' ? p->node : NULL);
	sw_jw_kstr(w, "job", p != NULL && p->id[0] != '\0' ? p->id : NULL);
	const int64_t time_s = p != NULL && p->began_ms != 0 ? p->time_s : 0;
	const int64_t gone_s = time_s != 0 ? (s->d->clock->wall_ms() - p->began_ms) / 1000 : 0;
	sw_jw_kint_opt(w, "left_s", time_s != 0, gone_s < time_s ? time_s - gone_s : 0);
}

void sw_pilot_write(struct sw_daemon *d, struct sw_jw *w)
{
	const char *waits = "";

	if (d->pilot.n == 0) {
		sw_jw_knull(w, "pilots");
		return;
	}
	for (size_t i = 0; i < SW_JOB_SHAPES && *waits == '\0'; i++)
		waits = d->slot.shapes[i].why;
	sw_jw_kobj(w, "pilots");
	sw_jw_kstr(w, "executor", d->config.pilots.executor);
	sw_jw_kstr(w, "says", d->pilot.checked[0] != '\0' ? d->pilot.checked : NULL);
	sw_jw_kstr(w, "waits", *waits != '\0' ? waits : NULL);
	sw_jw_kint(w, "port", d->pilot.port);
	sw_jw_kint(w, "submits", (int64_t)d->pilot.n_submits);
	sw_jw_kint(w, "lists", (int64_t)d->pilot.n_lists);
	sw_others_write(&d->pilot, w);
	sw_jw_obj_end(w);
	if (d->clock->mono_us() - d->pilot.listed_us >= d->pilot.list_us)
		d->pilot.list_due = true;
}

/* --- pilot.cancel --- */

sw_status sw_pilot_cancel_others(struct sw_daemon *d, const char *folder, size_t *n,
				 struct sw_err *err)
{
	const struct sw_pilot_line *jobs;

	if (d->pilot.n == 0)
		return sw_err_set(err, SW_CONFLICT, "sweepd was started without --executor");
	if (sw_others_find(&d->pilot, folder, &jobs, n, err) != SW_OK)
		return err->code;
	for (size_t i = 0; i < *n; i++)
		sw_pilot_stray(d, d->config.pilots.executor, jobs[i].name, jobs[i].id);
	return SW_OK;
}
