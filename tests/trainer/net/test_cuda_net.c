/* tests/trainer/net/test_cuda_net.c — whole trainings on the CUDA table, on the stand-in device:
 * the curve of the CPU, rows that are streamed, and memory that is short. */
#ifndef SW_TEST_GPU
#include "kernels/cuda/cuda.h"
#endif
#include "kernels/cuda/linear.h"
#include "tests/trainer/net/cuda_train.h"
#include "tests/walk.h"
#include "trainer/model/layout.h"
#include <math.h>

#define STAYS ((size_t)256 << 20) /* free of the device, whatever a net would like */

static double largest_difference(const struct curve *a, const struct curve *b)
{
	double most = 0;

	ck_assert_uint_eq(a->n, b->n);
	for (size_t i = 0; i < a->n; i++)
		for (int k = 0; k < 2; k++)
			most = fmax(most, fabs(a->loss[i][k] - b->loss[i][k]));
	return most;
}

TEST_LOOP(net_has_the_curve_of_the_cpu, 0, 2)
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

/* Data that do not fit: fetched a batch ahead, and the curve is the same. _i & 1: the table, the
 * device's or the CPU's; _i & 2: in parts */
TEST_LOOP(net_of_streamed_rows_has_the_bits_of_resident_ones, 0, 4)
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
#ifndef SW_TEST_GPU
	sw_shim.graph_runs = 0;
#endif
	ck_assert_int_eq(train(&streamed, ops, &t, NULL), SW_OK);
#ifndef SW_TEST_GPU
	/* a graph for each stage, and to be recorded a step must have been made with its stage */
	if (ops == cuda)
		ck_assert_uint_eq(sw_shim.graph_runs, EPOCHS * (data.train.rows / 25) - 2);
#endif
	same_bits(&resident, &streamed);
	close_on(ops);
	device_bytes = 0;
	open_on(cuda);
}

/* A card that is almost full: parts of a batch, whatever memory() says first. */
#ifndef SW_TEST_GPU
TEST(net_on_a_small_card_goes_in_parts_or_says_that_it_does_not_fit)
{
	struct curve whole, part;
	const size_t used = sw_shim.used_bytes, all = sw_shim.memory_bytes;
	struct sw_layout at;

	ck_assert_int_eq(train(&whole, cuda, &adam, NULL), SW_OK);
	ck_assert_int_eq(
		sw_layout_make(&at, &model, &adam, data.train.rows, data.val.rows, cuda, NULL),
		SW_OK);
	sw_shim.memory_bytes = used + STAYS + at.bytes - 1;
	ck_assert_int_eq(train(&part, cuda, &adam, NULL), SW_OK);
	ck_assert_uint_ge(part.oom_events, 1);
	ck_assert_uint_ge(sw_shim.memory_bytes - part.used, STAYS);
	ck_assert_double_lt(largest_difference(&part, &whole), 1e-5);
	sw_shim.memory_bytes = used + STAYS + 1000;
	ck_assert_int_eq(train(&part, cuda, &adam, NULL), SW_NOMEM);
	sw_shim.memory_bytes = all;
}
#endif

