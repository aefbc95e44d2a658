#include "bench/lib/tuning.h"
#include "kernels/backend.h"
#include "proto/json.h"
#include "sched/num/rng.h"
#include "worker/train.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TUNED  7
#define MAX_WORDS  3
#define MAX_EPOCHS 30

/* A parameter of the search. Categories are JSON; those of "net" are the model's layers. */
struct tuned {
	const char *name;
	struct sw_param p;
	const char *words[MAX_WORDS];
	int parent; /* >= 0: active where that parameter has one of the choices of the mask */
	unsigned choices;
};

#define LOG(a, b)                                                                                  \
	{                                                                                          \
		.dist = SW_DIST_LOG_UNIFORM, .min = (a), .max = (b)                                \
	}
#define REAL(a, b)                                                                                 \
	{                                                                                          \
		.dist = SW_DIST_UNIFORM, .min = (a), .max = (b)                                    \
	}
#define INT(a, b)                                                                                  \
	{                                                                                          \
		.dist = SW_DIST_INT_UNIFORM, .min = (a), .max = (b)                                \
	}
#define INT_LOG(a, b)                                                                              \
	{                                                                                          \
		.dist = SW_DIST_INT_LOG_UNIFORM, .min = (a), .max = (b)                            \
	}
#define POW2(a, b)                                                                                 \
	{                                                                                          \
		.dist = SW_DIST_POW2, .min = (a), .max = (b)                                       \
	}
#define CHOICE(n)                                                                                  \
	{                                                                                          \
		.dist = SW_DIST_CATEGORICAL, .n_choices = (n)                                      \
	}
#define HIDDEN  "{\"linear\":\"hidden\"}"
#define DROPOUT "{\"dropout\":\"dropout\"}"

struct task {
	const char *name, *loss;
	const char *model; /* where no parameter is "net" */
	unsigned epochs;
	size_t n;
	struct tuned tuned[MAX_TUNED];
};

static const struct task tasks[] = {
	{.name = "digits",
	 .loss = "cross_entropy",
	 .model = "[" HIDDEN ",\"relu\"," DROPOUT ",{\"linear\":10}]",
	 .epochs = 6,
	 .n = 7,
	 .tuned = {{"optimizer", CHOICE(2), {"\"sgd\"", "\"adamw\""}, .parent = -1},
		   {"lr", LOG(1e-4, 3), {0}, .parent = -1},
		   {"momentum", REAL(0, 0.99), {0}, .parent = 0, .choices = 1},
		   {"weight_decay", LOG(1e-6, 0.3), {0}, .parent = -1},
		   {"batch_size", POW2(16, 256), {0}, .parent = -1},
		   {"hidden", INT_LOG(8, 128), {0}, .parent = -1},
		   {"dropout", REAL(0, 0.7), {0}, .parent = -1}}},
	{.name = "breast_cancer",
	 .loss = "cross_entropy",
	 .epochs = 10,
	 .n = 6,
	 .tuned = {{"optimizer", CHOICE(2), {"\"sgd\"", "\"adamw\""}, .parent = -1},
		   {"lr", LOG(1e-5, 1), {0}, .parent = -1},
		   {"weight_decay", LOG(1e-6, 1), {0}, .parent = -1},
		   {"batch_size", POW2(8, 128), {0}, .parent = -1},
		   {"net",
		    CHOICE(3),
		    {"[" HIDDEN ",\"relu\",{\"linear\":2}]", "[" HIDDEN ",\"tanh\",{\"linear\":2}]",
		     "[" HIDDEN ",\"relu\"," HIDDEN ",\"relu\",{\"linear\":2}]"},
		    .parent = -1},
		   {"hidden", INT_LOG(2, 64), {0}, .parent = -1}}},
	{.name = "wine",
	 .loss = "cross_entropy",
	 .epochs = 10,
	 .n = 5,
	 .tuned = {{"net",
		    CHOICE(3),
		    {"[{\"linear\":3}]", "[" HIDDEN ",\"tanh\",{\"linear\":3}]",
		     "[" HIDDEN ",\"relu\",{\"linear\":3}]"},
		    .parent = -1},
		   {"hidden", POW2(2, 64), {0}, .parent = 0, .choices = 2 | 4},
		   {"lr", LOG(1e-4, 1), {0}, .parent = -1},
		   {"momentum", REAL(0, 0.99), {0}, .parent = -1},
		   {"batch_size", INT(4, 64), {0}, .parent = -1}}},
	{.name = "diabetes",
	 .loss = "mse",
	 .model = "[" HIDDEN ",\"relu\"," DROPOUT ",{\"linear\":1}]",
	 .epochs = 30,
	 .n = 6,
	 .tuned = {{"optimizer", CHOICE(2), {"\"sgd\"", "\"adamw\""}, .parent = -1},
		   {"lr", LOG(1e-5, 10), {0}, .parent = -1},
		   {"weight_decay", LOG(1e-5, 10), {0}, .parent = -1},
		   {"batch_size", POW2(8, 128), {0}, .parent = -1},
		   {"hidden", INT(1, 64), {0}, .parent = -1},
		   {"dropout", REAL(0, 0.7), {0}, .parent = -1}}},
};

