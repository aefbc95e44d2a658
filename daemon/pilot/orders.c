#include "daemon/pilot/orders.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/pilot/job.h"
#include "daemon/pilot/others.h"
#include "daemon/slot/slot.h"
#include "daemon/slot/worker_row.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A job that ends by itself is named for a while: cancelled are those of the second list that does,
 * and of each tenth from there on. */
struct sw_stray {
	struct sw_stray *next;
	char executor[32], name[SW_PILOT_NAME], id[SW_PILOT_ID];
	unsigned seen; /* lists in a row that named it; 0: it is of no list, and cancelled once */
	bool named;    /* by the last one */
	bool due;
};

/* One line in the log when it begins and when it ends, not one each time. */
static void set_trouble(struct sw_daemon *d, enum sw_pilot_verb v, const struct sw_errand_end *run)
{
	const char *verb = sw_pilot_verb_name(v);

	if (d->phase == SW_CLOSING)
		return;
	if (run->ok && !d->pilot.fails[v])
		return;
	if (run->ok)
		sw_log(SW_LOG_INFO, "executor.works", "verb=%s", verb);
	else if (!d->pilot.fails[v])
		sw_log(SW_LOG_WARN, "executor.fails", "verb=%s why=\"%s\"", verb, run->why);
	d->pilot.fails[v] = !run->ok;
	if (v == SW_PILOT_SUBMIT) /* it may be the options of one sweep */
		return;
	d->pilot.trouble[0] = '\0';
	if (!run->ok)
		(void)snprintf(d->pilot.trouble, sizeof d->pilot.trouble, "%s failed: %.200s", verb,
			       run->why);
}

static void keep_id(struct sw_pilot *p, const char *id)
{
	char handle[SW_PILOT_ID + SW_PILOT_NAME + 64];

	if (strcmp(p->id, id) == 0)
		return;
	(void)snprintf(p->id, sizeof p->id, "%s", id);
	sw_pilot_handle(p, handle, sizeof handle);
	/* So that a later daemon can cancel it by its id, though no list has named it yet. */
	sw_worker_row_put(p->w, handle, NULL);
}

/* --- submit --- */

/* Finds a pilot by its place in the batch that is being submitted. */
static struct sw_pilot *find_under_way(struct sw_daemon *d, unsigned place)
{
	for (struct sw_pilot *p = NULL; (p = sw_pilot_next(d, p)) != NULL;)
		if (p->told && !p->submitted && p->submitted_us != 0 && p->place == place)
			return p;
	return NULL;
}

static void on_submitted(void *user, const struct sw_errand_end *run)
{
	struct sw_daemon *d = user;
	const int64_t now_us = d->clock->mono_us();
	const char *text = run->out;
	char id[SW_PILOT_ID], why[200];
	struct sw_pilot *p;

	(void)snprintf(why, sizeof why, "submit failed: %.150s", run->why);
	set_trouble(d, SW_PILOT_SUBMIT, run);
	struct sw_job_shape *sh = sw_job_shape_find(d, d->pilot.submits);
	if (sh != NULL)
		sh->refused = !run->ok;
	for (unsigned place = 0; (p = find_under_way(d, place)) != NULL; place++) {
		/* Also where it failed: the scheduler may have taken the job and lost the answer,
		 * and to submit again could make two. */
		p->submitted = true;
		p->submitted_us = now_us;
		p->refused = !run->ok;
		if (!run->ok) /* it may be there all the same: the lists will say */
			(void)snprintf(p->reason, sizeof p->reason, "%.119s", why);
		else if (sw_pilot_id_next(&text, id))
			keep_id(p, id);
		else
			(void)snprintf(p->bye, sizeof p->bye, "%s: not begun%s%.150s",
				       d->config.pilots.executor, run->why[0] != '\0' ? ": " : "",
				       run->why);
	}
	if (!run->ok)
		sw_pilot_count_failed(d, d->pilot.submits, why);
	d->pilot.list_due = true;
}

/* The oldest batch all of whose jobs are told. */
static void submit(struct sw_daemon *d)
{
	uint64_t batch = UINT64_MAX;
	bool whole = true;
	unsigned n = 0;
	char count[16];

	for (struct sw_pilot *p = NULL; (p = sw_pilot_next(d, p)) != NULL;)
		if (!p->submitted && p->batch < batch)
			batch = p->batch;
	for (struct sw_pilot *p = NULL; (p = sw_pilot_next(d, p)) != NULL;) {
		if (p->batch != batch)
			continue;
		whole = whole && p->told && !p->leaving;
		/* A batch is of one shape: its options are one environment of one call. */
		d->pilot.submits = p->w->shape;
		n++;
	}
	if (n == 0 || !whole)
		return;
	for (struct sw_pilot *p = NULL; (p = sw_pilot_next(d, p)) != NULL;)
		if (p->batch == batch)
			p->submitted_us = 1; /* it is under way */
	(void)snprintf(count, sizeof count, "%u", n);
	const char *const args[] = {count, d->config.worker, "pilot", NULL};
	sw_log(SW_LOG_INFO, "pilot.submit", "batch=%llu jobs=%u", (unsigned long long)batch, n);
	d->pilot.n_submits++;
	sw_pilot_run(d, d->pilot.program, SW_PILOT_SUBMIT, args, d->pilot.prefix, batch,
		     on_submitted);
}

