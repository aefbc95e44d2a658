/* tests/trainer/test_predict.c — models written by hand, of which the predictions are known; and
 * files that are no models, and rows that are not theirs. */
#include "tests/trainer/file/model_file.h"
#include "trainer/predict.h"
#include <fcntl.h>
#include <signal.h>

/* --- predictions --- */

static char written[65536];

/* rows: a name in the folder. What was written is a text in `written`. */
static struct sw_buf said; /* by the last one */

static sw_status predict(const char *rows, const char *format, struct sw_err *err)
{
	char model[128], data[200], out[128];
	sw_status status;
	ssize_t n;
	int fd;

	snprintf(model, sizeof model, "%s/m.safetensors", folder);
	snprintf(data, sizeof data, "%s/%s", folder, rows);
	snprintf(out, sizeof out, "%s/out.csv", folder);
	fd = open(out, O_RDWR | O_CREAT | O_TRUNC, 0600);
	ck_assert_int_ge(fd, 0);
	sw_buf_fini(&said);
	sw_buf_init(&said, 65536);
	status = sw_predict(model, data, format, true, fd, 1, &said, err);
	n = pread(fd, written, sizeof written - 1, 0);
	ck_assert_int_ge(n, 0);
	written[n] = '\0';
	close(fd);
	return status;
}

#define HEAD "prediction,probability,p_0,p_1\n"
/* logits 1 0; 0 2; equal */
#define ONE_0 "0.731058579,0.731058579,0.268941421\n"
#define TWO_1 "0.880797078,0.119202922,0.880797078\n"
#define EVEN  "0.5,0.5,0.5\n"
#define NAMED "prediction,probability,p_no,\"p_yes, \"\"sir\"\"\"\n"
#define YES   "\"yes, \"\"sir\"\"\","

static unsigned char cifar_rows[2 * 3073];
static const unsigned char npy_bytes[] =
	"\x93NUMPY\x01\x00\x47\x00{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1, 2), } "
	"       \n\x96\x64\x64\xc8";

/* 1700000000, 5412345 */
static const unsigned char npy_large[] =
	"\x93NUMPY\x01\x00\x48\x00{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2), }    "
	"        \n\x00\xf1\x53\x65\x00\x00\x00\x00\xf9\x95\x52\x00\x00\x00\x00\x00";

static const struct {
	int model;
	const char *file, *bytes;
	size_t n; /* 0: a text */
	const char *format, *out;
} good[] = {
	{NUMBERS, "d.csv", "a,\"b,c\"\n3,2\n1,10\n", 0, NULL, NAMED "no," ONE_0 YES TWO_1},
	{NUMBERS, "swapped.csv", "\xef\xbb\xbf\"b,c\",y,a\r\n2,?,3\r\n\r\n10,,1", 0, "csv",
	 NAMED "no," ONE_0 YES TWO_1},
	{NUMBERS, "others.csv", ",a,z,,\"b,c\",z,,\n,3,0,,2,0,,\n,1,,,10,,,\n", 0, NULL,
	 NAMED "no," ONE_0 YES TWO_1},
	{NUMBERS, "none.csv", "a,\"b,c\"\n", 0, NULL, NAMED},
	{NAMELESS, "d.csv", "1,0\n0,2\n", 0, NULL, HEAD "0," ONE_0 "1," TWO_1},
	{NAMELESS, "label.csv", "1,x,0\n0,y,2\n0,z,0\n", 0, NULL,
	 HEAD "0," ONE_0 "1," TWO_1 "0," EVEN},
	{VALUE, "d.csv", "u,v\n1,2\n0.25,-1\n", 0, NULL, "prediction\n8.5\n-2\n"},
	/* seconds, metres and milliseconds, which floats would not tell apart */
	{LARGE, "d.csv", "1700000000,5412345\n1700000001.5,5412345.25\n", 0, NULL,
	 "prediction\n1699999999998.5\n1700000000010.5\n"},
	{LARGE, "large.npy", (const char *)npy_large, sizeof npy_large - 1, NULL,
	 "prediction\n1699999999998.5\n"},
	{VALUE, "bare.csv", "1,2\n", 0, NULL, "prediction\n8.5\n"},
	{IMAGE, "i.idx", "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02\x96\x64\x64\xc8", 20, NULL,
	 HEAD "0," ONE_0 "1," TWO_1},
	{IMAGE, "x.npy", (const char *)npy_bytes, sizeof npy_bytes - 1, NULL,
	 HEAD "0," ONE_0 "1," TWO_1},
	{IMAGE, "d.csv", "p,q\n150,100\n100,200\n", 0, NULL, HEAD "0," ONE_0 "1," TWO_1},
	{CIFAR, "test_batch.bin", (const char *)cifar_rows, sizeof cifar_rows, NULL,
	 HEAD "0," ONE_0 "1," TWO_1},
	{TOKENS, "ids.bin", "\x01\0\0\0\x02\0\x02\0\0\0\0\0", 12, NULL,
	 HEAD "0," ONE_0 "1," TWO_1 "0," EVEN},
	{NEXT, "ids.bin", "\x01\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0", 16, NULL,
	 "row,place,prediction,probability\n1,1,0,0.731058579\n1,2,1,0.880797078\n2,1,0,0.5\n"
	 "2,2,0,0.731058579\n"},
};

