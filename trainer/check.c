#include "trainer/check.h"
#include "base/memory.h"
#include "kernels/backend.h"
#include "proto/json.h"
#include "spec/spec.h"
#include "trainer/corner.h"
#include "trainer/data/data.h"
#include "trainer/model/stages.h"
#include "trainer/model/trainer.h"
#include "trainer/net/net.h"
#include "trainer/spec/spec.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAULTS_MAX 100  /* as many as the daemon keeps */
#define POINTS     2000 /* that are looked at around a corner for the one that takes most memory */

struct facts {
	const struct sw_ops *gpu; /* NULL: none */
	size_t parameters, bytes, data_bytes;
	uint64_t data_sum;
	char odd[sizeof((struct sw_data_about *)0)->odd];
	double flops;       /* of a batch */
	double stage_flops; /* of a pipeline's heaviest stage, a batch; 0: no pipeline */
	size_t parts;       /* micro-batches of a rank's rows, of a pipeline */
};

/* Reads the data set without keeping its rows: shapes, classes and bytes are enough. */
static sw_status check_data(const struct sw_spec *s, const struct sw_trainer *t,
			    struct sw_data *data, uint64_t *sum, struct sw_err *err)
{
	const struct sw_data_want want = {.classes = t->classes,
					  .val_fraction = t->val_fraction,
					  .split_seed = t->split_seed,
					  .scale = t->scale};
	struct sw_data_source source;
	sw_status rc = sw_data_source_read(&source, sw_json_get(s->trainer, "dataset"), err);

	if (rc == SW_OK)
		rc = sw_data_load(data, &source, want, NULL, NULL, err);
	if (rc == SW_OK)
		rc = sw_data_source_sum(&source, sum, err);
	if (rc != SW_OK)
		sw_err_prefix(err, "/trainer/dataset");
	return rc;
}

/* *bytes becomes the arena's where it takes more: on a CPU, or, where there is one, on a GPU. */
static sw_status check_arena(const struct sw_model *m, const struct sw_trainer *t,
			     const struct sw_data *data, const struct sw_ops *gpu, size_t *bytes,
			     struct sw_err *err)
{
	struct sw_layout layout, on_gpu = {0};
	sw_status rc =
		sw_layout_make(&layout, m, t, data->train.rows, data->val.rows, &sw_ops_cpu, err);

	if (rc == SW_OK && gpu)
		rc = sw_layout_make(&on_gpu, m, t, data->train.rows, data->val.rows, gpu, err);
	if (rc != SW_OK)
		return rc;
	on_gpu.bytes += on_gpu.library;
	if (layout.bytes > *bytes)
		*bytes = layout.bytes;
	if (on_gpu.bytes > *bytes)
		*bytes = on_gpu.bytes;
	return SW_OK;
}

/* Adds a stage of a pipeline to the facts: its work, and its arena if that is the largest. */
static sw_status check_stage(const struct sw_model *m, const struct sw_trainer *t,
			     const size_t *first, unsigned s, const struct sw_data *data,
			     struct facts *out, size_t *bytes, struct sw_err *err)
{
	const double rows = (double)t->batch_size;
	const double flops = sw_stages_flops(m, first[s], first[s + 1]) * rows;
	const size_t share = sw_layout_share((size_t)t->batch_size, t->ranks);
	const size_t micro = sw_layout_share(share, t->microbatches);
	struct sw_trainer own = *t;
	size_t weights, running;
	struct sw_model stage;

	if (flops > out->stage_flops)
		out->stage_flops = flops;
	own.stage = s;
	out->parts = sw_layout_share(share, micro);
	sw_stages_model(&stage, m, first[s], first[s + 1], &weights, &running);
	return check_arena(&stage, &own, data, out->gpu, bytes, err);
}

/* Compiles the model at a point and counts its weights, its work and its arena. */
static sw_status check_model(const struct sw_spec *s, const cJSON *params,
			     const struct sw_trainer *t, const struct sw_data *data,
			     struct facts *out, struct sw_err *err)
{
	const struct sw_task task = sw_net_task(data, t->classes);
	const char *at = "/trainer/model";
	size_t first[SW_STAGES_MAX + 1], bytes = 0;
	struct sw_model model;

