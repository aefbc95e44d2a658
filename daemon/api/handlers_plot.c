/* daemon/api/handlers_plot.c — sweep.plot: a sweep, or several, as one plot. */
#include "base/memory.h"
#include "daemon/api/handlers.h"
#include "daemon/api/lookup.h"
#include "daemon/api/plot_rows.h"
#include "daemon/daemon.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/running.h"
#include "plot/kinds.h"
#include "plot/write.h"
#include "proto/nearest.h"
#include "spec/spec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED_MAX  64
#define TRIALS_MAX 1000000 /* of all sweeps: 64 MB */

struct plot_question {
	struct sw_lookup q;
	const struct sw_plot_kind *kind;
	struct sw_plot_filter filter;
	char format[8];
	int width, columns;
	bool bare, color, ascii, log, by_name;
	int64_t sweeps[SW_PLOT_SWEEPS]; /* the call's own first */
	size_t n_sweeps;
	char *named[NAMED_MAX]; /* parameters, by their names; owned */
	size_t n_named;
	struct sw_plot_slot_name *slots; /* copied on the loop; owned */
	size_t n_slots;
	struct sw_plot_rows rows[SW_PLOT_SWEEPS];
};

static void free_question(struct sw_lookup *q)
{
	struct plot_question *y = (struct plot_question *)q;

	for (size_t i = 0; i < y->n_named; i++)
		free(y->named[i]);
	free(y->filter.text);
	free(y->slots);
}

/* --- on the reader's thread --- */

static sw_status no_such_param(struct plot_question *y, size_t i)
{
	const struct sw_spec *spec = y->rows[0].spec;
	const char *names[SW_SPACE_MAX_PARAMS];
	char ptr[32], did[SW_DID_YOU_MEAN];

	for (size_t k = 0; k < spec->n_params; k++)
		names[k] = spec->params[k].name;
	const char *near = sw_nearest(y->named[i], names, spec->n_params);
	(void)snprintf(ptr, sizeof ptr, "/params/%zu", i);
	return sw_err_at(&y->q.err, SW_INVALID, ptr, "the sweep has no parameter \"%.100s\"%s",
			 y->named[i], sw_did_you_mean(near, did));
}

static sw_status find_named(struct plot_question *y, size_t *named)
{
	for (size_t i = 0; i < y->n_named; i++) {
		const int k = sw_spec_param_find(y->rows[0].spec, y->named[i]);
		if (k < 0)
			return no_such_param(y, i);
		named[i] = (size_t)k;
	}
	return SW_OK;
}

static sw_status needs_metric(struct plot_question *y)
{
	const size_t n = y->rows[0].spec->n_metrics;

	if ((y->kind->needs & SW_PLOT_NEEDS_ONE_METRIC) != 0 && n == 0)
		return sw_err_at(&y->q.err, SW_INVALID, "/plot",
				 "the sweep names no metric, which the %s plot draws",
				 y->kind->name);
	if ((y->kind->needs & SW_PLOT_NEEDS_METRICS) != 0 && n < 2)
		return sw_err_at(&y->q.err, SW_INVALID, "/plot",
				 "the %s plot is of sweeps with several metrics", y->kind->name);
	return SW_OK;
}

static void write_plot(struct plot_question *y, struct sw_plot *p)
{
	struct sw_lookup *q = &y->q;
	struct sw_buf text;

	if (p->failed != SW_OK) {
		q->rc = sw_err_set(&q->err, p->failed, "the plot could not be made: %s",
				   sw_status_str(p->failed));
		return;
	}
	if (strcmp(y->format, "marks") == 0) {
		sw_plot_write(p, &q->w);
		return;
	}
	sw_buf_init(&text, SW_REPLY_MAX);
	if (strcmp(y->format, "svg") == 0)
		sw_plot_svg(p, y->width, y->bare, &text);
	else if (strcmp(y->format, "csv") == 0)
		sw_plot_csv(p, &text);
	else
		sw_plot_braille(p, y->columns, 0, y->color, !y->ascii, &text);
	q->rc = text.failed;
	if (q->rc != SW_OK)
		(void)sw_err_set(&q->err, q->rc, "the plot could not be drawn");
	sw_jw_kstr(&q->w, "plot", p->kind);
	sw_jw_kstr(&q->w, "text", q->rc == SW_OK ? text.data : NULL);
	sw_buf_fini(&text);
}