TEST_ROWS(predictions_are_those_of_the_model, good)
{
	struct sw_err err = SW_ERR_INIT;
	const char *bytes = good[_i].bytes;

	/* pixel values 1 in the first row's first channel, 2 in the second's second */
	memset(cifar_rows + 1, 1, 1024);
	memset(cifar_rows + 3073 + 1 + 1024, 2, 1024);
	model_make(good[_i].model);
	put(good[_i].file, bytes, good[_i].n ? good[_i].n : strlen(bytes));
	ck_assert_msg(predict(good[_i].file, good[_i].format, &err) == SW_OK, "%s", err.msg);
	ck_assert_str_eq(written, good[_i].out);
	if (good[_i].model == CIFAR) { /* and of the folder its test part */
		ck_assert_msg(predict("", NULL, &err) == SW_OK, "%s", err.msg);
		ck_assert_str_eq(written, good[_i].out);
	}
}

static const struct {
	int model;
	const char *file, *bytes;
	size_t n;
	const char *format, *says, *out; /* out: NULL: nothing at all */
} bad[] = {
	{NUMBERS, "d.csv", "a,zzzzzz\n1,2\n", 0, NULL,
	 "d.csv has no column \"b,c\", which the model takes: it has a, zzzzzz", NULL},
	{NUMBERS, "d.csv", "aa,\"b,c\"\n1,2\n", 0, NULL,
	 "has no column \"a\", which the model takes: did you mean \"aa\"?", NULL},
	{TABLE, "d.csv", "zone\nRM\n", 0, NULL,
	 "has no column \"2019\", which the model takes: it has zone", NULL},
	{NUMBERS, "d.csv", "a,\"b,c\",a\n1,2,3\n", 0, NULL,
	 "line 1: columns 0 and 2 (from 0) are both called \"a\"", NULL},
	{NUMBERS, "d.csv", "a,,,\"b,c\"\n3,,,2\n3,,,x\n", 0, NULL,
	 "d.csv: line 3, column \"b,c\": \"x\" is not a number", NAMED "no," ONE_0},
	{NUMBERS, "d.csv", "a,\"b,c\"\n3,2\nx,2\n", 0, NULL,
	 "d.csv: line 3, column \"a\": \"x\" is not a number", NAMED "no," ONE_0},
	{NUMBERS, "d.csv", "a,\"b,c\"\n3,2\n,2\n", 0, NULL,
	 "line 3, column \"a\": an empty cell is not a number", NAMED "no," ONE_0},
	{NUMBERS, "d.csv", "a,\"b,c\"\n1e39,2\n", 0, NULL, "\"1e39\" is too large for a float",
	 NAMED},
	{NUMBERS, "d.csv", "a,\"b,c\"\n3,2\n\n1,2,3\n", 0, NULL,
	 "d.csv: line 4 has 3 columns, the header has 2", NAMED "no," ONE_0},
	{NUMBERS, "d.csv", "a,\"b,c\"\n3,2\n\"1,2\n", 0, NULL,
	 "line 3 opens a quote that is never closed", NAMED "no," ONE_0},
	{NUMBERS, "d.csv", "", 0, NULL, "d.csv is empty", NULL},
	{NUMBERS, "d.csv", "\n\n", 0, NULL, "d.csv is empty", NULL},
	{NUMBERS, "d.csv", "a,\"b\0c\"\n", 8, NULL, "has a NUL byte: not a text", NULL},
	{NUMBERS, "d.csv",
	 "\xff\xfe"
	 "a\0,\0",
	 6, NULL, "is UTF-16: convert the file (iconv -f", NULL},
	{NUMBERS, "d.csv", "a,\"b,c\"\r3,2\r", 0, NULL,
	 "line 1 has a carriage return (\\r) that ends no line", NULL},
	{NUMBERS, "d.csv", "a,\"b,c\"\r\n3,2\r\r\n", 0, NULL,
	 "line 2 has a carriage return (\\r) that ends no line", NAMED},
	{NUMBERS, "d.csv", "\x1f\x8b\x08", 3, NULL, "is cut off: its gzip has no end", NULL},
	{NUMBERS, "x", "a", 0, "jpeg", "no format is called \"jpeg\": csv, npy", NULL},
	{NUMBERS, "x", "a", 0, "tokens", "the model takes rows of 2 numbers, not a file of", NULL},
	{NUMBERS, "x.npy", (const char *)npy_bytes, sizeof npy_bytes - 1, NULL,
	 "the model was trained on a table: it takes a CSV file, not npy", NULL},
	{VALUE, "x.npy", (const char *)npy_bytes, sizeof npy_bytes - 1, NULL,
	 "x.npy has images of 1 x 1 x 2 bytes, the model takes rows of 2 numbers", NULL},
	{NAMELESS, "d.csv", "1,2,3,4\n", 0, NULL,
	 "d.csv has 4 columns, the model takes 2, and one more that it predicts", NULL},
	{VALUE, "d.csv", "1,2,3\n", 0, NULL, "d.csv has 3 columns, the model takes 2", NULL},
	{IMAGE, "d.csv", "150,256\n", 0, NULL,
	 "line 1, column 1: 256 is not a byte from 0 to 255, which the model's images are made of",
	 HEAD},
	{IMAGE, "i.idx", "\0\0\x08\x03\0\0\0\x01\0\0\0\x02\0\0\0\x01\x96\x64", 18, NULL,
	 "has images of 1 x 2 x 1 bytes, the model takes images of 1 x 1 x 2 bytes", NULL},
	{IMAGE, "i.idx", "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02\x96\x64", 18, NULL,
	 "has 18 bytes, its header says 20", NULL},
	{CIFAR, "b.bin", (const char *)cifar_rows, 3074, NULL,
	 "b.bin: row 1 at byte 3073 has 1 bytes, expected 3073 (1 of labels, 3072 of pixels)",
	 NULL},
	{TOKENS, "ids.bin", "\x01\0\x02\0\x01\0", 6, NULL,
	 "has 3 ids, expected a multiple of the length 2: the row at byte 4 has 1", NULL},
	{TOKENS, "ids.bin", "\x01\0\x03\0", 4, NULL,
	 "byte 2 (row 0) is the id 3, expected an integer from 0 to 2", HEAD},
	{TOKENS, "ids.bin", "\x01\0\x03", 3, NULL, "the id at byte 2 is cut short", NULL},
};

