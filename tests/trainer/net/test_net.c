/* tests/trainer/net/test_net.c — parts of a batch, schedules, patience, metrics. */
#include "tests/run.h"
#include "tests/worker/trial.h"
#include <math.h>

static const char plain[] = "[{\"linear\": 20}, \"relu\", {\"dropout\": 0.3}, {\"residual\": "
			    "[\"layernorm\", {\"linear\": 20}, \"tanh\"]}, {\"linear\": 3}]";
static const struct sw_trainer adam = {
	.classes = true, ADAM_OF(SW_ADAM, 0.01), .clip_norm = 1, .batch_size = 32, .epochs = 6};

struct run {
	struct sw_epoch e[64];
	size_t n;
};

static bool report(void *ctx, const struct sw_epoch *e)
{
	struct run *r = ctx;

	ck_assert_uint_lt(r->n, 64);
	r->e[r->n++] = *e;
	return true;
}

static void train(struct run *r, const char *layers, const struct sw_trainer *t)
{
	const struct sw_train_hooks hooks = {.ctx = r, .go_on = always, .report = report};
	struct sw_err err = SW_ERR_INIT;
	enum sw_train_end end;
	struct sw_model m;

	model_make(&m, layers, t->classes);
	ck_assert_msg(sw_train_run(&sw_ops_cpu, queue, &m, &data, t, 3, &hooks, &end, &err) ==
			      SW_OK,
		      "%s", err.msg);
	ck_assert_int_eq(end, SW_TRAIN_DONE);
}

static void setup(void)
{
	trial_setup();
	data_load("wine", true);
}

/* Dropout's masks are the whole batch's, whatever the parts. */
TEST(net_in_parts_of_a_batch_trains_the_same)
{
	static const uint64_t parts[] = {1, 5, 16, 31, 1000};
	struct run whole = {.n = 0};

	train(&whole, plain, &adam);
	for (size_t k = 0; k < ROWS(parts); k++) {
		struct sw_trainer t = adam;
		struct run r = {.n = 0};

		t.micro_batch = parts[k];
		train(&r, plain, &t);
		ck_assert_uint_eq(r.n, whole.n);
		for (size_t i = 0; i < r.n; i++)
			ck_assert_double_eq_tol(r.e[i].val_loss, whole.e[i].val_loss, 1e-5);
	}
}

/* The gradients of the order's rows [first, first + rows), in batches of `batch` and parts of
 * `micro`, into g: float[m->weights_n]. */
static void gradient(const struct sw_model *m, uint64_t batch, uint64_t micro, size_t first,
		     float *g)
{
	struct sw_trainer t = adam;
	int32_t order[32];
	struct sw_net net;

	for (int32_t i = 0; i < 32; i++)
		order[i] = 3 * i;
	t.batch_size = batch;
	t.micro_batch = micro;
	ck_assert_int_eq(sw_net_create(&net, &sw_ops_cpu, queue, m, &t, &data, NULL, 3, NULL),
			 SW_OK);
	ck_assert_int_eq(sw_net_order(&net, order, 32), SW_OK);
	ck_assert_int_eq(sw_net_train(&net, &data, first, &first), SW_OK);
	memcpy(g, net.arena + net.at.grads, m->weights_n * sizeof *g);
	sw_net_destroy(&net);
}

/* A part of 8 of 16 rows alone has twice its part of their mean's gradient, to the bit. */
TEST(net_in_parts_adds_gradients_that_were_made_apart)
{
	struct sw_model m;
	float *both, *first, *second;

	model_make(&m,
		   "[{\"linear\": 20}, \"tanh\", {\"residual\": [\"layernorm\", {\"linear\": 20}, "
		   "\"tanh\"]}, {\"linear\": 3}]",
		   true);
	both = malloc(3 * m.weights_n * sizeof *both);
	first = both + m.weights_n;
	second = first + m.weights_n;
	gradient(&m, 16, 8, 0, both);
	gradient(&m, 8, 0, 0, first);
	gradient(&m, 8, 0, 8, second);
	for (size_t i = 0; i < m.weights_n; i++)
		ck_assert_msg(both[i] == first[i] / 2 + second[i] / 2, "gradient %zu: %a, %a + %a",
			      i, (double)both[i], (double)first[i] / 2, (double)second[i] / 2);
	free(both);
}

/* A rate that never learns: the loss does not move. Patience that runs out with the last epoch cuts
 * nothing off, and 0 is none; earlier ends by it are in test_run_end and test_gang_end. */
TEST(net_without_a_better_loss_reaches_the_last_epoch_that_patience_allows)
{
	for (uint64_t patience = 0; patience <= 3; patience += 3) {
		struct sw_trainer t = adam;
		struct run r = {.n = 0};

		t.lr = 1e-30;
		t.patience = patience;
		t.epochs = patience == 0 ? 7 : patience + 1;
		train(&r, "[{\"linear\": 3}]", &t);
		ck_assert_uint_eq(r.n, t.epochs);
	}
}

