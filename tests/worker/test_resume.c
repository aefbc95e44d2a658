/* tests/worker/test_resume.c — a curve with interruptions equals the curve without, bit for bit. */
#include "kernels/philox.h"
#include "tests/run.h"
#include "tests/worker/trial.h"

#define EPOCHS 7

struct config {
	const char *data, *layers;
	struct sw_trainer trainer;
};

/* Batches that leave a remainder (1438 and 143 and 354 rows) and one that does not fit once. */
static const struct config configs[] = {
	{"digits",
	 "[{\"dropout\": 0.1}, {\"linear\": 24}, \"relu\", {\"dropout\": 0.3}, {\"linear\": 10}]",
	 {.classes = true,
	  .lr = 0.03,
	  .momentum = 0.9,
	  .nesterov = true,
	  .weight_decay = 0.001,
	  .batch_size = 37}},
	{"digits",
	 "[{\"linear\": 24}, \"tanh\", {\"dropout\": 0.2}, {\"linear\": 10}]",
	 {.classes = true, ADAMW, .batch_size = 37}},
	{"wine",
	 "[{\"linear\": 5}, \"relu\", {\"linear\": 3}]",
	 {.classes = true, .lr = 0.03, .batch_size = 1}},
	{"wine",
	 "[{\"linear\": 5}, {\"dropout\": 0.5}, {\"linear\": 3}]",
	 {.classes = true, ADAMW, .batch_size = 1000}},
	{"diabetes",
	 "[{\"linear\": 8}, \"relu\", {\"linear\": 1}]",
	 {.lr = 0.0001, .momentum = 0.5, .batch_size = 16}},
	{"wine",
	 "[{\"linear\": 8}, \"batchnorm\", \"relu\", {\"linear\": 3}]",
	 {.classes = true,
	  ADAM_OF(SW_ADAM, 0.01),
	  .clip_norm = 1,
	  .schedule = SW_SCHEDULE_COSINE,
	  .warmup_epochs = 1.5,
	  .batch_size = 32}},
};
#define CONFIGS ROWS(configs)

/* What one trial has to show: each epoch's metrics and, in the end, weights and optimizer state. */
struct record {
	double train_loss[EPOCHS], val_loss[EPOCHS], val_accuracy[EPOCHS];
	bool has[EPOCHS];
	float *set[3];
	uint64_t step;
};

/* One attempt. */
struct attempt {
	struct record *record;
	uint64_t from;       /* the epoch whose checkpoint it begins from; 0: scratch */
	uint64_t every;      /* epochs between checkpoints; 0: none */
	uint64_t stop_epoch; /* drop after its report; 0: never */
	uint64_t stop_batch; /* drop before the nth batch; 0: never */
	uint64_t batches;
	uint64_t kept; /* the epoch of the last checkpoint */
	uint64_t seed;
};

static const struct sw_checkpoint_id whose = {.sweep = 1, .trial = 2};

static sw_status begin(void *ctx, struct sw_net *net, uint64_t *epoch, struct sw_err *err)
{
	const struct attempt *a = ctx;
	struct sw_checkpoint_id id = whose;
	char path[128];

	if (a->from == 0)
		return SW_OK;
	id.epoch = *epoch = a->from;
	snprintf(path, sizeof path, "%s/2-%d.ckpt", folder, (int)a->from);
	return sw_checkpoint_read(net, &id, path, err);
}

static bool go_on(void *ctx)
{
	struct attempt *a = ctx;

	return a->stop_batch == 0 || ++a->batches < a->stop_batch;
}

/* What is reported twice must be the same both times. */
static void keep(double *at, bool again, double v)
{
	if (again)
		ck_assert_mem_eq(at, &v, sizeof v);
	*at = v;
}

static bool report(void *ctx, const struct sw_epoch *e)
{
	struct attempt *a = ctx;
	struct record *r = a->record;
	const size_t i = (size_t)e->epoch - 1, n = e->net->model->weights_n;

	ck_assert_uint_lt(i, EPOCHS);
	ck_assert_uint_gt(e->epoch, a->from);
	keep(&r->train_loss[i], r->has[i], e->train_loss);
	keep(&r->val_loss[i], r->has[i], e->val_loss);
	keep(&r->val_accuracy[i], r->has[i], e->val_accuracy);
	r->has[i] = true;
	if (a->every && e->epoch % a->every == 0) {
		struct sw_checkpoint_id id = whose;
		struct sw_err err = SW_ERR_INIT;

		id.epoch = a->kept = e->epoch;
		ck_assert_msg(sw_checkpoint_write(e->net, &id, folder, &err) == SW_OK, "%s",
			      err.msg);
	}
	if (e->epoch == EPOCHS) {
		r->step = e->net->step;
		for (size_t k = 0; k < sw_net_sets(e->net); k++) {
			free(r->set[k]);
			r->set[k] = malloc(n * sizeof(float));
			ck_assert_int_eq(sw_net_set_download(e->net, k, r->set[k]), SW_OK);
		}
	}
	return e->epoch != a->stop_epoch;
}

static enum sw_train_end run(const struct config *c, struct attempt *a)
{
	const struct sw_train_hooks hooks = {
		.ctx = a, .begin = begin, .go_on = go_on, .report = report};
	struct sw_trainer t = c->trainer;
	struct sw_err err = SW_ERR_INIT;
	enum sw_train_end end;
	struct sw_model m;