TEST_ROWS(rows_that_are_not_the_models_have_one_line, bad)
{
	struct sw_err err = SW_ERR_INIT;

	model_make(bad[_i].model);
	put(bad[_i].file, bad[_i].bytes, bad[_i].n ? bad[_i].n : strlen(bad[_i].bytes));
	ck_assert_int_ne(predict(bad[_i].file, bad[_i].format, &err), SW_OK);
	ck_assert_msg(strstr(err.msg, bad[_i].says) != NULL, "\"%s\" has no \"%s\"", err.msg,
		      bad[_i].says);
	ck_assert_str_eq(written, bad[_i].out ? bad[_i].out : "");
}

TEST(rows_that_are_not_there_or_a_folder_have_one_line)
{
	struct sw_err err = SW_ERR_INIT, again = SW_ERR_INIT;

	model_make(NUMBERS);
	ck_assert_int_eq(predict("nowhere.csv", NULL, &err), SW_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(err.msg, "nowhere.csv: No such file or directory"));
	ck_assert_int_eq(predict("", NULL, &again), SW_INVALID);
	ck_assert_ptr_nonnull(strstr(again.msg, "is a folder: name the file to predict on"));
}

/* More rows than a batch, and a row longer than a block of the file. */
TEST(predictions_of_many_rows_are_in_their_order)
{
	struct sw_err err = SW_ERR_INIT;
	const size_t rows = 1000;
	char *text = malloc(rows * 24 + 200000), want[64];
	size_t n = (size_t)sprintf(text, "u,v\n");
	const char *at = written;

	for (size_t i = 0; i < rows; i++) {
		n += (size_t)sprintf(text + n, "%zu,", i);
		if (i == 500) {
			memset(text + n, ' ', 150000);
			n += 150000;
		}
		n += (size_t)sprintf(text + n, "0\n");
	}
	model_make(VALUE);
	put("d.csv", text, n);
	ck_assert_msg(predict("d.csv", NULL, &err) == SW_OK, "%s", err.msg);
	at = strchr(at, '\n') + 1;
	for (size_t i = 0; i < rows; i++) {
		snprintf(want, sizeof want, "%.9g\n", 2.0 * (double)i + 0.5);
		ck_assert_msg(strncmp(at, want, strlen(want)) == 0, "row %zu: %.20s", i, at);
		at += strlen(want);
	}
	ck_assert_str_eq(at, "");
	free(text);
}