/* Beside torch.optim.lr_scheduler's StepLR and CosineAnnealingLR (a step a call) and a line. */
TEST(trainer_lr_follows_its_schedule)
{
	struct sw_trainer t = {.lr = 0.5, .epochs = 10, .step_epochs = 3, .gamma = 0.1};

	ck_assert_double_eq(sw_trainer_lr(&t, 99, 10), 0.5);
	t.schedule = SW_SCHEDULE_STEP;
	ck_assert_double_eq(sw_trainer_lr(&t, 29, 10), 0.5);
	ck_assert_double_eq_tol(sw_trainer_lr(&t, 30, 10), 0.05, 1e-15);
	ck_assert_double_eq_tol(sw_trainer_lr(&t, 99, 10), 0.0005, 1e-15);
	t.schedule = SW_SCHEDULE_COSINE;
	ck_assert_double_eq(sw_trainer_lr(&t, 0, 10), 0.5);
	ck_assert_double_eq_tol(sw_trainer_lr(&t, 50, 10), 0.25, 1e-15);
	ck_assert_double_eq_tol(sw_trainer_lr(&t, 99, 10), 0.5 * (1 + cos(0.99 * acos(-1.0))) / 2,
				1e-15);
	t.warmup_epochs = 2;
	ck_assert_double_eq_tol(sw_trainer_lr(&t, 0, 10), 0.5 / 20, 1e-15);
	ck_assert_double_eq_tol(sw_trainer_lr(&t, 18, 10), 0.5 * 19 / 20, 1e-15);
	/* the line ends at the whole rate, and the curve begins there */
	ck_assert_double_eq(sw_trainer_lr(&t, 19, 10), 0.5);
	ck_assert_double_eq_tol(sw_trainer_lr(&t, 20, 10), 0.5, 1e-15);
	ck_assert_double_eq_tol(sw_trainer_lr(&t, 60, 10), 0.25, 1e-15);
	t.warmup_epochs = 2.05;
	ck_assert_double_eq_tol(sw_trainer_lr(&t, 19, 10), 0.5 * 20 / 20.5, 1e-15);
	ck_assert_double_eq(sw_trainer_lr(&t, 20, 10), 0.5);
}

/* The metrics of an epoch beside the outputs that made them. */
TEST(net_metrics_are_those_of_its_outputs)
{
	struct sw_err err = SW_ERR_INIT;
	double tp[3] = {0}, fp[3] = {0}, fn[3] = {0}, f1 = 0, got, correct = 0;
	struct sw_metrics sums;
	struct sw_model m;
	struct sw_net net;

	model_make(&m, plain, true);
	ck_assert_int_eq(sw_net_create(&net, &sw_ops_cpu, queue, &m, &adam, &data, NULL, 5, &err),
			 SW_OK);
	ck_assert_int_eq(sw_net_metrics_zero(&net), SW_OK);
	ck_assert_int_eq(sw_net_eval(&net, &data, 0, data.val.rows), SW_OK);
	for (size_t i = 0; i < data.val.rows; i++) {
		const float *z = sw_net_output(&net) + 3 * i;
		const int best = z[0] >= z[1] && z[0] >= z[2] ? 0 : z[1] >= z[2] ? 1 : 2;
		const int label = data.val.label[i];

		tp[label] += best == label;
		fn[label] += best != label;
		fp[best] += best != label;
		correct += best == label;
	}
	for (int c = 0; c < 3; c++)
		f1 += 2 * tp[c] / (2 * tp[c] + fp[c] + fn[c]) / 3;
	ck_assert_int_eq(sw_net_macro_f1(&net, &got), SW_OK);
	ck_assert_double_eq_tol(got, f1, 1e-12);
	ck_assert_int_eq(sw_net_metrics(&net, &sums), SW_OK);
	ck_assert_double_eq(sums.correct, correct);
	ck_assert_double_eq(sums.top5, (double)data.val.rows);
	sw_net_destroy(&net);
}

TEST(net_of_numbers_reports_what_it_explains)
{
	struct sw_trainer t = adam;
	struct run r = {.n = 0};
	double mean = 0, spread = 0;

	sw_data_fini(&data);
	data_load("diabetes", false);
	for (size_t i = 0; i < data.val.rows; i++)
		mean += (double)data.val.target[i] / (double)data.val.rows;
	for (size_t i = 0; i < data.val.rows; i++)
		spread += pow((double)data.val.target[i] - mean, 2) / (double)data.val.rows;
	t.classes = false;
	t.lr = 0.05;
	t.clip_norm = 0;
	t.epochs = 20;
	train(&r, "[{\"linear\": 1}]", &t);
	const struct sw_epoch *e = &r.e[19];

	spread *= data.target_unit * data.target_unit; /* as the loss is told */
	ck_assert_double_eq_tol(e->val_r2, 1 - e->val_loss / spread, 1e-6);
	ck_assert_double_gt(e->val_r2, 0.3);
	ck_assert_double_lt(e->val_mae, sqrt(e->val_loss));
	ck_assert_double_gt(e->val_mae, sqrt(e->val_loss) / 2);
}

static sw_status no_gelu(struct sw_queue *q, const float *x, float *y, size_t n)
{
	(void)q;
	(void)x;
	(void)y;
	(void)n;
	return SW_UNSUPPORTED;
}

TEST(net_on_a_backend_that_lacks_an_operation_names_it)
{
	const struct sw_train_hooks hooks = {.go_on = always};
	struct sw_ops ops = sw_ops_cpu;
	struct sw_err err = SW_ERR_INIT;
	enum sw_train_end end;
	struct sw_model m;

	ops.gelu_forward = no_gelu;
	model_make(&m, "[{\"linear\": 4}, \"gelu\", {\"linear\": 3}]", true);
	ck_assert_int_eq(sw_train_run(&ops, queue, &m, &data, &adam, 3, &hooks, &end, &err),
			 SW_UNSUPPORTED);
	ck_assert_str_eq(err.msg, "gelu is not supported on cpu");
}

RUN_TESTS(setup, trial_teardown)