	sw_status rc =
		sw_model_compile(&model, sw_json_get(s->trainer, "model"), params, &task, err);
	out->stage_flops = 0;
	if (rc == SW_OK && t->stages > 1) {
		rc = sw_stages_cut(&model, t, first, err);
		if (rc != SW_OK)
			at = "/parallel/pipeline";
		for (unsigned i = 0; rc == SW_OK && i < t->stages; i++)
			rc = check_stage(&model, t, first, i, data, out, &bytes, err);
	} else if (rc == SW_OK) {
		rc = check_arena(&model, t, data, out->gpu, &bytes, err);
	}
	if (rc != SW_OK) {
		sw_err_prefix(err, at);
		return rc;
	}
	out->parameters = model.parameters;
	out->bytes = data->bytes + bytes;
	out->flops = sw_model_flops(&model) * (double)t->batch_size;
	return SW_OK;
}

/* One point of the space; *out is set where it can be trained. */
static sw_status check_point(const struct sw_corner *c, const struct sw_data *data,
			     struct facts *out, struct sw_err *err)
{
	struct sw_trainer t;
	cJSON *params = NULL;
	sw_status rc = sw_corner_params(&params, c, err);

	if (rc == SW_OK)
		rc = sw_trainer_resolve(&t, c->spec->trainer, params, sw_spec_max_t(c->spec),
					c->spec->seed, err);
	t.ranks = c->spec->data_ranks;
	t.stages = c->spec->stages;
	t.microbatches = c->spec->microbatches;
	t.sync_batchnorm = c->spec->sync_batchnorm;
	if (rc == SW_OK)
		rc = check_model(c->spec, params, &t, data, out, err);
	cJSON_Delete(params);
	return rc;
}

struct climb {
	struct sw_corner at;
	unsigned char *best; /* the picks of the point that takes most memory so far */
	const struct sw_data *data;
	struct facts *most; /* that point's; bytes 0: none was found yet */
	size_t left;        /* points to look at */
	bool better;
};

/* The point as it stands, if it meets the constraints. If the first of a climb cannot be trained,
 * that is an error; later ones are left to the trials. */
static sw_status look_at(struct climb *c, struct sw_err *err)
{
	const bool first = c->most->bytes == 0;
	struct sw_err why = SW_ERR_INIT;
	/* A copy: what the data set alone says is the same at each point. */
	struct facts f = *c->most;

	if (c->left == 0 || !sw_corner_holds(&c->at))
		return SW_OK;
	c->left--;
	const sw_status rc = check_point(&c->at, c->data, &f, first ? err : &why);

	if (rc != SW_OK)
		return first ? rc : SW_OK;
	/* Of equals the first stays, or a climb could go round in a circle. */
	if (f.bytes <= c->most->bytes)
		return SW_OK;
	*c->most = f;
	memcpy(c->best, c->at.pick, c->at.spec->n_params);
	c->better = true;
	return SW_OK;
}

/* From point to point, a parameter at a time, as long as a trial there takes more memory: a larger
 * stride makes a net smaller, and words have no order. The largest corner alone is 14% short on
 * examples/digits_bayes.json ("sgd" stands before "adam"), and trials share a GPU by this
 * figure. */
static sw_status climb(const struct sw_corner *from, const struct sw_data *data, struct facts *most,
		       struct sw_err *err)
{
	const struct sw_spec *s = from->spec;
	struct climb c = {.at = *from, .data = data, .most = most, .left = POINTS};
	sw_status rc;

	c.best = sw_malloc(s->n_params + 1);
	if (!c.best)
		return sw_err_set(err, SW_NOMEM, "no memory to check the sweep");
	memcpy(c.best, from->pick, s->n_params);
	rc = look_at(&c, err);
	/* A gain counts at once: the parameters behind it are tried from there. POINTS ends what
	 * would be long in a large space. */
	for (c.better = true; c.better && c.left > 0;) {
		c.better = false;
		for (size_t i = 0; i < s->n_params; i++) {
			const size_t choices = sw_corner_choices(&s->params[i]);

			for (size_t k = 0; rc == SW_OK && k < choices; k++) {
				if (k == c.best[i])
					continue;
				c.at.pick[i] = (unsigned char)k;
				rc = look_at(&c, err);
			}
			c.at.pick[i] = c.best[i];
		}
	}
	free(c.best);
	return rc;
}

/* Both corners, and what lies around them. A corner that breaks a constraint is where the search
 * starts, too: a single step often meets it (a < b). If none is met, trials have to find out. */