/* "digits (sweep 7): history" */
static void begin_plot(const struct plot_question *y, struct sw_plot *p)
{
	char title[200];

	(void)snprintf(title, sizeof title, "%.100s (sweep %lld): %s", y->rows[0].name,
		       (long long)y->sweeps[0], y->kind->name);
	sw_plot_init(p, y->kind->name, y->bare ? "" : y->n_sweeps == 1 ? title : y->kind->name);
}

/* The axis has the label of the first sweep's. */
static void say_metric(struct sw_plot *p, const struct sw_plot_data *first,
		       const struct sw_plot_data *d)
{
	if (d->metric == NULL)
		sw_plot_note(p, "Sweep %lld names no metric.", (long long)d->sweep);
	else if (strcmp(d->metric, first->metric) != 0 || d->maximize != first->maximize)
		sw_plot_note(p, "Sweep %lld has a metric of its own: %s, %s.", (long long)d->sweep,
			     d->metric, d->maximize ? "maximize" : "minimize");
}

static void read_plot(struct sw_db *db, struct sw_lookup *q)
{
	struct plot_question *y = (struct plot_question *)q;
	struct sw_plot_data data[SW_PLOT_SWEEPS];
	size_t named[NAMED_MAX], all = 0;
	struct sw_plot p;

	for (size_t i = 0; i < y->n_sweeps && q->rc == SW_OK; i++) {
		q->rc = sw_plot_rows_read(&y->rows[i], db, y->sweeps[i], y->kind->needs, &y->filter,
					  y->slots, y->n_slots, q->now_ms, &q->err);
		data[i] = y->rows[i].data;
		all += data[i].all;
		if (q->rc == SW_OK && i > 0 && all > TRIALS_MAX)
			q->rc = sw_err_set(&q->err, SW_INVALID,
					   "the sweeps have more than %d trials together",
					   TRIALS_MAX);
		if (q->rc != SW_OK && i > 0) /* the fault is not at the call's own sweep */
			(void)snprintf(q->err.ptr, sizeof q->err.ptr, "/with/%zu", i - 1);
	}
	if (q->rc == SW_OK)
		q->rc = find_named(y, named);
	if (q->rc == SW_OK)
		q->rc = needs_metric(y);
	if (q->rc != SW_OK)
		goto out;
	data[0].log = y->log;
	data[0].by_name = y->by_name;
	begin_plot(y, &p);
	y->kind->build(&p, data, y->n_sweeps, named, y->n_named);
	for (size_t i = 1; i < y->n_sweeps; i++)
		say_metric(&p, &data[0], &data[i]);
	if (data[0].n < data[0].all)
		sw_plot_note(&p, "%zu of %zu trials, as was asked for.", data[0].n, data[0].all);
	write_plot(y, &p);
	sw_plot_fini(&p);
out:
	/* Here and not on the loop, which 100,000 rows would hold. */
	for (size_t i = 0; i < y->n_sweeps; i++)
		sw_plot_rows_fini(&y->rows[i]);
}

/* --- on the loop --- */

/* NULL: the call was refused. */
static const struct sw_plot_kind *kind_of(struct sw_call *call)
{
	const char *name = sw_call_str(call, "plot", "history");
	const struct sw_plot_kind *kind = sw_plot_kind_find(name);
	const char *names[32];
	char list[300] = ": there are ", did[SW_DID_YOU_MEAN];
	size_t at = strlen(list), n = 0;

	if (kind != NULL)
		return kind;
	for (; n < sw_plot_kinds_n && at < sizeof list; n++) {
		names[n] = sw_plot_kinds[n].name;
		at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", n > 0 ? ", " : "",
				       names[n]);
	}
	const char *near = sw_nearest(name, names, n);
	sw_call_refuse(call, SW_INVALID, "/plot", "no plot is called \"%.60s\"%s", name,
		       near != NULL ? sw_did_you_mean(near, did) : list);
	return NULL;
}

/* The sweeps of "with" beside the call's own. False: the call was refused. */
static bool take_with(struct plot_question *y, struct sw_call *call)
{
	const cJSON *v;
	uint64_t sweep;

	y->sweeps[y->n_sweeps++] = y->q.sweep;
	cJSON_ArrayForEach (v, sw_json_get(call->params, "with")) {
		if (!sw_json_u64(v, &sweep) || sweep == 0) {
			sw_call_refuse(call, SW_INVALID, "/with", "\"with\" has numbers of sweeps");
			return false;
		}
		if (y->n_sweeps == y->kind->sweeps) {
			sw_call_refuse(call, SW_INVALID, "/with",
				       "the %s plot is of at most %zu sweep%s", y->kind->name,
				       y->kind->sweeps, y->kind->sweeps == 1 ? "" : "s");
			return false;
		}
		y->sweeps[y->n_sweeps++] = (int64_t)sweep;
	}
	return true;
}

