#include "daemon/api/why_source.h"
#include "daemon/sweep/running.h"
#include "proto/json.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define LN_PLAIN (-700) /* an improvement below e^this is no number: its logarithm is said */

struct telling {
	const struct sw_running *live;
	struct sw_origin origin;
	const char *source;
	uint64_t n_init, point, points; /* point: of its source; 0: none, or no number of them */
	const cJSON *facts, *stored;    /* stored: NULL: nothing was */
};

static bool is_source(const struct telling *t, const char *name)
{
	return strcmp(t->source, name) == 0;
}

/* Did a sampler that learns make it? */
static bool has_model(const struct telling *t)
{
	return t->stored != NULL && !is_source(t, "init");
}

/* A suggestion was stored with its source; of all other trials it is known anyway. */
static void find_source(struct telling *t)
{
	const struct sw_sweep *s = t->live->sched;

	t->n_init = sw_sweep_sampler_config(s)->n_init;
	/* In this order: a copy is never the sampler's, and init points come before all
	 * suggestions. */
	if (t->origin.parent != 0)
		t->source = "pbt";
	else if (t->origin.enqueued != 0)
		t->source = "enqueue";
	else if (t->origin.made <= t->n_init)
		t->source = "init";
	else
		t->source = sw_json_text(t->stored, "source", t->live->method);
	if (is_source(t, "init")) {
		t->point = t->origin.made;
		t->points = t->n_init;
	} else if (t->origin.made != 0 && t->stored == NULL) {
		t->point = t->origin.made - t->n_init;
		t->points = sw_sweep_points(s) != 0 ? sw_sweep_points(s) - t->n_init : 0;
	}
}

/* --- JSON --- */

static void write_json(const struct telling *t, struct sw_buf *out)
{
	const cJSON *v, *earlier = sw_json_get(t->facts, "earlier");
	struct sw_jw w;

	sw_jw_init_obj(&w, out);
	sw_jw_kstr(&w, "source", t->source);
	sw_jw_kstr(&w, "method", t->live->method);
	if (t->point != 0)
		sw_jw_kint(&w, "point", (int64_t)t->point);
	if (t->points != 0)
		sw_jw_kint(&w, "points", (int64_t)t->points);
	if (cJSON_IsNumber(sw_json_get(t->facts, "uid")))
		sw_jw_kint(&w, "uid", (int64_t)sw_json_number(t->facts, "uid", 0));
	if (t->origin.parent != 0)
		sw_jw_kint(&w, "parent", (int64_t)t->origin.parent);
	cJSON_ArrayForEach (v, t->stored) {
		if (strcmp(v->string, "source") == 0)
			continue;
		sw_jw_key(&w, v->string);
		sw_jw_cjson(&w, v);
	}
	if (has_model(t) && earlier != NULL && earlier->child != NULL) {
		sw_jw_key(&w, "earlier");
		sw_jw_cjson(&w, earlier);
	}
	sw_jw_obj_end(&w);
}

/* --- words --- */

static void say_given(const struct telling *t, struct sw_buf *out)
{
	const uint64_t point = t->point, points = t->points;
	const double uid = sw_json_number(t->facts, "uid", -1),
		     again = sw_json_number(t->facts, "again", 0);

	if (is_source(t, "pbt")) {
		(void)sw_buf_addf(out, "; a changed copy of trial %" PRIu64, t->origin.parent);
	} else if (is_source(t, "enqueue")) {
		if (again > 0)
			(void)sw_buf_addf(out, "; trial %.0f again", again);
		else
			(void)sw_buf_adds(out, "; enqueued by hand");
		if (uid >= 0)
			(void)sw_buf_addf(out, ", by user %.0f", uid);
	} else if (is_source(t, "init")) {
		(void)sw_buf_addf(out, "; init point %" PRIu64 " of %" PRIu64 " of the spec", point,
				  points);
	} else if (is_source(t, "grid")) {
		(void)sw_buf_addf(out, "; point %" PRIu64 " of %" PRIu64 " of the grid", point,
				  points);
	} else if (is_source(t, "sobol")) {
		(void)sw_buf_addf(out, "; point %" PRIu64 " of a Sobol sequence", point);
	} else {
		(void)sw_buf_adds(out, "; drawn at random");
	}
}

