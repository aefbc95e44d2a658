#include "daemon/slot/gpus.h"
#include "base/log.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/slot/card_poll.h"
#include "daemon/slot/device.h"
#include "daemon/slot/executor.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"
#include "daemon/slot/xid.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FIRST_PID_NS 0xEFFFFFFCU /* the inode of the machine's own process numbers */

static void on_wake(void *user)
{
	struct sw_daemon *d = user;

	(void)uv_async_send(&d->slot.gpu_wake); /* safe from any thread */
}

static void read_nvml_times(struct sw_gpus *g)
{
	const char *given = getenv("SWEEPD_NVML_MS");
	long long every, limit, back;

	g->every_ms = SW_GPUS_EVERY_MS;
	g->limit_ms = SW_GPUS_LIMIT_MS;
	g->first_ms = SW_GPUS_FIRST_MS;
	g->free_ms = SW_GPUS_FREE_MS;
	if (given == NULL || sscanf(given, "%9lld,%9lld,%9lld", &every, &limit, &back) != 3 ||
	    every < 1 || limit < 1 || back < 1)
		return;
	g->every_ms = every;
	g->limit_ms = g->first_ms = limit;
	g->free_ms = back;
}

static sw_status create_gpus(struct sw_daemon *d, struct sw_err *err)
{
	struct stat st;

	d->slot.gpus = sw_calloc(1, sizeof *d->slot.gpus);
	if (d->slot.gpus == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	read_nvml_times(d->slot.gpus);
	/* In a container with process numbers of its own NVML's mean nothing. */
	d->slot.gpus->hidden = stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != FIRST_PID_NS;
	for (size_t i = 0; i < SW_NVML_CARDS; i++)
		sw_card_init(&d->slot.gpus->card[i]);
	return SW_OK;
}

/* Gives up NVML for the rest of the run. */
static void give_nvml_up(struct sw_daemon *d, const struct sw_err *err)
{
	struct sw_gpus *g = d->slot.gpus;

	sw_log(SW_LOG_WARN, "device.nvml", "why=\"%s\"", err->msg);
	g->err = *err;
	/* One that has not answered hangs in the driver: nobody waits for it. */
	sw_card_poll_stop(g->poll, err->code == SW_BUSY ? 0 : 1000);
	g->poll = NULL;
}

sw_status sw_gpus_start(struct sw_daemon *d, struct sw_err *err)
{
	struct sw_err why = SW_ERR_INIT;
	sw_status rc;

	/* A daemon of CPU slots never opens the driver. */
	if (!sw_device_wants_gpus(d->config.devices))
		return SW_OK;
	rc = create_gpus(d, err);
	if (rc != SW_OK)
		return rc;
	struct sw_gpus *g = d->slot.gpus;
	if (sw_card_poll_start(&g->poll, d->clock, g->every_ms, on_wake, d) != SW_OK)
		return sw_err_set(err, SW_NOMEM, "no memory or no thread to watch the GPUs");
	/* "auto" and UUIDs mean nothing before NVML has said what there is. */
	rc = sw_card_poll_take(g->poll, g->first_ms, &g->view, &g->begun_us, &why);
	if (rc == SW_BUSY)
		(void)sw_err_set(&why, SW_BUSY, "NVML does not answer: no word of it in %lld s",
				 (long long)(g->first_ms / 1000));
	/* No error of the start: numbered GPUs work without NVML, and `auto` then finds cores. */
	if (rc != SW_OK)
		give_nvml_up(d, &why);
	/* But with a GPU here it would train on the CPU, and nobody would know. A driver that hangs
	 * is another matter: it may come to itself, and systemd does not start a refused daemon
	 * again. */
	if (rc != SW_OK && rc != SW_BUSY && strncmp(d->config.devices, "auto", 4) == 0 &&
	    sw_device_is_there(""))
		return sw_err_set(
			err, SW_INVALID,
			"--devices auto: this machine has a GPU, but %s. Mend that (after "
			"an update of the driver reboot), or say --devices cpu:N",
			why.msg);
	g->heard_us = d->clock->mono_us();
	return SW_OK;
}

void sw_gpus_stop(struct sw_daemon *d)
{
	if (d->slot.gpus == NULL)
		return;
	sw_card_poll_stop(d->slot.gpus->poll, 1000);
	d->slot.gpus->poll = NULL;
}

void sw_gpus_free(struct sw_daemon *d)
{
	free(d->slot.gpus);
	d->slot.gpus = NULL;
}

const struct sw_nvml_view *sw_gpus_view(const struct sw_daemon *d)
{
	return d->slot.gpus != NULL && d->slot.gpus->poll != NULL ? &d->slot.gpus->view : NULL;
}

struct sw_card *sw_gpus_card(struct sw_daemon *d, const struct sw_slot *s)
{
	/* A number is taken on trust without NVML, and may be larger than any that it knows. */
	if (!s->device.kind->watched || sw_gpus_view(d) == NULL || s->device.index >= SW_NVML_CARDS)
		return NULL;
	return &d->slot.gpus->card[s->device.index];
}

/* --- readings --- */

/* The sessions of the workers that live, one for each; out: [SW_DEVICE_MAX_SLOTS]. */
static size_t list_sessions(const struct sw_daemon *d, int64_t *out)
{
	size_t n = 0;

	for (size_t i = 0; i < d->slot.worker_n; i++)
		if (d->slot.workers[i].slots->device.kind->watched &&
		    d->slot.workers[i].proc != NULL)
			out[n++] = d->slot.workers[i].executor->pid(d->slot.workers[i].proc);
	return n;
}

/* Does a program have the GPU, or a lane of it, or still end there? */
static bool has_program(const struct sw_worker *w)
{
	for (unsigned k = 0; k < w->slot_n; k++) {
		const int32_t lead = w->slots[k].holder;

		if (w->slots[k].program || (lead >= 0 && w->slots->d->slot.slots[lead].program))
			return true;
	}
	return false;
}

static void judge_card(struct sw_daemon *d, struct sw_worker *w, struct sw_card_ours *ours)
{
	struct sw_gpus *g = d->slot.gpus;
	const size_t i = w->slots->device.index;
	struct sw_card *c = &g->card[i];
	const struct sw_nvml_card last = c->now;
	const int64_t last_us = c->taken_us;
	const char *name = w->slots->device.card;

	ours->here = w->proc != NULL;
	ours->programs = has_program(w);
	for (size_t k = 0; i < g->view.n && k < g->view.card[i].xid_n; k++)
		sw_log(SW_LOG_WARN, "device.xid", "device=%s xid=%u means=\"%s%s\"", name,
		       g->view.card[i].xid[k], sw_xid_words(g->view.card[i].xid[k]),
		       sw_gpu_need_words(sw_xid_need(g->view.card[i].xid[k])));
	/* A card that fell off the bus may be missing from the list, not only ill in it. */
	if (i < g->view.n) {
		if (sw_card_take(c, &g->view.card[i], ours, g->heard_us, g->free_ms * 1000))
			sw_log(c->state == SW_CARD_OK ? SW_LOG_INFO : SW_LOG_WARN, "device.state",
			       "device=%s state=%s why=\"%s\"", name, sw_card_state_name(c->state),
			       c->why);
		g->view.card[i].xid_n = 0; /* a reading may be judged more than once */
	} else if (sw_card_silent(c, "NVML does not know it any more")) {
		sw_log(SW_LOG_WARN, "device.state", "device=%s state=DOWN why=\"%s\"", name,
		       c->why);
	}
	/* Noted now: by the time that a trial runs out of memory the stranger may be gone. */
	for (unsigned k = 0; c->strangers > SW_CARD_SMALL && k < w->slot_n; k++) {
		const int32_t lead = w->slots[k].holder;

		(lead >= 0 ? &d->slot.slots[lead] : &w->slots[k])->beside = true;
	}
	if (last_us != 0) /* after the judgement: it says which bytes are ours */
		sw_gpu_usage_add(w->slots, w->slot_n, c, &last, last_us);
}

bool sw_gpus_judge(struct sw_daemon *d)
{
	int64_t session[SW_DEVICE_MAX_SLOTS];
	struct sw_card_ours ours = {.session = session};

	if (sw_gpus_view(d) == NULL)
		return false;
	ours.hidden = d->slot.gpus->hidden;
	ours.n = list_sessions(d, session);
	for (size_t i = 0; i < d->slot.worker_n; i++)
		if (sw_gpus_card(d, d->slot.workers[i].slots) != NULL)
			judge_card(d, &d->slot.workers[i], &ours);
	return true;
}

/* May the GPUs be let go of? Not while one is used, or while what its next reading says decides
 * when the next trial begins. */
static bool is_idle(const struct sw_daemon *d)
{
	const struct sw_gpus *g = d->slot.gpus;
	bool sleeps = false;

	for (size_t i = 0; i < d->slot.slot_n; i++) {
		const struct sw_slot *s = &d->slot.slots[i];

		if (!s->device.kind->watched || s->device.index >= SW_NVML_CARDS)
			continue;
		const struct sw_card *c = &g->card[s->device.index];
		if (s->state == SW_SLOT_BUSY || s->program || c->state != SW_CARD_OK)
			return false;
		sleeps = sleeps || c->now.sleeps;
	}
	return sleeps;
}

/* Asks for a reading that begins after now. */
static void look_again(struct sw_daemon *d)
{
	struct sw_gpus *g = d->slot.gpus;

	/* Nothing was to be heard of them until now. */
	if (g->idle >= SW_GPUS_IDLE)
		g->heard_us = d->clock->mono_us();
	g->idle = 0;
	sw_card_poll_now(g->poll);
}

bool sw_gpus_is_fresh(struct sw_daemon *d, const struct sw_slot *s)
{
	struct sw_gpus *g = d->slot.gpus;

	if (sw_gpus_card(d, s) == NULL)
		return true;
	if (g->idle >= SW_GPUS_IDLE) {
		g->wanted_us = d->clock->mono_us();
		look_again(d);
	}
	return g->begun_us > g->wanted_us;
}

bool sw_gpus_on_reading(struct sw_daemon *d)
{
	struct sw_gpus *g = d->slot.gpus;
	struct sw_err err = SW_ERR_INIT;

	if (g == NULL || g->poll == NULL || d->phase == SW_CLOSING ||
	    sw_card_poll_take(g->poll, 0, &g->view, &g->begun_us, &err) != SW_OK)
		return false;
	g->heard_us = d->clock->mono_us();
	const bool judged = sw_gpus_judge(d), rested = g->idle >= SW_GPUS_IDLE;
	g->idle = is_idle(d) ? g->idle + 1 : 0;
	if (g->idle >= SW_GPUS_IDLE)
		sw_card_poll_rest(g->poll);
	else if (rested) /* this one was under way when the thread was told to rest */
		sw_card_poll_now(g->poll);
	return judged;
}

void sw_gpus_tick(struct sw_daemon *d, int64_t now_us)
{
	struct sw_gpus *g = d->slot.gpus;
	char why[80];

	if (g == NULL || g->poll == NULL || g->idle >= SW_GPUS_IDLE)
		return;
	/* The next reading begins every_ms after the last one, and may take limit_ms. */
	if (now_us - g->heard_us < (g->every_ms + g->limit_ms) * 1000)
		return;
	(void)snprintf(why, sizeof why, "NVML has not answered for %lld s",
		       (long long)((now_us - g->heard_us) / 1000000));
	for (size_t i = 0; i < d->slot.worker_n; i++) {
		const struct sw_slot *s = d->slot.workers[i].slots;
		struct sw_card *c = sw_gpus_card(d, s);

		/* It was silent before: said once. */
		if (c == NULL || !sw_card_silent(c, why))
			continue;
		sw_log(SW_LOG_WARN, "device.state", "device=%s state=DOWN why=\"%s\"",
		       s->device.card, why);
		d->slot.due = true; /* cores may take what waited for it */
	}
}

/* --- questions --- */

static bool may_use(struct sw_daemon *d, const struct sw_slot *s, bool hot_too, const char **why)
{
	const struct sw_card *c = sw_gpus_card(d, s);

	*why = s->worker->losses.out;
	if (**why != '\0')
		return false;
	*why = c != NULL ? c->why : "";
	return c == NULL || c->state == SW_CARD_OK || (hot_too && c->state == SW_CARD_HOT);
}

bool sw_gpus_may_start(struct sw_daemon *d, const struct sw_slot *s, const char **why)
{
	/* A worker without a trial heats nothing, and is ready when the GPU has cooled down. */
	return may_use(d, s, true, why);
}

bool sw_gpus_may_begin(struct sw_daemon *d, const struct sw_slot *s, const char **why)
{
	return may_use(d, s, false, why);
}

int sw_gpus_link(const struct sw_daemon *d, const struct sw_slot *a, const struct sw_slot *b)
{
	const struct sw_nvml_view *view = sw_gpus_view(d);

	if (view == NULL || a->device.index >= SW_NVML_CARDS || b->device.index >= SW_NVML_CARDS)
		return 0;
	return view->link[a->device.index][b->device.index];
}

bool sw_gpus_lost(struct sw_daemon *d, const struct sw_slot *s)
{
	const struct sw_card *c = sw_gpus_card(d, s);

	return c != NULL && sw_card_is_lost(c);
}

void sw_gpus_program_ended(struct sw_daemon *d, const struct sw_slot *s)
{
	for (size_t i = 0; i < d->slot.worker_n; i++) {
		const struct sw_worker *w = &d->slot.workers[i];
		struct sw_card *c = sw_gpus_card(d, w->slots);

		if (c == NULL || !sw_room_has(s, w) || has_program(w))
			continue;
		sw_card_program_ended(c, d->clock->mono_us());
		look_again(d);
	}
}

void sw_gpus_worker_ended(struct sw_daemon *d, const struct sw_slot *s, int64_t session)
{
	struct sw_card *c = sw_gpus_card(d, s);

	if (c == NULL)
		return;
	sw_card_worker_ended(c, session, d->clock->mono_us());
	/* Its trials wait for this look (sw_gpus_looked_at()): not for the next one in turn. */
	look_again(d);
}

bool sw_gpus_looked_at(struct sw_daemon *d, const struct sw_slot *s, int64_t since_us, bool *failed)
{
	const struct sw_card *c = sw_gpus_card(d, s);

	*failed = c != NULL && (sw_card_is_lost(c) || c->ecc > c->ecc_first);
	/* A reading that was begun before the end may be older than the fault. A card that is DOWN
	 * is not read, or says nothing new. */
	return c == NULL || d->slot.gpus->begun_us > since_us || c->state == SW_CARD_DOWN;
}

/* --- device.list --- */

static void write_count(struct sw_jw *w, const char *key, int64_t v)
{
	sw_jw_kint_opt(w, key, v >= 0, v);
}

static void write_milli(struct sw_jw *w, const char *key, int64_t v)
{
	sw_jw_knum_opt(w, key, v >= 0, (double)v / 1e3);
}

static void write_card(struct sw_jw *w, const struct sw_card *c, const struct sw_slot *s,
		       const struct sw_card_ours *ours)
{
	const struct sw_nvml_card *now = &c->now;
	const char *out = s->worker->losses.out, *why = *out != '\0' ? out : c->why;

	sw_jw_obj(w);
	sw_jw_kint(w, "gpu", now->part.is ? (int64_t)now->part.gpu : (int64_t)s->device.index);
	sw_jw_kint_opt(w, "part", now->part.is, (int64_t)now->part.number);
	sw_jw_kstr(w, "name", now->name[0] != '\0' ? now->name : NULL);
	sw_jw_kstr(w, "uuid", now->uuid[0] != '\0' ? now->uuid : NULL);
	sw_jw_kstr(w, "bus", now->bus[0] != '\0' ? now->bus : NULL);
	sw_jw_kstr(w, "state", *out != '\0' ? "OUT" : sw_card_state_name(c->state));
	sw_jw_kstr(w, "cause", *why != '\0' ? why : NULL);
	write_count(w, "memory_total", now->total);
	write_count(w, "memory_used", now->used);
	write_count(w, "memory_free", now->free);
	write_count(w, "utilisation", now->util);
	write_count(w, "temperature", now->temp);
	write_count(w, "slowdown", now->slowdown);
	write_milli(w, "power", now->power_mw);
	write_milli(w, "power_limit", now->limit_mw);
	write_milli(w, "joules", now->energy_mj);
	write_count(w, "ecc", now->ecc);
	sw_jw_karr(w, "processes");
	for (size_t i = 0; i < now->proc_n; i++) {
		const struct sw_nvml_proc *p = &now->proc[i];

		sw_jw_obj(w);
		sw_jw_kint(w, "pid", p->pid);
		sw_jw_kstr(w, "name", p->name[0] != '\0' ? p->name : NULL);
		write_count(w, "bytes", p->bytes);
		sw_jw_kbool(w, "compute", p->compute);
		sw_jw_kbool(w, "ours", sw_card_is_ours(p, ours));
		sw_jw_obj_end(w);
	}
	sw_jw_arr_end(w);
	sw_jw_obj_end(w);
}

void sw_gpus_write(struct sw_daemon *d, struct sw_jw *w)
{
	int64_t session[SW_DEVICE_MAX_SLOTS];
	struct sw_card_ours ours = {.session = session};
	const struct sw_gpus *g = d->slot.gpus;

	sw_jw_karr(w, "gpus");
	if (sw_gpus_view(d) != NULL) {
		ours.hidden = g->hidden;
		ours.n = list_sessions(d, session);
		for (size_t i = 0; i < d->slot.worker_n; i++) {
			const struct sw_worker *worker = &d->slot.workers[i];

			if (sw_gpus_card(d, worker->slots) == NULL)
				continue;
			ours.here = worker->proc != NULL;
			write_card(w, &g->card[worker->slots->device.index], worker->slots, &ours);
		}
	}
	sw_jw_arr_end(w);
	sw_jw_kstr(w, "nvml", g != NULL && g->err.code != SW_OK ? g->err.msg : NULL);
}
