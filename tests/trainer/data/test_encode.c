/* tests/trainer/data/test_encode.c — a table's rows as numbers: by the training rows alone, and the
 * same to the bit where new rows are read. */
#include "kernels/philox.h"
#include "tests/trainer/data/data_set.h"
#include "trainer/data/rows.h"
#include "trainer/data/shuffle.h"
#include <math.h>

#define ROWS_N 240
#define SET    "{\"format\":\"csv\",\"path\":\"@/d.csv\",\"label\":\"price\",\"split\":{\"test\":0.1}}"

static unsigned draw(unsigned row, unsigned what)
{
	return sw_philox_block(9, SW_PHILOX_SYNTHETIC, what, row, 0).v[0];
}

/* A row of a mixed table: numbers with holes, thousands, a date, categories of few and of many
 * values, a number that is mostly 0, an index. odd: a row of other values altogether. */
static size_t row_put(char *to, unsigned i, bool odd)
{
	static const char *const zones[] = {"RL", "RM", "NA", "\"C, all\""};
	size_t n = (size_t)sprintf(to, "%u,", i);

	if (odd)
		return n + (size_t)sprintf(to + n, "1e9,,31.12.1901 23:59,never,x%u,-77.5,77,99\n",
					   i % 3);
	n += (size_t)sprintf(to + n, draw(i, 1) % 9 ? "%.3f," : ",", draw(i, 2) % 9999 / 7.0);
	n += (size_t)sprintf(to + n, "\"%u,%03u\",", draw(i, 3) % 90 + 1, draw(i, 4) % 1000);
	n += (size_t)sprintf(to + n, "%02u.%02u.%u,", draw(i, 5) % 28 + 1, draw(i, 6) % 12 + 1,
			     1990 + draw(i, 7) % 30);
	n += (size_t)sprintf(to + n, "%s,", zones[draw(i, 8) % 4]);
	n += (size_t)sprintf(to + n, "v%u,", draw(i, 9) % 60);
	n += (size_t)sprintf(to + n, "%.2f,", draw(i, 10) % 500 / 3.0);
	n += (size_t)sprintf(to + n, "%u,", draw(i, 12) % 5 ? 0 : draw(i, 13) % 7 * 1000);
	return n + (size_t)sprintf(to + n, "%u\n", draw(i, 11) % 1000000);
}

/* odd_at: these rows are others. */
static void table_put(const bool *odd_at)
{
	static char text[64 * 1024];
	size_t n = (size_t)sprintf(text, "id,area,lot,sold,zone,many,x,gain,price\n");

	for (unsigned i = 0; i < ROWS_N; i++)
		n += row_put(text + n, i, odd_at && odd_at[i]);
	put("d.csv", text, n);
}

static void set_load(struct sw_data *data, const char *spec, int scale, bool all)
{
	const struct sw_data_want want = {
		.val_fraction = 0.2, .split_seed = 3, .scale = (enum sw_scale)scale, .all = all};
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(load(data, spec, want, &err) == SW_OK, "%s", err.msg);
}

/* The rows that are not trained on become others; what is trained on keeps its bits. A fit is of
 * all rows but those of the test. */
TEST_LOOP(encoding_sees_no_row_that_is_not_trained_on, 0, 8)
{
	const bool all = _i >= 4;
	const size_t val = ROWS_N / 5, test = ROWS_N / 10;

	struct sw_data before, after;
	bool other[ROWS_N];

	table_put(NULL);
	set_load(&before, SET, _i % 4, all);
	ck_assert_uint_eq(before.train.rows, ROWS_N - test - (all ? 0 : val));
	/* the same shuffle, from which the set takes its parts (trainer/data/split.h) */
	int32_t order[ROWS_N];

	memset(other, 0, sizeof other);
	sw_shuffle(order, ROWS_N, 3, SW_PHILOX_SPLIT, 0);
	for (size_t i = all ? val : 0; i < val + test; i++)
		other[order[i]] = true;
	table_put(other);
	set_load(&after, SET, _i % 4, all);
	ck_assert_uint_eq(after.features, before.features);
	ck_assert_mem_eq(after.train.x, before.train.x,
			 before.train.rows * before.features * sizeof(float));
	ck_assert_mem_eq(after.train.target, before.train.target,
			 before.train.rows * sizeof(float));
	ck_assert_str_eq(after.about.table, before.about.table);
	ck_assert_double_eq(after.target_unit, before.target_unit);
	ck_assert(memcmp(after.val.x, before.val.x,
			 before.val.rows * before.features * sizeof(float)) != 0);
	sw_data_fini(&before);
	sw_data_fini(&after);
}