/* False: the call was refused. */
static bool take_named(struct plot_question *y, struct sw_call *call)
{
	const cJSON *v;

	cJSON_ArrayForEach (v, sw_json_get(call->params, "params")) {
		if (!cJSON_IsString(v) || y->n_named == y->kind->params ||
		    y->n_named == NAMED_MAX) {
			sw_call_refuse(
				call, SW_INVALID, "/params",
				y->kind->params == 0
					? "the %s plot takes no parameters"
					: "the %s plot takes the names of at most %zu parameters",
				y->kind->name, y->kind->params);
			return false;
		}
		y->named[y->n_named] = sw_strdup(v->valuestring);
		if (y->named[y->n_named] == NULL) {
			sw_call_refuse(call, SW_NOMEM, "", "out of memory");
			return false;
		}
		y->n_named++;
	}
	return true;
}

/* How it is drawn. False: the call was refused, as the plot does not know that. */
static bool take_ways(struct plot_question *y, struct sw_call *call)
{
	y->log = cJSON_IsTrue(sw_json_get(call->params, "log"));
	y->by_name = sw_json_get(call->params, "by") != NULL;
	if (y->log && (y->kind->needs & SW_PLOT_TAKES_LOG) == 0)
		sw_call_refuse(call, SW_INVALID, "/log", "the %s plot has no axis of a metric",
			       y->kind->name);
	else if (y->by_name && (y->kind->needs & SW_PLOT_TAKES_NAMES) == 0)
		sw_call_refuse(call, SW_INVALID, "/by", "the %s plot does not go by names",
			       y->kind->name);
	else
		return true;
	return false;
}

static bool take_filter(struct plot_question *y, struct sw_call *call)
{
	const char *text = sw_call_str(call, "filter", "");

	if (text[0] == '\0')
		return true;
	y->filter.text = sw_strdup(text);
	if (y->filter.text == NULL)
		sw_call_refuse(call, SW_NOMEM, "", "out of memory");
	return y->filter.text != NULL;
}

static bool copy_slots(struct plot_question *y, struct sw_call *call)
{
	const size_t n = call->d->slot.slot_n;

	/* Slots are the loop's: the reader's thread gets a copy of their names. */
	y->slots = sw_calloc(n + 1, sizeof *y->slots);
	if (y->slots == NULL) {
		sw_call_refuse(call, SW_NOMEM, "", "out of memory");
		return false;
	}
	for (size_t i = 0; i < n; i++)
		(void)snprintf(y->slots[i].text, sizeof y->slots[i].text, "%s",
			       call->d->slot.slots[i].device.name);
	y->n_slots = n;
	return true;
}

void sw_handle_sweep_plot(struct sw_call *call)
{
	const struct sw_plot_kind *kind = kind_of(call);
	struct sw_running *live = kind != NULL ? sw_running_of(call) : NULL;
	struct plot_question *y = live != NULL ? sw_lookup_create(call, live, sizeof *y, read_plot)
					       : NULL;

	if (y == NULL)
		return;
	y->kind = kind;
	/* Copied: the call's parameters stay, but only what is here may be read on the other
	 * thread. */
	(void)snprintf(y->format, sizeof y->format, "%s", sw_call_str(call, "format", "marks"));
	y->width = (int)sw_call_int(call, "width", 800);
	y->columns = (int)sw_call_int(call, "columns", 80);
	y->bare = cJSON_IsTrue(sw_json_get(call->params, "bare"));
	y->color = cJSON_IsTrue(sw_json_get(call->params, "color"));
	y->ascii = cJSON_IsTrue(sw_json_get(call->params, "ascii"));
	y->filter.best = sw_call_int(call, "n", 0);
	(void)snprintf(y->filter.state, sizeof y->filter.state, "%s",
		       sw_call_str(call, "state", ""));
	y->q.is_long = true;
	y->q.fini = free_question;
	if (take_ways(y, call) && take_with(y, call) && take_named(y, call) &&
	    take_filter(y, call) && copy_slots(y, call))
		sw_lookup_run(&y->q);
	else
		sw_lookup_drop(&y->q);
}