/* --- models that are none --- */

static const struct {
	const char *without;
	struct meta with;
	const char *says;
} wrong[] = {
	{"sweepd", {"", ""}, "m.safetensors does not say what its model is"},
	{"model", {"", ""}, "\"model\" in its metadata makes no sense"},
	{"input", {"", ""}, "\"input\" in its metadata makes no sense"},
	{"output", {"", ""}, "\"output\" in its metadata makes no sense"},
	{"0.weight", {"", ""}, "has no tensor \"0.weight\", which its model needs"},
	{NULL, {"sweepd", "2"}, "has metadata of version 2, this program reads 1"},
	{NULL, {"model", "[{\"linear\":"}, "\"model\" in its metadata makes no sense"},
	{NULL, {"model", "[{\"linear\":\"w\"}]"}, "is none: /0/linear: there is no parameter"},
	{NULL, {"model", "[{\"lineal\":2}]"}, "unknown layer \"lineal\""},
	{NULL, {"model", "[{\"linear\":3}]"}, "the model in its metadata is none: "},
	{NULL, {"model", "7"}, "the model in its metadata is none: "},
	{NULL,
	 {"model", "[{\"linear\":500000},{\"linear\":2}]"},
	 "the tensor \"0.weight\" has another shape than its model"},
	{NULL, {"input", "{\"kind\":\"numbers\",\"shape\":[2,2]}"}, "\"input\" in its metadata"},
	{NULL, {"input", "{\"kind\":\"numbers\",\"shape\":[1e300]}"}, "\"input\" in its metadata"},
	{NULL, {"input", "{\"kind\":\"numbers\",\"shape\":[0]}"}, "\"input\" in its metadata"},
	{NULL,
	 {"input", "{\"kind\":\"image\",\"shape\":[65536,65536,65536]}"},
	 "\"input\" in its metadata"},
	{NULL, {"input", "{\"kind\":\"tokens\",\"shape\":[2]}"}, "\"input\" in its metadata"},
	{NULL, {"input", "[]"}, "\"input\" in its metadata"},
	{NULL, {"output", "{\"loss\":\"mse\",\"outputs\":2,\"labels\":1}"}, "\"output\" in its"},
	{NULL,
	 {"output", "{\"loss\":\"cross_entropy\",\"outputs\":2,\"labels\":2}"},
	 "\"output\" in its"},
	{NULL, {"table", "{\"width\":2}"}, "\"table\" in its metadata makes no sense"},
	{NULL,
	 {"table",
	  "{\"width\":2,\"target_column\":1,\"columns\":[{\"column\":0,\"kind\":\"number\"}]}"},
	 "\"table\" in its metadata makes no sense"},
	{NULL, {"classes", "{\"a\":\"b\",\"c\":\"d\"}"}, "\"classes\" in its metadata"},
	{NULL, {"0.weight", "[4]"}, "\"0.weight\" has another shape than its model"},
	{NULL, {"0.weight", "[2,3]"}, "\"0.weight\" has another shape than its model"},
	{NULL, {"dtype", "F16"}, "the tensor \"0.weight\" is not of type F32"},
};

