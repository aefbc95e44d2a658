/* daemon/api/handlers_sweep.c — sweep.*: pause, resume, cancel, extend, delete, best, edit,
 * annotate. */
#include "base/log.h"
#include "daemon/api/front.h"
#include "daemon/api/handlers.h"
#include "daemon/api/lookup.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/slot/speccheck.h"
#include "daemon/sweep/edit.h"
#include "daemon/sweep/files/erase.h"
#include "daemon/sweep/run/driver.h"
#include "daemon/sweep/run/settle.h"
#include "daemon/sweep/running.h"
#include "proto/json.h"
#include "store/read.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- pause, resume, cancel, extend --- */

static void control_sweep(struct sw_running *live, struct sw_call *call, enum sw_event_kind kind)
{
	const struct sw_event event = {.kind = kind,
				       .run_cap = (uint64_t)sw_call_int(call, "run_cap", 0)};
	struct sw_change *c = sw_change_allowed(call) ? sw_driver_change(live, call, &event) : NULL;

	/* The call was answered by whichever of the two refused it. */
	if (c == NULL)
		return;
	/* Many trials are still to end, in slices: the answer comes with the last of them. */
	if (kind == SW_EVENT_CANCEL && sw_sweep_settling(live->sched)) {
		sw_settle_wait(live, call);
		c->call = NULL;
	} else {
		sw_running_write_state(live, kind == SW_EVENT_EXTEND, &c->reply);
	}
	sw_change_commit(c);
	sw_marks_note(&live->view.changes, 0);
}

#define CONTROL(verb, event)                                                                       \
	void sw_handle_sweep_##verb(struct sw_running *live, struct sw_call *call)                 \
	{                                                                                          \
		control_sweep(live, call, event);                                                  \
	}

CONTROL(pause, SW_EVENT_PAUSE)
CONTROL(resume, SW_EVENT_RESUME)
CONTROL(cancel, SW_EVENT_CANCEL)
CONTROL(extend, SW_EVENT_EXTEND)

/* --- delete --- */

void sw_handle_sweep_delete(struct sw_running *live, struct sw_call *call)
{
	sw_erase_begin(live, cJSON_IsTrue(sw_json_get(call->params, "keep_best")), call);
}

/* --- best --- */

struct best_question {
	struct sw_lookup q;
	int64_t n; /* trials; 0: as many as there are, of a front; of one metric the best alone */
	bool has_scope; /* else it is "all", of several metrics "last" */
	char scope[64]; /* "last", "all", "last-3-avg", as it was asked for */
};

#define FRONT_MOST 1000 /* trials of a front in one answer */

static sw_status read_trials(struct sw_db *db, struct best_question *b, const struct sw_front *f)
{
	struct sw_lookup *q = &b->q;
	const int64_t n = b->n != 0 ? b->n : f->spec != NULL ? FRONT_MOST : 1;

	/* One metric: an index has the best. */
	if (f->spec == NULL)
		return sw_read_best(db, q->sweep, q->maximize, b->has_scope ? b->scope : "all", n,
				    sw_lookup_write_trial, q, &q->err);
	if (b->has_scope && strcmp(b->scope, "last") != 0)
		return sw_err_at(&q->err, SW_INVALID, "/scope",
				 "scope \"%s\" goes with one metric, and the sweep has %zu",
				 b->scope, f->spec->n_metrics);
	return sw_front_trials(f, db, q->sweep, (size_t)n, q->now_ms, &q->w, &q->err);
}

static void read_best(struct sw_db *db, struct sw_lookup *q)
{
	struct sw_front f = {.n = 0};

	sw_jw_karr(&q->w, "trials");
	if (q->is_long) /* else it has one metric, and no front */
		q->rc = sw_front_read(&f, db, q->sweep, &q->err);
	if (q->rc == SW_OK)
		q->rc = read_trials(db, (struct best_question *)q, &f);
	sw_jw_arr_end(&q->w);
	if (q->rc == SW_OK)
		sw_front_write(&f, &q->w);
	sw_front_fini(&f);
}

void sw_handle_sweep_best(struct sw_running *live, struct sw_call *call)
{
	struct best_question *b = sw_lookup_create(call, live, sizeof *b, read_best);

	if (b == NULL)
		return;
	b->n = sw_call_int(call, "n", 0);
	const char *scope = sw_call_str(call, "scope", NULL);
	b->has_scope = scope != NULL;
	(void)snprintf(b->scope, sizeof b->scope, "%s", b->has_scope ? scope : "");
	/* The best by the best value stand in an index; else each trial is looked at. */
	b->q.is_long = (b->has_scope && strcmp(b->scope, "all") != 0) || live->spec == NULL ||
		       live->spec->n_metrics > 1;
	sw_lookup_run(&b->q);
}

