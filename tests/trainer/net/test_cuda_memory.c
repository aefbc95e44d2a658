/* tests/trainer/net/test_cuda_memory.c — nets that share a device, and one or several of them when
 * its memory is short. The device is the stand-in. */
#include "tests/trainer/net/cuda_train.h"

#define STAYS  ((size_t)256 << 20) /* free of the device, whatever a net would like */
#define STEPS  6
#define BATCH  25
#define NETS_N 8

static struct sw_ops hungry; /* the table with a backward pass that wants memory for a moment */
static size_t wanted;
static const struct sw_trainer trainer = {
	.classes = true, ADAM_OF(SW_ADAM, 0.01), .batch_size = BATCH, .epochs = 1};

static sw_status hungry_backward(struct sw_queue *q, const float *x, const float *w, const float *y,
				 float *dy, float *dx, float *dw, float *db, size_t B, size_t in,
				 size_t out, enum sw_act act, const void *kept)
{
	if (sw_shim.memory_bytes - sw_shim.used_bytes < wanted)
		return SW_NOMEM;
	return cuda->linear_backward(q, x, w, y, dy, dx, dw, db, B, in, out, act, kept);
}

/* A step of the hungry table is calls, so that it may lack memory at any time. */
static void memory_setup(void)
{
	setup();
	hungry = *cuda;
	hungry.linear_backward = hungry_backward;
	hungry.graph_begin = no_graphs;
}

struct one {
	struct sw_queue *q;
	struct sw_net net;
	float *weights; /* at its end */
};

static void one_open(struct one *o, const struct sw_ops *ops, uint64_t seed)
{
	ck_assert_int_eq(ops->queue_create(&o->q), SW_OK);
	ck_assert_int_eq(
		sw_net_create(&o->net, ops, o->q, &model, &trainer, &data, NULL, seed, NULL),
		SW_OK);
}

static sw_status one_step(struct one *o, size_t k)
{
	int32_t order[BATCH];
	size_t next;

	for (int32_t i = 0; i < BATCH; i++)
		order[i] = (int32_t)k + 2 * i;
	const sw_status rc = sw_net_order(&o->net, order, BATCH);

	return rc == SW_OK ? sw_net_train(&o->net, &data, 0, &next) : rc;
}

static void one_close(struct one *o)
{
	o->weights = malloc(model.weights_n * sizeof *o->weights);
	ck_assert_int_eq(sw_net_set_download(&o->net, 0, o->weights), SW_OK);
	sw_net_destroy(&o->net);
	cuda->queue_destroy(o->q);
}

/* A net with the device for itself. */
static void one_alone(struct one *o, uint64_t seed)
{
	one_open(o, cuda, seed);
	for (size_t k = 0; k < STEPS; k++)
		ck_assert_int_eq(one_step(o, k), SW_OK);
	one_close(o);
}

/* tolerance 0: the same bits */
static void same(struct one *a, struct one *b, double tolerance)
{
	for (size_t i = 0; i < model.weights_n; i++)
		ck_assert_double_eq_tol((double)a->weights[i], (double)b->weights[i],
					tolerance + 1e-300);
	free(a->weights);
	free(b->weights);
}

/* A step that lacks memory outside of the arena gets what smaller parts of the batch do not
 * need. */
TEST(net_that_shrinks_gives_memory_back)
{
	const size_t all = sw_shim.memory_bytes;
	struct one whole, part;

	one_alone(&whole, 3);
	one_open(&part, &hungry, 3);
	sw_shim.memory_bytes = sw_shim.used_bytes + STAYS;
	for (size_t k = 0; k < STEPS; k++) {
		const size_t used = sw_shim.used_bytes;

		wanted = k == 3 ? STAYS + 1 : 0;
		ck_assert_int_eq(one_step(&part, k), SW_OK);
		ck_assert_uint_eq(part.net.at.micro, k < 3 ? BATCH : 13);
		ck_assert(k == 3 ? sw_shim.used_bytes < used : sw_shim.used_bytes == used);
	}
	wanted = all; /* more than even a row at a time leaves */
	ck_assert_int_eq(one_step(&part, 0), SW_NOMEM);
	ck_assert_uint_eq(part.net.at.micro, 1);
	sw_shim.memory_bytes = all;
	one_close(&part);
	same(&whole, &part, 1e-4);
}