struct bench_trainer {
	const struct sw_ops *ops;
	struct sw_queue *q;
	struct sw_data_cache *cache;
};

struct bench_trainer *bench_trainer_create(void)
{
	struct bench_trainer *t = calloc(1, sizeof *t);
	struct sw_err err = SW_ERR_INIT;

	assert(t != NULL);
	sw_status rc = sw_backend_open("cpu:0", 1, &t->ops, &err);
	if (rc == SW_OK)
		rc = t->ops->queue_create(&t->q);
	if (rc == SW_OK)
		rc = sw_data_cache_create(&t->cache, t->ops, t->q);
	if (rc == SW_OK)
		return t;
	(void)fprintf(stderr, "no backend: %s\n", *err.msg ? err.msg : sw_status_str(rc));
	bench_trainer_destroy(t);
	return NULL;
}

void bench_trainer_destroy(struct bench_trainer *t)
{
	if (t == NULL)
		return;
	sw_data_cache_destroy(t->cache);
	if (t->q != NULL)
		t->ops->queue_destroy(t->q);
	free(t);
}

const char *bench_tuning_name(size_t i)
{
	return i < sizeof tasks / sizeof *tasks ? tasks[i].name : NULL;
}

/* --- one run --- */

struct tuning {
	struct bench_trainer *trainer;
	const struct task *task;
	const struct sw_space *space;
	unsigned folds, again;
	bool own_seeds;
};

struct text {
	char trainer[640], params[640];
};

/* The spec's "trainer" and the trial's parameters, as the worker gets them. */
static void write_text(const struct tuning *t, const struct sw_value *v, unsigned fold,
		       struct text *out)
{
	const char *model = t->task->model;
	bool active[MAX_TUNED];
	int at = snprintf(out->params, sizeof out->params, "{");

	sw_space_active(t->space, v, active);
	for (size_t i = 0; i < t->task->n; i++) {
		const struct tuned *p = &t->task->tuned[i];
		const bool choice = p->p.dist == SW_DIST_CATEGORICAL;
		char *to = out->params + at;
		const size_t cap = sizeof out->params - (size_t)at;

		if (!active[i])
			continue;
		if (strcmp(p->name, "net") == 0)
			model = p->words[v[i].choice];
		else if (choice)
			at += snprintf(to, cap, "%s\"%s\":%s", at > 1 ? "," : "", p->name,
				       p->words[v[i].choice]);
		else
			at += snprintf(to, cap, "%s\"%s\":%.17g", at > 1 ? "," : "", p->name,
				       v[i].number);
	}
	at += snprintf(out->params + at, sizeof out->params - (size_t)at, "}");
	const int n = snprintf(out->trainer, sizeof out->trainer,
			       "{\"dataset\":{\"name\":\"%s\"},\"loss\":\"%s\",\"epochs\":%u,"
			       "\"split_seed\":%u,\"model\":%s}",
			       t->task->name, t->task->loss, t->task->epochs, fold + 1, model);
	assert(at < (int)sizeof out->params && n < (int)sizeof out->trainer);
}

