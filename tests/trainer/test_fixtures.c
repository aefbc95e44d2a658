/*
 * tests/trainer/test_fixtures.c — whole networks beside PyTorch in float64 (make_fixtures.py made
 * the files): evaluation, loss, every parameter's gradient, and what three steps of each optimizer
 * make of weights, running statistics and the next evaluation.
 *
 * Differences are relative to the element or to the tensor's root mean square, whichever is larger:
 * 1e-5 for values and gradients, 1e-4 after three steps.
 */
#include "kernels/cpu/cpu.h"
#include "proto/json.h"
#include "tests/run.h"
#include "trainer/net/net.h"
#include <math.h>

#define SAMPLES 16
#define STEPS   3

static const char *const names[] = {"mlp",         "lenet-cifar", "resnet18-cifar",
				    "transformer", "mixed-image", "causal"};
static const char *const optimizers[] = {"sgd", "nesterov", "adam", "adamw"};

static struct sw_queue *queue;
static cJSON *fixture;
static struct sw_data data;
static struct sw_model model;
static struct sw_trainer trainer;
static struct sw_net net;
static double worst; /* of the comparisons so far, in units of the tolerance */

/* --- the file's numbers from their places --- */

static uint32_t word(uint32_t key, size_t i)
{
	uint32_t h = (uint32_t)i * 0x9E3779B1u + key * 0x7F4A7C15u;

	h = (h ^ h >> 16) * 0x85EBCA6Bu;
	h = (h ^ h >> 13) * 0xC2B2AE35u;
	return h ^ h >> 16;
}

static void values(float *out, uint32_t key, size_t n, double scale, float offset)
{
	for (size_t i = 0; i < n; i++) {
		const float unit = (float)(word(key, i) >> 8) * 0x1p-23f - 1.0f;
		const float scaled = unit * (float)scale;

		out[i] = scaled + offset;
	}
}

static double num(const cJSON *object, const char *name, double fallback)
{
	const cJSON *v = sw_json_get(object, name);

	return cJSON_IsNumber(v) ? v->valuedouble : cJSON_IsTrue(v) ? 1 : fallback;
}

/* --- the batch --- */

static void *taken(size_t bytes)
{
	void *p = NULL;

	ck_assert_int_eq(sw_ops_cpu.alloc(&p, bytes), SW_OK);
	return p;
}

static void labels_make(struct sw_data_part *part, size_t outputs)
{
	const size_t n = part->rows * data.labels;

	if (outputs == 0) {
		part->target = taken(n * sizeof(float));
		values(part->target, 1001, n, 2.0, 0);
		return;
	}
	part->label = taken(n * sizeof(int32_t));
	for (size_t i = 0; i < n; i++)
		part->label[i] = data.labels > 1 && i % 4 == 0 ? -1
							       : (int32_t)(word(1001, i) % outputs);
}

static void tokens_make(struct sw_data_part *part)
{
	const size_t T = data.input.t;

	part->token = taken(part->rows * T * sizeof(int32_t));
	for (size_t i = 0; i < part->rows * T; i++)
		part->token[i] = (int32_t)(word(1000, i) % data.vocab);
	if (data.labels > 1)
		return;
	part->length = taken(part->rows * sizeof(int32_t));
	for (size_t i = 0; i < part->rows; i++)
		part->length[i] = (int32_t)(T - word(1002, i) % 5);
}

