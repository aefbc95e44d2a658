/* tests/trainer/net/test_cuda_graph.c — trainings whose steps are graphs, of one step and of many:
 * the bits of calls, whatever differs from step to step, and recordings that fail. */
#include "tests/trainer/net/cuda_train.h"

/* Of EPOCHS epochs of so many whole batches, the first of which is calls. */
static size_t launches(size_t whole, size_t steps)
{
	const size_t first = whole - 1;

	return first / steps + first % steps + (EPOCHS - 1) * (whole / steps + whole % steps);
}

/* In parts that batches are no multiple of, and with a last batch that is smaller. */
static const struct {
	uint64_t batch, micro;
	size_t steps; /* of a graph */
} shapes[] = {{25, 0, 5}, {25, 10, 5}, {4, 0, 17}, {4, 3, 7}};

/* _i & 1: the optimizer; _i / 2: the shape */
TEST_LOOP(net_by_graphs_has_the_bits_of_calls, 0, 8)
{
	struct sw_trainer t = _i & 1 ? adam : sgd;
	struct sw_ops calls = *cuda;
	struct curve by_graphs, by_calls;
	size_t whole;

	t.batch_size = shapes[_i / 2].batch;
	t.micro_batch = shapes[_i / 2].micro;
	whole = data.train.rows / t.batch_size;
	calls.graph_begin = no_graphs;
	sw_shim.graph_runs = 0;
	ck_assert_int_eq(train(&by_calls, &calls, &t, NULL), SW_OK);
	ck_assert_uint_eq(sw_shim.graph_runs, 0);
	ck_assert_int_eq(train(&by_graphs, cuda, &t, NULL), SW_OK);
	/* every whole batch but the first; the last is smaller */
	ck_assert_uint_ne(data.train.rows % t.batch_size, 0);
	ck_assert_uint_eq(by_graphs.steps, shapes[_i / 2].steps);
	ck_assert_uint_eq(sw_shim.graph_runs, launches(whole, by_graphs.steps));
	same_bits(&by_graphs, &by_calls);
}

/* Crops and mirrors are drawn by the epoch and the row's number, which are no arguments of a graph;
 * resident rows are found by the order, staged ones lie in turn. */
TEST(net_of_images_has_the_bits_of_calls_resident_and_streamed)
{
	static const char set[] = "{\"format\": \"synthetic\", \"image\": [1, 6, 6], \"rows\": "
				  "50, \"classes\": 3, \"augment\": {\"crop\": 2, \"flip\": "
				  "true}}";
	struct sw_trainer t = sgd;
	struct sw_ops calls = *cuda;
	struct curve by_calls, resident, streamed;

	t.batch_size = 6;
	sw_data_fini(&data);
	load_on(cuda, set);
	const size_t whole = data.train.rows / 6, bytes = data.bytes;

	ck_assert(data.pad == 2 && data.flip);
	model_make("[\"flatten\", {\"linear\": 3}]");
	calls.graph_begin = no_graphs;
	ck_assert_int_eq(train(&by_calls, &calls, &t, NULL), SW_OK);
	sw_shim.graph_runs = 0;
	ck_assert_int_eq(train(&resident, cuda, &t, NULL), SW_OK);
	ck_assert_uint_eq(resident.steps, whole);
	ck_assert_uint_eq(sw_shim.graph_runs, launches(whole, whole));
	same_bits(&resident, &by_calls);
	sw_data_fini(&data);
	device_bytes = bytes - 1;
	load_on(cuda, set);
	device_bytes = 0;
	ck_assert(data.streamed);
	ck_assert_int_eq(train(&streamed, cuda, &t, NULL), SW_OK);
	ck_assert_uint_eq(streamed.steps, 1);
	same_bits(&streamed, &by_calls);
}

/* What a checkpoint holds of a net without batchnorm. */
static struct {
	float *set[3];
	uint64_t step;
} kept;

static bool report_keeping(void *ctx, const struct sw_epoch *e)
{
	for (size_t i = 0; e->epoch == 1 && i < sw_net_sets(e->net); i++) {
		kept.set[i] = calloc(model.weights_n, sizeof(float));
		ck_assert_int_eq(sw_net_set_download(e->net, i, kept.set[i]), SW_OK);
		kept.step = e->net->step;
	}
	return report(ctx, e);
}

static sw_status begin_there(void *ctx, struct sw_net *net, uint64_t *epoch, struct sw_err *err)
{
	(void)ctx;
	(void)err;
	for (size_t i = 0; i < sw_net_sets(net); i++) {
		ck_assert_int_eq(sw_net_set_upload(net, i, kept.set[i]), SW_OK);
		free(kept.set[i]);
	}
	net->step = kept.step;
	*epoch = 1;
	return SW_OK;
}

