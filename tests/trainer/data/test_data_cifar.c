/* tests/trainer/data/test_data_cifar.c — CIFAR's binary files: whole ones byte for byte, damaged
 * ones with the line each gets; splits, the test part, normalisation. */
#include "tests/trainer/cache_get.h"
#include "tests/trainer/data/data_set.h"
#include <math.h>

#define ROW     ((size_t)3073)
#define ROW100  ((size_t)3074)
#define PER     ((size_t)4) /* rows of a batch */
#define TEN     "{\"format\":\"cifar10\",\"path\":\"@\"}"
#define TESTED  "{\"format\":\"cifar10\",\"path\":\"@\",\"validation\":\"test\"}"
#define HUNDRED "{\"format\":\"cifar100\",\"path\":\"@\"}"

static unsigned char batch[PER * ROW100];

/* Pixel p of row r of file f; the row can be told from its first two pixels. */
static unsigned char pixel(size_t f, size_t r, size_t p)
{
	return (unsigned char)(p == 0 ? f : p == 1 ? r : (f * 31 + r * 7 + p * 13) % 251);
}

static void batch_fill(size_t f, size_t labels)
{
	for (size_t r = 0; r < PER; r++) {
		unsigned char *row = batch + r * (3072 + labels);

		row[0] = (unsigned char)((f + 3 * r) % 10);
		row[labels - 1] = (unsigned char)((f + 3 * r) % 10 + (labels == 2 ? 80 : 0));
		for (size_t p = 0; p < 3072; p++)
			row[labels + p] = pixel(f, r, p);
	}
}

static void ten_put(void)
{
	char name[32];

	for (size_t f = 1; f <= 6; f++) {
		snprintf(name, sizeof name, "data_batch_%zu.bin", f);
		batch_fill(f, 1);
		put(f == 6 ? "test_batch.bin" : name, batch, PER * ROW);
	}
}

static void rows_check(const struct sw_data_part *part, size_t add, unsigned *seen)
{
	for (size_t i = 0; i < part->rows; i++) {
		const uint8_t *x = part->u8 + i * 3072;
		const size_t f = x[0], r = x[1];

		seen[(f - 1) * PER + r]++;
		ck_assert_int_eq(part->label[i], (int)((f + 3 * r) % 10 + add));
		for (size_t p = 0; p < 3072; p++)
			ck_assert_uint_eq(x[p], pixel(f, r, p));
	}
}

TEST(cifar10_is_split_by_seed_with_every_row_once)
{
	unsigned seen[6 * PER] = {0};
	struct sw_data data;

	ten_put();
	load_ok(&data, TEN, as_classes);
	ck_assert_int_eq(data.input.kind, SW_SHAPE_IMAGE);
	ck_assert_uint_eq(data.input.c, 3);
	ck_assert_uint_eq(data.input.h, 32);
	ck_assert_uint_eq(data.input.w, 32);
	ck_assert_uint_eq(data.classes, 10);
	ck_assert_uint_eq(data.labels, 1);
	ck_assert_uint_eq(data.train.rows, 10);
	ck_assert_uint_eq(data.val.rows, 10);
	ck_assert_ptr_null(data.train.x);
	rows_check(&data.train, 0, seen);
	rows_check(&data.val, 0, seen);
	for (size_t i = 0; i < 5 * PER; i++)
		ck_assert_uint_eq(seen[i], 1);
	sw_data_fini(&data);
}

TEST(cifar10_validates_on_its_test_part)
{
	unsigned seen[6 * PER] = {0};
	struct sw_data data;

	ten_put();
	load_ok(&data, TESTED, as_classes);
	ck_assert_uint_eq(data.train.rows, 5 * PER);
	ck_assert_uint_eq(data.val.rows, PER);
	rows_check(&data.val, 0, seen);
	for (size_t i = 0; i < 6 * PER; i++)
		ck_assert_uint_eq(seen[i], i >= 5 * PER);
	rows_check(&data.train, 0, seen);
	for (size_t i = 0; i < 6 * PER; i++)
		ck_assert_uint_eq(seen[i], 1);
	sw_data_fini(&data);
}