static void wrong_has(int model, const char *without, const struct meta *with, const char *says)
{
	struct sw_err err = SW_ERR_INIT;

	model_put(models[model].meta, models[model].tensor, 2, without, with);
	put("d.csv", "a,\"b,c\"\n3,2\n", 12);
	ck_assert_int_eq(predict("d.csv", NULL, &err), SW_INVALID);
	ck_assert_msg(strstr(err.msg, says) != NULL, "\"%s\" has no \"%s\"", err.msg, says);
	ck_assert_str_eq(written, "");
}

TEST_ROWS(model_that_makes_no_sense_has_one_line, wrong)
{
	wrong_has(NUMBERS, wrong[_i].without, &wrong[_i].with, wrong[_i].says);
}

/* A mean is of images and of numbers without a table; a pixel is a number of a column. */
static const struct {
	int model;
	const char *without;
	struct meta with;
	const char *says;
} odd_mean[] = {
	{LARGE, "std", {"", ""}, "\"mean\" in its metadata makes no sense"},
	{IMAGE,
	 "dataset",
	 {"table", "{\"width\":2,\"target_column\":1,\"columns\":[{\"column\":0,\"kind\":"
		   "\"category\",\"values\":[\"a\",\"b\"]}]}"},
	 "\"table\" in its metadata makes no sense"},
	{IMAGE,
	 "dataset",
	 {"table", "{\"width\":2,\"target_column\":1,\"columns\":[{\"column\":0,\"kind\":"
		   "\"number\",\"hole\":true,\"fill\":1}]}"},
	 "\"table\" in its metadata makes no sense"},
	{LARGE,
	 "dataset",
	 {"table", "{\"width\":3,\"target_column\":2,\"columns\":[{\"column\":0,\"kind\":"
		   "\"number\"},{\"column\":1,\"kind\":\"number\"}]}"},
	 "\"mean\" in its metadata makes no sense"},
	{LARGE, NULL, {"mean", "[1]"}, "\"mean\" in its metadata makes no sense"},
	{LARGE, NULL, {"mean", "[1,\"2\"]"}, "\"mean\" in its metadata makes no sense"},
	{LARGE, NULL, {"std", "[1,0]"}, "\"std\" in its metadata makes no sense"},
};

TEST_ROWS(model_with_a_mean_that_makes_no_sense_has_one_line, odd_mean)
{
	wrong_has(odd_mean[_i].model, odd_mean[_i].without, &odd_mean[_i].with, odd_mean[_i].says);
}

