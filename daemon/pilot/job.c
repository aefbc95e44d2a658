#include "daemon/pilot/job.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/net/port.h"
#include "daemon/pilot/files.h"
#include "daemon/slot/slot.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define FAILED_MOST  3 /* in a row, before a pause */
#define PAUSE_DOUBLE 5 /* times that it doubles: 30 s, a minute ... */
#define PAUSE_MAX_US ((int64_t)600 * 1000000)

struct sw_pilot *sw_pilot_of(const struct sw_worker *w)
{
	return &w->slots->d->pilot.jobs[w->slots->device.index];
}

struct sw_pilot *sw_pilot_next(struct sw_daemon *d, const struct sw_pilot *p)
{
	for (size_t i = p != NULL ? (size_t)(p - d->pilot.jobs) + 1 : 0; i < d->pilot.n; i++)
		if (d->pilot.jobs[i].used)
			return &d->pilot.jobs[i];
	return NULL;
}

struct sw_pilot *sw_pilot_find(struct sw_daemon *d, const char *name)
{
	for (struct sw_pilot *p = NULL; (p = sw_pilot_next(d, p)) != NULL;)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

bool sw_pilot_is_connected(const struct sw_pilot *p)
{
	return p->w->slots->conn != NULL;
}

bool sw_pilot_is_over(enum sw_pilot_state state)
{
	return state >= SW_PILOT_DONE;
}

void sw_pilot_handle(const struct sw_pilot *p, char *out, size_t cap)
{
	(void)snprintf(out, cap, SW_PILOT_HANDLE "%s %s %s", p->w->slots->d->config.pilots.executor,
		       p->name, p->id);
}

/* --- its end --- */

void sw_pilot_count_failed(struct sw_daemon *d, uint64_t shape, const char *why)
{
	struct sw_job_shape *sh = sw_job_shape_find(d, shape);
	const int64_t now_us = d->clock->mono_us();
	unsigned noise = 0;

	if (sh == NULL)
		return;
	(void)snprintf(sh->last, sizeof sh->last, "%s", why);
	/* One of a batch that began the pause adds nothing to it. By shape: an account that is
	 * wrong in one sweep's options does not stop the jobs of the others. */
	if (++sh->failed < FAILED_MOST || now_us < sh->pause_us)
		return;
	int64_t us = d->pilot.first_us << (sh->pauses < PAUSE_DOUBLE ? sh->pauses : PAUSE_DOUBLE);
	sh->pauses++;
	us = us < PAUSE_MAX_US ? us : PAUSE_MAX_US;
	(void)!getrandom(&noise, sizeof noise, 0);
	/* Many daemons of one cluster must not come back at once: from three quarters to all. */
	us -= us / 4 * (int64_t)(noise % 1000) / 1000;
	sh->pause_us = now_us + us;
	sw_log(SW_LOG_WARN, "pilot.pause", "failed=%u pause_s=%lld why=\"%s\"", sh->failed,
	       (long long)(us / 1000000), why);
}

void sw_pilot_end(struct sw_pilot *p, bool blamed, const char *cause)
{
	struct sw_worker *w = p->w;
	struct sw_daemon *d = w->slots->d;
	const bool began = p->greeted || p->leaving;
	char said[200] = "";

	if (blamed || !began)
		sw_pilot_files_said(p, said, sizeof said);
	sw_log(began ? SW_LOG_INFO : SW_LOG_WARN, "pilot.end", "name=%s id=\"%s\" cause=\"%s\"",
	       p->name, p->id, cause);
	/* Before the slot is free again: a pilot that still runs must not speak for the next that
	 * has it. */
	sw_port_drop_key(d, p->name);
	sw_pilot_files_remove(d, p->name);
	w->blameless = !blamed;
	w->peer[0] = '\0';
	w->slots->rest_us = 0;
	p->used = false; /* before it is told, which may begin another */
	p->ended(w, cause, said);
	if (!began && !p->refused) /* that was counted */
		sw_pilot_count_failed(d, w->shape, w->cause);
}

/* --- words --- */

/* Slurm's begins with the state's own word, which is said already. */
static void add_reason(const struct sw_pilot *p, char *out, size_t cap)
{
	const char *word = sw_pilot_state_word(p->state), *why = p->reason;
	const size_t n = strlen(out);

	if (strncmp(why, word, strlen(word)) == 0)
		why += strlen(word);
	why += strspn(why, " ");
	if (*why != '\0')
		(void)snprintf(out + n, cap - n, " (%s)", why);
}

void sw_pilot_words(const struct sw_pilot *p, char *out, size_t cap)
{
	(void)snprintf(out, cap, "%s: %s%s%s", p->w->slots->d->config.pilots.executor,
		       sw_pilot_state_word(p->state), p->node[0] != '\0' ? " on " : "", p->node);
	add_reason(p, out, cap);
}

static void write_cause(const struct sw_pilot *p, char *out, size_t cap)
{
	const char *executor = p->w->slots->d->config.pilots.executor;

	*out = '\0';
	if (p->leaving)
		(void)snprintf(out, cap, "%s: it was told to end", executor);
	else if (sw_pilot_is_connected(p))
		return;
	else if (p->state != SW_PILOT_UNKNOWN)
		sw_pilot_words(p, out, cap);
	else
		(void)snprintf(out, cap, "%s: %s", executor,
			       !p->submitted ? "asked for" : "not heard of yet");
	if (p->state == SW_PILOT_UNKNOWN)
		add_reason(p, out, cap);
	const size_t n = strlen(out);
	if (p->state == SW_PILOT_RUNNING && !sw_pilot_is_connected(p))
		(void)snprintf(out + n, cap - n, ", %s",
			       p->greeted ? "not connected" : "has not dialled yet");
}

/* Says why no job is on its way. */
static void write_why_none(const struct sw_daemon *d, struct sw_job_shape *sh)
{
	const long long left_us = sh->pause_us - d->clock->mono_us();
	const char *executor = d->config.pilots.executor;
	const size_t cap = sizeof sh->why;

	sh->why[0] = '\0';
	if (sh->pause_us != 0 && left_us > 0)
		(void)snprintf(sh->why, cap,
			       "%s: asks again in %lld s: %u in a row did not start: %.100s",
			       executor, left_us / 1000000 + 1, sh->failed, sh->last);
	else if (sh->refused || d->pilot.trouble[0] != '\0')
		(void)snprintf(sh->why, cap, "%s: %.200s", executor,
			       sh->refused ? sh->last : d->pilot.trouble);
}

static void write_why(struct sw_daemon *d, struct sw_job_shape *sh)
{
	const struct sw_pilot *first = NULL;
	size_t waiting = 0;

	for (struct sw_pilot *p = NULL; (p = sw_pilot_next(d, p)) != NULL;) {
		if (p->w->shape != sh->id || p->greeted || p->leaving)
			continue;
		if (first == NULL || (first->reason[0] == '\0' && p->reason[0] != '\0'))
			first = p;
		waiting++;
	}
	write_why_none(d, sh);
	if (sh->why[0] != '\0' || first == NULL)
		return;
	(void)snprintf(sh->why, sizeof sh->why, "%s: %zu job%s %s", d->config.pilots.executor,
		       waiting, waiting == 1 ? "" : "s",
		       first->state == SW_PILOT_UNKNOWN ? "asked for"
							: sw_pilot_state_word(first->state));
	add_reason(first, sh->why, sizeof sh->why);
}

void sw_pilot_write_causes(struct sw_daemon *d)
{
	for (struct sw_pilot *p = NULL; (p = sw_pilot_next(d, p)) != NULL;)
		/* A slot that rests has its own. */
		if (p->w->slots->rest_us == 0 || p->leaving)
			write_cause(p, p->w->cause, sizeof p->w->cause);
	for (size_t i = 0; i < SW_JOB_SHAPES; i++)
		if (d->slot.shapes[i].id != 0)
			write_why(d, &d->slot.shapes[i]);
}
