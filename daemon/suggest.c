#include "daemon/suggest.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "daemon/call.h"
#include "daemon/daemon.h"
#include "daemon/driver.h"
#include "daemon/host.h"
#include "daemon/supervisor.h"
#include "daemon/work.h"
#include "proto/json.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_MAX  2048 /* prepared suggestions of a sweep: what one ask may want, and some */
#define FORGET_US  ((int64_t)5 * 1000000)
#define EXTEND_MAX 64 /* how far a stale chain is drawn out before the model is made anew */

struct parked {
	struct parked *next;
	struct sw_call *call;
	int64_t count;
	int64_t since_us;
};

struct sw_suggester {
	struct sw_host *h;
	struct sw_suggestion **queue; /* [n], for trials first, first + 1, ... */
	size_t n, cap;
	uint64_t first, first_made; /* trial and number of queue[0]; meaningless while n is 0 */
	struct parked *parked, **parked_tail;
	size_t parked_n;
	int64_t since_us; /* since when a slot waits; 0: none does */
	struct sw_suggester *next_dirty;
	bool dirty; /* something changed: plan() at the end of this turn of the loop */

	/* The job's own while busy, the loop's otherwise. */
	struct sw_sampler *sampler;
	struct sw_history history; /* the sweep's as the chain knows it, then the chain's trials */
	uint64_t real;             /* how many of its trials are the sweep's for certain */
	bool chain;                /* the rest are those of the queue, up to its end */
	uint64_t made;             /* the number of the suggestion in work */
	struct sw_suggestion *out;
	sw_status rc;
	struct sw_err err;

	uv_work_t work;
	bool busy;
	bool fresh_start; /* the job in work begins a chain */
	unsigned drawn;   /* suggestions of the present chain made after it went stale */
};

static struct sw_sweep *sweep_of(const struct sw_suggester *s)
{
	return s->h->sched;
}

static uint64_t next_trial(const struct sw_suggester *s)
{
	return sw_sweep_trial_n(sweep_of(s)) + 1;
}

static int64_t wait_us(const struct sw_suggester *s)
{
	return (int64_t)s->h->spec->suggest_wait_ms * 1000;
}

/* Does the front of the queue know all that is known? */
static bool is_fresh(const struct sw_suggester *s)
{
	return s->n > 0 && s->queue[0]->known == sw_sweep_history(sweep_of(s))->n_obs;
}

static void free_suggestion(struct sw_suggestion *s)
{
	if (s != NULL)
		sw_suggestion_fini(s);
	free(s);
}

static void drop_queue(struct sw_suggester *s)
{
	for (size_t i = 0; i < s->n; i++)
		free_suggestion(s->queue[i]);
	s->n = 0;
}

static void push_queue(struct sw_suggester *s, struct sw_suggestion *one)
{
	if (s->n == s->cap) {
		const size_t cap = s->cap == 0 ? 8 : 2 * s->cap;
		struct sw_suggestion **grown =
			sw_realloc(s->queue, cap * sizeof(struct sw_suggestion *));

		if (grown == NULL)
			sw_daemon_die("keep a suggestion", SW_NOMEM);
		s->queue = grown;
		s->cap = cap;
	}
	if (s->n == 0) {
		s->first = next_trial(s);
		s->first_made = sw_sweep_made(sweep_of(s)) + 1;
	}
	s->queue[s->n++] = one;
}

/* What was handed out leaves. If a trial came that the queue did not know (the user enqueued it),
 * all of it goes: the suggestions took other trials for pending. */
static void trim_queue(struct sw_suggester *s)
{
	const uint64_t gone = next_trial(s) - s->first;

	if (s->n == 0 || gone == 0)
		return;
	if (sw_sweep_made(sweep_of(s)) + 1 - s->first_made != gone) {
		drop_queue(s);
		s->chain = false;
		return;
	}
	assert(gone <= s->n);
	for (size_t i = 0; i < gone; i++)
		free_suggestion(s->queue[i]);
	memmove(s->queue, s->queue + gone, (s->n - gone) * sizeof(struct sw_suggestion *));
	s->n -= gone;
	s->first += gone;
	s->first_made += gone;
}

/* --- the job --- */

static void run_job(uv_work_t *work)
{
	struct sw_suggester *s = work->data;

	s->rc = sw_sampler_suggest(s->sampler, &s->history, s->made, s->out, &s->err);
	if (s->rc == SW_OK)
		s->rc = sw_history_add_trial(&s->history, s->out->values);
}