static sw_status check_space(const struct sw_spec *s, const struct sw_data *data, struct facts *out,
			     struct sw_err *err)
{
	sw_status rc = SW_OK;

	/* From both ends: memory is not monotonous in each parameter, so a climb from one corner
	 * may end on a hill of its own. */
	for (int largest = 0; rc == SW_OK && largest < 2; largest++) {
		struct facts mine = *out;
		struct sw_corner c;

		mine.bytes = 0; /* the way up may lie below what the other corner's climb found */
		rc = sw_corner_init(&c, s, largest, err);
		if (rc == SW_OK)
			rc = climb(&c, data, &mine, err);
		sw_corner_fini(&c);
		if (mine.bytes > out->bytes)
			*out = mine;
	}
	return rc;
}

static sw_status check(const struct sw_spec *s, struct facts *out, struct sw_err *err)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct sw_corner corner = {0};
	cJSON *small = NULL;
	struct sw_data data = {0};
	struct sw_trainer t;
	sw_status rc;

	/* scratch memory grows with a slot's cores, which may be all that there are */
	sw_ops_cpu_threads(cores > 1 ? (unsigned)cores : 1);
	/* the parameters do not change the data set, so any point will do */
	rc = sw_corner_init(&corner, s, false, err);
	if (rc == SW_OK)
		rc = sw_corner_params(&small, &corner, err);
	sw_corner_fini(&corner);
	if (rc == SW_OK)
		rc = sw_trainer_resolve(&t, s->trainer, small, sw_spec_max_t(s), s->seed, err);
	cJSON_Delete(small);
	if (rc == SW_OK)
		rc = check_data(s, &t, &data, &out->data_sum, err);
	memcpy(out->odd, data.about.odd, sizeof out->odd);
	out->data_bytes = data.bytes;
	if (rc == SW_OK)
		rc = check_space(s, &data, out, err);
	sw_data_fini(&data);
	return rc;
}

/* Writes the answer to a spec that is fine. Figures of a pipeline stand there only for one. */
static void write_facts(struct sw_jw *w, const struct facts *f)
{
	sw_jw_kint(w, "parameters", (int64_t)f->parameters);
	sw_jw_kint(w, "bytes", (int64_t)f->bytes);
	sw_jw_kint(w, "data_bytes", (int64_t)f->data_bytes);
	sw_jw_kint(w, "data_sum", (int64_t)f->data_sum);
	sw_jw_knum(w, "flops", f->flops);
	if (f->stage_flops > 0) {
		sw_jw_knum(w, "stage_flops", f->stage_flops);
		sw_jw_kint(w, "parts", (int64_t)f->parts);
	}
}

const struct sw_ops *sw_check_gpu(void)
{
	const struct sw_ops *gpu = NULL;

	/* Before the module is opened: then CUDA finds no GPU that it could make a context on. */
	if (setenv("CUDA_VISIBLE_DEVICES", "", 1) != 0 || sw_backend_gpu_sizes(&gpu, NULL) != SW_OK)
		return NULL;
	return gpu;
}

/* --- the spec --- */

/* A text as it is read, and what is said of it. */
struct reading {
	cJSON *tree;
	const cJSON *ranges; /* of an edit; NULL: none */
	struct sw_spec *spec;
	struct sw_err fault[FAULTS_MAX];
	struct sw_faults f;
	size_t spec_warns; /* warnings of the spec's own reader, which the daemon has */
};

static void take_ranges(struct sw_spec *s, const cJSON *ranges)
{
	const cJSON *range;

	cJSON_ArrayForEach (range, ranges) {
		const int i = sw_spec_param_find(s, range->string);

		if (i < 0)
			continue;
		s->params[i].min = sw_json_number(range, "min", s->params[i].min);
		s->params[i].max = sw_json_number(range, "max", s->params[i].max);
	}
}

/* The loader's line comes when all else is right; this one beside the other faults. */
static void check_file(const struct sw_spec *s, struct sw_faults *f)
{
	static const char at[] = "/trainer/dataset/path";
	const char *path = sw_json_text(sw_json_get(s->trainer, "dataset"), "path", "");

	if (*path == '/' && access(path, R_OK) != 0 && !sw_fault_near(f, at))
		sw_fault_note(f, at, "%s: %s", path, strerror(errno));
}