/* --- edit: limits and ranges of a sweep that goes on --- */

/* sched knows parameters by index, "/parameters/2/min"; the call has them by name. */
static void name_field(const struct sw_running *live, struct sw_err *err)
{
	static const char params[] = "/parameters/", constraints[] = "/constraints/";
	char ptr[sizeof err->ptr] = "/ranges", rest[sizeof err->ptr], *end;

	if (strcmp(err->ptr, "/parameters") == 0) {
		(void)snprintf(err->ptr, sizeof err->ptr, "/ranges");
		return;
	}
	if (strncmp(err->ptr, constraints, sizeof constraints - 1) == 0) {
		const unsigned long k = strtoul(err->ptr + sizeof constraints - 1, NULL, 10);

		*err = (struct sw_err)SW_ERR_INIT;
		(void)sw_err_at(
			err, SW_INVALID, "/ranges",
			"with these ranges no point was found that meets the constraint \"%.200s\"",
			k < live->spec->n_constraints ? live->spec->constraints[k].text : "?");
		return;
	}
	/* It points at a limit by its own name. */
	if (strncmp(err->ptr, params, sizeof params - 1) != 0)
		return;
	const unsigned long i = strtoul(err->ptr + sizeof params - 1, &end, 10);
	if (end == err->ptr + sizeof params - 1 || i >= live->spec->n_params)
		return;
	(void)snprintf(rest, sizeof rest, "%s", end);
	sw_json_pointer_add(ptr, sizeof ptr, live->spec->params[i].name);
	(void)snprintf(err->ptr, sizeof err->ptr, "%s", ptr);
	(void)strncat(err->ptr, rest, sizeof err->ptr - strlen(err->ptr) - 1);
}

static void answer_edit(struct sw_change *c, const struct sw_running *live, const char *stored)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *tree = NULL;
	struct sw_jw w;

	/* The daemon has just written it: only memory can be short. */
	if (sw_json_parse(&tree, stored, strlen(stored), &err) != SW_OK)
		sw_daemon_die("answer an edit", SW_NOMEM);
	sw_jw_init_obj(&w, &c->reply);
	sw_jw_kint(&w, "sweep", live->sweep);
	sw_jw_kstr(&w, "state", sw_sweep_state_name(live->state));
	sw_jw_key(&w, "changes");
	sw_edits_changes(tree, &w);
	sw_jw_obj_end(&w);
	cJSON_Delete(tree);
}

/* One event, whatever it holds: the replay takes it in its place. */
static sw_status take_edits(struct sw_running *live, struct sw_call *call, const struct sw_edits *e,
			    struct sw_err *err)
{
	/* A copy until the step has taken the edit: an edit that is refused changes nothing. */
	struct sw_settings settings = live->settings;
	struct sw_event event = {.kind = SW_EVENT_EDIT, .edit = &e->sched};
	struct sw_buf text;

	sw_buf_init(&text, SW_REPLY_MAX);
	sw_edits_write(e, live, &text);
	/* An edit without its row would be undone by a restart. */
	if (text.failed != SW_OK)
		sw_daemon_die("record an edit", text.failed);
	event.cause = text.data;
	struct sw_change *c = sw_change_begin(live->d, call);
	const sw_status rc = sw_driver_step(c, live, &event, -1, err);
	if (rc != SW_OK) {
		sw_change_drop(c);
	} else {
		sw_settings_edit(&settings, e);
		sw_settings_use(live, &settings);
		if (e->sched.has_max_concurrent) /* it may have been held back */
			sw_running_level(live);
		sw_log(SW_LOG_INFO, "sweep.edit", "sweep=%lld uid=%lld edit=\"%s\"",
		       (long long)live->sweep, (long long)c->uid, text.data);
		answer_edit(c, live, text.data);
		sw_change_commit(c);
	}
	sw_buf_fini(&text);
	return rc;
}

static void edit_checked(struct sw_running *live, struct sw_call *call);

static void on_ranges_checked(void *user, const struct sw_err *err,
			      const struct sw_speccheck *facts)
{
	struct sw_call *call = user;

	(void)facts;
	/* The sweep may have ended meanwhile, or be gone: all is asked once more. */
	if (err->code == SW_OK)
		sw_gate_change(call, edit_checked);
	else
		sw_call_error(call, err);
}

