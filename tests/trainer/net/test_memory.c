/* tests/trainer/net/test_memory.c — memory that is short: parts of a batch, the same curve. */
#include "tests/run.h"
#include "tests/worker/trial.h"
#include "trainer/model/layout.h"
#include <limits.h>

#define EPOCHS 4

static const char layers[] = "[{\"linear\": 24}, \"relu\", {\"dropout\": 0.2}, {\"linear\": 3}]";
static const struct sw_trainer trainer = {.classes = true,
					  ADAM_OF(SW_ADAM, 0.01),
					  .clip_norm = 1,
					  .batch_size = 100,
					  .epochs = EPOCHS};

static struct sw_model model;

static void setup(void)
{
	trial_setup();
	data_load("wine", true);
	model_make(&model, layers, true);
}

struct curve {
	double train_loss[EPOCHS], val_loss[EPOCHS];
	size_t n, micro;
	unsigned oom_events;
};

static bool report(void *ctx, const struct sw_epoch *e)
{
	struct curve *c = ctx;

	c->train_loss[c->n] = e->train_loss;
	c->val_loss[c->n++] = e->val_loss;
	c->micro = e->net->at.micro;
	c->oom_events = e->net->oom_events;
	return true;
}

static sw_status run(struct curve *c, const struct sw_ops *ops, size_t memory)
{
	const struct sw_train_hooks hooks = {.ctx = c, .go_on = always, .report = report};
	struct sw_trainer t = trainer;
	enum sw_train_end end;
	struct sw_err err = SW_ERR_INIT;

	*c = (struct curve){.n = 0};
	t.memory = memory;
	return sw_train_run(ops, queue, &model, &data, &t, 3, &hooks, &end, &err);
}

static void same(const struct curve *a, const struct curve *b)
{
	ck_assert_uint_eq(a->n, EPOCHS);
	for (size_t i = 0; i < EPOCHS; i++) {
		ck_assert_double_eq_tol(a->train_loss[i], b->train_loss[i], 1e-5);
		ck_assert_double_eq_tol(a->val_loss[i], b->val_loss[i], 1e-5);
	}
}

TEST(layout_fits_every_cap_by_halving_or_says_that_it_does_not)
{
	struct sw_layout whole, at, one;
	struct sw_trainer t = trainer;
	size_t last = SIZE_MAX;
	unsigned halved;

	ck_assert_int_eq(sw_layout_make(&whole, &model, &t, data.train.rows, data.val.rows,
					&sw_ops_cpu, NULL),
			 SW_OK);
	t.micro_batch = 1;
	t.memory = 1;
	ck_assert_int_eq(
		sw_layout_make(&one, &model, &t, data.train.rows, data.val.rows, &sw_ops_cpu, NULL),
		SW_OK);
	ck_assert_uint_lt(one.bytes, whole.bytes / 2);
	for (size_t most = whole.bytes; most >= one.bytes; most -= 64) {
		size_t micro = whole.micro;

		ck_assert_int_eq(sw_layout_fit(&at, &model, &trainer, data.train.rows,
					       data.val.rows, &sw_ops_cpu, most, &halved, NULL),
				 SW_OK);
		ck_assert_uint_le(at.bytes, most);
		for (unsigned i = 0; i < halved; i++)
			micro = (micro + 1) / 2;
		ck_assert_uint_eq(at.micro, micro);
		ck_assert_uint_le(at.micro, last);
		last = at.micro;
	}
	ck_assert_uint_eq(last, 1);
	ck_assert_int_eq(sw_layout_fit(&at, &model, &trainer, data.train.rows, data.val.rows,
				       &sw_ops_cpu, one.bytes - 1, &halved, NULL),
			 SW_NOMEM);
}

TEST(net_under_a_cap_has_the_same_curve)
{
	struct curve whole, part;
	struct sw_layout one;
	struct sw_trainer t = trainer;

	ck_assert_int_eq(run(&whole, &sw_ops_cpu, 0), SW_OK);
	ck_assert_uint_eq(whole.oom_events, 0);
	t.micro_batch = 1;
	t.memory = 1;
	ck_assert_int_eq(
		sw_layout_make(&one, &model, &t, data.train.rows, data.val.rows, &sw_ops_cpu, NULL),
		SW_OK);
	for (size_t k = 1; k <= 4; k++) {
		ck_assert_int_eq(run(&part, &sw_ops_cpu, one.bytes * k), SW_OK);
		if (k == 1)
			ck_assert_uint_eq(part.micro, 1);
		ck_assert(part.oom_events > 0 || part.micro == 100);
		same(&part, &whole);
	}
	ck_assert_int_eq(run(&part, &sw_ops_cpu, one.bytes - 1), SW_NOMEM);
	ck_assert_uint_eq(part.n, 0);
}

static size_t some_products(enum sw_precision p, size_t B, size_t in, size_t out)
{
	(void)p;
	(void)in;
	(void)out;
	return B * 64;
}