/* One batch, which is the training part and the validation part too. */
static void data_make(void)
{
	const cJSON *shape = sw_json_get(fixture, "shape");
	const size_t dims = (size_t)cJSON_GetArraySize(shape);
	const size_t outputs = (size_t)num(fixture, "outputs", 0);
	size_t d[3] = {1, 1, 1};

	for (size_t i = 0; i < dims; i++)
		d[i] = (size_t)cJSON_GetArrayItem(shape, (int)i)->valueint;
	memset(&data, 0, sizeof data);
	data.ops = &sw_ops_cpu;
	data.vocab = (size_t)num(fixture, "vocab", 0);
	data.input = data.vocab  ? sw_shape_tokens(d[0], 0)
		     : dims == 3 ? sw_shape_image(d[0], d[1], d[2])
				 : sw_shape_flat(d[0]);
	data.features = sw_shape_count(&data.input);
	data.classes = outputs;
	data.labels = sw_json_get(fixture, "next") ? data.input.t : 1;
	data.train.rows = (size_t)num(fixture, "rows", 0);
	if (data.vocab) {
		tokens_make(&data.train);
	} else {
		data.train.x = taken(data.train.rows * data.features * sizeof(float));
		values(data.train.x, 1000, data.train.rows * data.features, 1.5, 0);
	}
	labels_make(&data.train, outputs);
	data.val = data.train;
}

/* --- the net --- */

/* Weights as the script's, tensor by tensor in the order of the operations. */
static void weights_make(void)
{
	float *w = calloc(model.weights_n, sizeof *w);
	uint32_t key = 1;

	for (size_t i = 0; i < model.ops_n; i++) {
		const struct sw_op *op = &model.op[i];
		const bool norm = op->init == SW_INIT_NORM;
		const double scale = op->fan_in ? 1 / sqrt((double)op->fan_in) : norm ? 0.25 : 1;

		if (op->w_n)
			values(w + op->w, key++, op->w_n, scale, norm ? 1.0f : 0.0f);
		if (op->b_n)
			values(w + op->b, key++, op->b_n, scale, 0);
	}
	ck_assert_int_eq(sw_net_set_upload(&net, 0, w), SW_OK);
	free(w);
}

static void net_make(const cJSON *options, size_t optimizer, size_t micro)
{
	static const enum sw_optimizer kinds[] = {SW_SGD, SW_SGD, SW_ADAM, SW_ADAMW};
	struct sw_err err = SW_ERR_INIT;
	int32_t order[16];

	trainer = (struct sw_trainer){.optimizer = kinds[optimizer],
				      .classes = data.classes > 0,
				      .nesterov = num(options, "nesterov", 0) != 0,
				      .lr = num(options, "lr", 0.01),
				      .momentum = num(options, "momentum", 0),
				      .weight_decay = num(options, "weight_decay", 0),
				      .beta1 = 0.9,
				      .beta2 = 0.999,
				      .eps = num(options, "eps", 1e-8),
				      .clip_norm = num(fixture, "clip_norm", 0),
				      .label_smoothing = num(fixture, "label_smoothing", 0),
				      .batch_size = data.train.rows,
				      .micro_batch = micro,
				      .epochs = 1};
	ck_assert_msg(sw_net_create(&net, &sw_ops_cpu, queue, &model, &trainer, &data, NULL, 1,
				    &err) == SW_OK,
		      "%s", err.msg);
	weights_make();
	for (int32_t i = 0; i < 16; i++)
		order[i] = i;
	ck_assert_int_eq(sw_net_order(&net, order, data.train.rows), SW_OK);
}

static void open_fixture(const char *name)
{
	struct sw_err err = SW_ERR_INIT;
	char path[512];
	char *text;
	FILE *f;
	long n;

	snprintf(path, sizeof path, "%s/%s.json", SW_FIXTURES, name);
	f = fopen(path, "rb");
	ck_assert_msg(f != NULL, "%s", path);
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	text = malloc((size_t)n);
	ck_assert_uint_eq(fread(text, 1, (size_t)n, f), (size_t)n);
	fclose(f);
	ck_assert_msg(sw_json_parse(&fixture, text, (size_t)n, &err) == SW_OK, "%s", err.msg);
	free(text);
	data_make();
	const struct sw_task task = sw_net_task(&data, data.classes > 0);

	ck_assert_msg(sw_model_compile(&model, sw_json_get(fixture, "model"), NULL, &task, &err) ==
			      SW_OK,
		      "%s: %s", err.ptr, err.msg);
	worst = 0;
}