/* The device is lost while a step that lacks memory takes a smaller piece: that is what it ends
 * with, for a want of memory would be the trial's fault. */
TEST(device_that_is_lost_in_shrinking_is_told)
{
	struct one part;

	one_open(&part, &hungry, 3);
	wanted = sw_shim.memory_bytes + 1;
	sw_shim.failure = (struct sw_shim_failure){
		.call = SW_SHIM_ALLOC, .nth = 1, .error = cudaErrorIllegalAddress};
	ck_assert_int_eq(one_step(&part, 0), SW_DEVICE_LOST);
	ck_assert(sw_shim.failure.fired);
	sw_shim.failure.nth = 0;
	sw_shim.lost = false; /* as in a new process */
	wanted = 0;
	sw_net_destroy(&part.net);
	cuda->queue_destroy(part.q);
}

/* One of eight shrinks and one ends; the others have the bits of nets alone. */
TEST(net_that_lacks_memory_leaves_the_others_theirs)
{
	static struct one alone[NETS_N], together[NETS_N];
	const size_t all = sw_shim.memory_bytes;

	for (size_t n = 0; n < NETS_N; n++)
		one_alone(&alone[n], n);
	for (size_t n = 0; n < NETS_N; n++)
		one_open(&together[n], &hungry, n);
	sw_shim.memory_bytes = sw_shim.used_bytes + STAYS;
	for (size_t k = 0; k < STEPS; k++)
		for (size_t n = 0; n < NETS_N; n++) {
			const bool lacks = n == NETS_N - 1 && k >= 4;

			wanted = lacks ? all : n == 1 && k >= 2 ? STAYS + 1 : 0;
			ck_assert_int_eq(one_step(&together[n], k), lacks ? SW_NOMEM : SW_OK);
		}
	sw_shim.memory_bytes = all;
	for (size_t n = 0; n < NETS_N; n++) {
		ck_assert_uint_eq(together[n].net.at.micro, n == 1           ? 13
							    : n < NETS_N - 1 ? BATCH
									     : 1);
		one_close(&together[n]);
		if (n < NETS_N - 1) {
			same(&alone[n], &together[n], n == 1 ? 1e-4 : 0);
			continue;
		}
		free(alone[n].weights);
		free(together[n].weights);
	}
}

/* Of eight lanes that take turns, by graphs, each has the bits of a net alone. */
TEST(nets_in_eight_lanes_have_the_bits_of_one)
{
	static struct one alone[NETS_N], together[NETS_N];
	const size_t graphs = sw_shim.graph_runs;

	for (size_t n = 0; n < NETS_N; n++)
		one_alone(&alone[n], n);
	for (size_t n = 0; n < NETS_N; n++)
		one_open(&together[n], cuda, n);
	for (size_t k = 0; k < STEPS; k++)
		for (size_t n = 0; n < NETS_N; n++)
			ck_assert_int_eq(one_step(&together[n], k), SW_OK);
	ck_assert_uint_eq(sw_shim.graph_runs - graphs, (size_t)2 * NETS_N * (STEPS - 1));
	for (size_t n = 0; n < NETS_N; n++) {
		one_close(&together[n]);
		same(&alone[n], &together[n], 0);
	}
}

/* A convolution's products are made some images at a time, and so are their operands. */
TEST(memory_of_bf16_products_is_that_of_some_images)
{
	struct sw_conv few = {
		.B = 8, .C = 64, .H = 8, .W = 8, .O = 64, .kh = 3, .kw = 3, .stride = 1, .pad = 1};
	struct sw_conv many = few;
	const size_t fp32 = cuda->conv2d_products(SW_FP32, &few);

	many.B = 4096;
	ck_assert_uint_gt(cuda->conv2d_products(SW_BF16, &few), fp32);
	ck_assert_uint_eq(cuda->conv2d_products(SW_BF16, &many),
			  cuda->conv2d_products(SW_BF16, &few));
	/* two operands: of columns what two images have at most, and the weights */
	ck_assert_uint_lt(cuda->conv2d_products(SW_BF16, &many) - fp32,
			  2 * (2 * 64 * 576 + 64 * 576));
}

RUN_TESTS(memory_setup, teardown)
