/*
 * cli/watch.c — the loop of a watcher.
 *
 * One connection per sweep, on which the daemon is asked again and again for what has changed since
 * its last answer. Answers go into the views as they come; what is shown is made from the views,
 * at most ten times a second on a terminal and every five seconds elsewhere. A daemon that goes
 * away is looked for every second, for a minute.
 */
#include "cli/watch.h"
#include "base/clock.h"
#include "cli/block.h"
#include "cli/canvas.h"
#include "cli/curve.h"
#include "cli/live.h"
#include "cli/screen.h"
#include "cli/view.h"
#include "proto/json.h"
#include <stdio.h>
#include <string.h>

#define SECOND_US   ((int64_t)1000000)
#define FRAME_US    ((int64_t)100000)
#define BLOCK_US    (5 * SECOND_US)
#define RETRY_US    SECOND_US
#define WAIT        "0.5" /* s: longest wait for a change, and of a curve that is asked for then */
#define AWAY_MAX_US (60 * SECOND_US)
#define MAX_SWEEPS  SW_ARGS_MAX

struct watch {
	struct sw_cli *cli;
	size_t n;
	struct sw_view views[MAX_SWEEPS]; /* in a row of their own: what is drawn */
	struct sw_client *clients[MAX_SWEEPS];
	int64_t ids[MAX_SWEEPS];    /* the response that is awaited; 0: none, it is to be asked */
	uint64_t since[MAX_SWEEPS]; /* what it knows; 0: nothing */
	int64_t retry_at[MAX_SWEEPS];
	bool on_screen, json, left;
	struct sw_browse browse; /* what keys have chosen */
	struct sw_curve curve;   /* of the trial under the cursor, or the best */
	bool curved;             /* it is on the screen */
	size_t asked;            /* the client that was asked for its reports */
	int64_t shown_at;        /* when something was last drawn; 0: never */
	bool dirty;
};

static sw_status ask_view(struct watch *w, size_t i, struct sw_err *err)
{
	char params[96];

	(void)snprintf(params, sizeof params, "{\"sweep\":%llu,\"since\":%llu,\"wait_s\":" WAIT "}",
		       (unsigned long long)w->views[i].sweep, (unsigned long long)w->since[i]);
	return sw_client_send(w->clients[i], "sweep.watch", params, SW_CLIENT_CONNECT_MS,
			      &w->ids[i], err);
}

static sw_status start_view(struct watch *w, size_t i, struct sw_err *err)
{
	sw_status rc = SW_OK;

	w->clients[i] = w->cli->client; /* an ssh less, where it has served before */
	w->cli->client = NULL;
	if (w->clients[i] == NULL)
		rc = sw_cli_connect(w->cli, &w->clients[i], err);
	return rc == SW_OK ? ask_view(w, i, err) : rc;
}

static void lose_view(struct watch *w, size_t i, int64_t now)
{
	sw_client_close(w->clients[i]);
	w->clients[i] = NULL;
	w->ids[i] = 0;
	/* Its answer went with the connection, and is asked for again on the next one. */
	if (w->curve.id != 0 && w->asked == i) {
		w->curve.id = 0;
		w->curve.more = true;
	}
	if (w->views[i].lost_at_us == 0) {
		w->views[i].lost_at_us = now;
		if (!w->on_screen) /* on a screen the header says it */
			sw_cli_say(w->cli, "sweep %llu: the daemon is away; trying again for 60 s",
				   (unsigned long long)w->views[i].sweep);
	}
	w->retry_at[i] = now + RETRY_US;
	w->dirty = true;
}

/* Is it the answer about the trial whose curve is shown? */
static bool is_of_curve(const struct watch *w, size_t i, const struct sw_reply *r)
{
	return r->id > 0 && r->id == w->curve.id && i == w->asked;
}

