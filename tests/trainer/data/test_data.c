/* tests/trainer/data/test_data.c — sources, classes, the split, standardising, the cache; and
 * options. */
#include "tests/trainer/cache_get.h"
#include "tests/trainer/data/data_set.h"
#include "trainer/model/trainer.h"
#include <math.h>

#define SET "{\"format\":\"csv\",\"path\":\"@/d.csv\",\"label\":\"y\"}"

static void table_put(const char *text)
{
	put("d.csv", text, strlen(text));
}

static cJSON *set_json(void)
{
	char text[1024];

	return cJSON_Parse(with_folder(SET, text));
}

static const struct {
	const char *json, *ptr, *says;
} sources[] = {
	{"{\"name\":\"digit\"}", "/name",
	 "no data set is named \"digit\": did you mean \"digits\"?"},
	{"{\"name\":\"imagenet\"}", "/name",
	 "no data set is named \"imagenet\": there are digits, breast_cancer, wine and diabetes"},
	{"{\"format\":\"csv\",\"path\":\"x\",\"label\":1.5}", "/label",
	 "\"label\" must be a column's name or its number from 0 (-1 is the last)"},
	{"{\"format\":\"csv\",\"path\":\"x\",\"label\":0,\"header\":1}", "/header",
	 "\"header\" must be true or false, not a number"},
};

TEST_ROWS(source_wrong_gives_its_line, sources)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_data_source source;
	cJSON *json = cJSON_Parse(sources[_i].json);

	ck_assert_int_ne(sw_data_source_read(&source, json, &err), SW_OK);
	ck_assert_str_eq(err.msg, sources[_i].says);
	ck_assert_str_eq(err.ptr, sources[_i].ptr);
	cJSON_Delete(json);
}

/* Feature a is the row, so a row can be found again after the split. */
TEST(classes_are_numbered_in_sorted_order)
{
	static const struct {
		const char *text;
		int32_t of[4]; /* class of the row whose feature is 0..3 */
	} tables[] = {
		{"a,y\n0,red\n1,blue\n2,red\n3,green\n", {2, 0, 2, 1}},
		{"a,y\n0,10\n1,9\n2,10.0\n3,-1\n", {2, 1, 2, 0}}, /* by number, not by text */
		{"a,y\n0,10\n1,9\n2,x\n3,10\n", {0, 1, 2, 0}},    /* one word: all by text */
	};

	for (size_t t = 0; t < ROWS(tables); t++) {
		struct sw_err err = SW_ERR_INIT;
		struct sw_data data;
		unsigned seen = 0;

		table_put(tables[t].text);
		ck_assert_msg(load(&data, SET, as_classes, &err) == SW_OK, "%s", err.msg);
		ck_assert_uint_eq(data.classes, 3);
		ck_assert_uint_eq(data.train.rows, 2);
		ck_assert_uint_eq(data.val.rows, 2);
		for (int p = 0; p < 4; p++) {
			const struct sw_data_part *part = p < 2 ? &data.train : &data.val;
			const int row = (int)part->x[p % 2];

			seen |= 1u << row;
			ck_assert_int_eq(part->label[p % 2], tables[t].of[row]);
		}
		ck_assert_uint_eq(seen, 15); /* every row once */
		sw_data_fini(&data);
	}
}

TEST(standardising_uses_the_training_rows_alone)
{
	const struct sw_data_want want = {
		.val_fraction = 0.25, .split_seed = 3, .scale = SW_SCALE_STANDARD};
	struct sw_err err = SW_ERR_INIT;
	struct sw_data data;
	double sum = 0, squares = 0;

	table_put("a,const,y\n1,5.1,1\n2,5.1,2\n30,5.1,3\n4,5.1,4\n50,5.1,5\n6,5.1,6\n70,5.1,7\n8,"
		  "5.1,"
		  "8\n");
	ck_assert_msg(load(&data, SET, want, &err) == SW_OK, "%s", err.msg);
	ck_assert_uint_eq(data.classes, 0);
	ck_assert_uint_eq(data.train.rows, 6);
	for (size_t i = 0; i < 6; i++) {
		const double target = data.train.target[i] * data.target_unit + data.target_shift;

		sum += (double)data.train.x[i];
		squares += (double)data.train.x[i] * (double)data.train.x[i];
		ck_assert_double_eq_tol(target, round(target), 1e-5);
		ck_assert(round(target) >= 1 && round(target) <= 8);
	}
	ck_assert_double_eq_tol(sum, 0, 1e-5);
	ck_assert_double_eq_tol(squares / 6, 1, 1e-5);
	sw_data_fini(&data);
}

