#include "cli/tensorboard.h"
#include "base/memory.h"
#include "cli/pages.h"
#include "cli/tfevent.h"
#include "cli/view.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK      ((size_t)1 << 20) /* bytes that are gathered before they are written */
#define TRIALS_MAX 100000000

/* How far a trial has been written. */
struct written {
	struct sw_pages_place report; /* the last one */
	uint64_t step;                /* its step */
	bool begun, ended;
};

struct board {
	struct sw_cli *c;
	const cJSON *declared;      /* the spec's parameters */
	uint64_t *trials, *reports; /* how many were written */
	char folder[PATH_MAX + 24]; /* DIR/SWEEP */
	struct written *written;    /* by trial */
	size_t cap, at;             /* at: the trial that is being written */
	struct sw_tf tf;            /* records for its file */
};

static int cannot_write(const struct board *o, const char *path)
{
	sw_cli_say(o->c, "cannot write %s: %s", path, strerror(errno));
	return SW_EXIT_REFUSED;
}

/* Moves what is gathered to the file of o->at. That has one name for ever, so that a second export
 * takes the place of the first. */
static int flush_records(struct board *o)
{
	char folder[PATH_MAX + 48], path[PATH_MAX + 96];
	struct written *w = &o->written[o->at];

	if (o->tf.b.failed != SW_OK) {
		sw_cli_say(o->c, "out of memory");
		return SW_EXIT_REFUSED;
	}
	if (o->tf.b.len == 0)
		return SW_EXIT_DONE;
	(void)snprintf(folder, sizeof folder, "%s/%zu", o->folder, o->at);
	(void)snprintf(path, sizeof path, "%s/events.out.tfevents.1.sweepd", folder);
	if (!w->begun && mkdir(folder, 0777) != 0 && errno != EEXIST)
		return cannot_write(o, folder);
	/* Nobody else's link leads elsewhere: the file is new, and stays one. */
	if (!w->begun)
		(void)unlink(path);
	const int fd = open(
		path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | (w->begun ? O_APPEND : O_CREAT | O_EXCL),
		0666);
	FILE *file = fd >= 0 ? fdopen(fd, "ab") : NULL;
	if (file == NULL)
		return cannot_write(o, path);
	w->begun = true;
	const bool whole = fwrite(o->tf.b.data, 1, o->tf.b.len, file) == o->tf.b.len;
	if (fclose(file) != 0 || !whole)
		return cannot_write(o, path);
	sw_buf_clear(&o->tf.b);
	return SW_EXIT_DONE;
}

static int write_report(struct board *o, const cJSON *report)
{
	struct written *w = &o->written[o->at];
	const double time_ms = sw_json_number(report, "time_ms", 0);
	const uint64_t before = w->step;
	const cJSON *m;

	w->step = sw_json_uint(report, "step");
	if (w->step <= before)
		sw_tf_restart(&o->tf, time_ms, w->step);
	sw_tf_open(&o->tf, time_ms, w->step);
	cJSON_ArrayForEach (m, sw_json_get(report, "metrics")) {
		/* The words that stand for what JSON has no number for are strtod's, too. */
		sw_tf_scalar(&o->tf, m->string,
			     cJSON_IsString(m) ? strtod(m->valuestring, NULL) : m->valuedouble);
	}
	sw_tf_close(&o->tf);
	(*o->reports)++;
	return o->tf.b.len > CHUNK ? flush_records(o) : SW_EXIT_DONE;
}

static int on_reports(void *arg, const cJSON *reports)
{
	const cJSON *r;
	int status = SW_EXIT_DONE;

	cJSON_ArrayForEach (r, reports)
		if (status == SW_EXIT_DONE)
			status = write_report(arg, r);
	return status;
}