static sw_status read_spec(struct reading *r, const char *text, size_t len, bool form,
			   struct sw_err *err)
{
	sw_status rc = sw_json_parse(&r->tree, text, len, err);

	if (rc != SW_OK)
		return rc;
	r->f = (struct sw_faults){r->fault, FAULTS_MAX, 0};
	r->ranges = form ? sw_json_get(r->tree, "ranges") : NULL;
	rc = sw_spec_read_all(&r->spec, form ? sw_json_get(r->tree, "spec") : r->tree, &r->f);
	if (rc != SW_OK)
		return sw_err_set(err, rc, "no memory to check the sweep");
	r->spec_warns = r->spec->n_warnings;
	if (!r->spec->trainer)
		return r->f.n > 0 ? SW_OK
				  : sw_err_at(err, SW_INVALID, "/trainer",
					      "there is no trainer to check");
	take_ranges(r->spec, r->ranges);
	sw_trainer_spec_check(r->spec, &r->f);
	if (r->f.n > 0)
		check_file(r->spec, &r->f);
	else
		sw_trainer_spec_warn(r->spec);
	return SW_OK;
}

/* An edit names ranges where the spec has parameters. */
static void point_at_range(const struct reading *r, struct sw_err *fault)
{
	char ptr[sizeof fault->ptr];
	const cJSON *range;

	cJSON_ArrayForEach (range, r->ranges) {
		const int i = sw_spec_param_find(r->spec, range->string);

		if (i < 0)
			continue;
		sw_spec_param_pointer(&r->spec->params[i], ptr, sizeof ptr);
		const size_t n = strlen(ptr);
		if (strncmp(fault->ptr, ptr, n) != 0 ||
		    (fault->ptr[n] != '\0' && fault->ptr[n] != '/'))
			continue;
		(void)snprintf(fault->ptr, sizeof fault->ptr, "/ranges");
		sw_json_pointer_add(fault->ptr, sizeof fault->ptr, range->string);
		return;
	}
}

static void write_faults(struct sw_jw *w, struct reading *r)
{
	const size_t n = r->f.n < r->f.cap ? r->f.n : r->f.cap;

	sw_jw_kbool(w, "ok", false);
	sw_jw_karr(w, "faults");
	for (size_t i = 0; i < n; i++) {
		point_at_range(r, &r->fault[i]);
		sw_jw_obj(w);
		sw_jw_kstr(w, "pointer", r->fault[i].ptr);
		sw_jw_kstr(w, "message", r->fault[i].msg);
		sw_jw_obj_end(w);
	}
	sw_jw_arr_end(w);
}

static void write_warnings(struct sw_jw *w, const struct reading *r, const char *odd)
{
	const struct sw_spec *s = r->spec;

	sw_jw_karr(w, "warnings");
	if (*odd)
		sw_jw_str(w, odd);
	for (size_t i = r->spec_warns; i < s->n_warnings; i++) {
		char line[sizeof s->warnings[i].ptr + sizeof s->warnings[i].msg + 2];

		(void)snprintf(line, sizeof line, "%s: %s", s->warnings[i].ptr, s->warnings[i].msg);
		sw_jw_str(w, line);
	}
	sw_jw_arr_end(w);
}

void sw_check_spec(const char *text, size_t len, bool form, const struct sw_ops *gpu,
		   struct sw_buf *out)
{
	struct reading *r = sw_calloc(1, sizeof *r);
	struct facts facts = {.gpu = gpu};
	struct sw_err err = SW_ERR_INIT;
	struct sw_jw w;
	sw_status rc;

	if (r == NULL) {
		out->failed = SW_NOMEM;
		return;
	}
	rc = read_spec(r, text, len, form, &err);
	if (rc == SW_OK && r->f.n == 0 && !form)
		rc = check(r->spec, &facts, &err);
	if (rc != SW_OK) {
		r->f = (struct sw_faults){r->fault, FAULTS_MAX, 0};
		sw_fault_note(&r->f, err.ptr, "%s", err.msg);
	}
	sw_jw_init_obj(&w, out);
	if (r->f.n > 0) {
		write_faults(&w, r);
	} else {
		sw_jw_kbool(&w, "ok", true);
		if (!form)
			write_facts(&w, &facts);
		write_warnings(&w, r, facts.odd);
	}
	sw_jw_obj_end(&w);
	sw_spec_destroy(r->spec);
	cJSON_Delete(r->tree);
	free(r);
}