TEST(cifar_names_its_classes_where_a_file_does)
{
	static const struct {
		const char *text; /* NULL: there is no file */
		const char *want; /* NULL: numbers */
	} table[] = {{NULL, NULL},
		     {"a\nb\nc\nd\ne\nf\ng\nh\ni\nsea gull\n\n",
		      "[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"sea gull\"]"},
		     {"a\r\nb\r\nc\r\nd\r\ne\r\nf\r\ng\r\nh\r\ni\r\n\"",
		      "[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"\\\"\"]"},
		     {"a\nb\nc\nd\ne\nf\ng\nh\ni\n", NULL},
		     {"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n", NULL},
		     {"a\nb\nc\nd\ne\nf\ng\nh\ni\n\xff\n", NULL},
		     {"", NULL}};
	static char long_one[5000];
	struct sw_data data;

	ten_put();
	for (size_t i = 0; i < ROWS(table); i++) {
		if (table[i].text)
			put("batches.meta.txt", table[i].text, strlen(table[i].text));
		load_ok(&data, TEN, as_classes);
		ck_assert_uint_eq(data.classes, 10);
		ck_assert_pstr_eq(data.about.classes, table[i].want);
		sw_data_fini(&data);
	}
	memset(long_one, '\n', sizeof long_one);
	memcpy(long_one, "a\nb\nc\nd\ne\nf\ng\nh\ni\nj", 19);
	put("batches.meta.txt", long_one, sizeof long_one);
	load_ok(&data, TEN, as_classes);
	ck_assert_ptr_null(data.about.classes);
	sw_data_fini(&data);
}

TEST(cifar100_has_fine_or_coarse_labels)
{
	unsigned seen[6 * PER] = {0};
	struct sw_data data;

	batch_fill(1, 2);
	put("train.bin", batch, PER * ROW100);
	load_ok(&data, HUNDRED, as_classes);
	ck_assert_uint_eq(data.classes, 100);
	rows_check(&data.train, 80, seen);
	sw_data_fini(&data);
	put("fine_label_names.txt", "no\n", 3);
	put("coarse_label_names.txt",
	    "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", 40);
	load_ok(&data, "{\"format\":\"cifar100\",\"path\":\"@\",\"labels\":\"coarse\"}",
		as_classes);
	ck_assert_uint_eq(data.classes, 20);
	ck_assert_ptr_nonnull(strstr(data.about.classes, "[\"0\",\"1\","));
	rows_check(&data.train, 0, seen);
	sw_data_fini(&data);
}

/* Of the training rows, in each channel: mean 0 and deviation 1 after scale and shift. */
TEST(channels_are_measured_on_the_training_rows)
{
	struct sw_data_want want = as_classes;
	struct sw_data data;

	want.scale = SW_SCALE_AUTO;
	ten_put();
	load_ok(&data, TEN, want);
	for (size_t c = 0; c < 3; c++) {
		double sum = 0, squares = 0;

		for (size_t i = 0; i < data.train.rows; i++) {
			for (size_t p = 0; p < 1024; p++) {
				const double raw = data.train.u8[i * 3072 + c * 1024 + p];
				const double v =
					raw * (double)data.scale[c] + (double)data.shift[c];

				sum += v;
				squares += v * v;
			}
		}
		ck_assert_double_eq_tol(sum / 10240, 0, 1e-5);
		ck_assert_double_eq_tol(squares / 10240, 1, 1e-5);
	}
	sw_data_fini(&data);
}

TEST(channels_take_the_constants_that_are_given)
{
	struct sw_data data;

	ten_put();
	load_ok(&data, TEN, as_classes);
	ck_assert_float_eq(data.scale[0], (float)(1.0 / 255.0));
	ck_assert_float_eq(data.shift[0], 0);
	ck_assert_int_eq(data.pad, 0);
	ck_assert_int_eq(data.flip, 0);
	sw_data_fini(&data);
	load_ok(&data,
		"{\"format\":\"cifar10\",\"path\":\"@\",\"normalize\":{\"mean\":[0.5,0.25,0],"
		"\"std\":[0.5,0.25,2]},\"augment\":{\"crop\":4,\"flip\":true}}",
		as_classes);
	for (int c = 0; c < 3; c++) {
		const double mean[] = {0.5, 0.25, 0}, sd[] = {0.5, 0.25, 2};

		ck_assert_float_eq_tol(data.scale[c], (float)(1 / (255 * sd[c])), 1e-9f);
		ck_assert_float_eq_tol(data.shift[c], (float)(-mean[c] / sd[c]), 1e-9f);
	}
	ck_assert_int_eq(data.pad, 4);
	ck_assert_int_eq(data.flip, 1);
	sw_data_fini(&data);
	refused("{\"format\":\"cifar10\",\"path\":\"@\",\"normalize\":{\"mean\":[0.5],\"std\":[1]}"
		"}",
		as_classes, "/normalize/mean", "\"normalize\" is for 1 channels, the data has 3");
}