/* Row i has base + i * step, and base; the last one a step more, or it would be an index. */
static const struct {
	const char *what;
	double base, step;
} large[] = {
	{"an ordinary column", 0, 1},  {"seconds of a minute", 1700000000, 1},
	{"milliseconds", 1.7e12, 3e4}, {"an id of 19 digits", 1234567890123456768.0, 65536},
	{"metres", 5412345, 0.125},    {"a small deviation", 7, 1e-7},
	{"a tiny one", 1, 1e-12},      {"it falls", -1700000000, -1},
};

static void check_large(const struct sw_data *data, const char *what)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < data->train.rows; i++) {
		sum += data->train.target[i];
		squares += (double)data->train.target[i] * (double)data->train.target[i];
	}
	const double n = (double)data->train.rows, mean = sum / n;
	const double sd = sqrt(squares / n - mean * mean);

	for (int val = 0; val < 2; val++) {
		const struct sw_data_part *part = val ? &data->val : &data->train;

		for (size_t i = 0; i < part->rows; i++) {
			const double z = ((double)part->target[i] - mean) / sd;

			ck_assert_msg(fabs(fabs((double)part->x[i]) - fabs(z)) < 1e-3,
				      "%s: %g for %g", what, (double)part->x[i], z);
		}
	}
}

TEST_ROWS(column_large_beside_its_range_is_scaled_in_double, large)
{
	const struct sw_data_want want = {
		.val_fraction = 0.25, .split_seed = 3, .scale = SW_SCALE_STANDARD};
	struct sw_err err = SW_ERR_INIT;
	struct sw_data data;
	char text[2048] = "a,const,y\n";

	for (int i = 0; i < 16; i++)
		(void)snprintf(text + strlen(text), sizeof text - strlen(text), "%.17g,%.17g,%d\n",
			       large[_i].base + (i + i / 15) * large[_i].step, large[_i].base,
			       i + i / 15);
	table_put(text);
	ck_assert_msg(load(&data, SET, want, &err) == SW_OK, "%s", err.msg);
	check_large(&data, large[_i].what);
	sw_data_fini(&data);
}

TEST_ROWS(target_large_beside_its_range_is_scaled, large)
{
	const struct sw_data_want want = {
		.val_fraction = 0.25, .split_seed = 3, .scale = SW_SCALE_STANDARD};
	const double base = large[_i].base, step = large[_i].step;
	struct sw_err err = SW_ERR_INIT;
	struct sw_data data;
	char text[2048] = "a,y\n";

	for (int i = 0; i < 16; i++)
		(void)snprintf(text + strlen(text), sizeof text - strlen(text), "%d,%.17g\n",
			       i + i / 15, base + (i + i / 15) * step);
	table_put(text);
	ck_assert_msg(load(&data, SET, want, &err) == SW_OK, "%s", err.msg);
	for (size_t i = 1; i < data.train.rows; i++) {
		const double y = (double)data.train.target[i] - (double)data.train.target[0];
		const double x = (double)data.train.x[i] - (double)data.train.x[0];

		/* as far from the first one as its row is; a's deviation is between 4 and 5 */
		ck_assert_double_ge(y * data.target_unit / step / x, 4);
		ck_assert_double_le(y * data.target_unit / step / x, 5);
	}
	sw_data_fini(&data);
}

