/* tests/worker/net/test_cuda_net.c — whole trainings on the CUDA table, on the stand-in device: the
 * curve of the CPU, the same bits with and without graphs, and memory that is short. */
#include "base/fault.h"
#include "kernels/cuda/linear.h"
#include "tests/kernels/cuda_shim/shim.h"
#include "tests/run.h"
#include "worker/net/layout.h"
#include "worker/train.h"
#include <math.h>
#include <string.h>

#define EPOCHS 3

sw_ops_open_fn sw_ops_cuda_open;

static const struct sw_ops *cuda;
static struct sw_queue *queue;
static struct sw_data data;
static struct sw_model model;

static const char layers[] = "[{\"linear\": 20}, \"relu\", {\"dropout\": 0.2}, {\"linear\": 12}, "
			     "\"tanh\", {\"linear\": 3}]";

static const struct sw_trainer sgd = {
	.classes = true, .lr = 0.05, .momentum = 0.9, .batch_size = 25, .epochs = EPOCHS};
static const struct sw_trainer adam = {.classes = true,
				       .optimizer = SW_ADAM,
				       .schedule = SW_SCHEDULE_COSINE,
				       .lr = 0.01,
				       .beta1 = 0.9,
				       .beta2 = 0.999,
				       .eps = 1e-8,
				       .batch_size = 25,
				       .epochs = EPOCHS};

static size_t device_bytes; /* of the next load_on */

static void load_on(const struct sw_ops *ops, const char *name)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_data_source source;
	cJSON *json = cJSON_CreateObject();

	cJSON_AddStringToObject(json, "name", name);
	ck_assert_msg(sw_data_source_read(&source, json, &err) == SW_OK, "%s", err.msg);
	ck_assert_msg(sw_data_load(&data, &source,
				   (struct sw_data_want){.classes = true,
							 .val_fraction = 0.2,
							 .split_seed = 7,
							 .device_bytes = device_bytes,
							 .standardize = true},
				   ops, queue, &err) == SW_OK,
		      "%s", err.msg);
	cJSON_Delete(json);
}

static void model_make(const char *text)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *json = cJSON_Parse(text);
	const struct sw_task task = sw_net_task(&data, true);

	ck_assert_msg(sw_model_compile(&model, json, NULL, &task, &err) == SW_OK, "%s", err.msg);
	cJSON_Delete(json);
}

static void open_on(const struct sw_ops *ops)
{
	ck_assert_int_eq(ops->queue_create(&queue), SW_OK);
	load_on(ops, "wine");
	model_make(layers);
}

static void close_on(const struct sw_ops *ops)
{
	sw_data_fini(&data);
	ops->queue_destroy(queue);
}

static void setup(void)
{
	struct sw_err err = SW_ERR_INIT;

	sw_ops_cpu_threads(1);
	ck_assert_msg(sw_ops_cuda_open(0, &cuda, &err) == SW_OK, "%s", err.msg);
	open_on(cuda);
}

static void teardown(void)
{
	close_on(cuda);
	ck_assert_uint_eq(sw_shim.live, 0);
}

struct curve {
	double loss[EPOCHS][2]; /* of training, of validation */
	size_t n, micro;
	unsigned oom_events;
};

static bool go_on(void *ctx)
{
	(void)ctx;
	return true;
}

static bool report(void *ctx, const struct sw_epoch *e)
{
	struct curve *c = ctx;

	c->loss[c->n][0] = e->train_loss;
	c->loss[c->n++][1] = e->val_loss;
	c->micro = e->net->at.micro;
	c->oom_events = e->net->oom_events;
	return true;
}

static sw_status train(struct curve *c, const struct sw_ops *ops, const struct sw_trainer *t,
		       struct sw_err *err)
{
	const struct sw_train_hooks hooks = {.ctx = c, .go_on = go_on, .report = report};
	enum sw_train_end end;

	memset(c, 0, sizeof *c);
	return sw_train_run(ops, queue, &model, &data, t, 3, &hooks, &end, err);
}

static void same_bits(const struct curve *a, const struct curve *b)
{
	ck_assert_uint_eq(a->n, EPOCHS);
	ck_assert_mem_eq(a->loss, b->loss, sizeof a->loss);
}

static double largest_difference(const struct curve *a, const struct curve *b)
{
	double most = 0;

	ck_assert_uint_eq(a->n, b->n);
	for (size_t i = 0; i < a->n; i++)
		for (int k = 0; k < 2; k++)
			most = fmax(most, fabs(a->loss[i][k] - b->loss[i][k]));
	return most;
}

/* The CUDA table without graphs: the same calls, one by one. */
static sw_status no_graphs(struct sw_queue *q)
{
	(void)q;
	return SW_UNSUPPORTED;
}