/* The first batch after it is calls, so that graphs of many begin elsewhere in the epoch. */
TEST(net_that_goes_on_has_the_bits_of_one_that_never_stopped)
{
	struct sw_trainer t = adam;
	struct curve whole = {0}, rest = {0};
	enum sw_train_end end;
	struct sw_train_hooks hooks = {.ctx = &whole, .go_on = go_on, .report = report_keeping};

	t.batch_size = 4;
	ck_assert_int_eq(sw_train_run(cuda, queue, &model, &data, &t, 3, &hooks, &end, NULL),
			 SW_OK);
	hooks = (struct sw_train_hooks){
		.ctx = &rest, .begin = begin_there, .go_on = go_on, .report = report};
	ck_assert_int_eq(sw_train_run(cuda, queue, &model, &data, &t, 3, &hooks, &end, NULL),
			 SW_OK);
	ck_assert_uint_eq(rest.n, EPOCHS - 1);
	ck_assert_mem_eq(rest.loss, whole.loss[1], sizeof whole.loss[0] * (EPOCHS - 1));
}

TEST(net_that_is_stopped_begins_no_more_launches)
{
	struct sw_trainer t = adam;
	struct curve c;

	t.batch_size = 4;
	sw_shim.graph_runs = 0;
	asks = 3;
	ck_assert_int_eq(train(&c, cuda, &t, NULL), SW_OK);
	ck_assert_uint_eq(asks, 0);
	ck_assert_uint_eq(c.n, 0);
	/* calls, a launch, and then it was told */
	ck_assert_uint_eq(sw_shim.graph_runs, 1);
}

/* _i: recordings that fail. Two more tries, at the next steps; the bits are those of calls. */
TEST_LOOP(net_whose_recording_fails_tries_again, 1, 5)
{
	const unsigned fail = (unsigned)_i, whole = (unsigned)data.train.rows / 25;
	struct sw_ops calls = *cuda;
	struct curve by_graphs, by_calls;

	calls.graph_begin = no_graphs;
	ck_assert_int_eq(train(&by_calls, &calls, &adam, NULL), SW_OK);
	ck_assert_uint_eq(by_calls.graph_misses, 0);
	sw_shim.graph_runs = 0;
	sw_shim.spoil = fail;
	ck_assert_int_eq(train(&by_graphs, cuda, &adam, NULL), SW_OK);
	ck_assert_uint_eq(by_graphs.graph_misses, fail < 3 ? fail : 3);
	ck_assert_uint_eq(sw_shim.spoil, fail < 3 ? 0 : fail - 3);
	/* in the first epoch there are too few left for a graph of many */
	ck_assert_uint_eq(by_calls.steps, whole);
	ck_assert_uint_eq(sw_shim.graph_runs, fail < 3 ? launches(whole, whole) - fail : 0);
	same_bits(&by_graphs, &by_calls);
	sw_shim.spoil = 0;
}

/* A table that, asked for more than so many rows, is short of memory once. */
static size_t short_rows;

static sw_status short_backward(struct sw_queue *q, const float *x, const float *w, const float *y,
				float *dy, float *dx, float *dw, float *db, size_t B, size_t in,
				size_t out, enum sw_act act, const void *half)
{
	if (B == short_rows) {
		short_rows = 0;
		return SW_NOMEM;
	}
	return cuda->linear_backward(q, x, w, y, dy, dx, dw, db, B, in, out, act, half);
}

TEST(net_that_shrinks_records_its_step_anew)
{
	struct sw_ops ops = *cuda;
	struct curve whole, part;

	ops.linear_backward = short_backward;
	const size_t whole_n = data.train.rows / 25;

	short_rows = data.train.rows % 25; /* the last batch of the first epoch, which is calls */
	sw_shim.graph_runs = 0;
	ck_assert_int_eq(train(&part, &ops, &adam, NULL), SW_OK);
	ck_assert_uint_eq(part.oom_events, 1);
	ck_assert_uint_eq(part.micro, 13);
	/* all but the first whole batch, and the first after that */
	ck_assert_uint_eq(sw_shim.graph_runs, launches(whole_n, whole_n) + whole_n - 2);
	ck_assert_int_eq(train(&whole, cuda, &adam, NULL), SW_OK);
	/* train_loss counts some rows of the step that was begun again twice */
	for (int i = 0; i < EPOCHS; i++)
		ck_assert_double_eq_tol(part.loss[i][1], whole.loss[i][1], 1e-5);
}

RUN_TESTS(setup, teardown)