/* What a library takes for itself is of the cap, though it is not in the arena. */
TEST(net_under_a_cap_leaves_the_library_its_bytes)
{
	struct sw_ops ops = sw_ops_cpu;
	struct sw_layout whole;
	struct curve c;

	ops.linear_products = some_products;
	ops.products_open_bytes = 10000;
	ck_assert_int_eq(sw_layout_make(&whole, &model, &trainer, data.train.rows, data.val.rows,
					&ops, NULL),
			 SW_OK);
	ck_assert_uint_eq(whole.library, 10000);
	ck_assert_int_eq(run(&c, &ops, whole.bytes + 10000), SW_OK);
	ck_assert_uint_eq(c.micro, 100);
	ck_assert_int_eq(run(&c, &ops, whole.bytes + 9999), SW_OK);
	ck_assert_uint_lt(c.micro, 100);
	ck_assert_int_eq(run(&c, &ops, 10000), SW_NOMEM);
}

static size_t products_of_many(enum sw_precision p, size_t B, size_t in, size_t out)
{
	(void)p;
	(void)in;
	(void)out;
	return B > 100 ? B * 64 : 0;
}

TEST(net_that_trains_without_a_library_is_evaluated_without)
{
	struct sw_trainer t = trainer;
	struct sw_ops ops = sw_ops_cpu;
	struct sw_layout at;

	ops.linear_products = products_of_many;
	ops.products_open_bytes = 10000;
	ck_assert_int_eq(sw_layout_make(&at, &model, &t, 1000, 500, &ops, NULL), SW_OK);
	ck_assert_uint_eq(at.eval_batch, 64);
	ck_assert_uint_eq(at.product_bytes, 0);
	ck_assert_uint_eq(at.library, 0);
	t.batch_size = 101;
	ck_assert_int_eq(sw_layout_make(&at, &model, &t, 1000, 500, &ops, NULL), SW_OK);
	ck_assert_uint_eq(at.eval_batch, 256);
	ck_assert_uint_eq(at.product_bytes, 256 * 64);
	ck_assert_uint_eq(at.library, 10000);
}

/* A table that is short of memory in the middle of a step, for more than so many rows. */
static size_t most_rows;
static unsigned calls, refusals, most_refusals;

static sw_status short_backward(struct sw_queue *q, const float *x, const float *w, const float *y,
				float *dy, float *dx, float *dw, float *db, size_t B, size_t in,
				size_t out, enum sw_act act, const void *kept)
{
	if (++calls > 5 && B > most_rows) {
		refusals++;
		return SW_NOMEM;
	}
	return sw_ops_cpu.linear_backward(q, x, w, y, dy, dx, dw, db, B, in, out, act, kept);
}

/* What was freed by others is not zero. */
static sw_status dirty_alloc(void **out, size_t bytes)
{
	const sw_status rc = sw_ops_cpu.alloc(out, bytes);

	if (rc == SW_OK && bytes)
		memset(*out, 0xff, bytes);
	return rc;
}

TEST(net_that_runs_short_in_a_step_begins_it_again_in_parts)
{
	struct sw_ops ops = sw_ops_cpu;
	struct curve whole, part;

	ops.linear_backward = short_backward;
	ops.alloc = dirty_alloc;
	ck_assert_int_eq(run(&whole, &sw_ops_cpu, 0), SW_OK);
	calls = refusals = 0;
	most_rows = 30;
	ck_assert_int_eq(run(&part, &ops, 0), SW_OK);
	ck_assert_uint_eq(part.micro, 25);
	ck_assert_uint_eq(part.oom_events, 2);
	ck_assert_uint_eq(refusals, 2);
	same(&part, &whole);
	calls = refusals = 0;
	most_rows = 0;
	ck_assert_int_eq(run(&part, &ops, 0), SW_NOMEM);
	ck_assert_uint_eq(refusals, 8); /* 100, 50, 25, 13, 7, 4, 2, 1 */
}

/* One that is short of memory for the last rows of an evaluation, of which the loss has been summed
 * up by then. */
static sw_status short_counts(struct sw_queue *q, const float *z, const int32_t *label,
			      int64_t *counts, size_t B, size_t C)
{
	if (B == data.val.rows % 256 && refusals < most_refusals) {
		refusals++;
		return SW_NOMEM;
	}
	return sw_ops_cpu.class_counts(q, z, label, counts, B, C);
}

TEST(net_that_runs_short_in_an_evaluation_begins_it_again)
{
	struct sw_ops ops = sw_ops_cpu;
	struct curve whole, part;

	sw_data_fini(&data);
	data_load("digits", true);
	model_make(&model, "[{\"linear\": 10}]", true);
	ck_assert_uint_gt(data.val.rows, 256); /* they are several batches */
	ops.class_counts = short_counts;
	ck_assert_int_eq(run(&whole, &sw_ops_cpu, 0), SW_OK);
	refusals = 0;
	most_refusals = 2;
	ck_assert_int_eq(run(&part, &ops, 0), SW_OK);
	ck_assert_uint_eq(part.micro, 25);
	ck_assert_uint_eq(part.oom_events, 2);
	same(&part, &whole);
	refusals = 0;
	most_refusals = UINT_MAX;
	ck_assert_int_eq(run(&part, &ops, 0), SW_NOMEM);
	ck_assert_uint_eq(part.n, 0);
	ck_assert_uint_eq(refusals, 8); /* micro-batches of 100, 50, 25, 13, 7, 4, 2, 1 */
}

RUN_TESTS(setup, trial_teardown)
