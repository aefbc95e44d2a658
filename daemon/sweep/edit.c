#include "daemon/sweep/edit.h"
#include "daemon/plan/plan.h"
#include "daemon/sweep/running.h"
#include "proto/nearest.h"
#include <stdio.h>
#include <string.h>

/* --- settings --- */

void sw_settings_init(struct sw_settings *s, const struct sw_spec *spec)
{
	*s = (struct sw_settings){
		.weight = spec->weight,
		.time_s = spec->time_budget_s,
		.gpu_hours = spec->gpu_hours,
		.lease_s = spec->lease_s,
		.max_concurrent = spec->max_concurrent,
		.has_target = spec->has_target,
		.target = spec->target,
	};
}

void sw_settings_edit(struct sw_settings *s, const struct sw_edits *e)
{
	/* A member that the edit does not name stays: an edit says what changes, not what the
	 * settings are. */
	if (e->has_weight)
		s->weight = e->weight;
	if (e->has_time)
		s->time_s = e->time_s;
	if (e->has_gpu)
		s->gpu_hours = e->gpu_hours;
	if (e->has_lease)
		s->lease_s = e->lease_s;
	if (e->sched.has_max_concurrent)
		s->max_concurrent = e->sched.max_concurrent;
	if (e->sched.has_target) {
		s->has_target = true;
		s->target = e->sched.target;
	}
}

void sw_settings_use(struct sw_running *live, const struct sw_settings *s)
{
	/* The account is kept at its place among the others: a new weight gives no backlog. */
	sw_share_reweigh(&live->claim.share, s->weight);
	/* The next scan for silent clients was put off by the old lease, and this one may be
	 * shorter. */
	live->hold_us = 0;
	live->settings = *s;
}

/* --- in --- */

static sw_status no_param(const struct sw_spec *spec, const char *name, const char *ptr,
			  struct sw_err *err)
{
	const char *names[SW_SPACE_MAX_PARAMS];
	char did[SW_DID_YOU_MEAN];

	for (size_t i = 0; i < spec->n_params; i++)
		names[i] = spec->params[i].name;
	return sw_err_at(err, SW_INVALID, ptr, "no parameter is called \"%.100s\"%s", name,
			 sw_did_you_mean(sw_nearest(name, names, spec->n_params), did));
}

static sw_status read_range(struct sw_range *out, const struct sw_spec *spec, const cJSON *range,
			    struct sw_err *err)
{
	/* By name, as it was typed; what is stored and replayed is the name, too, for places of
	 * parameters follow from the spec. */
	const int i = sw_spec_param_find(spec, range->string);
	const cJSON *v;
	char ptr[sizeof err->ptr] = "/ranges";

	sw_json_pointer_add(ptr, sizeof ptr, range->string);
	if (i < 0)
		return no_param(spec, range->string, ptr, err);
	/* Its own "min" and "max" are what an edit replaces: a normal has none, a list no ends. */
	if (!spec->params[i].has_min || !spec->params[i].has_max)
		return sw_err_at(err, SW_INVALID, ptr,
				 "%.100s is %s: only the min and max of a number's range can be "
				 "edited",
				 range->string, sw_dist_name(spec->params[i].dist));
	cJSON_ArrayForEach (v, range) {
		if (v->string == NULL ||
		    (strcmp(v->string, "min") != 0 && strcmp(v->string, "max") != 0)) {
			if (v->string != NULL)
				sw_json_pointer_add(ptr, sizeof ptr, v->string);
			return sw_err_at(err, SW_INVALID, ptr,
					 "a range is {\"min\": A, \"max\": B}");
		}
	}
	const cJSON *min = sw_json_get(range, "min"), *max = sw_json_get(range, "max");
	if (!cJSON_IsNumber(min) || !cJSON_IsNumber(max))
		return sw_err_at(err, SW_INVALID, ptr, "a range is {\"min\": A, \"max\": B}");
	*out = (struct sw_range){
		.param = (size_t)i, .min = min->valuedouble, .max = max->valuedouble};
	return SW_OK;
}

static sw_status read_ranges(struct sw_edits *e, const struct sw_spec *spec, const cJSON *ranges,
			     struct sw_err *err)
{
	const cJSON *range;

	cJSON_ArrayForEach (range, ranges) {
		/* A stored edit may be damaged. In an object each name stands once, and each must
		 * be a parameter's, so there is room for all of them. */
		if (range->string == NULL)
			return sw_err_at(err, SW_INVALID, "/ranges",
					 "ranges are an object by name");
		const sw_status rc = read_range(&e->ranges[e->sched.n_ranges], spec, range, err);
		if (rc != SW_OK)
			return rc;
		e->sched.n_ranges++;
	}
	return SW_OK;
}

static bool read_number(const cJSON *object, const char *key, double *out)
{
	const cJSON *v = sw_json_get(object, key);

	if (cJSON_IsNumber(v))
		*out = v->valuedouble;
	return cJSON_IsNumber(v);
}