/* New rows are encoded by what the model's label says; here all rows of the file, in its order. */
static void compare(const struct sw_data *data, const float *x, size_t rows)
{
	bool *found = calloc(rows, 1);

	/* the set is shuffled: each of its rows is one of the file's, and none is there twice */
	for (size_t i = 0; i < data->train.rows; i++) {
		const float *want = data->train.x + i * data->features;
		size_t at = 0;

		while (at < rows && (found[at] || memcmp(x + at * data->features, want,
							 data->features * sizeof *x) != 0))
			at++;
		ck_assert_msg(at < rows, "row %zu of the set is none of the file's", i);
		found[at] = true;
	}
	free(found);
}

static void rows_read(const struct sw_data *data, const char *name, float *x, size_t most,
		      size_t *n, struct sw_encoder *e)
{
	struct sw_rows_want want = {.format = SW_DATASET_CSV, .shape = data->input, .table = e};
	struct sw_err err = SW_ERR_INIT;
	struct sw_rows *rows;
	cJSON *json = cJSON_Parse(data->about.table);
	char path[400];

	ck_assert_int_eq(sw_encoder_read(e, json), SW_OK);
	cJSON_Delete(json);
	ck_assert_uint_eq(e->features, data->features);
	snprintf(path, sizeof path, "%s/%s", folder, name);
	ck_assert_msg(sw_rows_open(&rows, path, NULL, &want, &err) == SW_OK, "%s", err.msg);
	ck_assert_msg(sw_rows_next(rows, x, NULL, most, n, &err) == SW_OK, "%s", err.msg);
	sw_rows_close(rows);
}

TEST_LOOP(new_rows_are_encoded_as_the_set_is_to_the_bit, 0, 4)
{
	struct sw_encoder e;
	struct sw_data data;
	float *x;
	size_t n;

	table_put(NULL);
	set_load(&data, SET, _i, true);
	/* area and its holes, lot, three of a date, three zones and their holes, 40 of many, x;
	 * the seven values of gain have six pieces between them */
	ck_assert_uint_eq(data.features, 2 + 1 + 3 + 4 + 40 + 1 + (_i == SW_SCALE_AUTO ? 6 : 1));
	x = calloc(ROWS_N + 1, data.features * sizeof *x);
	rows_read(&data, "d.csv", x, ROWS_N + 1, &n, &e);
	ck_assert_uint_eq(n, ROWS_N);
	compare(&data, x, n);
	sw_encoder_fini(&e);
	free(x);
	sw_data_fini(&data);
}

/* Columns in another order, one that is new, without the target and without the index; a value that
 * training has not seen. */
TEST(new_rows_may_have_other_columns_and_values)
{
	static const char text[] = "x,zone,new,many,sold,lot,area,gain\n"
				   "1.5,RL,?,v1,01.02.2003,\"1,234\",,0\n"
				   "1.5,RX,?,w,01.02.2003,\"1,234\",-,0\n";
	struct sw_encoder e;
	struct sw_data data;
	float *x;
	size_t n, different = 0;

	table_put(NULL);
	set_load(&data, SET, SW_SCALE_AUTO, false);
	put("new.csv", text, sizeof text - 1);
	x = calloc(3, data.features * sizeof *x);
	rows_read(&data, "new.csv", x, 3, &n, &e);
	ck_assert_uint_eq(n, 2);
	for (size_t f = 0; f < data.features; f++)
		different += x[f] != x[data.features + f];
	ck_assert_uint_ge(different, 1); /* the zone; v1 may have no input of its own */
	for (size_t i = 0; i < e.n; i++)
		ck_assert_uint_eq(e.input[i].unseen, strcmp(e.input[i].name, "zone") == 0 ? 1
						     : strcmp(e.input[i].name, "many") == 0
							     ? 1 + (different == 1)
							     : 0);
	sw_encoder_fini(&e);
	free(x);
	sw_data_fini(&data);
}