/* Whether a trainer can take other ranges its own check of a spec knows. */
static sw_status check_ranges(struct sw_running *live, struct sw_call *call, struct sw_err *err)
{
	struct sw_buf text;
	struct sw_jw w;

	sw_buf_init(&text, SW_REPLY_MAX);
	sw_jw_init_obj(&w, &text);
	sw_jw_key(&w, "spec");
	sw_jw_cjson(&w, live->spec->tree);
	sw_jw_key(&w, "ranges");
	sw_jw_cjson(&w, sw_json_get(call->params, "ranges"));
	sw_jw_obj_end(&w);
	const sw_status rc = text.failed != SW_OK
				     ? sw_err_set(err, text.failed, "out of memory")
				     : sw_speccheck_start(live->d, text.data, true,
							  on_ranges_checked, call, err);
	sw_buf_fini(&text);
	return rc;
}

static void edit_sweep(struct sw_running *live, struct sw_call *call, bool checked)
{
	/* Its ranges are too much for the stack. */
	struct sw_edits *e = sw_daemon_calloc(1, sizeof *e, "edit a sweep");
	struct sw_err err = SW_ERR_INIT;
	sw_status rc = SW_OK;

	if (live->ended_ms != 0)
		rc = sw_err_set(&err, SW_CONFLICT,
				"sweep %lld is %s: it has nothing to edit any more",
				(long long)live->sweep, sw_sweep_state_name(live->state));
	if (rc == SW_OK)
		rc = sw_edits_read(e, live->spec, call->params, &err);
	const bool asks = rc == SW_OK && !checked && live->spec->trainer != NULL &&
			  e->sched.n_ranges > 0;
	if (rc == SW_OK)
		rc = asks ? check_ranges(live, call, &err) : take_edits(live, call, e, &err);
	free(e);
	if (rc != SW_OK) {
		/* Errors of sched's are by its own numbering of parameters. */
		name_field(live, &err);
		sw_call_error(call, &err);
	} else if (!asks) {
		sw_marks_note(&live->view.changes, 0);
	}
}

void sw_handle_sweep_edit(struct sw_running *live, struct sw_call *call)
{
	edit_sweep(live, call, false);
}

static void edit_checked(struct sw_running *live, struct sw_call *call)
{
	edit_sweep(live, call, true);
}

/* --- annotate: a person's words on any --- */

#define TAGS_MOST 16
#define TAG_BYTES 40

/* Tags with a blank between two, as the row has them. */
static sw_status join_tags(const cJSON *tags, struct sw_buf *out, struct sw_err *err)
{
	const cJSON *tag;

	if (cJSON_GetArraySize(tags) > TAGS_MOST)
		return sw_err_at(err, SW_INVALID, "/tags", "a sweep has at most %d tags",
				 TAGS_MOST);
	(void)sw_buf_adds(out, ""); /* none is a text, too */
	cJSON_ArrayForEach (tag, tags) {
		const char *s = cJSON_GetStringValue(tag);
		size_t n = 0;

		while (s != NULL && (unsigned char)s[n] > ' ' && s[n] != 0x7f)
			n++;
		if (n == 0 || n > TAG_BYTES || s[n] != '\0')
			return sw_err_at(err, SW_INVALID, "/tags",
					 "a tag is a word of 1 to %d bytes, without blanks",
					 TAG_BYTES);
		(void)sw_buf_addf(out, "%s%s", out->len > 0 ? " " : "", s);
	}
	return out->failed;
}

/* No event: the search knows nothing of it, and a replay is as before. */
void sw_handle_sweep_annotate(struct sw_running *live, struct sw_call *call)
{
	const cJSON *tags = sw_json_get(call->params, "tags");
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf text;
	struct sw_jw w;

	if (!sw_change_allowed(call))
		return;
	sw_buf_init(&text, 4096);
	if (tags != NULL && join_tags(tags, &text, &err) != SW_OK) {
		sw_call_error(call, &err);
	} else {
		struct sw_change *c = sw_change_begin(live->d, call);

		sw_tx_sweep_annotate(c->tx, live->sweep, tags != NULL ? text.data : NULL,
				     sw_call_str(call, "note", NULL));
		sw_jw_init_obj(&w, &c->reply);
		sw_jw_kint(&w, "sweep", live->sweep);
		sw_jw_obj_end(&w);
		sw_change_commit(c);
	}
	sw_buf_fini(&text);
}