/* One message for view i: the answer to its question; others are passed over. */
static sw_status take_answer(struct watch *w, size_t i, struct sw_reply *r)
{
	struct sw_view *v = &w->views[i];

	if (is_of_curve(w, i, r)) {
		w->curve.id = 0;
		w->dirty = true;
		return sw_curve_take(&w->curve, r->result,
				     sw_json_text(w->views[i].head, "metric", ""));
	}
	if (r->method != NULL || r->id != w->ids[i])
		return SW_OK; /* a message that this version does not know */
	const uint64_t next = sw_json_uint(r->result, "next");
	const bool same = next == w->since[i] && v->lost_at_us == 0 &&
			  !cJSON_IsTrue(sw_json_get(r->result, "reset"));
	w->ids[i] = 0;
	w->since[i] = next;
	/* Nothing has changed: the wait was over. */
	if (same)
		return SW_OK;
	cJSON *message = cJSON_DetachItemFromObjectCaseSensitive(r->tree, "result");
	if (w->json)
		sw_cli_json(w->cli, message);
	const sw_status rc = sw_view_merge(v, message, sw_clock_mono_us());
	w->dirty = true;
	return rc == SW_PARSE ? SW_OK : rc; /* a malformed answer changes nothing */
}

/* All that has come for view i. SW_INVALID (the daemon refused) and SW_NOMEM end the watch. */
static sw_status drain_view(struct watch *w, size_t i, struct sw_err *err)
{
	struct sw_reply r = SW_REPLY_INIT;
	struct sw_err why = SW_ERR_INIT;
	sw_status rc = SW_OK;

	while (rc == SW_OK) {
		rc = sw_client_read(w->clients[i], 0, &r, &why);
		/* A curve that is refused: the trial is gone, and has none. */
		if (rc == SW_OK || (rc == SW_INVALID && is_of_curve(w, i, &r)))
			rc = take_answer(w, i, &r);
	}
	sw_client_reply_fini(&r);
	if (rc == SW_BUSY)
		return SW_OK; /* all that had come is taken */
	const bool ended = sw_view_ended(&w->views[i]);
	/* To another machine it is not tried again: ssh would ask for a password on this screen. */
	if (rc == SW_INVALID || rc == SW_NOMEM || (w->cli->args.host != NULL && !ended)) {
		*err = why;
		return rc;
	}
	if (rc != SW_OK && ended) {
		sw_client_close(w->clients[i]);
		w->clients[i] = NULL;
	} else if (rc != SW_OK) {
		lose_view(w, i, sw_clock_mono_us());
	}
	return SW_OK;
}

/* Reads, reconnects. Sets *open to how many sweeps go on. */
static sw_status tend_views(struct watch *w, size_t *open, struct sw_err *err)
{
	*open = 0;
	for (size_t i = 0; i < w->n; i++) {
		const int64_t now = sw_clock_mono_us();
		sw_status rc = SW_OK;

		if (w->clients[i] == NULL && !sw_view_ended(&w->views[i])) {
			struct sw_err why = SW_ERR_INIT;

			if (now - w->views[i].lost_at_us > AWAY_MAX_US)
				return sw_err_set(err, SW_NOT_FOUND, "away");
			if (now >= w->retry_at[i] && start_view(w, i, &why) != SW_OK)
				lose_view(w, i, now);
		}
		if (w->clients[i] != NULL)
			rc = drain_view(w, i, err);
		if (rc != SW_OK)
			return rc;
		*open += sw_view_ended(&w->views[i]) ? 0 : 1;
	}
	return SW_OK;
}