static bool go_on(void *ctx)
{
	(void)ctx;
	return true;
}

/* val_loss after each epoch. */
struct losses {
	double *v;
	size_t n, most;
};

static bool keep_loss(void *ctx, const struct sw_epoch *e)
{
	struct losses *const l = ctx;

	if (l->n < l->most)
		l->v[l->n++] = e->val_loss;
	return true;
}

/* One that diverged has a NaN for its last epoch. */
static sw_status train(const struct tuning *t, const cJSON *trainer, const cJSON *params,
		       uint64_t seed, struct losses *out, struct sw_err *err)
{
	const struct sw_train_hooks hooks = {.ctx = out, .go_on = go_on, .report = keep_loss};
	struct bench_trainer *b = t->trainer;
	const struct sw_data *data = NULL;
	struct sw_trainer options;
	struct sw_model model;
	enum sw_train_end end;
	sw_status rc = sw_trainer_resolve(&options, trainer, params, 0, 1, err);

	if (rc != SW_OK)
		return rc;
	const struct sw_data_want want = {.classes = options.classes,
					  .val_fraction = options.val_fraction,
					  .split_seed = options.split_seed,
					  .standardize = options.standardize};
	rc = sw_data_cache_get(b->cache, sw_json_get(trainer, "dataset"), want, &data, err);
	if (rc != SW_OK)
		return rc;
	const struct sw_task task = sw_net_task(data, options.classes);

	rc = sw_model_compile(&model, sw_json_get(trainer, "model"), params, &task, err);
	if (rc == SW_OK)
		rc = sw_train_run(b->ops, b->q, &model, data, &options, seed, &hooks, &end, err);
	if (rc == SW_OK && end != SW_TRAIN_DONE)
		out->v[out->most - 1] = (double)NAN;
	return rc;
}

static void run_fold(const struct tuning *t, const struct text *text, uint64_t seed,
		     struct losses *out)
{
	cJSON *trainer = cJSON_Parse(text->trainer), *params = cJSON_Parse(text->params);
	struct sw_err err = SW_ERR_INIT;
	const sw_status rc = train(t, trainer, params, seed, out, &err);

	if (rc != SW_OK)
		(void)fprintf(stderr, "%s %s: %s\n", text->trainer, text->params, err.msg);
	assert(rc == SW_OK);
	cJSON_Delete(trainer);
	cJSON_Delete(params);
}

/* One fold's val_loss after the last epoch; NaN when it diverged. */
static double fold_loss(const struct tuning *t, const struct sw_value *v, unsigned fold,
			uint64_t seed)
{
	struct text text;
	double all[MAX_EPOCHS];
	struct losses losses = {.v = all, .most = t->task->epochs};

	write_text(t, v, fold, &text);
	all[losses.most - 1] = (double)NAN;
	run_fold(t, &text, seed, &losses);
	return all[losses.most - 1];
}

void bench_tuning_curve(const struct bench_objective *o, const struct sw_value *v, uint64_t seed,
			uint64_t trial, unsigned fold, unsigned epochs, double *curve)
{
	struct tuning t = *(const struct tuning *)o->ctx;
	struct task task = *t.task;
	struct losses losses = {.v = curve, .most = epochs};
	struct text text;

	assert(epochs >= 1);
	task.epochs = epochs;
	t.task = &task;
	write_text(&t, v, fold, &text);
	for (unsigned i = 0; i < epochs; i++)
		curve[i] = (double)NAN;
	run_fold(&t, &text, sw_rng_u64(seed, SW_RNG_TRIAL, trial, fold) >> 11, &losses);
}

/* Where trials share their seeds, two of them differ by their parameters alone. Else each has its
 * own, the first fold's being the one that the daemon draws. */