	t.epochs = EPOCHS;
	model_make(&m, c->layers, t.classes);
	ck_assert_msg(sw_train_run(&sw_ops_cpu, queue, &m, &data, &t, a->seed ? a->seed : 42,
				   &hooks, &end, &err) == SW_OK,
		      "%s", err.msg);
	return end;
}

static void equal(const struct config *c, const struct record *a, const struct record *b)
{
	struct sw_model m;

	model_make(&m, c->layers, c->trainer.classes);
	for (size_t i = 0; i < EPOCHS; i++)
		ck_assert(a->has[i] && b->has[i]);
	ck_assert_mem_eq(a->train_loss, b->train_loss, sizeof a->train_loss);
	ck_assert_mem_eq(a->val_loss, b->val_loss, sizeof a->val_loss);
	ck_assert_mem_eq(a->val_accuracy, b->val_accuracy, sizeof a->val_accuracy);
	ck_assert_uint_eq(a->step, b->step);
	for (size_t k = 0; k < 3; k++) {
		ck_assert_int_eq(a->set[k] != NULL, b->set[k] != NULL);
		if (a->set[k])
			ck_assert_mem_eq(a->set[k], b->set[k], m.weights_n * sizeof(float));
	}
}

static void record_fini(struct record *r)
{
	for (size_t k = 0; k < 3; k++)
		free(r->set[k]);
}

TEST_LOOP(resume_after_any_epoch_continues_the_curve, 0, CONFIGS)
{
	const struct config *c = &configs[_i];
	struct record whole = {.step = 0};

	data_load(c->data, c->trainer.classes);
	ck_assert_int_eq(run(c, &(struct attempt){.record = &whole}), SW_TRAIN_DONE);
	ck_assert(whole.train_loss[0] != whole.train_loss[1]);
	for (uint64_t at = 1; at <= EPOCHS; at++) {
		struct record r = {.step = 0};

		ck_assert_int_eq(
			run(c, &(struct attempt){.record = &r, .every = at, .stop_epoch = at}),
			SW_TRAIN_DROPPED);
		/* its own seed is of no account: the file's goes on */
		ck_assert_int_eq(run(c, &(struct attempt){.record = &r, .from = at, .seed = 1}),
				 SW_TRAIN_DONE);
		equal(c, &whole, &r);
		record_fini(&r);
	}
	record_fini(&whole);
}

/* Stopped before a batch at random, over and over, and begun again from the last checkpoint: ends
 * with the weights of the run that nobody stopped. */
TEST_LOOP(resume_from_the_last_checkpoint_after_a_stop_at_any_batch, 0, 50)
{
	const struct config *c = &configs[(size_t)_i % CONFIGS];
	struct record whole = {.step = 0}, r = {.step = 0};
	enum sw_train_end end = SW_TRAIN_DROPPED;
	uint64_t from = 0, batches;

	data_load(c->data, c->trainer.classes);
	batches = data.train.rows / c->trainer.batch_size + 1;
	ck_assert_int_eq(run(c, &(struct attempt){.record = &whole}), SW_TRAIN_DONE);
	for (uint64_t turn = 0; end == SW_TRAIN_DROPPED; turn++) {
		const struct sw_philox_words x =
			sw_philox_block((uint64_t)_i, SW_PHILOX_SPLIT, 0, turn, 0);
		struct attempt a = {.record = &r,
				    .from = from,
				    .every = 1 + (uint64_t)_i % 3,
				    .stop_batch = 1 + x.v[0] % ((turn ? 10 : 3) * (batches + 1))};

		ck_assert_uint_lt(turn, 1000);
		end = run(c, &a);
		from = a.kept ? a.kept : from;
	}
	equal(c, &whole, &r);
	record_fini(&r);
	record_fini(&whole);
}

/* pbt: the shapes are the donor's, the hyperparameters are not. */
TEST(resume_with_other_hyperparameters_begins_at_the_donors_weights)
{
	struct config c = configs[0], other = c;
	struct record donor = {.step = 0}, child = {.step = 0}, same = {.step = 0};

	data_load(c.data, true);
	other.layers = "[{\"dropout\": 0.4}, {\"linear\": 24}, \"relu\", {\"dropout\": 0.0}, "
		       "{\"linear\": 10}]";
	other.trainer.lr = 0.001;
	other.trainer.momentum = 0.5;
	other.trainer.batch_size = 100;
	(void)run(&c, &(struct attempt){.record = &donor, .every = 3});
	ck_assert_int_eq(run(&other, &(struct attempt){.record = &child, .from = 3, .seed = 5}),
			 SW_TRAIN_DONE);
	/* it learned what the donor had: far below a beginner's first epoch, and not the donor's */
	ck_assert_double_lt(child.val_loss[3], donor.val_loss[0]);
	ck_assert(child.val_loss[3] != donor.val_loss[3]);
	/* 39 steps an epoch, then 15 */
	ck_assert_uint_eq(child.step, 3 * 39 + 4 * 15);
	/* with the donor's hyperparameters it is the donor */
	ck_assert_int_eq(run(&c, &(struct attempt){.record = &same, .from = 3, .seed = 5}),
			 SW_TRAIN_DONE);
	ck_assert_mem_eq(&same.val_loss[3], &donor.val_loss[3], 4 * sizeof(double));
	record_fini(&donor);
	record_fini(&child);
	record_fini(&same);
}

RUN_TESTS(trial_setup, trial_teardown)