/* _i: enum sw_precision */
TEST_LOOP(net_of_another_precision_is_near_and_has_its_own_bits, SW_TF32, SW_BF16 + 1)
{
	struct sw_trainer t = sgd;
	struct curve whole, part, again;

	sw_cuda_linear_force(2); /* cuBLAS, however small */
	ck_assert_int_eq(train(&whole, cuda, &t, NULL), SW_OK);
	t.precision = (enum sw_precision)_i;
	ck_assert_int_eq(train(&part, cuda, &t, NULL), SW_OK);
	ck_assert_double_lt(largest_difference(&whole, &part), 0.05);
#ifdef SW_TEST_GPU
	/* cuBLAS may make products as small as these in fp32, whatever the math mode is */
	const bool own = _i == SW_BF16;
#else
	const bool own = true;
#endif
	if (own)
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

/* Of 25 rows forward and dx of the layer 1024 to 512 are large enough, not its dw, and no product
 * of the others; of 8 rows none is. */
START_TEST(net_knows_which_part_of_its_products_tf32_takes)
{
	const double all = 4 * 13 * 1024 + 6 * 1024 * 512 + 6 * 512 * 3;
	const double want = _i == 8 ? 0 : 4 * 1024 * 512 / all;
	struct sw_trainer t = sgd;
	struct sw_err err = SW_ERR_INIT;
	struct sw_net net;

	model_make("[{\"linear\": 1024}, \"relu\", {\"linear\": 512}, \"relu\", {\"linear\": 3}]");
	t.batch_size = (uint64_t)_i;
	t.precision = SW_TF32;
	sw_cuda_linear_force(2);
	ck_assert_msg(sw_net_create(&net, cuda, queue, &model, &t, &data, NULL, 3, &err) == SW_OK,
		      "%s", err.msg);
	ck_assert_double_eq_tol(sw_model_tf32_share(net.own, net.ops, net.at.micro), want, 1e-12);
	sw_net_destroy(&net);
	sw_cuda_linear_force(0);
}
END_TEST

#ifndef SW_TEST_GPU
static sw_status no_copy(struct sw_queue *on, const float *w, size_t n, void *copy)
{
	(void)on;
	(void)w;
	(void)n;
	(void)copy;
	return SW_OK;
}

static sw_status forward_alone(struct sw_queue *on, const float *x, const float *w, const float *b,
			       float *y, size_t B, size_t in, size_t out, enum sw_act act,
			       void *kept)
{
	(void)kept;
	return cuda->linear_forward(on, x, w, b, y, B, in, out, act, NULL);
}

static sw_status backward_alone(struct sw_queue *on, const float *x, const float *w, const float *y,
				float *dy, float *dx, float *dw, float *db, size_t B, size_t in,
				size_t out, enum sw_act act, const void *kept)
{
	(void)kept;
	return cuda->linear_backward(on, x, w, y, dy, dx, dw, db, B, in, out, act, NULL);
}

/* A copy of the weights that is not made anew when they change is other weights; one of a layer's
 * input that lies where something else is written is another input. */
TEST_LOOP(net_of_bf16_has_the_bits_of_operands_rounded_for_each_product, 0, 2)
{
	struct sw_trainer t = adam;
	struct sw_ops ops = *cuda;
	struct curve copied, each;
	unsigned kernels;

	t.precision = SW_BF16;
	t.micro_batch = _i ? 13 : 0;
	sw_cuda_linear_force(2);
	sw_shim.given.kernels = 0;
	ck_assert_int_eq(train(&copied, cuda, &t, NULL), SW_OK);
	kernels = sw_shim.given.kernels;
	ops.weights = no_copy;
	sw_shim.given.kernels = 0;
	ck_assert_int_eq(train(&each, &ops, &t, NULL), SW_OK);
	same_bits(&copied, &each);
	ck_assert_uint_lt(kernels, sw_shim.given.kernels);
	ops.weights = cuda->weights;
	ops.linear_forward = forward_alone;
	ops.linear_backward = backward_alone;
	sw_shim.given.kernels = 0;
	ck_assert_int_eq(train(&each, &ops, &t, NULL), SW_OK);
	same_bits(&copied, &each);
	ck_assert_uint_lt(kernels, sw_shim.given.kernels);
	sw_cuda_linear_force(0);
}
#endif

#ifndef SW_TEST_GPU
TEST(net_trains_without_cublas_unless_it_needs_a_product_of_it)
{
	struct sw_err err = SW_ERR_INIT;
	struct curve with, without;

	ck_assert_int_eq(train(&with, cuda, &sgd, NULL), SW_OK);
	sw_shim.blas.missing = true;
	ck_assert_int_eq(train(&without, cuda, &sgd, NULL), SW_OK);
	same_bits(&with, &without);
	sw_cuda_linear_force(2);
	ck_assert_int_eq(train(&without, cuda, &sgd, &err), SW_UNSUPPORTED);
	ck_assert_msg(strstr(err.msg, "need cuBLAS, which does not load: libcublas") != NULL, "%s",
		      err.msg);
	sw_cuda_linear_force(0);
}
#endif

/* The size of its workspace may decide on cuBLAS's algorithm, and so on bits: neighbours must
 * not. */
#ifndef SW_TEST_GPU
TEST(net_beside_neighbours_has_the_workspace_of_a_net_alone_or_does_not_fit)
{
	const size_t all = sw_shim.memory_bytes;
	struct curve alone, beside;
	struct sw_layout at;

	sw_cuda_linear_force(2);
	ck_assert_int_eq(train(&alone, cuda, &sgd, NULL), SW_OK);
	ck_assert_uint_eq(sw_shim.blas.workspace_bytes, SW_CUDA_BLAS_BYTES);
	ck_assert_int_eq(
		sw_layout_make(&at, &model, &sgd, data.train.rows, data.val.rows, cuda, NULL),
		SW_OK);
	sw_shim.memory_bytes = sw_shim.used_bytes + STAYS + at.bytes;
	ck_assert_int_eq(train(&beside, cuda, &sgd, NULL), SW_OK);
	same_bits(&alone, &beside);
	ck_assert_uint_eq(beside.oom_events, 0);
	ck_assert_uint_eq(sw_shim.blas.workspace_bytes, SW_CUDA_BLAS_BYTES);
	sw_shim.memory_bytes -=
		SW_CUDA_BLAS_BYTES / 2; /* room for the net, not for the workspace */
	ck_assert_int_eq(train(&beside, cuda, &sgd, NULL), SW_NOMEM);
	sw_shim.memory_bytes = all;
	sw_cuda_linear_force(0);
}
#endif

TEST(net_of_another_precision_on_a_cpu_says_so)
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

#ifdef SW_FAULTS
TEST_LOOP(net_without_memory_fails_cleanly_or_does_without, 0, 2)
{
	struct sw_trainer t = sgd;
	struct curve whole, c;
	unsigned survived = 0;

	t.epochs = 1;
	ck_assert_int_eq(train(&whole, cuda, &t, NULL), SW_OK);
	WALK (SW_FAULT_MALLOC, 1) {
		sw_status status;

		walk.forever = _i == 1;
		walk_arm();
		status = train(&c, cuda, &t, NULL);
		const unsigned fired = walk_disarm();
		if (status != SW_NOMEM)
			ck_assert_int_eq(status, SW_OK);
		survived += fired != 0 && status == SW_OK;
		/* calls in the place of a graph */
		if (status == SW_OK && c.oom_events == 0)
			ck_assert_mem_eq(c.loss, whole.loss, sizeof whole.loss[0]);
	}
	ck_assert_int_eq(survived > 0, _i == 0);
}
#endif

SUITE(tcase)
{
#ifdef SW_TEST_GPU
	/* A process that forks after CUDA's start has children in which no call of it works. */
	setenv("CK_FORK", "no", 1);
	if (sw_ops_cuda_open(0, &cuda, NULL) != SW_OK) {
		puts("no GPU here: skipped");
		exit(77);
	}
#endif
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, net_knows_which_part_of_its_products_tf32_takes, 8, 9);
	tcase_add_loop_test(tcase, net_knows_which_part_of_its_products_tf32_takes, 25, 26);
}