/* _i & 1: the optimizer; _i & 2: batches in parts of 10, which 25 is no multiple of */
START_TEST(net_by_graphs_has_the_bits_of_calls)
{
	struct sw_trainer t = _i & 1 ? adam : sgd;
	struct sw_ops calls = *cuda;
	struct curve by_graphs, by_calls;
	const size_t whole = data.train.rows / 25;

	t.micro_batch = _i & 2 ? 10 : 0;
	calls.graph_begin = no_graphs;
	sw_shim.graph_runs = 0;
	ck_assert_int_eq(train(&by_calls, &calls, &t, NULL), SW_OK);
	ck_assert_uint_eq(sw_shim.graph_runs, 0);
	ck_assert_int_eq(train(&by_graphs, cuda, &t, NULL), SW_OK);
	/* every whole batch but the first; the last is smaller */
	ck_assert_uint_ne(data.train.rows % 25, 0);
	ck_assert_uint_eq(sw_shim.graph_runs, EPOCHS * whole - 1);
	same_bits(&by_graphs, &by_calls);
}
END_TEST

START_TEST(net_has_the_curve_of_the_cpu)
{
	const struct sw_trainer t = _i & 1 ? adam : sgd;
	struct curve device, live;

	ck_assert_int_eq(train(&device, cuda, &t, NULL), SW_OK);
	close_on(cuda);
	open_on(&sw_ops_cpu);
	ck_assert_int_eq(train(&live, &sw_ops_cpu, &t, NULL), SW_OK);
	close_on(&sw_ops_cpu);
	open_on(cuda);
	ck_assert_double_lt(largest_difference(&device, &live), 1e-4);
	ck_assert_double_lt(live.loss[EPOCHS - 1][1], live.loss[0][1]);
}
END_TEST

/* Data that do not fit: fetched a batch ahead, and the curve is the same. _i & 1: the table, the
 * device's or the CPU's; _i & 2: in parts */
START_TEST(net_of_streamed_rows_has_the_bits_of_resident_ones)
{
	const struct sw_ops *ops = _i & 1 ? &sw_ops_cpu : cuda;
	struct sw_trainer t = adam;
	struct curve resident, streamed;

	t.micro_batch = _i & 2 ? 10 : 0;
	close_on(cuda);
	open_on(ops);
	ck_assert(!data.streamed);
	const size_t bytes = data.bytes;

	ck_assert_int_eq(train(&resident, ops, &t, NULL), SW_OK);
	close_on(ops);
	device_bytes = bytes - 1;
	open_on(ops);
	ck_assert(data.streamed);
	ck_assert_uint_eq(data.bytes, 0);
	sw_shim.graph_runs = 0;
	ck_assert_int_eq(train(&streamed, ops, &t, NULL), SW_OK);
	/* a graph for each stage, and to be recorded a step must have been made with its stage */
	if (ops == cuda)
		ck_assert_uint_eq(sw_shim.graph_runs, EPOCHS * (data.train.rows / 25) - 2);
	same_bits(&resident, &streamed);
	close_on(ops);
	device_bytes = 0;
	open_on(cuda);
}
END_TEST

/* A table that, asked for more than so many rows, is short of memory once. */
static size_t short_rows;

static sw_status short_backward(struct sw_queue *q, const float *x, const float *w, const float *y,
				float *dy, float *dx, float *dw, float *db, size_t B, size_t in,
				size_t out, enum sw_act act, int accumulate)
{
	if (B == short_rows) {
		short_rows = 0;
		return SW_NOMEM;
	}
	return cuda->linear_backward(q, x, w, y, dy, dx, dw, db, B, in, out, act, accumulate);
}

START_TEST(net_that_shrinks_records_its_step_anew)
{
	struct sw_ops ops = *cuda;
	struct curve whole, part;

	ops.linear_backward = short_backward;
	short_rows = data.train.rows % 25; /* the last batch of the first epoch, which is calls */
	sw_shim.graph_runs = 0;
	ck_assert_int_eq(train(&part, &ops, &adam, NULL), SW_OK);
	ck_assert_uint_eq(part.oom_events, 1);
	ck_assert_uint_eq(part.micro, 13);
	/* all but the first whole batch, and the first after that */
	ck_assert_uint_eq(sw_shim.graph_runs, EPOCHS * (data.train.rows / 25) - 2);
	ck_assert_int_eq(train(&whole, cuda, &adam, NULL), SW_OK);
	/* train_loss counts some rows of the step that was begun again twice */
	for (int i = 0; i < EPOCHS; i++)
		ck_assert_double_eq_tol(part.loss[i][1], whole.loss[i][1], 1e-5);
}
END_TEST

/* A card that is almost full: parts of a batch, whatever memory() says first. */
START_TEST(net_on_a_small_card_goes_in_parts_or_says_that_it_does_not_fit)
{
	struct curve whole, part;
	const size_t used = sw_shim.used_bytes, all = sw_shim.memory_bytes;
	struct sw_layout at;

	ck_assert_int_eq(train(&whole, cuda, &adam, NULL), SW_OK);
	ck_assert_int_eq(
		sw_layout_make(&at, &model, &adam, data.train.rows, data.val.rows, cuda, NULL),
		SW_OK);
	sw_shim.memory_bytes = used + at.bytes - 1;
	ck_assert_int_eq(train(&part, cuda, &adam, NULL), SW_OK);
	ck_assert_uint_ge(part.oom_events, 1);
	ck_assert_double_lt(largest_difference(&part, &whole), 1e-5);
	sw_shim.memory_bytes = used + 1000;
	ck_assert_int_eq(train(&part, cuda, &adam, NULL), SW_NOMEM);
	sw_shim.memory_bytes = all;
}
END_TEST