static const struct {
	const char *text, *says;
} odd[] = {
	{"a,y\n1,0\n2,1\n3,0\n3,1\n", ""},
	{"0,y\n1,0\n2,1\n3,0\n3,1\n", ""}, /* as pandas numbers columns */
	{"0.5,y\n1,0\n2,1\n3,0\n", "/trainer/dataset/header: the first line is all numbers, and is "
				   "taken for the names of the columns: "
				   "\"header\": false makes a row of it"},
	{"a,b,y\nu,1,0\nv,2,1\nu,3,0\nv,1,1\nu,2,0\nv,3,1\nu,1,0\nv,2,1\nu,3,0\nv,1,1\n",
	 "/trainer/dataset: column \"a\": it gives the target away alone: is it known before the "
	 "target is? If not, ignore it"},
	{"a,y\n1,q0\n2,q1\n3,q2\n4,q3\n5,q4\n6,q5\n7,q6\n8,q7\n9,q8\n1,q9\n2,q9\n",
	 "/trainer/dataset: column \"y\": 10 classes in 11 rows: is it an id, or a number to "
	 "predict (loss "
	 "\"mse\")?"},
	{"a,y\n1,10\n2,21\n3,32\n4,43\n5,54\n6,65\n7,76\n8,87\n9,98\n1,109\n2,120\n3,131\n4,142\n"
	 "5,153\n6,164\n7,175\n8,186\n9,197\n1,208\n2,219\n3,230\n4,241\n5,252\n",
	 "/trainer/dataset: column \"y\": 23 classes in 23 rows: is it an id, or a number to "
	 "predict (loss "
	 "\"mse\")?"},
};

TEST_ROWS(table_that_is_likely_a_mistake_has_its_line, odd)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_data data;

	table_put(odd[_i].text);
	ck_assert_msg(load_ops(&data, SET, as_classes, NULL, &err) == SW_OK, "%s", err.msg);
	ck_assert_str_eq(data.about.odd, odd[_i].says);
	sw_data_fini(&data);
}

/* What a model knows of its columns is 4.5 MiB. */
TEST(image_of_60000_named_columns_is_taken)
{
	char *text = malloc(3 << 20);
	struct sw_err err = SW_ERR_INIT;
	struct sw_data data;
	size_t n = 0;

	for (int i = 0; i < 60000; i++)
		n += (size_t)sprintf(text + n, "intensity_of_pixel_number_%05d,", i);
	n += (size_t)sprintf(text + n, "y\n");
	for (int row = 0; row < 4; row++) {
		for (int i = 0; i < 60000; i++)
			n += (size_t)sprintf(text + n, "%d,", (i + row) % 7);
		n += (size_t)sprintf(text + n, "%d\n", row % 2);
	}
	put("d.csv", text, n);
	free(text);
	ck_assert_msg(load(&data,
			   "{\"format\":\"csv\",\"path\":\"@/d.csv\",\"label\":\"y\","
			   "\"image\":[1,200,300]}",
			   as_classes, &err) == SW_OK,
		      "%s", err.msg);
	ck_assert_uint_gt(strlen(data.about.table), 4 << 20);
	sw_data_fini(&data);
}

static const struct {
	const char *text;
	bool classes;
	double val_fraction;
	const char *ptr, *says;
} unfit[] = {
	{"a,y\n1,x\n2,x\n", true, 0.5, "/label", "@/d.csv: all rows have the same label"},
	{"a,y\n1,1\n2,1.0\n", true, 0.5, "/label", "@/d.csv: all rows have the same label"},
	{"a,y\n1,2\n2,red\n", false, 0.5, "/label",
	 "the loss \"mse\" needs numbers, @/d.csv: line 3, column \"y\": \"red\" is none"},
	{"a,y\n1,2\n2,3\n", true, 0.2, "", "val_fraction 0.2 of 2 rows leaves none to validate on"},
};

TEST_ROWS(data_unfit_for_the_loss_gives_its_line, unfit)
{
	struct sw_data_want want = as_classes;
	struct sw_err err = SW_ERR_INIT;
	struct sw_data data;

	want.classes = unfit[_i].classes;
	want.val_fraction = unfit[_i].val_fraction;
	table_put(unfit[_i].text);
	ck_assert_int_eq(load(&data, SET, want, &err), SW_INVALID);
	char says[1024];

	ck_assert_str_eq(err.msg, with_folder(unfit[_i].says, says));
	ck_assert_str_eq(err.ptr, unfit[_i].ptr);
	ck_assert_ptr_null(data.memory);
}

