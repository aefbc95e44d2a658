/* tests/trainer/net/test_cuda_cost.c — how many kernels and copies one training step of lenet-cifar
 * at batch 4 is, as the stand-in device counts what the worker gives it. */
#include "tests/trainer/net/cuda_train.h"
#include <math.h>

#define BATCH  4
#define STEP_N 4
#define ROW_N  (STEP_N * BATCH)

/* Images gathered; two convolutions, pooled, and three linear layers, forward and backward; the
 * loss and its gradient; SGD with momentum. */
#define KERNELS_N 13

static struct sw_net net;

static const struct sw_trainer trainer = {
	.classes = true, .lr = 0.01, .momentum = 0.9, .batch_size = BATCH, .epochs = 1};

static void net_open(const struct sw_ops *ops)
{
	struct sw_err err = SW_ERR_INIT;
	int32_t order[ROW_N];

	for (int32_t i = 0; i < ROW_N; i++)
		order[i] = i;
	sw_ops_cpu_threads(1);
	ck_assert_int_eq(ops->queue_create(&queue), SW_OK);
	load_on(ops, "{\"format\": \"synthetic\", \"image\": [3, 32, 32], \"rows\": 20, "
		     "\"classes\": 10}");
	ck_assert_uint_eq(data.train.rows, ROW_N);
	ck_assert_ptr_nonnull(data.train.u8); /* as the table takes its rows */
	model_make("{\"preset\": \"lenet-cifar\"}");
	ck_assert_msg(sw_net_create(&net, ops, queue, &model, &trainer, &data, NULL, 3, &err) ==
			      SW_OK,
		      "%s", err.msg);
	net.epoch = 1;
	ck_assert_int_eq(sw_net_order(&net, order, ROW_N), SW_OK);
	ck_assert_int_eq(sw_net_metrics_zero(&net), SW_OK);
	ck_assert_int_eq(ops->sync(queue), SW_OK);
}

static void cuda_net_open(void)
{
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(sw_ops_cuda_open(0, &cuda, &err) == SW_OK, "%s", err.msg);
	net_open(cuda);
}

static void net_close(const struct sw_ops *ops)
{
	sw_net_destroy(&net);
	close_on(ops);
}

/* What the device is given by a call that takes the steps [from, to) of the epoch. */
static struct sw_shim_count steps(size_t from, size_t to)
{
	size_t next = 0;

	sw_shim.given = (struct sw_shim_count){0};
	ck_assert_int_eq(sw_net_train(&net, &data, from * BATCH, &next), SW_OK);
	ck_assert_uint_eq(next, to * BATCH);
	ck_assert_int_eq(net.ops->sync(queue), SW_OK);
	return sw_shim.given;
}

/* A whole epoch, in calls of sw_net_train(); returns how many they were. */
static size_t epoch(void)
{
	size_t calls = 0;

	for (size_t at = 0; at < ROW_N; calls++)
		ck_assert_int_eq(sw_net_train(&net, &data, at, &at), SW_OK);
	return calls;
}

static float *weights(void)
{
	float *w = malloc(model.weights_n * sizeof *w);

	ck_assert_ptr_nonnull(w);
	ck_assert_int_eq(sw_net_set_download(&net, 0, w), SW_OK);
	return w;
}

TEST(step_of_lenet_at_batch_4_has_few_nodes)
{
	const size_t head = sizeof((struct sw_head *)NULL)->row + sizeof(struct sw_step);
	struct sw_shim_count calls, recorded, replayed;

	cuda_net_open();
	calls = steps(0, 1);
	recorded = steps(1, 2);
	replayed = steps(2, 3);

	/* the graph: kernels alone, and the step's rows */
	ck_assert_uint_eq(sw_shim.graph_nodes, KERNELS_N + 1);
	ck_assert_uint_eq(recorded.kernels, KERNELS_N + 1);
	ck_assert_uint_eq(recorded.products + recorded.fills, 0);
	/* by calls one more: the metrics are kept, should it run short of memory */
	ck_assert_uint_eq(calls.kernels, KERNELS_N + 1);
	/* beside it: one copy a step, of what changes */
	ck_assert_uint_eq(recorded.copies, 1);
	ck_assert_uint_eq(replayed.copies, 1);
	ck_assert_uint_eq(replayed.up_bytes, head);
	ck_assert_uint_eq(replayed.kernels + replayed.products + replayed.fills, 0);
	ck_assert_uint_eq(sw_shim.graph_runs, 2);
	net_close(cuda);
}

/* Epochs of four steps: the second's and each later one's are one launch, with one copy before the
 * first of them and none between them. */
TEST(steps_of_lenet_at_batch_4_are_one_launch)
{
	const size_t head = sizeof((struct sw_head *)NULL)->row + STEP_N * sizeof(struct sw_step);
	struct sw_shim_count recorded, replayed;

	cuda_net_open();
	ck_assert_uint_eq(net.at.steps, STEP_N);
	ck_assert_uint_eq(epoch(), STEP_N); /* the first is calls, and then too few are left */
	sw_shim.graph_runs = 0;
	recorded = steps(0, STEP_N);
	ck_assert_uint_eq(sw_shim.graph_nodes, STEP_N * KERNELS_N + 1);
	ck_assert_uint_eq(recorded.kernels, STEP_N * KERNELS_N + 1);
	ck_assert_uint_eq(recorded.products + recorded.fills, 0);
	ck_assert_uint_eq(recorded.copies, 1);
	replayed = steps(0, STEP_N);
	ck_assert_uint_eq(replayed.copies, 1);
	ck_assert_uint_eq(replayed.up_bytes, head);
	ck_assert_uint_eq(replayed.kernels + replayed.products + replayed.fills, 0);
	ck_assert_uint_eq(sw_shim.graph_runs, 2);
	ck_assert_uint_eq(net.step, 3 * STEP_N);
	float *device = weights(), *live;

	net_close(cuda);

	/* and they are the steps: the CPU's weights after as many of them */
	net_open(&sw_ops_cpu);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(epoch(), STEP_N);
	live = weights();
	for (size_t i = 0; i < model.weights_n; i++)
		if (!(fabs((double)device[i] - (double)live[i]) <= 1e-6))
			ck_abort_msg("weight %zu: cpu %.9g, cuda %.9g", i, (double)live[i],
				     (double)device[i]);
	net_close(&sw_ops_cpu);
	free(device);
	free(live);
}

/* Each of CIFAR-10's epochs of 40,000 rows has so many launches. */
TEST(epoch_of_lenet_has_few_launches)
{
	const size_t steps_n = 40000 / BATCH;
	struct sw_layout at;

	net_open(&sw_ops_cpu);
	ck_assert_int_eq(sw_layout_make(&at, &model, &trainer, 40000, 10000, &sw_ops_cpu, NULL),
			 SW_OK);
	printf("%zu steps a launch, %zu launches an epoch of %zu steps\n", at.steps,
	       steps_n / at.steps + steps_n % at.steps, steps_n);
	ck_assert_uint_eq(at.steps, 18);
	net_close(&sw_ops_cpu);
}

RUN_TESTS(NULL, NULL)