static sw_status show_screen(struct watch *w, int64_t now)
{
	const struct sw_view *v = &w->views[w->browse.view];
	struct sw_canvas canvas, part;
	int width, height;
	sw_status rc;

	sw_screen_size(&width, &height);
	const int below = sw_live_below(w->views, w->n, height);
	rc = sw_canvas_init(&canvas, width, height);
	if (rc == SW_OK) {
		part = canvas;
		part.height -= below;
		rc = sw_live_draw(&part, w->views, w->n, &w->browse, w->cli->look.utf8, now);
		canvas.marked = part.marked;
	}
	/* After the table was drawn, which has settled the cursor. */
	const bool alone = w->browse.curve && w->browse.trial != 0;
	w->curved = alone || below > 0;
	if (rc == SW_OK && w->curved) {
		sw_curve_of(&w->curve, v->sweep,
			    w->browse.trial != 0
				    ? w->browse.trial
				    : sw_json_uint(sw_json_get(v->head, "best"), "trial"));
		for (int row = 0; alone && row < height; row++)
			sw_canvas_blank(&canvas, row);
		part = sw_canvas_below(&canvas, alone ? 0 : height - below);
		rc = sw_curve_draw(&part, &w->curve, v, &w->cli->look, now, alone);
	}
	if (rc == SW_OK && w->browse.help)
		sw_browse_help(&canvas);
	if (rc == SW_OK)
		sw_screen_show(&canvas);
	sw_canvas_fini(&canvas);
	return rc == SW_INVALID ? SW_OK : rc; /* a terminal of no size shows nothing */
}

