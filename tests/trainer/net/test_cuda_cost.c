/* tests/trainer/net/test_cuda_cost.c — what one training step of lenet-cifar at batch 4 asks of a
 * GPU: nodes of its graph, as the stand-in device counts what the worker gives it; bytes and
 * arithmetic, as the shapes say. It prints the table. */
#include "tests/trainer/net/cuda_train.h"
#include <math.h>

#define BATCH     4
#define STEP_N    4
#define ROW_N     (STEP_N * BATCH)
#define NODES_MAX 15

/* --- from the shapes --- */

struct cost {
	const char *name;
	unsigned nodes;
	double bytes; /* each operand read or written once */
	double flops; /* 2 for a multiply-add */
};

#define CONV1_IN  (3 * 32 * 32)
#define CONV1_OUT (6 * 28 * 28)
#define CONV1_W   (6 * 3 * 5 * 5 + 6)
#define POOL1_OUT (6 * 14 * 14)
#define CONV2_OUT (16 * 10 * 10)
#define CONV2_W   (16 * 6 * 5 * 5 + 16)
#define POOL2_OUT (16 * 5 * 5)
#define FC1_W     (120 * 400 + 120)
#define FC2_W     (84 * 120 + 84)
#define FC3_W     (10 * 84 + 10)
#define WEIGHTS   (CONV1_W + CONV2_W + FC1_W + FC2_W + FC3_W)

/* Floats, or int32: of a whole batch, and of weights. */
#define ROW_BYTES(n)    (4.0 * BATCH * (n))
#define WEIGHT_BYTES(n) (4.0 * (n))
#define MACS(n)         (2.0 * BATCH * (n))

#define CONV1_MACS MACS(28 * 28 * 6 * 75)
#define CONV2_MACS MACS(10 * 10 * 16 * 150)
#define FC1_MACS   MACS(120 * 400)
#define FC2_MACS   MACS(84 * 120)
#define FC3_MACS   MACS(10 * 84)

/* backward reads x, w, y and dy, writes dw and, but for conv 1, dx */
static const struct cost table[] = {
	/* from bytes */
	{"images gathered", 1, BATCH *CONV1_IN + ROW_BYTES(1 + CONV1_IN), 0},
	/* y and argmax */
	{"conv 1, pooled", 1, ROW_BYTES(CONV1_IN + 2 * POOL1_OUT) + WEIGHT_BYTES(CONV1_W),
	 CONV1_MACS},
	{"conv 2, pooled", 1, ROW_BYTES(POOL1_OUT + 2 * POOL2_OUT) + WEIGHT_BYTES(CONV2_W),
	 CONV2_MACS},
	{"linear 1", 1, ROW_BYTES(400 + 120) + WEIGHT_BYTES(FC1_W), FC1_MACS},
	{"linear 2", 1, ROW_BYTES(120 + 84) + WEIGHT_BYTES(FC2_W), FC2_MACS},
	{"linear 3", 1, ROW_BYTES(84 + 10) + WEIGHT_BYTES(FC3_W), FC3_MACS},
	/* labels by their number */
	{"loss, its gradient", 1, ROW_BYTES(10 + 2 + 10) + 2 * sizeof(struct sw_metrics), 0},
	{"linear 3 backward", 1, ROW_BYTES(10 + 2 * 84) + 2 * WEIGHT_BYTES(FC3_W), 2 * FC3_MACS},
	{"linear 2 backward", 1, ROW_BYTES(2 * 84 + 2 * 120) + 2 * WEIGHT_BYTES(FC2_W),
	 2 * FC2_MACS},
	{"linear 1 backward", 1, ROW_BYTES(2 * 120 + 2 * 400) + 2 * WEIGHT_BYTES(FC1_W),
	 2 * FC1_MACS},
	{"conv 2 backward", 1, ROW_BYTES(3 * POOL2_OUT + 2 * POOL1_OUT) + 2 * WEIGHT_BYTES(CONV2_W),
	 2 * CONV2_MACS},
	{"conv 1 backward", 1, ROW_BYTES(3 * POOL1_OUT + CONV1_IN) + WEIGHT_BYTES(CONV1_W),
	 CONV1_MACS},
	{"SGD with momentum", 1, 5 * WEIGHT_BYTES(WEIGHTS), 5.0 * WEIGHTS},
};

static struct cost total(void)
{
	struct cost all = {"all", 0, 0, 0};

	for (size_t i = 0; i < ROWS(table); i++) {
		all.nodes += table[i].nodes;
		all.bytes += table[i].bytes;
		all.flops += table[i].flops;
	}
	return all;
}

TEST(table_has_the_arithmetic_of_the_net)
{
	/* three times forward, but for the gradient of the images, which nobody wants */
	const double macs = 3 * 651720 - 352800;

	for (size_t i = 0; i < ROWS(table); i++)
		printf("%-18s %2u %9.0f bytes %9.0f flops\n", table[i].name, table[i].nodes,
		       table[i].bytes, table[i].flops);
	printf("%-18s %2u %9.0f bytes %9.0f flops\n", "all", total().nodes, total().bytes,
	       total().flops);
	ck_assert_int_eq(WEIGHTS, 62006);
	ck_assert_double_eq(total().flops, 2 * BATCH * macs + 5.0 * WEIGHTS);
}

/* --- as the worker gives it --- */

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
	ck_assert_uint_eq(model.parameters, WEIGHTS);
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

	/* the graph: kernels alone, as many as the table says, and the step's rows */
	ck_assert_uint_eq(sw_shim.graph_nodes, total().nodes + 1);
	ck_assert_uint_le(sw_shim.graph_nodes, NODES_MAX);
	ck_assert_uint_eq(recorded.kernels, total().nodes + 1);
	ck_assert_uint_eq(recorded.products + recorded.fills, 0);
	/* by calls one more: the metrics are kept, should it run short of memory */
	ck_assert_uint_eq(calls.kernels, total().nodes + 1);
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
	ck_assert_uint_eq(sw_shim.graph_nodes, STEP_N * total().nodes + 1);
	ck_assert_uint_eq(recorded.kernels, STEP_N * total().nodes + 1);
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