/* _i: enum sw_precision */
START_TEST(net_of_another_precision_is_near_and_has_its_own_bits)
{
	struct sw_trainer t = sgd;
	struct curve whole, part, again;

	sw_cuda_linear_force(2); /* cuBLAS, however small */
	ck_assert_int_eq(train(&whole, cuda, &t, NULL), SW_OK);
	t.precision = (enum sw_precision)_i;
	ck_assert_int_eq(train(&part, cuda, &t, NULL), SW_OK);
	ck_assert_double_lt(largest_difference(&whole, &part), 0.05);
	ck_assert(memcmp(whole.loss, part.loss, sizeof whole.loss) != 0);
	ck_assert_int_eq(train(&again, cuda, &t, NULL), SW_OK);
	same_bits(&part, &again);
	t.micro_batch = 7;
	ck_assert_int_eq(train(&again, cuda, &t, NULL), SW_OK);
	ck_assert_double_lt(largest_difference(&again, &part), 0.01);
	/* and the queue is as it was */
	t = sgd;
	ck_assert_int_eq(train(&again, cuda, &t, NULL), SW_OK);
	same_bits(&whole, &again);
	sw_cuda_linear_force(0);
}
END_TEST

START_TEST(net_of_another_precision_on_a_cpu_says_so)
{
	struct sw_trainer t = sgd;
	struct sw_err err = SW_ERR_INIT;
	struct curve c;

	close_on(cuda);
	open_on(&sw_ops_cpu);
	t.precision = SW_BF16;
	ck_assert_int_eq(train(&c, &sw_ops_cpu, &t, &err), SW_UNSUPPORTED);
	ck_assert_str_eq(err.msg, "precision \"bf16\" is not supported on cpu");
	ck_assert_str_eq(err.ptr, "/trainer/precision");
	close_on(&sw_ops_cpu);
	open_on(cuda);
}
END_TEST

/* The nth piece of work breaks the device, wherever it is: no crash, no leak, one status. */
START_TEST(net_on_a_device_that_is_lost_says_so)
{
	struct sw_err err = SW_ERR_INIT;
	struct curve c;
	const unsigned at[] = {1, 5, 20, 40, 60};

	sw_shim.lose_at = at[_i];
	ck_assert_int_eq(train(&c, cuda, &adam, &err), SW_DEVICE_LOST);
	ck_assert(sw_shim.lost);
	ck_assert(*err.msg != '\0');
	sw_shim.lost = false; /* for teardown, which counts */
	sw_shim.lose_at = 0;
}
END_TEST

#ifdef SW_FAULTS
START_TEST(net_without_memory_fails_cleanly_or_does_without)
{
	struct sw_trainer t = sgd;
	struct curve whole, c;
	unsigned fired = 1, survived = 0;

	t.epochs = 1;
	ck_assert_int_eq(train(&whole, cuda, &t, NULL), SW_OK);
	for (unsigned nth = 1; fired != 0; nth++) {
		sw_status status;

		ck_assert_uint_lt(nth, 200);
		sw_fault_arm(SW_FAULT_MALLOC, nth, _i == 1);
		status = train(&c, cuda, &t, NULL);
		fired = sw_fault_fired(SW_FAULT_MALLOC);
		sw_fault_arm(SW_FAULT_MALLOC, 0, false);
		if (status != SW_NOMEM)
			ck_assert_int_eq(status, SW_OK);
		survived += fired != 0 && status == SW_OK;
		/* calls in the place of a graph */
		if (status == SW_OK && c.oom_events == 0)
			ck_assert_mem_eq(c.loss, whole.loss, sizeof whole.loss[0]);
	}
	ck_assert_int_eq(survived > 0, _i == 0);
}
END_TEST
#endif

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, net_by_graphs_has_the_bits_of_calls, 0, 4);
	tcase_add_loop_test(tcase, net_has_the_curve_of_the_cpu, 0, 2);
	tcase_add_loop_test(tcase, net_of_streamed_rows_has_the_bits_of_resident_ones, 0, 4);
	tcase_add_test(tcase, net_on_a_small_card_goes_in_parts_or_says_that_it_does_not_fit);
	tcase_add_test(tcase, net_that_shrinks_records_its_step_anew);
	tcase_add_loop_test(tcase, net_of_another_precision_is_near_and_has_its_own_bits, SW_TF32,
			    SW_BF16 + 1);
	tcase_add_test(tcase, net_of_another_precision_on_a_cpu_says_so);
	tcase_add_loop_test(tcase, net_on_a_device_that_is_lost_says_so, 0, 5);
#ifdef SW_FAULTS
	tcase_add_loop_test(tcase, net_without_memory_fails_cleanly_or_does_without, 0, 2);
#endif
}
