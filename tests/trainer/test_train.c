/* tests/trainer/test_train.c — real training on the digits: it learns, and bit-equal twice. */
#include "tests/run.h"
#include "tests/walk.h"
#include "tests/worker/trial.h"

#define EPOCHS 8

struct curve {
	struct sw_epoch e[EPOCHS];
	size_t n;
};

static bool report(void *ctx, const struct sw_epoch *e)
{
	struct curve *c = ctx;

	ck_assert_uint_lt(c->n, EPOCHS);
	c->e[c->n++] = *e;
	return true;
}

static sw_status train(struct curve *c, const char *model, struct sw_trainer t, uint64_t seed,
		       enum sw_train_end *end)
{
	const struct sw_train_hooks hooks = {.ctx = c, .go_on = always, .report = report};
	struct sw_err err = SW_ERR_INIT;
	cJSON *layers = cJSON_Parse(model);
	struct sw_model m;
	sw_status status;

	const struct sw_task task = sw_net_task(&data, t.classes);

	status = sw_model_compile(&m, layers, NULL, &task, &err);
	cJSON_Delete(layers);
	if (status == SW_OK)
		status = sw_train_run(&sw_ops_cpu, queue, &m, &data, &t, seed, &hooks, end, &err);
	return status;
}

static const char mlp[] = "[{\"linear\": 64}, \"relu\", {\"linear\": 32}, \"relu\", "
			  "{\"linear\": 10}]";
static const char dropped[] = "[{\"dropout\": 0.1}, {\"linear\": 64}, \"tanh\", "
			      "{\"dropout\": 0.2}, {\"linear\": 10}]";
static const struct sw_trainer sgd = {
	.classes = true, .lr = 0.05, .momentum = 0.9, .batch_size = 32, .epochs = EPOCHS};
static const struct sw_trainer adamw = {.classes = true, ADAMW, .batch_size = 32, .epochs = EPOCHS};

/* _i & 1: the optimizer, _i & 2: the model */
TEST_LOOP(train_digits_learns_and_repeats_bit_for_bit, 0, 4)
{
	const struct sw_trainer t = _i & 1 ? adamw : sgd;
	const char *model = _i & 2 ? dropped : mlp;
	struct curve a = {.n = 0}, b = {.n = 0}, other = {.n = 0};
	enum sw_train_end end;

	data_load("digits", true);
	ck_assert_uint_eq(data.train.rows, 1438);
	ck_assert_uint_eq(data.val.rows, 359);
	ck_assert_int_eq(train(&a, model, t, 3, &end), SW_OK);
	ck_assert_int_eq(end, SW_TRAIN_DONE);
	ck_assert_uint_eq(a.n, EPOCHS);
	ck_assert_double_gt(a.e[EPOCHS - 1].val_accuracy, 0.95);
	ck_assert_double_lt(a.e[EPOCHS - 1].train_loss, a.e[0].train_loss / 4);
	ck_assert_int_eq(train(&b, model, t, 3, &end), SW_OK);
	ck_assert_int_eq(train(&other, model, t, 4, &end), SW_OK);
	for (size_t i = 0; i < EPOCHS; i++) {
		ck_assert_mem_eq(&a.e[i].train_loss, &b.e[i].train_loss, sizeof(double));
		ck_assert_mem_eq(&a.e[i].val_loss, &b.e[i].val_loss, sizeof(double));
		ck_assert_mem_eq(&a.e[i].val_accuracy, &b.e[i].val_accuracy, sizeof(double));
		ck_assert(a.e[i].train_loss != other.e[i].train_loss);
	}
}

#ifdef SW_FAULTS
/* _i 1: memory stays away. 0: one call fails, which a smaller arena makes good where it was for
 * one of the arena's two pieces. */
TEST_LOOP(train_without_memory_fails_cleanly_at_each_call, 0, 2)
{
	struct sw_trainer t = sgd;
	unsigned survived = 0;

	data_load("wine", true);
	t.epochs = 1;
	WALK (SW_FAULT_MALLOC, 1) {
		struct curve c = {.n = 0};
		enum sw_train_end end;
		sw_status status;

		walk.forever = _i == 1;
		walk_arm();
		status = train(&c, "[{\"linear\": 3}]", t, 3, &end);
		const unsigned fired = walk_disarm();
		if (fired == 0 || status != SW_NOMEM)
			ck_assert_int_eq(status, SW_OK);
		if (fired != 0 && status == SW_OK)
			survived++;
	}
	ck_assert_uint_eq(survived, _i == 1 ? 0 : 2);
}
#endif

TEST(train_that_fits_no_memory_says_so_before_it_takes_any)
{
	struct curve c = {.n = 0};
	enum sw_train_end end;

	data_load("wine", true);
	ck_assert_int_eq(train(&c,
			       "[{\"linear\": 1000000}, {\"linear\": 1000000}, {\"linear\": 3}]",
			       sgd, 3, &end),
			 SW_NOMEM);
}

RUN_TESTS(trial_setup, trial_teardown)
