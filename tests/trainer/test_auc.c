/* tests/trainer/test_auc.c — the area under the curve beside all pairs of rows, and what rare
 * classes get of an epoch. */
#include "tests/trainer/data/data_set.h"
#include "trainer/auc.h"
#include "trainer/train.h"
#include <math.h>

TEST_LOOP(auc_is_the_share_of_pairs_in_order, 0, 50)
{
	struct sw_auc_row rows[60];
	uint64_t s = (uint64_t)_i;
	double pairs = 0, wins = 0;

	for (size_t i = 0; i < ROWS(rows); i++) {
		s = s * 6364136223846793005u + 1442695040888963407u;
		rows[i] = (struct sw_auc_row){.score = (float)(s >> 33 & 15),
					      .positive = i < 2 ? i == 0 : s >> 40 & 1};
	}
	for (size_t i = 0; i < ROWS(rows); i++)
		for (size_t k = 0; k < ROWS(rows); k++) {
			if (!rows[i].positive || rows[k].positive)
				continue;
			pairs++;
			wins += rows[i].score > rows[k].score    ? 1
				: rows[i].score == rows[k].score ? 0.5
								 : 0;
		}
	ck_assert_double_eq_tol(sw_auc(rows, ROWS(rows)), wins / pairs, 1e-12);
	rows[7].score = NAN;
	ck_assert(isnan(sw_auc(rows, ROWS(rows))));
	ck_assert(isnan(sw_auc(rows, 0)));
}

static bool keep(void *ctx, const struct sw_epoch *e)
{
	*(struct sw_epoch *)ctx = *e;
	return true;
}

/* One row in ten is of the second class, and no number tells it for sure. */
static void train(bool balanced, struct sw_epoch *last)
{
	static char text[32 * 1024] = "a,b,y\n";
	const struct sw_trainer t = {.classes = true,
				     .balanced = balanced,
				     .optimizer = SW_SGD,
				     .lr = 0.1,
				     .batch_size = 32,
				     .epochs = 20};
	const struct sw_train_hooks hooks = {.ctx = last, .report = keep};
	struct sw_data_want want = as_classes;
	struct sw_err err = SW_ERR_INIT;
	enum sw_train_end end;
	struct sw_model model;
	struct sw_queue *q;
	struct sw_data data;
	size_t n = strlen(text);
	uint64_t s = 1;

	for (int i = 0; i < 1000; i++) {
		s = s * 6364136223846793005u + 1442695040888963407u;
		n += (size_t)sprintf(text + n, "%.3f,%.3f,%s\n",
				     (double)(s >> 33 & 1023) / 512 + (i % 10 == 0 ? 0.5 : 0),
				     (double)(s >> 45 & 1023), i % 10 == 0 ? "rare" : "many");
	}
	put("d.csv", text, n);
	text[6] = '\0';
	want.scale = SW_SCALE_AUTO;
	ck_assert_int_eq(sw_ops_cpu.queue_create(&q), SW_OK);
	ck_assert_msg(load(&data, "{\"format\":\"csv\",\"path\":\"@/d.csv\",\"label\":\"y\"}", want,
			   &err) == SW_OK,
		      "%s", err.msg);
	const struct sw_task task = sw_net_task(&data, true);
	cJSON *list = cJSON_Parse("[{\"linear\": 2}]");

	ck_assert_int_eq(sw_model_compile(&model, list, NULL, &task, &err), SW_OK);
	ck_assert_msg(sw_train_run(&sw_ops_cpu, q, &model, &data, &t, 5, &hooks, &end, &err) ==
			      SW_OK,
		      "%s", err.msg);
	cJSON_Delete(list);
	sw_data_fini(&data);
	sw_ops_cpu.queue_destroy(q);
}

TEST(balanced_classes_have_an_equal_say)
{
	struct sw_epoch plain, balanced;

	train(false, &plain);
	train(true, &balanced);
	/* Plain the net calls nearly all rows "many", and nine in ten are; with as many rows of
	 * each class it cannot. The order of the rows is the same. */
	ck_assert_double_gt(plain.val_accuracy, 0.89);
	ck_assert_double_lt(balanced.val_accuracy, 0.85);
	ck_assert_double_gt(balanced.val_auc, 0.6);
	ck_assert_double_eq_tol(balanced.val_auc, plain.val_auc, 0.03);
}

RUN_TESTS(folder_make, folder_remove)