static void setup(void)
{
	ck_assert_int_eq(sw_ops_cpu.queue_create(&queue), SW_OK);
	sw_ops_cpu_threads(1);
}

static void teardown(void)
{
	sw_net_destroy(&net);
	sw_ops_cpu.free(data.train.x);
	sw_ops_cpu.free(data.train.token);
	sw_ops_cpu.free(data.train.length);
	sw_ops_cpu.free(data.train.label);
	sw_ops_cpu.free(data.train.target);
	cJSON_Delete(fixture);
	sw_ops_cpu.queue_destroy(queue);
}

/* --- comparing --- */

static void near(double got, double want, double unit, double tolerance, const char *what, size_t i)
{
	const double scale = fmax(unit, fabs(want));
	const double off = fabs(got - want) / (scale > 0 ? scale : 1) / tolerance;

	worst = off > worst ? off : worst;
	ck_assert_msg(off <= 1, "%s %zu: %.9g is not %.9g: off by %.3g of the scale %.3g", what, i,
		      got, want, fabs(got - want) / scale, scale);
}

/* The tensor beside its sample: elements, sum, sum of squares. */
static void tensor_near(const float *got, const cJSON *want, double tolerance, double floor_,
			const char *what, size_t number)
{
	const size_t n = (size_t)num(want, "n", 0);
	const double square = num(want, "square", 0);
	const double rms = fmax(sqrt(square / (double)n), floor_);
	const cJSON *v;
	double sum = 0, squares = 0;
	size_t i = 0;

	ck_assert_uint_gt(n, 0);
	for (size_t k = 0; k < n; k++) {
		sum += (double)got[k];
		squares += (double)got[k] * (double)got[k];
	}
	cJSON_ArrayForEach (v, sw_json_get(want, "at")) {
		const size_t at = n > SAMPLES ? i * n / SAMPLES : i;

		near((double)got[at], v->valuedouble, rms, tolerance, what, number);
		i++;
	}
	ck_assert_uint_eq(i, n > SAMPLES ? SAMPLES : n);
	/* errors that add up go by the root of their number */
	near(sum, num(want, "sum", NAN), rms * (double)n, tolerance, what, number);
	near(squares, square, rms * rms * (double)n, 2 * tolerance, what, number);
}

/* The root mean square over all tensors of a list: a tensor whose own is smaller is compared in
 * units of it (the bias before a norm has gradient 0, and rounding). */
static double list_rms(const cJSON *list)
{
	double n = 0, square = 0;
	const cJSON *v;

	cJSON_ArrayForEach (v, list) {
		n += num(v, "n", 0);
		square += num(v, "square", 0);
	}
	return sqrt(square / n);
}

/* All tensors of a set beside a list of samples. */
static void set_near(const float *set, const cJSON *list, double tolerance, double floor_,
		     const char *what)
{
	const cJSON *want = list->child;
	size_t number = 0;

	for (size_t i = 0; i < model.ops_n; i++) {
		const struct sw_op *op = &model.op[i];
		const size_t at[] = {op->w, op->b}, n[] = {op->w_n, op->b_n};

		for (size_t k = 0; k < 2; k++) {
			if (n[k] == 0)
				continue;
			ck_assert_ptr_nonnull(want);
			ck_assert_uint_eq((size_t)num(want, "n", 0), n[k]);
			tensor_near(set + at[k], want, tolerance, floor_, what, number++);
			want = want->next;
		}
	}
	ck_assert_ptr_null(want);
}

static void running_near(const cJSON *list)
{
	const cJSON *want = list->child;
	float *running = calloc(model.running_n + 1, sizeof *running);

	ck_assert_int_eq(sw_net_set_download(&net, SW_NET_RUNNING, running), SW_OK);
	for (size_t i = 0; i < model.ops_n; i++) {
		if (model.op[i].kind != SW_OP_BATCHNORM)
			continue;
		ck_assert_ptr_nonnull(want);
		tensor_near(running + model.op[i].mean, want, 1e-4, 1e-3, "running mean", i);
		tensor_near(running + model.op[i].var, want->next, 1e-4, 0, "running variance", i);
		want = want->next->next;
	}
	ck_assert_ptr_null(want);
	free(running);
}