static uint64_t training_seed(const struct tuning *t, uint64_t seed, uint64_t trial, unsigned fold)
{
	return t->own_seeds ? sw_rng_u64(seed, SW_RNG_TRIAL, trial, fold) >> 11 : fold + 1;
}

static bool tuning_value(void *ctx, const struct sw_value *v, uint64_t seed, uint64_t trial,
			 struct bench_value *out)
{
	const struct tuning *t = ctx;
	double sum = 0;

	for (unsigned k = 0; k < t->folds && isfinite(sum); k++)
		sum += fold_loss(t, v, k, training_seed(t, seed, trial, k));
	out->truth = out->seen = sum / t->folds;
	return isfinite(sum);
}

/* Fresh seeds: nobody was told of these losses. One that diverges counts as none. */
static double tuning_truth(void *ctx, const struct sw_value *v, uint64_t seed, uint64_t trial)
{
	const struct tuning *t = ctx;
	double sum = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < t->again * t->folds; i++) {
		const double loss =
			fold_loss(t, v, i % t->folds,
				  sw_rng_u64(seed, SW_RNG_TRIAL, trial, BENCH_MAX_FOLDS + i) >> 11);

		sum += isfinite(loss) ? loss : 0;
		n += isfinite(loss) ? 1 : 0;
	}
	return n > 0 ? sum / n : INFINITY;
}

/* --- the objective --- */

static void add_condition(struct sw_space *s, size_t child, const struct tuned *p)
{
	struct sw_value allowed[MAX_WORDS] = {{0}};
	size_t n = 0;

	for (uint32_t c = 0; c < MAX_WORDS; c++)
		if ((p->choices >> c & 1) != 0)
			allowed[n++].choice = c;
	const sw_status rc = sw_space_when(s, child, (size_t)p->parent, allowed, n, NULL);
	assert(rc == SW_OK);
}

struct sw_space *bench_tuning_space(size_t i)
{
	struct sw_space *const s = bench_space_new();

	assert(bench_tuning_name(i) != NULL);
	for (size_t k = 0; k < tasks[i].n; k++)
		bench_add(s, tasks[i].tuned[k].p);
	for (size_t k = 0; k < tasks[i].n; k++)
		if (tasks[i].tuned[k].parent >= 0)
			add_condition(s, k, &tasks[i].tuned[k]);
	bench_space_seal(s);
	return s;
}

struct bench_objective *bench_objective_tuning(struct bench_trainer *trainer, size_t i,
					       unsigned folds, unsigned again, bool own_seeds)
{
	struct bench_objective *o = calloc(1, sizeof *o);
	struct tuning *t = calloc(1, sizeof *t);

	assert(o != NULL && t != NULL && bench_tuning_name(i) != NULL && folds >= 1);
	*o = (struct bench_objective){
		.d = tasks[i].n, .scale = 1, .value = tuning_value, .ctx = t, .fini = free};
	o->truth = again > 0 ? tuning_truth : NULL;
	(void)snprintf(o->name, sizeof o->name, "%s", tasks[i].name);
	o->space = bench_tuning_space(i);
	*t = (struct tuning){.trainer = trainer,
			     .task = &tasks[i],
			     .space = o->space,
			     .folds = folds,
			     .again = again,
			     .own_seeds = own_seeds};

	/* the file is read now, so that processes forked later share it */
	cJSON *dataset = cJSON_CreateObject();
	struct sw_err err = SW_ERR_INIT;
	const struct sw_data *data = NULL;
	const struct sw_data_want want = {.classes = strcmp(tasks[i].loss, "mse") != 0,
					  .val_fraction = 0.2,
					  .split_seed = 1,
					  .standardize = true};
	(void)cJSON_AddStringToObject(dataset, "name", tasks[i].name);
	const sw_status rc = sw_data_cache_get(trainer->cache, dataset, want, &data, &err);
	cJSON_Delete(dataset);
	if (rc == SW_OK)
		return o;
	(void)fprintf(stderr, "%s: %s\n", tasks[i].name, err.msg);
	bench_objective_destroy(o);
	return NULL;
}