sw_status sw_edits_read(struct sw_edits *e, const struct sw_spec *spec, const cJSON *object,
			struct sw_err *err)
{
	/* Types and limits of single members were checked against methods.json; a stored edit
	 * passed the same check when it came. */
	*e = (struct sw_edits){.has_weight = false};
	e->sched.ranges = e->ranges;
	e->has_weight = read_number(object, "weight", &e->weight);
	e->has_time = read_number(object, "time_budget_s", &e->time_s);
	e->has_gpu = read_number(object, "gpu_hours", &e->gpu_hours);
	e->has_lease = read_number(object, "lease_s", &e->lease_s);
	e->sched.has_target = read_number(object, "target", &e->sched.target);
	e->sched.has_run_cap = sw_json_u64(sw_json_get(object, "run_cap"), &e->sched.run_cap);
	e->sched.has_max_concurrent =
		sw_json_u64(sw_json_get(object, "max_concurrent"), &e->sched.max_concurrent);
	/* A worker that is silent is ended by the daemon itself, so a lease would mean nothing. */
	if (e->has_lease && !sw_spec_driven(spec))
		return sw_err_at(
			err, SW_INVALID, "/lease_s",
			"a lease is for trials that clients run; this sweep's are run on slots");
	if (e->has_weight && e->weight <= 0)
		return sw_err_at(err, SW_INVALID, "/weight", "a weight is above 0");
	const sw_status rc = read_ranges(e, spec, sw_json_get(object, "ranges"), err);
	if (rc != SW_OK)
		return rc;
	if (!e->has_weight && !e->has_time && !e->has_gpu && !e->has_lease &&
	    !e->sched.has_target && !e->sched.has_run_cap && !e->sched.has_max_concurrent &&
	    e->sched.n_ranges == 0)
		return sw_err_set(err, SW_INVALID, "nothing to change is named");
	return SW_OK;
}

/* --- out --- */

static void write_ranges(struct sw_jw *w, const struct sw_edits *e, const struct sw_running *live,
			 bool old)
{
	const struct sw_space *space = sw_sweep_space(live->sched);

	/* An edit of limits alone has no member "ranges". */
	if (e->sched.n_ranges == 0)
		return;
	sw_jw_kobj(w, "ranges");
	for (size_t i = 0; i < e->sched.n_ranges; i++) {
		const struct sw_range *r = &e->ranges[i];
		const struct sw_param *was = sw_space_param(space, r->param);
		const struct sw_spec_param *p = &live->spec->params[r->param];

		sw_jw_kobj(w, p->name);
		/* As the parameter prints its numbers (an integer without a point), so that `sweep
		 * show` and the spec agree to the letter. */
		sw_jw_key(w, "min");
		sw_plan_number(w, p, old ? was->min : r->min);
		sw_jw_key(w, "max");
		sw_plan_number(w, p, old ? was->max : r->max);
		sw_jw_obj_end(w);
	}
	sw_jw_obj_end(w);
}

void sw_edits_write(const struct sw_edits *e, const struct sw_running *live, struct sw_buf *out)
{
	const struct sw_settings *was = &live->settings;
	struct sw_jw w;

	sw_jw_init_obj(&w, out);
	/* The same members twice, as they become and in "from" as they were: a later reader of the
	 * event needs no other row to say what changed. */
	for (int old = 0; old < 2; old++) {
		if (old)
			sw_jw_kobj(&w, "from");
		if (e->sched.has_run_cap)
			sw_jw_kint(&w, "run_cap", old ? live->run_cap : (int64_t)e->sched.run_cap);
		if (e->sched.has_max_concurrent)
			sw_jw_kint(&w, "max_concurrent",
				   (int64_t)(old ? was->max_concurrent : e->sched.max_concurrent));
		if (e->has_weight)
			sw_jw_knum(&w, "weight", old ? was->weight : e->weight);
		if (e->has_time)
			sw_jw_knum(&w, "time_budget_s", old ? was->time_s : e->time_s);
		if (e->has_gpu)
			sw_jw_knum(&w, "gpu_hours", old ? was->gpu_hours : e->gpu_hours);
		if (e->has_lease)
			sw_jw_knum(&w, "lease_s", old ? was->lease_s : e->lease_s);
		/* A target may be 0, so there is no number for none: the member is left out. */
		if (e->sched.has_target && (!old || was->has_target))
			sw_jw_knum(&w, "target", old ? was->target : e->sched.target);
		write_ranges(&w, e, live, old);
		if (old)
			sw_jw_obj_end(&w);
	}
	sw_jw_obj_end(&w);
}

/* null where there was no limit, or none is from now on. */
static void write_setting(struct sw_jw *w, const char *key, const cJSON *v, bool limit)
{
	if (!cJSON_IsNumber(v) || (limit && !(v->valuedouble > 0))) {
		sw_jw_knull(w, key);
	} else {
		sw_jw_key(w, key);
		sw_jw_cjson(w, v);
	}
}

void sw_edits_changes(const cJSON *stored, struct sw_jw *w)
{
	const cJSON *from = sw_json_get(stored, "from"), *v, *range;

	sw_jw_arr(w);
	cJSON_ArrayForEach (v, stored) {
		if (v == from || v->string == NULL || !cJSON_IsNumber(v))
			continue;
		/* For these two 0 is a number like any other, not "none". */
		const bool limit = strcmp(v->string, "target") != 0 &&
				   strcmp(v->string, "weight") != 0;

		sw_jw_obj(w);
		sw_jw_kstr(w, "key", v->string);
		write_setting(w, "from", sw_json_get(from, v->string), limit);
		write_setting(w, "to", v, limit);
		sw_jw_obj_end(w);
	}
	cJSON_ArrayForEach (range, sw_json_get(stored, "ranges")) {
		const cJSON *old = sw_json_get(sw_json_get(from, "ranges"), range->string);

		sw_jw_obj(w);
		sw_jw_kstr(w, "key", range->string);
		sw_jw_key(w, "from");
		sw_jw_cjson(w, old); /* null: it had no range */
		sw_jw_key(w, "to");
		sw_jw_cjson(w, range);
		sw_jw_obj_end(w);
	}
	sw_jw_arr_end(w);
}