TEST(model_of_any_other_length_is_refused)
{
	unsigned char bytes[4096];
	char path[128];
	FILE *f;
	size_t n;

	model_make(NUMBERS);
	put("d.csv", "a,\"b,c\"\n3,2\n", 12);
	snprintf(path, sizeof path, "%s/m.safetensors", folder);
	f = fopen(path, "rb");
	n = fread(bytes, 1, sizeof bytes - 1, f);
	fclose(f);
	ck_assert_uint_gt(n, 500);
	for (size_t i = 0; i <= n + 1; i++) {
		struct sw_err err = SW_ERR_INIT;

		if (i == n)
			continue;
		put("m.safetensors", bytes, i);
		ck_assert_int_eq(predict("d.csv", NULL, &err), SW_INVALID);
		ck_assert_ptr_nonnull(strstr(err.msg, "m.safetensors"));
		ck_assert_str_eq(written, "");
	}
}

/* Whatever byte is changed: an answer or a line, and no more. */
TEST(model_with_any_byte_changed_is_read_or_refused)
{
	unsigned char bytes[4096];
	size_t n, refused = 0;
	char path[128];
	FILE *f;

	model_make(NUMBERS);
	put("d.csv", "a,\"b,c\"\n3,2\n", 12);
	snprintf(path, sizeof path, "%s/m.safetensors", folder);
	f = fopen(path, "rb");
	n = fread(bytes, 1, sizeof bytes, f);
	fclose(f);
	for (size_t i = 0; i < n; i++) {
		struct sw_err err = SW_ERR_INIT;
		sw_status status;

		bytes[i] ^= 0x11;
		put("m.safetensors", bytes, n);
		status = predict("d.csv", NULL, &err);
		ck_assert_int_eq(status == SW_OK, *err.msg == '\0');
		refused += status != SW_OK;
		bytes[i] ^= 0x11;
	}
	ck_assert_uint_gt(refused, n / 3);
}

TEST(values_that_have_no_input_are_counted_and_said)
{
	struct sw_err err = SW_ERR_INIT;

	model_make(TABLE);
	put("d.csv", "2019\nRM\nRX\n\"\"\nRY\n", 17);
	ck_assert_msg(predict("d.csv", NULL, &err) == SW_OK, "%s", err.msg);
	ck_assert_str_eq(written, HEAD "1,0.731058579,0.268941421,0.731058579\n"
				       "0," EVEN "0," EVEN "0," EVEN);
	ck_assert_str_eq(said.data,
			 "column 2019: 2 cells have a value that was not in the training "
			 "rows, or was rare there (\"RX\"): they count as none\n");
}

TEST(predictions_that_nobody_reads_end_without_an_error)
{
	struct sw_err err = SW_ERR_INIT;
	char model[128], data[128];
	int ends[2];

	model_make(NUMBERS);
	put("d.csv", "a,\"b,c\"\n3,2\n", 12);
	snprintf(model, sizeof model, "%s/m.safetensors", folder);
	snprintf(data, sizeof data, "%s/d.csv", folder);
	ck_assert_int_eq(pipe(ends), 0);
	close(ends[0]);
	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(sw_predict(model, data, NULL, false, ends[1], 1, &said, &err), SW_OK);
	close(ends[1]);
}

TEST_LOOP(prediction_that_fails_anywhere_has_a_line, 0, 6)
{
	static const int of[] = {NUMBERS, IMAGE, TOKENS};
	const enum sw_fault_kind kind = _i % 2 ? SW_FAULT_IO : SW_FAULT_MALLOC;
	const int which = of[_i / 2];

	model_make(which);
	put("0", "a,\"b,c\"\n3,2\n", 12);
	put("1", npy_bytes, sizeof npy_bytes - 1);
	put("2", "\x01\0\0\0\x02\0\x02\0", 8);
	WALK (kind, kind == SW_FAULT_IO ? 5 : 10) {
		struct sw_err err = SW_ERR_INIT;
		sw_status status;

		walk_arm();
		status = predict(_i / 2 == 0 ? "0" : _i / 2 == 1 ? "1" : "2", NULL, &err);
		const unsigned fired = walk_disarm();
		ck_assert_msg((status == SW_OK) == (fired == 0), "call %u: %s %s", walk.nth,
			      sw_status_str(status), err.msg);
		ck_assert_int_eq(*err.msg != '\0', fired != 0);
	}
}

RUN_TESTS(folder_make, folder_remove)