/* What is new of a trial. Called again and again with --follow. */
static int on_trial(void *arg, const cJSON *trial)
{
	struct board *o = arg;
	const char *state = sw_json_text(trial, "state", "");
	const size_t had = o->cap;
	const uint64_t n = sw_json_uint(trial, "trial"), step = sw_json_uint(trial, "step");
	int status = SW_EXIT_DONE;

	if (n == 0 || n > TRIALS_MAX)
		return SW_EXIT_DONE;
	if (!sw_array_reserve(&o->written, &o->cap, n + 1, sizeof *o->written)) {
		sw_cli_say(o->c, "out of memory");
		return SW_EXIT_REFUSED;
	}
	memset(o->written + had, 0, (o->cap - had) * sizeof *o->written);
	struct written *w = &o->written[n];
	if (w->ended)
		return SW_EXIT_DONE;
	o->at = n;
	if (!w->begun) {
		const double created_ms = sw_json_number(trial, "created_ms", 0);

		sw_tf_version(&o->tf, created_ms);
		sw_tf_session_start(&o->tf, created_ms, sw_json_get(trial, "params"), o->declared);
		(*o->trials)++;
	}
	if (step != 0 && (sw_json_uint(trial, "attempt") != w->report.attempt || step != w->step))
		status = sw_pages_reports(o->c, n, &w->report, on_reports, o);
	w->ended = sw_view_is_end(state);
	if (w->ended)
		sw_tf_session_end(&o->tf, sw_json_number(trial, "ended_ms", 0), state);
	return status == SW_EXIT_DONE ? flush_records(o) : status;
}

/* Until the sweep ends the daemon says, on a connection of its own, which trials changed. What the
 * trials were before is read when it has begun to, so that no change falls in between. */
static int follow_sweep(struct board *o)
{
	struct sw_client *client = NULL;
	struct sw_err err = SW_ERR_INIT;
	struct sw_reply r = SW_REPLY_INIT;
	char params[64];
	int64_t id;
	bool over = false;
	sw_status rc = sw_cli_connect(o->c, &client, &err);

	(void)snprintf(params, sizeof params, "{\"sweep\":%" PRIu64 ",\"rows\":0}", o->c->sweep);
	if (rc == SW_OK)
		rc = sw_client_send(client, "sweep.watch", params, SW_CLIENT_CONNECT_MS, &id, &err);
	int status = sw_cli_failed(o->c, rc, &err);
	while (status == SW_EXIT_DONE && !over) {
		rc = sw_client_read(client, -1, &r, &err);
		status = sw_cli_failed(o->c, rc, &err);
		const cJSON *view = r.method != NULL ? r.params : r.result;
		const cJSON *t = cJSON_GetArrayItem(sw_json_get(view, "trials"), 0);

		over = sw_view_is_end(sw_json_text(view, "state", ""));
		/* The answer, and a message that has not all that changed, as it says; the last one
		 * must miss nothing. */
		if (status == SW_EXIT_DONE &&
		    (r.method == NULL || over || cJSON_IsTrue(sw_json_get(view, "reset"))))
			status = sw_pages_trials(o->c, on_trial, o);
		else
			for (; t != NULL && status == SW_EXIT_DONE; t = t->next)
				status = on_trial(o, t);
	}
	sw_client_reply_fini(&r);
	sw_client_close(client);
	return status;
}

int sw_tensorboard_write(struct sw_cli *c, const cJSON *spec, uint64_t *trials, uint64_t *reports)
{
	struct board o = {.c = c,
			  .declared = sw_json_get(spec, "parameters"),
			  .trials = trials,
			  .reports = reports};
	const bool follow = (c->args.given & SW_OPT_FOLLOW) != 0;
	const char *out = c->args.out;

	sw_buf_init(&o.tf.b, 8 * CHUNK);
	(void)snprintf(o.folder, sizeof o.folder, "%s/%" PRIu64, out, c->sweep);
	if ((mkdir(out, 0777) != 0 && errno != EEXIST) ||
	    (mkdir(o.folder, 0777) != 0 && errno != EEXIST))
		return cannot_write(&o, out);
	const int status = follow ? follow_sweep(&o) : sw_pages_trials(c, on_trial, &o);
	free(o.written);
	sw_buf_fini(&o.tf.b);
	return status;
}