static sw_status show_blocks(struct watch *w, int64_t now)
{
	for (size_t i = 0; i < w->n; i++) {
		struct sw_view *v = &w->views[i];

		if (v->drawn == v->changes || sw_view_ended(v))
			continue; /* the end has a block of its own */
		v->drawn = v->changes;
		const sw_status rc = sw_block_print(&w->cli->out, v, &w->cli->look, now);
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

/* Asks for the reports of the trial whose curve is shown, if there may be more of them. */
static void ask_curve(struct watch *w)
{
	const size_t i = w->browse.view;
	struct sw_err why = SW_ERR_INIT;
	char params[160];

	if (!w->curved || w->clients[i] == NULL || !sw_curve_ask(&w->curve, &w->views[i], params))
		return;
	w->asked = i;
	if (sw_client_send(w->clients[i], "trial.reports", params, SW_CLIENT_CONNECT_MS,
			   &w->curve.id, &why) != SW_OK &&
	    w->cli->args.host == NULL) /* else the next look sees it */
		lose_view(w, i, sw_clock_mono_us());
}

/* Asks again about those that have answered. Behind the curve, which would wait for that answer. */
static void ask_views(struct watch *w)
{
	for (size_t i = 0; i < w->n; i++) {
		struct sw_err why = SW_ERR_INIT;

		if (w->clients[i] != NULL && w->ids[i] == 0 && !sw_view_ended(&w->views[i]) &&
		    ask_view(w, i, &why) != SW_OK && w->cli->args.host == NULL)
			lose_view(w, i, sw_clock_mono_us()); /* else the next look sees it */
	}
}

/* Shows what is due; sets *due to when it wants to be called again. */
static sw_status show_all(struct watch *w, int64_t *due)
{
	const int64_t now = sw_clock_mono_us();
	const int64_t apart = !w->on_screen ? BLOCK_US : w->dirty ? FRAME_US : SECOND_US;
	sw_status rc = SW_OK;

	*due = w->shown_at + apart;
	if (w->json || (!w->on_screen && !w->dirty)) {
		*due = now + SECOND_US;
		return SW_OK;
	}
	if (w->shown_at != 0 && now < *due)
		return SW_OK; /* changes gather until then: a fast sweep has thousands a second */
	rc = w->on_screen ? show_screen(w, now) : show_blocks(w, now);
	w->dirty = false;
	w->shown_at = now;
	*due = now + (w->on_screen ? SECOND_US : BLOCK_US);
	return rc;
}

/* The keys that have come, and at once a redraw; so many at most, as what is pasted has no end. */
static void take_keys(struct watch *w)
{
	enum sw_key key;

	for (int i = 0; i < 100 && (key = sw_screen_key()) != SW_KEY_NONE; i++) {
		/* It goes to the next of the columns that are drawn, and a key before it may have
		 * brought rows of others. Without memory the next frame says so. */
		if (key == SW_KEY_SORT && i > 0 && show_screen(w, sw_clock_mono_us()) != SW_OK)
			return;
		w->left = !sw_browse_key(&w->browse, key, w->views, w->n) || w->left;
		w->shown_at = 0;
	}
}

/* Sleeps until a message, a key, a signal, or `due`. */
static void wait_for(struct watch *w, int64_t due)
{
	struct pollfd fds[MAX_SWEEPS + 1];
	nfds_t n = 0;

	for (size_t i = 0; i < w->n; i++) {
		if (w->clients[i] != NULL)
			fds[n++] = (struct pollfd){.fd = sw_client_fd(w->clients[i]),
						   .events = POLLIN};
		else if (!sw_view_ended(&w->views[i]) && w->retry_at[i] < due)
			due = w->retry_at[i];
	}
	w->left = !sw_screen_wait(fds, n, due);
	take_keys(w);
}

static sw_status follow_views(struct watch *w, struct sw_err *err)
{
	for (;;) {
		size_t open = 0;
		int64_t due = 0;
		sw_status rc = tend_views(w, &open, err);

		if (rc != SW_OK || open == 0)
			return rc;
		rc = show_all(w, &due);
		if (rc != SW_OK)
			return rc;
		ask_curve(w);
		ask_views(w);
		if (!w->on_screen && w->cli->out.len > 0 && sw_cli_flush(w->cli) != SW_EXIT_DONE)
			return sw_err_set(err, SW_INVALID, "nobody reads");
		wait_for(w, due);
		if (w->left)
			return SW_OK;
	}
}

/* Trials of an ended sweep as the daemon has them now, or NULL. They live in r. */
static const cJSON *fetch_rows(struct watch *w, const char *method, const char *params,
			       struct sw_reply *r)
{
	struct sw_err ignored = SW_ERR_INIT;
	const sw_status rc = sw_cli_ask(w->cli, method, params, r, &ignored);
	const cJSON *trials = rc == SW_OK ? sw_json_get(r->result, "trials") : NULL;
	return cJSON_IsArray(trials) ? trials : NULL;
}

static bool among(const cJSON *trials, const cJSON *trial)
{
	const cJSON *t;

	cJSON_ArrayForEach (t, trials)
		if (sw_json_uint(t, "trial") == sw_json_uint(trial, "trial"))
			return true;
	return false;
}

/* The rows of the last block: the best trials, then those without a value by number. What the view
 * knew of a trial may be older than its end. */
static size_t final_rows(const cJSON *best, const cJSON *list, const cJSON *rows[SW_BLOCK_ROWS])
{
	size_t n = 0;
	const cJSON *t;

	cJSON_ArrayForEach (t, best) {
		if (n < SW_BLOCK_ROWS)
			rows[n++] = t;
	}
	cJSON_ArrayForEach (t, list) {
		if (n < SW_BLOCK_ROWS && !among(best, t))
			rows[n++] = t;
	}
	return n;
}

/* The last block of a sweep that has ended. */
static sw_status print_end(struct watch *w, const struct sw_view *v)
{
	struct sw_reply best = SW_REPLY_INIT, list = SW_REPLY_INIT;
	const cJSON *rows[SW_BLOCK_ROWS] = {NULL}, *all = NULL;
	const size_t i = (size_t)(v - w->views);
	char params[96];

	if (w->cli->client == NULL) { /* it has told all that it had to */
		w->cli->client = w->clients[i];
		w->clients[i] = NULL;
	}

	(void)snprintf(params, sizeof params, "{\"sweep\":%llu,\"n\":%d}",
		       (unsigned long long)v->sweep, SW_BLOCK_ROWS);
	const cJSON *first = fetch_rows(w, "sweep.best", params, &best);
	if (first != NULL && cJSON_GetArraySize(first) < SW_BLOCK_ROWS) {
		/* As many again as the best ones, since those may all be among them. */
		(void)snprintf(params, sizeof params, "{\"sweep\":%llu,\"limit\":%d}",
			       (unsigned long long)v->sweep, 2 * SW_BLOCK_ROWS);
		all = fetch_rows(w, "trial.list", params, &list);
	}
	const size_t n = final_rows(first, all, rows);
	const sw_status rc =
		sw_block_final(&w->cli->out, v, rows, n, &w->cli->look, sw_clock_mono_us());
	sw_client_reply_fini(&best);
	sw_client_reply_fini(&list);
	return rc;
}

/* "sweep 1 goes on; `sweep watch 1` shows it again": those that have not ended. */
static void say_goes_on(struct watch *w)
{
	char list[MAX_SWEEPS * 24] = "";
	size_t len = 0, n = 0;

	for (size_t i = 0; i < w->n; i++) {
		if (sw_view_ended(&w->views[i]))
			continue;
		len += (size_t)snprintf(list + len, sizeof list - len, "%s%llu", n > 0 ? " " : "",
					(unsigned long long)w->views[i].sweep);
		n++;
	}
	if (n > 0)
		(void)sw_buf_addf(
			&w->cli->out, "sweep%s %s go%s on; `sweep watch %s` shows %s again\n",
			n == 1 ? "" : "s", list, n == 1 ? "es" : "", list, n == 1 ? "it" : "them");
}

/* After the loop, on a normal terminal: what is left to say, and the exit status. */
static int conclude(struct watch *w, sw_status rc, const struct sw_err *err)
{
	int status = SW_EXIT_DONE;

	for (size_t i = 0; rc == SW_OK && i < w->n && !w->json; i++)
		if (sw_view_ended(&w->views[i]))
			rc = print_end(w, &w->views[i]);
	if (rc == SW_OK && w->left && !w->json)
		say_goes_on(w);
	status = sw_cli_failed(w->cli, rc, err);
	for (size_t i = 0; status == SW_EXIT_DONE && i < w->n; i++)
		if (sw_view_all_failed(&w->views[i])) {
			(void)sw_cli_flush(w->cli);
			sw_cli_say(w->cli, "sweep %llu: every trial failed",
				   (unsigned long long)w->views[i].sweep);
			status = SW_EXIT_REFUSED;
		} else if (sw_view_halted(&w->views[i]) ||
			   strcmp(sw_json_text(w->views[i].head, "state", ""), "FAILED") == 0) {
			(void)sw_cli_flush(w->cli); /* the line comes after the table */
			sw_cli_say(w->cli, "sweep %llu %s: %s",
				   (unsigned long long)w->views[i].sweep,
				   sw_view_halted(&w->views[i]) ? "is paused" : "failed",
				   sw_json_text(w->views[i].head, "cause", "no cause given"));
			status = SW_EXIT_REFUSED;
		}
	return status;
}

int sw_watch_run(struct sw_cli *c, const uint64_t *sweeps, size_t n)
{
	struct watch w = {.cli = c, .n = n, .json = (c->args.given & SW_OPT_JSON) != 0};
	struct sw_err err = SW_ERR_INIT;
	sw_status rc = SW_OK;
	int status;

	for (size_t i = 0; i < n; i++)
		sw_view_init(&w.views[i], sweeps[i]);
	for (size_t i = 0; rc == SW_OK && i < n; i++)
		rc = start_view(&w, i, &err);
	/* Shows what came before the terminal is taken over. */
	if (rc == SW_OK && sw_cli_flush(c) != SW_EXIT_DONE)
		rc = sw_err_set(&err, SW_INVALID, "nobody reads");
	if (rc == SW_OK) {
		w.on_screen = !w.json && sw_screen_open(c->look.color);
		sw_screen_catch_signals();
		rc = follow_views(&w, &err);
		sw_screen_close();
	}
	/* The screen is closed: from here on lines stay on the terminal. */
	sw_curve_fini(&w.curve);
	status = conclude(&w, rc, &err);
	for (size_t i = 0; i < n; i++) {
		sw_client_close(w.clients[i]);
		sw_view_fini(&w.views[i]);
	}
	return status;
}
