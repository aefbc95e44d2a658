#include "worker/check.h"
#include "proto/json.h"
#include "proto/spec.h"
#include "worker/data.h"
#include "worker/net.h"
#include "worker/trainer.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

struct facts {
	size_t features, classes, rows, parameters, bytes;
};

/* The largest or smallest of what a parameter can be. Words count as they stand: the first. */
static cJSON *extreme(const struct sw_spec_param *p, bool largest)
{
	const cJSON *pick = p->value ? p->value : p->values ? p->values->child : NULL;
	double v;

	for (const cJSON *c = pick ? pick->next : NULL; p->values && !p->value && c; c = c->next)
		if (cJSON_IsNumber(c) && cJSON_IsNumber(pick) &&
		    (largest ? c->valuedouble > pick->valuedouble
			     : c->valuedouble < pick->valuedouble))
			pick = c;
	if (pick)
		return cJSON_Duplicate(pick, 1);
	if (p->has_min && p->has_max) {
		v = largest ? p->max : p->min;
		/* the quantised kinds reach the multiples of q inside their range alone */
		if (strncmp(p->dist, "q_", 2) == 0 && p->q > 0)
			v = (largest ? floor(v / p->q) : ceil(v / p->q)) * p->q;
	} else {
		/* normal kinds have no ends: six deviations leave one draw in a thousand million */
		v = p->mu + (largest ? 6 : -6) * p->sigma;
		if (strstr(p->dist, "log_normal"))
			v = exp(v);
	}
	return cJSON_CreateNumber(v);
}

static sw_status configuration(cJSON **out, const struct sw_spec *s, bool largest,
			       struct sw_err *err)
{
	*out = cJSON_CreateObject();
	for (size_t i = 0; *out && i < s->n_params; i++) {
		cJSON *v = extreme(&s->params[i], largest);

		if (!v || !cJSON_AddItemToObject(*out, s->params[i].name, v)) {
			cJSON_Delete(v);
			cJSON_Delete(*out);
			*out = NULL;
		}
	}
	return *out ? SW_OK : sw_err_set(err, SW_NOMEM, "no memory to check the sweep");
}

static sw_status check_data(const struct sw_spec *s, const struct sw_trainer *t,
			    struct sw_data *data, struct sw_err *err)
{
	const struct sw_data_want want = {.classes = t->classes,
					  .val_fraction = t->val_fraction,
					  .split_seed = t->split_seed,
					  .standardize = t->standardize};
	struct sw_err why = SW_ERR_INIT;
	struct sw_data_source source;
	sw_status status;

	status = sw_data_source_read(&source, sw_json_get(s->trainer, "dataset"), &why);
	if (status == SW_OK)
		status = sw_data_load(data, &source, want, NULL, NULL, &why);
	if (status == SW_OK)
		return SW_OK;
	sw_err_prefix(&why, "/trainer/dataset");
	return sw_err_at(err, status, why.ptr, "%s", why.msg);
}

static sw_status check_model(const struct sw_spec *s, const cJSON *params,
			     const struct sw_trainer *t, const struct sw_data *data,
			     struct facts *out, struct sw_err *err)
{
	struct sw_err why = SW_ERR_INIT;
	struct sw_layout layout;
	struct sw_model model;
	sw_status status;

	const struct sw_task task = sw_net_task(data, t->classes);

	status = sw_model_compile(&model, sw_json_get(s->trainer, "model"), params, &task, &why);
	if (status == SW_OK)
		status = sw_layout_make(&layout, &model, t, data->train.rows, data->val.rows,
					&sw_ops_cpu, &why);
	if (status != SW_OK) {
		sw_err_prefix(&why, "/trainer/model");
		return sw_err_at(err, status, why.ptr, "%s", why.msg);
	}
	out->parameters = model.parameters;
	out->bytes = layout.bytes + data->bytes;
	return SW_OK;
}

static sw_status check(const struct sw_spec *s, struct facts *out, struct sw_err *err)
{
	const uint64_t max_t = sw_spec_max_t(s);
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	cJSON *large = NULL, *small = NULL;
	struct sw_data data = {0};
	struct sw_trainer t;
	sw_status status;

	if (!s->trainer)
		return sw_err_at(err, SW_INVALID, "/trainer", "there is no trainer to check");
	/* scratch memory grows with a slot's cores, which may be all that there are */
	sw_ops_cpu_threads(cores > 1 ? (unsigned)cores : 1);
	status = configuration(&small, s, false, err);
	if (status == SW_OK)
		status = configuration(&large, s, true, err);
	if (status == SW_OK)
		status = sw_trainer_resolve(&t, s->trainer, small, max_t, s->seed, err);
	if (status == SW_OK)
		status = check_data(s, &t, &data, err);
	out->features = data.features;
	out->classes = data.classes;
	out->rows = data.train.rows + data.val.rows;
	if (status == SW_OK)
		status = check_model(s, small, &t, &data, out, err);
	if (status == SW_OK)
		status = sw_trainer_resolve(&t, s->trainer, large, max_t, s->seed, err);
	if (status == SW_OK)
		status = check_model(s, large, &t, &data, out, err);
	sw_data_fini(&data);
	cJSON_Delete(small);
	cJSON_Delete(large);
	return status;
}

static void write_facts(struct sw_jw *w, const struct facts *f)
{
	sw_jw_kbool(w, "ok", true);
	sw_jw_kint(w, "features", (int64_t)f->features);
	sw_jw_kint(w, "classes", (int64_t)f->classes);
	sw_jw_kint(w, "rows", (int64_t)f->rows);
	sw_jw_kint(w, "parameters", (int64_t)f->parameters);
	sw_jw_kint(w, "bytes", (int64_t)f->bytes);
	sw_jw_key(w, "metrics");
	sw_jw_arr(w);
	sw_jw_str(w, "train_loss");
	sw_jw_str(w, "val_loss");
	if (f->classes) {
		sw_jw_str(w, "val_accuracy");
		sw_jw_str(w, "val_top5");
		sw_jw_str(w, "val_macro_f1");
	} else {
		sw_jw_str(w, "val_mse");
		sw_jw_str(w, "val_mae");
		sw_jw_str(w, "val_r2");
	}
	sw_jw_str(w, "samples_per_s");
	sw_jw_arr_end(w);
}

void sw_check_spec(const char *spec, size_t len, struct sw_buf *out)
{
	struct sw_err err = SW_ERR_INIT;
	struct facts facts = {0};
	struct sw_spec *s = NULL;
	cJSON *tree = NULL;
	struct sw_jw w;
	sw_status status = sw_json_parse(&tree, spec, len, &err);

	if (status == SW_OK)
		status = sw_spec_read(&s, tree, &err);
	if (status == SW_OK)
		status = check(s, &facts, &err);
	sw_spec_destroy(s);
	cJSON_Delete(tree);
	sw_jw_init(&w, out);
	sw_jw_obj(&w);
	if (status == SW_OK) {
		write_facts(&w, &facts);
	} else {
		sw_jw_kbool(&w, "ok", false);
		sw_jw_kstr(&w, "pointer", err.ptr);
		sw_jw_kstr(&w, "message", err.msg);
	}
	sw_jw_obj_end(&w);
}