static void serve(struct sw_suggester *s);
static void plan(struct sw_suggester *s);

static void fail_sweep(struct sw_suggester *s)
{
	const struct sw_event event = {.kind = SW_EVENT_FAIL, .cause = s->err.msg};
	struct sw_change *c = sw_change_begin(s->h->d, NULL);
	struct sw_err err = SW_ERR_INIT;

	sw_log(SW_LOG_ERROR, "suggest.failed", "sweep=%lld why=\"%s\"", (long long)s->h->sweep,
	       s->err.msg);
	if (sw_driver_step(c, s->h, &event, -1, NULL, NULL, &err) == SW_OK)
		sw_change_commit(c);
	else
		sw_change_drop(c);
}

/* The suggestion in work is for this trial: those the chain made so far are before it. */
static uint64_t job_trial(const struct sw_suggester *s)
{
	return s->history.trials; /* the new one was added to the copy */
}

static void on_job(uv_work_t *work, int status)
{
	struct sw_suggester *s = work->data;
	struct sw_suggestion *out = s->out;

	(void)status; /* never cancelled */
	s->busy = false;
	s->out = NULL;
	if (s->h->d->phase != SW_UP) {
		free_suggestion(out);
		return;
	}
	if (s->rc == SW_NOMEM)
		sw_daemon_die("make a suggestion", SW_NOMEM);
	if (s->rc != SW_OK) {
		free_suggestion(out);
		fail_sweep(s);
	} else if (s->fresh_start && job_trial(s) == next_trial(s)) {
		drop_queue(s);
		push_queue(s, out);
		s->chain = true;
	} else if (!s->fresh_start && s->chain && job_trial(s) == next_trial(s) + s->n) {
		push_queue(s, out);
	} else { /* overtaken: its trial was made from the reserve, or enqueued */
		free_suggestion(out);
		s->chain = false;
	}
	serve(s);
	sw_supervisor_feed(s->h->d);
	plan(s);
}

/* Does the copy of the history end with the queue's trials, so that the chain can go on? */
static bool can_extend(const struct sw_suggester *s)
{
	return s->chain && s->history.trials + 1 == next_trial(s) + s->n && s->n < QUEUE_MAX &&
	       s->drawn < EXTEND_MAX;
}

static void start_job(struct sw_suggester *s, bool fresh_start)
{
	struct sw_sweep *sweep = sweep_of(s);
	const struct sw_history *h = sw_sweep_history(sweep);
	struct sw_err err = SW_ERR_INIT;

	if (fresh_start) {
		size_t n;
		const unsigned char *state = sw_sweep_sampler_state(sweep, &n);
		sw_status rc = sw_history_follow(&s->history, h, s->real);
		if (rc == SW_OK)
			rc = sw_sampler_restore(s->sampler, state, n, &err);
		if (rc == SW_NOMEM)
			sw_daemon_die("make a suggestion", rc);
		if (rc != SW_OK) /* not bytes that this version knows: as a new sampler */
			rc = sw_sampler_restore(s->sampler, NULL, 0, &err);
		s->real = h->trials;
		s->chain = false;
		s->drawn = 0;
	}
	s->made = sw_sweep_made(sweep) + 1 + (fresh_start ? 0 : s->n);
	s->fresh_start = fresh_start;
	s->err = (struct sw_err)SW_ERR_INIT;
	s->out = sw_calloc(1, sizeof *s->out);
	if (s->out == NULL)
		sw_daemon_die("make a suggestion", SW_NOMEM);
	s->busy = true;
	if (uv_queue_work(s->h->d->loop, &s->work, run_job, on_job) != 0)
		sw_daemon_die("make a suggestion", SW_INTERNAL);
}

/* --- who waits --- */

static int64_t oldest_wait(const struct sw_suggester *s)
{
	const int64_t parked = s->parked != NULL ? s->parked->since_us : 0;

	if (parked == 0 || s->since_us == 0)
		return parked + s->since_us;
	return parked < s->since_us ? parked : s->since_us;
}

static bool is_late(const struct sw_suggester *s, int64_t since_us)
{
	return since_us != 0 && sw_clock_mono_us() - since_us >= wait_us(s);
}