TEST(cache_reads_once_until_something_changes)
{
	struct sw_data_want want = as_classes;
	struct sw_err err = SW_ERR_INIT;
	struct sw_data_cache *cache;
	const struct sw_data *a, *b;
	cJSON *json;

	table_put("a,y\n0,0\n1,1\n2,0\n3,1\n");
	json = set_json();
	ck_assert_int_eq(sw_data_cache_create(&cache, &sw_ops_cpu), SW_OK);
	ck_assert_int_eq(cache_get(cache, json, want, &a, &err), SW_OK);
	ck_assert_int_eq(cache_get(cache, json, want, &b, &err), SW_OK);
	ck_assert_ptr_eq(a, b);
	ck_assert_uint_eq(sw_data_cache_loads(cache), 1);
	for (want.split_seed = 2; want.split_seed < 12; want.split_seed++)
		ck_assert_int_eq(cache_get(cache, json, want, &b, &err), SW_OK);
	ck_assert_uint_eq(sw_data_cache_loads(cache), 11);
	want.split_seed = 11; /* the latest is still there */
	ck_assert_int_eq(cache_get(cache, json, want, &b, &err), SW_OK);
	ck_assert_uint_eq(sw_data_cache_loads(cache), 11);
	table_put("a,y\n0,0\n1,1\n2,0\n3,1\n4,1\n5,1\n");
	ck_assert_int_eq(cache_get(cache, json, want, &b, &err), SW_OK);
	ck_assert_uint_eq(b->train.rows, 3);
	table_put("ragged\n");
	ck_assert_int_eq(cache_get(cache, json, want, &b, &err), SW_INVALID);
	ck_assert_ptr_null(b);
	sw_data_cache_destroy(cache);
	cJSON_Delete(json);
}

/* The held one stays whatever is asked for; of the others those go that were used first. */
TEST(cache_is_trimmed_to_bytes_but_for_what_is_held)
{
	struct sw_data_want want = as_classes;
	struct sw_data_cache *cache;
	const struct sw_data *held, *b;
	cJSON *json;
	size_t bytes;

	table_put("a,y\n0,0\n1,1\n2,0\n3,1\n");
	json = set_json();
	ck_assert_int_eq(sw_data_cache_create(&cache, &sw_ops_cpu), SW_OK);
	ck_assert_int_eq(sw_data_cache_hold(cache, NULL, json, want, &held, NULL), SW_OK);
	bytes = held->bytes;
	ck_assert_uint_gt(bytes, 0);
	for (want.split_seed = 2; want.split_seed < 5; want.split_seed++)
		ck_assert_int_eq(cache_get(cache, json, want, &b, NULL), SW_OK);
	sw_data_cache_trim(cache, 4 * bytes);
	for (want.split_seed = 2; want.split_seed < 5; want.split_seed++)
		ck_assert_int_eq(cache_get(cache, json, want, &b, NULL), SW_OK);
	ck_assert_uint_eq(sw_data_cache_loads(cache), 4);
	sw_data_cache_trim(cache, 3 * bytes);
	for (want.split_seed = 4; want.split_seed > 2; want.split_seed--)
		ck_assert_int_eq(cache_get(cache, json, want, &b, NULL), SW_OK);
	ck_assert_uint_eq(sw_data_cache_loads(cache), 4);
	ck_assert_int_eq(cache_get(cache, json, want, &b, NULL), SW_OK);
	ck_assert_uint_eq(sw_data_cache_loads(cache), 5);
	sw_data_cache_trim(cache, 0);
	want.split_seed = as_classes.split_seed;
	ck_assert_int_eq(cache_get(cache, json, want, &b, NULL), SW_OK);
	ck_assert_ptr_eq(b, held);
	ck_assert_uint_eq(sw_data_cache_loads(cache), 5);
	sw_data_cache_release(cache, held);
	sw_data_cache_trim(cache, 0);
	ck_assert_int_eq(cache_get(cache, json, want, &b, NULL), SW_OK);
	ck_assert_uint_eq(sw_data_cache_loads(cache), 6);
	sw_data_cache_destroy(cache);
	cJSON_Delete(json);
}