/* --- jobs that no slot has --- */

static struct sw_stray *add_stray(struct sw_daemon *d, const char *executor, const char *name,
				  const char *id)
{
	struct sw_stray *s;

	for (s = d->pilot.strays; s != NULL; s = s->next)
		if (strcmp(s->id, id) == 0 && strcmp(s->executor, executor) == 0)
			return s;
	s = sw_daemon_calloc(1, sizeof *s, "cancel a job");
	(void)snprintf(s->executor, sizeof s->executor, "%s", executor);
	(void)snprintf(s->name, sizeof s->name, "%s", name);
	(void)snprintf(s->id, sizeof s->id, "%s", id);
	/* As many as the executor's lists name; what they no longer name is dropped
	 * (drop_strays()). */
	s->next = d->pilot.strays;
	d->pilot.strays = s;
	return s;
}

void sw_pilot_stray(struct sw_daemon *d, const char *executor, const char *name, const char *id)
{
	add_stray(d, executor, name, id)->due = true;
}

static void free_stray(struct sw_stray **at)
{
	struct sw_stray *s = *at;

	*at = s->next;
	free(s);
}

/* Drops the strays that the last list did not name again. */
static void drop_strays(struct sw_daemon *d)
{
	for (struct sw_stray **at = &d->pilot.strays; *at != NULL;) {
		struct sw_stray *s = *at;

		if (s->seen > 0 && !s->named) {
			free_stray(at);
			continue;
		}
		s->named = false;
		at = &s->next;
	}
}

/* --- list --- */

static void requeued(struct sw_pilot *p)
{
	char why[80];

	(void)snprintf(why, sizeof why, "%s: requeued", p->w->slots->d->config.pilots.executor);
	sw_slot_lose(p->w->slots, false, why);
	p->greeted = false;
	p->began_ms = 0;
}

static void see_stray(struct sw_stray *s)
{
	s->named = true;
	if (++s->seen % 10 == 2)
		s->due = true;
}

static void take_line(struct sw_daemon *d, const struct sw_pilot_line *l)
{
	struct sw_pilot *p = sw_pilot_find(d, l->name);

	if (p == NULL) {
		/* Its prefix is this state's alone: a slot that went had it. */
		if (!sw_pilot_is_over(l->state) &&
		    strncmp(l->name, d->pilot.prefix, strlen(d->pilot.prefix)) == 0)
			see_stray(add_stray(d, d->config.pilots.executor, l->name, l->id));
		return;
	}
	if (!p->submitted) /* the answer to its submission comes first */
		return;
	keep_id(p, l->id);
	p->missed = 0;
	/* The scheduler has taken it back: whatever ran there has ended. */
	if (l->state == SW_PILOT_PENDING && p->greeted && !sw_pilot_is_connected(p))
		requeued(p);
	p->state = l->state;
	memcpy(p->reason, l->reason, sizeof p->reason);
	if (l->node[0] != '\0' && (!p->greeted || p->node[0] == '\0'))
		memcpy(p->node, l->node, sizeof p->node);
}

static void on_listed(void *user, const struct sw_errand_end *run)
{
	struct sw_daemon *d = user;
	const char *text = run->out;
	struct sw_pilot_line line;

	set_trouble(d, SW_PILOT_LIST, run);
	if (!run->ok)
		return;
	for (struct sw_pilot *p = NULL; (p = sw_pilot_next(d, p)) != NULL;) {
		/* Only lists that were begun after its submission: an older one could not know it.
		 * take_line() sets it back for each that is named. */
		p->missed += p->submitted && p->submitted_us < d->pilot.listed_us;
		p->bye_lists += p->bye[0] != '\0' && p->bye_us < d->pilot.listed_us;
	}
	while (sw_pilot_line_next(&text, &line))
		take_line(d, &line);
	drop_strays(d);
	sw_others_read(&d->pilot, run->out);
}

static bool list_is_due(struct sw_daemon *d, int64_t now_us)
{
	bool any = d->pilot.list_due;

	for (struct sw_pilot *p = NULL; !any && (p = sw_pilot_next(d, p)) != NULL;)
		any = p->submitted;
	return any && now_us - d->pilot.listed_us >= d->pilot.list_us;
}

static void list(struct sw_daemon *d, int64_t now_us)
{
	static const char *const none[] = {NULL};

	d->pilot.listed_us = now_us;
	d->pilot.list_due = false;
	d->pilot.n_lists++;
	sw_pilot_run(d, d->pilot.program, SW_PILOT_LIST, none, SW_PILOT_ALL, 0, on_listed);
}

/* --- cancel --- */