static double loss_now(void)
{
	struct sw_metrics m;

	ck_assert_int_eq(sw_net_metrics(&net, &m), SW_OK);
	ck_assert_int_eq(sw_net_metrics_zero(&net), SW_OK);
	return m.loss_sum / m.rows;
}

static void eval_near(const cJSON *want, double tolerance)
{
	ck_assert_uint_ge(net.at.eval_batch, data.val.rows);
	ck_assert_int_eq(sw_net_eval(&net, &data, 0, data.val.rows), SW_OK);
	ck_assert_int_eq(sw_net_metrics_zero(&net), SW_OK);
	tensor_near(sw_net_output(&net), want, tolerance, 0, "output", 0);
}

/* _i: the net and the instructions; micro-batches of 0 (all), 2 and 4 where no statistics are the
 * batch's. */
TEST_LOOP(fixture_gives_the_reference_output_loss_and_gradients, 0, 3 * ROWS(names))
{
	static const int isas[] = {SW_CPU_PLAIN, SW_CPU_AVX2, SW_CPU_AVX512};
	const char *name = names[_i / 3];

	if (!sw_cpu_isa_force(isas[_i % 3])) {
		printf("%s: skipped, the machine lacks the instructions %d\n", name, isas[_i % 3]);
		return;
	}
	open_fixture(name);
	for (size_t micro = 0, next; micro <= (model.running_n ? 0 : 4); micro += 2) {
		net_make(NULL, 0, micro);
		ck_assert_int_eq(sw_net_metrics_zero(&net), SW_OK);
		eval_near(sw_json_get(fixture, "eval"), 1e-5);
		ck_assert_int_eq(sw_net_train(&net, &data, 0, &next), SW_OK);
		ck_assert_uint_eq(next, data.train.rows);
		near(loss_now(), num(fixture, "loss", NAN), num(fixture, "loss", NAN), 1e-5, "loss",
		     0);
		set_near((const float *)(const void *)(net.arena + net.at.grads),
			 sw_json_get(fixture, "gradients"), 1e-5,
			 list_rms(sw_json_get(fixture, "gradients")), "gradient");
		sw_net_destroy(&net);
	}
	printf("%s, instructions %d: at most %.2g of the tolerance\n", name, isas[_i % 3], worst);
}

/* _i: the net and the optimizer */
TEST_LOOP(fixture_after_three_steps_is_where_the_reference_is, 0, 4 * ROWS(names))
{
	const char *name = names[_i / 4], *optimizer = optimizers[_i % 4];
	const cJSON *want;
	float *w;

	open_fixture(name);
	want = sw_json_get(sw_json_get(fixture, "after"), optimizer);
	net_make(sw_json_get(want, "options"), (size_t)_i % 4, 0);
	for (size_t i = 0; i < STEPS; i++) {
		ck_assert_int_eq(sw_net_metrics_zero(&net), SW_OK);
		ck_assert_int_eq(sw_net_train(&net, &data, 0, &(size_t){0}), SW_OK);
	}
	near(loss_now(), num(want, "loss", NAN), num(want, "loss", NAN), 1e-4, "loss", 0);
	w = calloc(model.weights_n, sizeof *w);
	ck_assert_int_eq(sw_net_set_download(&net, 0, w), SW_OK);
	set_near(w, sw_json_get(want, "weights"), 1e-4, 0, "weight");
	free(w);
	running_near(sw_json_get(want, "running"));
	eval_near(sw_json_get(want, "eval"), 1e-3);
	printf("%s, %s: at most %.2g of the tolerance\n", name, optimizer, worst);
}

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 300);
}