/* Of rows that the buffers grow for. */
TEST(data_without_memory_or_disk_fails_cleanly_at_each_call)
{
	static char text[8192] = "a,y\n";
	size_t n = strlen(text);

	for (int i = 0; i < 300; i++)
		n += (size_t)sprintf(text + n, "%d,%d\n", i % 100, i % 3);
	table_put(text);
	walk_faults(SET, as_classes);
}

static const struct {
	const char *trainer, *params;
	double lr, momentum, decay;
	uint64_t batch, epochs;
	const char *ptr, *says; /* NULL: resolves */
} options[] = {
	{"{}", "{}", 0.01, 0, 0, 32, 27, NULL, NULL},
	{"{\"optimizer\":\"adamw\",\"epochs\":3}", "{}", 0.001, 0, 0.01, 32, 3, NULL, NULL},
	{"{\"lr\":0.5}", "{\"lr\":0.25,\"momentum\":0.5}", 0.25, 0.5, 0, 32, 27, NULL, NULL},
	{"{\"lr\":\"rate\",\"batch_size\":\"b\"}", "{\"rate\":0.125,\"b\":8.0}", 0.125, 0, 0, 8, 27,
	 NULL, NULL},
	{"{\"optimizer\":\"o\"}", "{\"o\":\"adamw\",\"weight_decay\":0}", 0.001, 0, 0, 32, 27, NULL,
	 NULL},
	{"{}", "{\"batch_size\":16.5}", 0, 0, 0, 0, 0, "/parameters/batch_size",
	 "\"batch_size\" must be an integer, at least 1 and at most 1000000000, not a fraction"},
	/* parameters in a group; and such as are not active in this trial: the defaults */
	{"{\"lr\":\"o.rate\"}", "{\"o\":{\"rate\":0.125}}", 0.125, 0, 0, 32, 27, NULL, NULL},
	{"{\"lr\":\"rate\",\"nesterov\":\"n\",\"optimizer\":\"o\"}", "{\"b\":1}", 0.01, 0, 0, 32,
	 27, NULL, NULL},
	{"{\"lr\":\"rate\"}", "{\"rate\":\"fast\"}", 0, 0, 0, 0, 0, "/parameters/rate",
	 "\"lr\" must be a number, above 0 and at most 1000000, not a string"},
	{"{\"momentum\":1}", "{}", 0, 0, 0, 0, 0, "/trainer/momentum",
	 "\"momentum\" must be a number, at least 0 and below 1"},
	{"{\"optimizer\":\"o\"}", "{\"o\":\"adagrad\"}", 0, 0, 0, 0, 0, "/parameters/o",
	 "unknown optimizer \"adagrad\": it must be \"sgd\", \"adam\" or \"adamw\""},
	{"{\"optimizer\":\"adam\"}", "{}", 0.001, 0, 0, 32, 27, NULL, NULL},
	{"{\"nesterov\":7}", "{}", 0, 0, 0, 0, 0, "/trainer/nesterov",
	 "\"nesterov\" must be true or false, not a number"},
};

TEST_ROWS(trainer_takes_parameter_then_literal_then_default, options)
{
	cJSON *trainer = cJSON_Parse(options[_i].trainer),
	      *params = cJSON_Parse(options[_i].params);
	struct sw_err err = SW_ERR_INIT;
	struct sw_trainer t;
	const sw_status status = sw_trainer_resolve(&t, trainer, params, 27, 5, &err);

	cJSON_Delete(trainer);
	cJSON_Delete(params);
	if (options[_i].says) {
		ck_assert_int_eq(status, SW_INVALID);
		ck_assert_str_eq(err.msg, options[_i].says);
		ck_assert_str_eq(err.ptr, options[_i].ptr);
		return;
	}
	ck_assert_msg(status == SW_OK, "%s", err.msg);
	ck_assert_double_eq(t.lr, options[_i].lr);
	ck_assert_double_eq(t.momentum, options[_i].momentum);
	ck_assert_double_eq(t.weight_decay, options[_i].decay);
	ck_assert_uint_eq(t.batch_size, options[_i].batch);
	ck_assert_uint_eq(t.epochs, options[_i].epochs);
	ck_assert_uint_eq(t.split_seed, 5);
	ck_assert(t.classes && t.scale == SW_SCALE_AUTO);
}

RUN_TESTS(folder_make, folder_remove)