static const struct {
	const char *damage, *says;
} broken[] = {
	{"gone data_batch_1.bin", "@/data_batch_1.bin: No such file or directory"},
	{"gone data_batch_4.bin", "@/data_batch_4.bin: No such file or directory"},
	{"cut data_batch_2.bin 0", "@/data_batch_2.bin is empty"},
	{"cut data_batch_2.bin 1", "@/data_batch_2.bin: row 0 at byte 0 has 1 bytes, expected 3073 "
				   "(1 of labels, 3072 of pixels)"},
	{"cut data_batch_2.bin 12291", "@/data_batch_2.bin: row 3 at byte 9219 has 3072 bytes, "
				       "expected 3073 (1 of labels, 3072 of pixels)"},
	{"add data_batch_5.bin 1", "@/data_batch_5.bin: row 4 at byte 12292 has 1 bytes, expected "
				   "3073 (1 of labels, 3072 of pixels)"},
	{"cut data_batch_3.bin 9219",
	 "@/data_batch_3.bin has 3 rows, expected 4 as in data_batch_1.bin"},
	{"set data_batch_3.bin 0 10",
	 "@/data_batch_3.bin: byte 0 (row 0) is the label 10, expected an integer from 0 to 9"},
	{"set data_batch_3.bin 9219 255",
	 "@/data_batch_3.bin: byte 9219 (row 3) is the label 255, expected an integer from 0 to 9"},
	{"gone test_batch.bin", "@/test_batch.bin: No such file or directory"},
	{"cut test_batch.bin 3072", "@/test_batch.bin: row 0 at byte 0 has 3072 bytes, expected "
				    "3073 (1 of labels, 3072 of pixels)"},
	{"set test_batch.bin 3073 77",
	 "@/test_batch.bin: byte 3073 (row 1) is the label 77, expected an integer from 0 to 9"},
};

TEST_ROWS(cifar10_damaged_gets_its_line, broken)
{
	ten_put();
	files_put(broken[_i].damage);
	refused(TESTED, as_classes, "/path", broken[_i].says);
}

TEST(cifar_that_is_something_else_gets_its_line)
{
	static const unsigned char gz[] = {0x1f, 0x8b, 8, 0};

	put("data_batch_1", "x", 1);
	refused(TEN, as_classes, "/path",
		"@ holds the Python version of CIFAR-10: the binary version is needed "
		"(data_batch_1.bin ...)");
	put("train", "x", 1);
	refused(HUNDRED, as_classes, "/path",
		"@ holds the Python version of CIFAR-100: the binary version is needed "
		"(train.bin)");
	put("train.bin", gz, sizeof gz);
	refused(HUNDRED, as_classes, "/path", "@/train.bin is compressed: gunzip it first");
	batch_fill(0, 2);
	batch[ROW100 + 1] = 100;
	put("train.bin", batch, PER * ROW100);
	refused(HUNDRED, as_classes, "/path",
		"@/train.bin: byte 3075 (row 1) is the label 100, expected an integer from 0 to "
		"99");
	struct sw_data_want want = as_classes;

	want.classes = false;
	refused(HUNDRED, want, "",
		"the loss \"mse\" needs numbers to predict, the labels of CIFAR-100 are classes");
}

TEST(cifar_without_memory_or_disk_fails_cleanly_at_each_call)
{
	ten_put();
	put("batches.meta.txt", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", 20);
	walk_faults(TESTED, as_classes);
}

TEST(cache_sees_that_any_file_changed)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_data_cache *cache;
	const struct sw_data *data;
	char text[1024];

	ten_put();
	cJSON *json = cJSON_Parse(with_folder(TESTED, text));

	ck_assert_int_eq(sw_data_cache_create(&cache, &sw_ops_cpu), SW_OK);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(cache_get(cache, json, as_classes, &data, &err), SW_OK);
	ck_assert_uint_eq(sw_data_cache_loads(cache), 1);
	batch_fill(6, 1);
	put("test_batch.bin", batch, 2 * ROW);
	ck_assert_int_eq(cache_get(cache, json, as_classes, &data, &err), SW_OK);
	ck_assert_uint_eq(sw_data_cache_loads(cache), 2);
	ck_assert_uint_eq(data->val.rows, 2);
	sw_data_cache_destroy(cache);
	cJSON_Delete(json);
}

RUN_TESTS(folder_make, folder_remove)