static void say_sampler(const struct telling *t, struct sw_buf *out)
{
	const char *method = t->live->method;

	if (is_source(t, "centre"))
		(void)sw_buf_addf(out, "; the middle of the space, the first point of %s", method);
	else if (is_source(t, "sobol"))
		(void)sw_buf_addf(out, "; a Sobol point of %s, without a model", method);
	else if (is_source(t, "random"))
		(void)sw_buf_addf(out, "; drawn at random by %s, without a model", method);
	else if (is_source(t, method))
		(void)sw_buf_addf(out, "; suggested by %s", method);
	else
		(void)sw_buf_addf(out, "; suggested by %s (%s)", t->source, method);
}

/* ", which knew 3 results, 40 of sweep 1 and had not seen 2" */
static void say_known(const struct telling *t, struct sw_buf *out)
{
	const double known = sw_json_number(t->stored, "known", 0),
		     unseen = sw_json_number(t->stored, "unseen", 0);
	const cJSON *e;

	(void)sw_buf_addf(out, ", which knew %.0f result%s", known, known == 1 ? "" : "s");
	cJSON_ArrayForEach (e, sw_json_get(t->facts, "earlier")) {
		(void)sw_buf_addf(out, "%s %.0f of sweep %.0f", e->next == NULL ? " and" : ",",
				  sw_json_number(e, "results", 0), sw_json_number(e, "sweep", 0));
	}
	if (unseen > 0)
		(void)sw_buf_addf(out, ", and had not seen %.0f", unseen);
}

static void say_posterior(const cJSON *of, struct sw_buf *out)
{
	(void)sw_buf_addf(out, "%.6g, deviation %.6g", sw_json_number(of, "mean", NAN),
			  sw_json_number(of, "sd", NAN));
}

static void say_improvement(const cJSON *stored, const char *of, struct sw_buf *out)
{
	const double ln = sw_json_number(stored, "log_expected_improvement", NAN);

	/* Nothing was stored of it. */
	if (isnan(ln))
		return;
	if (ln < LN_PLAIN)
		(void)sw_buf_addf(out, "; expected improvement%s e^%.6g", of, ln);
	else
		(void)sw_buf_addf(out, "; expected improvement%s %.6g", of, exp(ln));
}

/* "; weights 0.3 (loss), 0.7 (size)" */
static void say_weights(const cJSON *weights, struct sw_buf *out)
{
	const char *sep = "; weights ";
	const cJSON *v;

	cJSON_ArrayForEach (v, weights) {
		(void)sw_buf_addf(out, "%s%.3g (%s)", sep, v->valuedouble, v->string);
		sep = ", ";
	}
}

static void say_expected(const cJSON *stored, struct sw_buf *out)
{
	const cJSON *metrics = sw_json_get(stored, "metrics"), *v;
	const cJSON *whole = sw_json_get(stored, "scalarised");
	const char *of = "", *sep = ": expected ";

	if (whole != NULL) {
		(void)sw_buf_adds(out, ": the metrics as one weighted number expected ");
		say_posterior(whole, out);
		of = " of that";
	} else if (metrics != NULL) {
		cJSON_ArrayForEach (v, metrics) {
			(void)sw_buf_addf(out, "%s%s ", sep, v->string);
			say_posterior(v, out);
			sep = "; ";
		}
		of = " of the weighted maximum";
	} else if (sw_json_get(stored, "mean") != NULL) {
		(void)sw_buf_adds(out, sep);
		say_posterior(stored, out);
	}
	say_improvement(stored, of, out);
	say_weights(sw_json_get(stored, "weights"), out);
}

static void write_text(const struct telling *t, struct sw_buf *out)
{
	const double ratio = sw_json_number(t->stored, "density_ratio", NAN);

	if (!has_model(t)) {
		say_given(t, out);
	} else {
		say_sampler(t, out);
		say_known(t, out);
		say_expected(t->stored, out);
		if (!isnan(ratio))
			(void)sw_buf_addf(out, ": good trials %.6g times as dense there as others",
					  ratio);
	}
}

void sw_why_source(const struct sw_running *live, uint64_t trial, const char *facts,
		   struct sw_buf *json, struct sw_buf *text)
{
	struct telling t = {.live = live, .origin = sw_sweep_origin(live->sched, trial)};
	struct sw_err err = SW_ERR_INIT;
	cJSON *tree = NULL;

	if (sw_json_parse(&tree, facts, strlen(facts), &err) != SW_OK) {
		(void)sw_buf_adds(json, "null"); /* no memory: the rest of the answer stands */
		return;
	}
	t.facts = tree;
	t.stored = sw_json_get(tree, "stored");
	/* JSON null where nothing was stored. */
	if (!cJSON_IsObject(t.stored))
		t.stored = NULL;
	find_source(&t);
	write_json(&t, json);
	write_text(&t, text);
	cJSON_Delete(tree);
}