static const struct {
	const char *text, *says;
} unfit[] = {
	{"x,zone,many,sold,area,gain\n",
	 "has no column \"lot\", which the model takes: it has x, zone, many"},
	{"x,zone,many,sold,lot,area,gain,x\n", "are both called \"x\""},
	{"x,zone,many,sold,lot,area,gain\n1,RL,v,01.01.2000,one,2,0\n",
	 "line 2, column \"lot\": \"one\" is not a number"},
	{"x,zone,many,sold,lot,area,gain\n1,RL,v,2000-01-01,1,2,0\n",
	 "line 2, column \"sold\": \"2000-01-01\" is not a date, as 31.01.2024 is one"},
};

TEST_ROWS(new_rows_that_do_not_fit_have_one_line, unfit)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_encoder e;
	struct sw_data data;
	struct sw_rows *rows = NULL;
	char path[400];
	float *x;
	size_t n;

	table_put(NULL);
	set_load(&data, SET, SW_SCALE_AUTO, false);
	struct sw_rows_want want = {.format = SW_DATASET_CSV, .shape = data.input, .table = &e};
	cJSON *json = cJSON_Parse(data.about.table);

	ck_assert_int_eq(sw_encoder_read(&e, json), SW_OK);
	x = calloc(3, data.features * sizeof *x);
	put("new.csv", unfit[_i].text, strlen(unfit[_i].text));
	snprintf(path, sizeof path, "%s/new.csv", folder);
	if (sw_rows_open(&rows, path, NULL, &want, &err) == SW_OK)
		ck_assert_int_eq(sw_rows_next(rows, x, NULL, 3, &n, &err), SW_INVALID);
	ck_assert_msg(strstr(err.msg, unfit[_i].says) != NULL, "%s", err.msg);
	sw_rows_close(rows);
	cJSON_Delete(json);
	sw_encoder_fini(&e);
	free(x);
	sw_data_fini(&data);
}

/* `flat` numbers that are 0 in four rows of five, and others of `values` different ones on both
 * sides; as many flags; one that is not flat. Returns how many inputs. */
static size_t flat_load(size_t flat, unsigned values, struct sw_data *data)
{
	static char text[256 * 1024];
	size_t at = 0;

	for (size_t c = 0; c < flat; c++)
		at += (size_t)sprintf(text + at, "flat%zu,flag%zu,", c, c);
	at += (size_t)sprintf(text + at, "b,price\n");
	for (unsigned i = 0; i < 600; i++) {
		for (size_t c = 0; c < flat; c++)
			at += (size_t)sprintf(text + at, "%d,%d,",
					      i % 5 ? 0 : 10 * (int)(i / 5 % values + 1) - 20,
					      i % 5 == 0);
		at += (size_t)sprintf(text + at, "%u,%u\n", draw(i, 0) % 1000, draw(i, 1) % 1000);
	}
	put("d.csv", text, at);
	set_load(data, "{\"format\":\"csv\",\"path\":\"@/d.csv\",\"label\":\"price\"}",
		 SW_SCALE_AUTO, true);
	return data->features;
}

/* -10, 0, 10, 20: three pieces. A hole, which training has not seen, is 0, as most rows are. */
TEST(number_that_is_mostly_one_value_has_an_input_for_each_piece)
{
	static const char text[] = "flat0,flag0,b\n-99,0,1\n-5,0,1\n0,0,1\n,0,1\n5,0,1\n20,0,1\n"
				   "1e9,0,1\n";
	static const float want[][3] = {{0, 0, 0},   {.5F, 0, 0}, {1, 0, 0}, {1, 0, 0},
					{1, .5F, 0}, {1, 1, 1},   {1, 1, 1}};
	struct sw_encoder e;
	struct sw_data data;
	float x[5 * 8];
	size_t n;

	ck_assert_uint_eq(flat_load(1, 4, &data), 3 + 2);
	put("new.csv", text, sizeof text - 1);
	rows_read(&data, "new.csv", x, 8, &n, &e);
	ck_assert_uint_eq(n, 7);
	for (size_t i = 0; i < n; i++)
		ck_assert_mem_eq(x + 5 * i, want[i], sizeof want[i]);
	sw_encoder_fini(&e);
	sw_data_fini(&data);
}

