/* daemon/pilot/executor_pilot.c — pilots as an executor: a start is asked for here, and submitted
 * with others of its batch (daemon/pilot/orders.h). */
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/net/port.h"
#include "daemon/pilot/files.h"
#include "daemon/pilot/job.h"
#include "daemon/pilot/orders.h"
#include "daemon/pilot/pilot.h"
#include "daemon/slot/slot.h"
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

/* A job of the worker's slot, of which nothing is known yet. */
static struct sw_pilot *open_job(struct sw_worker *w, const char *name, sw_ended_cb *ended)
{
	struct sw_pilot *p = sw_pilot_of(w);
	const int64_t now_us = w->slots->d->clock->mono_us();

	*p = (struct sw_pilot){
		.w = w, .used = true, .ended = ended, .idle_us = now_us, .dark_us = now_us};
	(void)snprintf(p->name, sizeof p->name, "%s", name);
	(void)snprintf(w->peer, sizeof w->peer, "%s", name);
	w->blameless = w->no_files = false;
	w->slots->rest_us = 0;
	return p;
}

static sw_status pilot_start(uv_loop_t *loop, char *const argv[], char *const env[],
			     const char *log, sw_ended_cb *ended, void *user, struct sw_proc **out,
			     char *handle, size_t handle_cap, struct sw_err *err)
{
	struct sw_worker *w = user;
	struct sw_daemon *d = w->slots->d;
	char batch[SW_PILOT_NAME], name[SW_PILOT_NAME];

	(void)loop;
	(void)argv;
	(void)env;
	(void)log;
	(void)err;
	sw_pilot_batch_name(d, d->pilot.next - 1, batch);
	(void)snprintf(name, sizeof name, "%.40s.%u", batch, d->pilot.placed);
	struct sw_pilot *p = open_job(w, name, ended);
	p->batch = d->pilot.next - 1;
	p->place = d->pilot.placed++;
	p->time_s = sw_job_shape_find(d, w->shape)->time_s; /* it was opened to ask for this one */
	sw_pilot_handle(p, handle, handle_cap);
	*out = (struct sw_proc *)p;
	return SW_OK;
}

static void on_told(struct sw_daemon *d, const char *name, const struct sw_err *err)
{
	struct sw_pilot *p = sw_pilot_find(d, name);

	/* Found by its name, not by address: the pool wrote its file while the place of the job may
	 * have been given to the next. */
	if (p == NULL) /* it was ended meanwhile */
		sw_pilot_files_remove(d, name);
	else if (err->code == SW_OK)
		p->told = true;
	else
		(void)snprintf(p->bye, sizeof p->bye, "%.199s", err->msg);
}

/* Its row is stored: a later daemon finds what is submitted from here on. */
static void pilot_tell(struct sw_proc *proc, const char *worker)
{
	struct sw_pilot *p = (struct sw_pilot *)proc;
	struct sw_daemon *d = p->w->slots->d;
	struct sw_err err = SW_ERR_INIT;
	unsigned char key[SW_PORT_KEY];

	/* The key goes to the port at once and to the job by its file: whichever comes first, no
	 * pilot can dial before the file is there. */
	if (sw_pilot_files_tell(p, worker, key, on_told, &err) == SW_OK &&
	    !sw_port_add_key(d, p->name, key))
		(void)sw_err_set(&err, SW_TOO_BIG, "it has no place at the port");
	if (err.code != SW_OK)
		(void)snprintf(p->bye, sizeof p->bye, "%.199s", err.msg);
	OPENSSL_cleanse(key, sizeof key);
}

struct handle {
	char executor[32], name[SW_PILOT_NAME], id[SW_PILOT_ID];
};

/* False: it is not a pilot's. */
static bool read_handle(const char *text, struct handle *h)
{
	*h = (struct handle){.id = ""};
	return sscanf(text, SW_PILOT_HANDLE "%31s %63s %127s", h->executor, h->name, h->id) >= 2;
}

static sw_status pilot_adopt(uv_loop_t *loop, const char *handle, sw_ended_cb *ended, void *user,
			     struct sw_proc **out, struct sw_err *err)
{
	struct sw_worker *w = user;
	struct sw_daemon *d = w->slots->d;
	unsigned char key[SW_PORT_KEY];
	struct handle h;
	bool known;

	(void)loop;
	*out = NULL;
	if (!read_handle(handle, &h) || strcmp(h.executor, d->config.pilots.executor) != 0)
		return sw_err_set(err, SW_NOT_FOUND, "it is not of this executor");
	struct sw_pilot *p = open_job(w, h.name, ended);
	memcpy(p->id, h.id, sizeof p->id);
	known = sw_pilot_files_read(p, key) && sw_port_add_key(d, p->name, key);
	OPENSSL_cleanse(key, sizeof key);
	if (!known) { /* the job is cancelled, for nobody could let its worker in */
		p->used = false;
		w->peer[0] = '\0';
		return sw_err_set(err, SW_NOT_FOUND, "its key is gone");
	}
	/* The next lists say whether it was submitted before the daemon was killed. Its job serves
	 * that shape, whether or not a sweep wants it now. */
	(void)sw_job_shape_open(d, w->shape);
	p->told = p->submitted = true;
	p->submitted_us = d->clock->mono_us();
	p->greeted = p->began_ms != 0;
	*out = (struct sw_proc *)p;
	return SW_OK;
}

static bool pilot_dismiss(struct sw_daemon *d, const char *handle)
{
	struct handle h;

	if (!read_handle(handle, &h))
		return false;
	if (h.id[0] != '\0')
		sw_pilot_stray(d, h.executor, h.name, h.id);
	else if (strcmp(h.executor, d->config.pilots.executor) != 0)
		sw_log(SW_LOG_WARN, "pilot.left",
		       "name=%s why=\"it may have been submitted to %s, which this daemon was "
		       "started without\"",
		       h.name, h.executor);
	return true; /* if it has no id, the next list finds it as nobody's */
}

static void pilot_stop(struct sw_proc *proc, bool hard)
{
	struct sw_pilot *p = (struct sw_pilot *)proc;
	struct sw_worker *w = p->w;

	/* Only marked: orders go out with the tick, many jobs in one call of the executor's
	 * program. */
	p->cancel = p->leaving = true;
	if (!hard || w->slots->d->phase == SW_UP)
		return;
	/* It has had its time. Its row stays, and the next start cancels it or takes it back. */
	p->used = false;
	w->proc = NULL;
	w->slots->state = SW_SLOT_DOWN;
}

static void pilot_forget(struct sw_proc *proc)
{
	((struct sw_pilot *)proc)->used = false;
}

static long pilot_pid(const struct sw_proc *proc)
{
	(void)proc;
	return 0;
}

const struct sw_executor sw_executor_pilot = {
	.start = pilot_start,
	.tell = pilot_tell,
	.adopt = pilot_adopt,
	.dismiss = pilot_dismiss,
	.stop = pilot_stop,
	.forget = pilot_forget,
	.pid = pilot_pid,
};