static void on_cancelled(void *user, const struct sw_errand_end *run)
{
	struct sw_daemon *d = user;

	set_trouble(d, SW_PILOT_CANCEL, run);
	if (!run->ok) /* again, but not at once */
		d->pilot.cancel_us = d->clock->mono_us() + d->pilot.list_us;
	for (struct sw_pilot *p = NULL; (p = sw_pilot_next(d, p)) != NULL;)
		if (p->cancelled == SW_PILOT_ASKED)
			p->cancelled = run->ok ? SW_PILOT_DONE_SO : SW_PILOT_NOT;
	d->pilot.list_due = true;
}

static void on_strays_cancelled(void *user, const struct sw_errand_end *run)
{
	struct sw_daemon *d = user;

	/* If it failed: the next start, or the next list, finds them again; those of another state
	 * folder are named again, and must be asked for again. */
	if (!run->ok)
		sw_log(SW_LOG_WARN, "executor.fails", "verb=cancel why=\"%s\"", run->why);
	d->pilot.list_due = d->pilot.n > 0;
}

/* Cancels those of one executor and one state folder together. False: none is due. */
static bool cancel_strays(struct sw_daemon *d)
{
	const char *args[SW_PILOT_BATCH + 1] = {NULL};
	char program[2 * PATH_MAX], prefix[SW_PILOT_NAME];
	const struct sw_stray *first = d->pilot.strays;
	size_t n = 0;

	while (first != NULL && !first->due)
		first = first->next;
	if (first == NULL)
		return false;
	(void)snprintf(prefix, sizeof prefix, "%s", first->name);
	if (strrchr(prefix, '-') != NULL)
		strrchr(prefix, '-')[1] = '\0';
	const bool any = sw_pilot_find_program(first->executor, program, sizeof program);
	for (struct sw_stray *s = d->pilot.strays; s != NULL && n < SW_PILOT_BATCH; s = s->next) {
		if (!s->due || strcmp(s->executor, first->executor) != 0 ||
		    strncmp(s->name, prefix, strlen(prefix)) != 0)
			continue;
		s->due = false;
		args[n++] = s->id;
		sw_log(any ? SW_LOG_INFO : SW_LOG_WARN, "pilot.stray",
		       "name=%s id=\"%s\" why=\"%s\"", s->name, s->id,
		       any ? "no slot of this daemon has it: it is cancelled"
			   : "its executor, which could cancel it, is not there any more");
	}
	if (any)
		sw_pilot_run(d, program, SW_PILOT_CANCEL, args, prefix, 0, on_strays_cancelled);
	for (struct sw_stray **at = &d->pilot.strays; *at != NULL;)
		if (!(*at)->due && (*at)->seen == 0)
			free_stray(at);
		else
			at = &(*at)->next;
	return true;
}

static void cancel(struct sw_daemon *d)
{
	const char *args[SW_PILOT_BATCH + 1] = {NULL};
	size_t n = 0;

	if (cancel_strays(d))
		return;
	for (struct sw_pilot *p = NULL; n < SW_PILOT_BATCH && (p = sw_pilot_next(d, p)) != NULL;) {
		if (!p->cancel || p->cancelled != SW_PILOT_NOT || p->id[0] == '\0')
			continue;
		/* Not asked for again while this is under way; if it fails, on_cancelled() sets it
		 * back. */
		p->cancelled = SW_PILOT_ASKED;
		args[n++] = p->id;
	}
	if (n == 0)
		return;
	sw_pilot_run(d, d->pilot.program, SW_PILOT_CANCEL, args, d->pilot.prefix, 0, on_cancelled);
}

/* --- all --- */

static void on_checked(void *user, const struct sw_errand_end *run)
{
	struct sw_daemon *d = user;

	if (run->ok)
		sw_errand_first_line(run->out, d->pilot.checked, sizeof d->pilot.checked);
	else
		(void)snprintf(d->pilot.checked, sizeof d->pilot.checked, "%s", run->why);
	sw_log(run->ok ? SW_LOG_INFO : SW_LOG_WARN, "executor.check", "name=%s says=\"%s\"",
	       d->config.pilots.executor, d->pilot.checked);
}

void sw_pilot_check(struct sw_daemon *d)
{
	static const char *const none[] = {NULL};

	sw_pilot_run(d, d->pilot.program, SW_PILOT_CHECK, none, d->pilot.prefix, 0, on_checked);
}

void sw_pilot_orders(struct sw_daemon *d, int64_t now_us)
{
	/* One run of each verb at a time: a scheduler that hangs is not asked again beside that. */
	if (d->pilot.run[SW_PILOT_SUBMIT] == NULL && d->phase == SW_UP)
		submit(d);
	if (d->pilot.run[SW_PILOT_LIST] == NULL && list_is_due(d, now_us))
		list(d, now_us);
	if (d->pilot.run[SW_PILOT_CANCEL] == NULL && now_us >= d->pilot.cancel_us)
		cancel(d);
}

void sw_pilot_orders_free(struct sw_daemon *d)
{
	while (d->pilot.strays != NULL)
		free_stray(&d->pilot.strays);
	free(d->pilot.others);
}