/* Begins what is worth doing now, if anything is. */
static void plan(struct sw_suggester *s)
{
	size_t wanted = 1;

	if (s->busy || s->h->d->phase != SW_UP || s->h->d->draining ||
	    !sw_sweep_wants_suggestion(sweep_of(s)))
		return;
	for (const struct parked *p = s->parked; p != NULL && wanted < QUEUE_MAX; p = p->next)
		wanted += (size_t)p->count;
	wanted = (size_t)sw_sweep_wants_suggestions(sweep_of(s), wanted);
	if (is_fresh(s)) {
		if (s->n < wanted)
			start_job(s, !can_extend(s));
		return;
	}
	/* Stale: anew, unless someone has waited long and the old chain can serve him sooner. */
	if (is_late(s, oldest_wait(s)) && can_extend(s)) {
		s->drawn++;
		start_job(s, false);
	} else {
		start_job(s, true);
	}
}

/* Is there enough for n ASKs, for one who waits since then? */
static bool enough(struct sw_suggester *s, uint64_t n, int64_t since_us)
{
	const uint64_t wanted = sw_sweep_wants_suggestions(sweep_of(s), n);

	return wanted == 0 || (s->n >= wanted && (is_fresh(s) || is_late(s, since_us)));
}

static void serve(struct sw_suggester *s)
{
	const int64_t now_us = sw_clock_mono_us();

	while (s->parked != NULL) {
		struct parked *p = s->parked;

		if (!sw_call_gone(p->call) && s->h->ended_ms == 0 &&
		    !enough(s, (uint64_t)p->count, p->since_us) &&
		    now_us - p->since_us < SW_SUGGEST_MAX_US)
			return;
		s->parked = p->next;
		if (s->parked == NULL)
			s->parked_tail = &s->parked;
		s->parked_n--;
		sw_work_ask(s->h, p->call, sw_call_gone(p->call) ? 0 : p->count);
		free(p);
	}
}

static void on_deadline(uv_timer_t *timer)
{
	struct sw_daemon *d = timer->data;

	for (size_t i = 0; i < d->host_n; i++) {
		struct sw_suggester *s = d->hosts[i]->suggest;

		if (s == NULL || !is_late(s, oldest_wait(s)))
			continue;
		serve(s);
		sw_supervisor_feed(d);
		plan(s);
	}
}

/* The daemon has one timer: what is due later than it fires is seen again by the jobs' ends. */
static void arm(struct sw_suggester *s)
{
	struct sw_daemon *d = s->h->d;
	const uint64_t ms = (uint64_t)s->h->spec->suggest_wait_ms + 1;

	if (!uv_is_active((const uv_handle_t *)&d->suggest) ||
	    uv_timer_get_due_in(&d->suggest) > ms)
		(void)uv_timer_start(&d->suggest, on_deadline, ms, ms);
}

bool sw_suggest_ready(struct sw_host *h, uint64_t n)
{
	struct sw_suggester *s = h->suggest;

	if (s == NULL)
		return true;
	if (s->parked == NULL && enough(s, n, s->since_us)) {
		s->since_us = 0;
		return true;
	}
	if (s->since_us == 0)
		s->since_us = sw_clock_mono_us();
	arm(s);
	plan(s);
	return false;
}

bool sw_suggest_peek(struct sw_host *h, const struct sw_suggestion **out)
{
	const struct sw_suggester *s = h->suggest;

	*out = NULL;
	if (s == NULL || !sw_sweep_wants_suggestion(h->sched))
		return true;
	if (s->n == 0)
		return false;
	assert(s->first == next_trial(s));
	*out = s->queue[0];
	return true;
}

void sw_suggest_changed(struct sw_host *h)
{
	struct sw_suggester *s = h->suggest;

	if (s == NULL)
		return;
	trim_queue(s);
	if (s->dirty)
		return;
	s->dirty = true;
	s->next_dirty = h->d->suggest_dirty;
	h->d->suggest_dirty = s;
}

void sw_suggest_flush(struct sw_daemon *d)
{
	while (d->suggest_dirty != NULL) {
		struct sw_suggester *s = d->suggest_dirty;

		d->suggest_dirty = s->next_dirty;
		s->dirty = false;
		serve(s);
		plan(s);
	}
}