static const struct {
	size_t flat;
	unsigned values;
	size_t features;
} pieces[] = {
	{1, 60, 40 + 1 + 1},
	{4, 60, 4 * 10 + 4 + 1},
	{30, 60, 30 * 2 + 30 + 1}, /* 61 without pieces */
};

/* 40 of all columns together, or as many as there were inputs; and whatever is left out, the number
 * that most rows have is a point. */
TEST_ROWS(pieces_of_all_columns_are_bounded, pieces)
{
	struct sw_data data;
	struct sw_encoder e = {0};
	cJSON *json;
	bool zero = false;

	ck_assert_uint_eq(flat_load(pieces[_i].flat, pieces[_i].values, &data),
			  pieces[_i].features);
	json = cJSON_Parse(data.about.table);
	ck_assert_int_eq(sw_encoder_read(&e, json), SW_OK);
	for (size_t i = 0; i < e.input[0].scale.n; i++)
		zero = zero || e.input[0].scale.point[i] == 0;
	ck_assert(zero);
	cJSON_Delete(json);
	sw_encoder_fini(&e);
	sw_data_fini(&data);
}

/* Before memory is taken for as many as the model takes, which no machine has. */
TEST(new_rows_of_another_width_are_refused_first)
{
	const struct sw_rows_want want = {.format = SW_DATASET_NPY,
					  .shape = sw_shape_image(1 << 20, 1 << 20, 1 << 20)};
	struct sw_err err = SW_ERR_INIT;
	struct sw_rows *rows;
	char path[400];

	put("new.csv", "1,2\n", 4);
	snprintf(path, sizeof path, "%s/new.csv", folder);
	ck_assert_int_eq(sw_rows_open(&rows, path, NULL, &want, &err), SW_INVALID);
	ck_assert_ptr_nonnull(strstr(err.msg, "new.csv has 2 columns, the model takes 1152921504"));
}

static const char *const senseless[] = {
	"{}",
	"{\"width\":2,\"target_column\":1,\"header\":true,\"columns\":[]}",
	"{\"width\":2,\"target_column\":1,\"header\":true,\"columns\":[{\"name\":\"a\",\"column\":"
	"2,"
	"\"kind\":\"category\",\"values\":[]}]}",
	"{\"width\":2,\"target_column\":1,\"header\":true,\"columns\":[{\"column\":0,"
	"\"kind\":\"category\",\"values\":[]}]}",
	"{\"width\":2,\"target_column\":1,\"columns\":[{\"column\":0,\"kind\":\"text\"}]}",
	"{\"width\":2,\"target_column\":1,\"columns\":[{\"column\":1,\"kind\":\"number\"}]}",
	"{\"width\":2,\"target_column\":1,\"columns\":[{\"column\":0,\"kind\":\"category\","
	"\"values\":[\"a\",\"a\"]}]}",
	"{\"width\":2,\"target_column\":1,\"columns\":[{\"column\":0,\"kind\":\"number\","
	"\"fill\":1,\"width\":0}]}",
	"{\"width\":2,\"target_column\":1,\"columns\":[{\"column\":0,\"kind\":\"number\","
	"\"fill\":1,\"quantiles\":[2,1]}]}",
	"{\"width\":2,\"target_column\":1,\"columns\":[{\"column\":0,\"kind\":\"number\","
	"\"fill\":1,\"pieces\":[1,1]}]}",
	"{\"width\":2,\"target_column\":1,\"columns\":[{\"column\":0,\"kind\":\"date\","
	"\"part\":3}]}",
};

/* A file may come from anywhere. */
TEST_ROWS(encoder_of_a_label_without_sense_is_refused, senseless)
{
	cJSON *json = cJSON_Parse(senseless[_i]);
	struct sw_encoder e;

	ck_assert_ptr_nonnull(json);
	ck_assert_int_eq(sw_encoder_read(&e, json), SW_INVALID);
	sw_encoder_fini(&e);
	cJSON_Delete(json);
}

/* Text, holes and dates, in the memory's and the disk's way. */
TEST_LOOP(table_without_memory_or_disk_fails_cleanly_at_each_call, 0, 2)
{
	struct sw_data_want want = as_classes;

	want.classes = false;
	want.scale = _i ? SW_SCALE_QUANTILE : SW_SCALE_AUTO;
	table_put(NULL);
	walk_faults(SET, want);
}

RUN_TESTS(folder_make, folder_remove)