void sw_suggest_park(struct sw_host *h, struct sw_call *call, int64_t count)
{
	struct sw_suggester *s = h->suggest;
	struct parked *p = s->parked_n < SW_SUGGEST_MAX_ASK ? sw_calloc(1, sizeof *p) : NULL;
	struct sw_err err = SW_ERR_INIT;

	if (p == NULL) {
		(void)sw_err_set(&err, SW_BUSY, "%zu asks wait for suggestions; try again",
				 s->parked_n);
		sw_call_error(call, &err);
		return;
	}
	*p = (struct parked){.call = call, .count = count, .since_us = sw_clock_mono_us()};
	*s->parked_tail = p;
	s->parked_tail = &p->next;
	s->parked_n++;
	arm(s);
	plan(s);
}

void sw_suggest_tick(struct sw_daemon *d, int64_t now_us)
{
	bool waiting = false;

	for (size_t i = 0; i < d->host_n; i++) {
		struct sw_suggester *s = d->hosts[i]->suggest;

		if (s == NULL)
			continue;
		if (s->parked != NULL && now_us - s->parked->since_us >= SW_SUGGEST_MAX_US)
			serve(s);
		if (s->since_us != 0 && now_us - s->since_us > wait_us(s) + FORGET_US)
			s->since_us = 0; /* a slot that waits still says so again */
		waiting = waiting || oldest_wait(s) != 0;
	}
	if (!waiting)
		(void)uv_timer_stop(&d->suggest);
}

void sw_suggest_refuse_all(struct sw_daemon *d, const char *why)
{
	struct sw_err err = SW_ERR_INIT;

	(void)sw_err_set(&err, SW_BUSY, "%s", why);
	for (size_t i = 0; i < d->host_n; i++) {
		struct sw_suggester *s = d->hosts[i]->suggest;

		while (s != NULL && s->parked != NULL) {
			struct parked *p = s->parked;

			s->parked = p->next;
			s->parked_n--;
			sw_call_error(p->call, &err);
			free(p);
		}
		if (s != NULL)
			s->parked_tail = &s->parked;
	}
}

/* --- life --- */

sw_status sw_suggest_attach(struct sw_host *h)
{
	const struct sw_sampler_config *config = sw_sweep_sampler_config(h->sched);
	struct sw_err err = SW_ERR_INIT;

	if (config->kind != SW_SAMPLER_BAYES)
		return SW_OK;
	struct sw_suggester *s = sw_calloc(1, sizeof *s);
	if (s == NULL)
		return SW_NOMEM;
	s->h = h;
	s->parked_tail = &s->parked;
	s->work.data = s;
	sw_history_init(&s->history, sw_space_size(config->space), config->n_metrics);
	const sw_status rc = sw_sampler_create(&s->sampler, config, &err);
	if (rc != SW_OK) {
		free(s);
		return rc;
	}
	h->suggest = s;
	return SW_OK;
}

void sw_suggest_free(struct sw_host *h)
{
	struct sw_suggester *s = h->suggest;

	if (s == NULL)
		return;
	assert(!s->busy && s->parked == NULL);
	drop_queue(s);
	free(s->queue);
	sw_sampler_destroy(s->sampler);
	sw_history_fini(&s->history);
	free(s);
	h->suggest = NULL;
}

void sw_suggest_why(const struct sw_suggestion *s, uint64_t seen, bool maximize, struct sw_buf *out)
{
	struct sw_jw w;

	sw_jw_init(&w, out);
	sw_jw_obj(&w);
	sw_jw_kstr(&w, "source", s->source);
	sw_jw_kint(&w, "known", (int64_t)s->known);
	sw_jw_kint(&w, "unseen", (int64_t)(seen - s->known));
	if (s->has_model) {
		sw_jw_knum(&w, "mean", maximize ? -s->mean : s->mean);
		sw_jw_knum(&w, "sd", s->sd);
	}
	if (s->ei > 0)
		sw_jw_knum(&w, s->has_model ? "expected_improvement" : "density_ratio", s->ei);
	sw_jw_key(&w, "nearest");
	sw_jw_arr(&w);
	for (size_t i = 0; i < s->near_n; i++) {
		sw_jw_obj(&w);
		sw_jw_kint(&w, "trial", (int64_t)s->near[i]);
		sw_jw_knum(&w, "distance", s->near_distance[i]);
		sw_jw_obj_end(&w);
	}
	sw_jw_arr_end(&w);
	sw_jw_obj_end(&w);
}
