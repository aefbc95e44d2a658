/* tests/trainer/test_fit.c — a configuration trained once more, on all rows, and its file. */
#include "tests/trainer/data/data_set.h"
#include "trainer/fit.h"
#include <math.h>

/* Rows of two classes and of a number, x = 0..7; the class is x > 3, the number 2 x + 1. */
static void setup(void)
{
	char text[256];
	size_t n = (size_t)sprintf(text, "x,c,y\n");

	folder_make();
	for (int i = 0; i < 8; i++)
		n += (size_t)sprintf(text + n, "%d,%s,%d\n", i, i > 3 ? "big" : "small", 2 * i + 1);
	put("d.csv", text, n);
}

#define DATA "\"dataset\":{\"format\":\"csv\",\"path\":\"@/d.csv\",\"label\":\"c\"}"
#define NET  "\"model\":[{\"linear\":\"w\"},\"relu\",{\"linear\":2}]"
#define ID   "\"sweep\":3,\"trial\":4,\"attempt\":0,\"seed\":5,\"data_seed\":5"

static sw_status fit_into(struct sw_fit *out, const char *input, uint64_t epochs, const char *to,
			  struct sw_err *err)
{
	char text[1024], path[1024];
	cJSON *json = cJSON_Parse(with_folder(input, text));
	struct sw_job job;

	ck_assert_msg(json != NULL, "%s", text);
	ck_assert_int_eq(sw_job_read(&job, json, err), SW_OK);
	const sw_status status = sw_fit_run(out, &job, epochs, with_folder(to, path), 1, err);
	cJSON_Delete(json);
	return status;
}

static sw_status fit(struct sw_fit *out, const char *input, struct sw_err *err)
{
	return fit_into(out, input, 0, "@/m.safetensors", err);
}

/* The file's bytes; *n 0: there is none. */
static unsigned char *file_take(size_t *n)
{
	unsigned char *bytes = calloc(1, 65536);
	char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/m.safetensors", folder);
	f = fopen(path, "rb");
	*n = f ? fread(bytes, 1, 65535, f) : 0;
	if (f)
		fclose(f);
	return bytes;
}

static size_t files_in_folder(void)
{
	DIR *dir = opendir(folder);
	size_t n = 0;

	ck_assert_ptr_nonnull(dir);
	for (const struct dirent *e; (e = readdir(dir));)
		n += e->d_name[0] != '.';
	closedir(dir);
	return n;
}

static const struct {
	const char *trainer, *more;
	uint64_t given;
	size_t epochs;
} lengths[] = {
	{"", "", 0, 10},
	{",\"epochs\":4", "", 0, 4},
	/* as a trial: to its epochs, or to max_t if that comes first */
	{",\"epochs\":4", ",\"max_t\":6", 0, 4},
	{",\"epochs\":9", ",\"max_t\":6", 0, 6},
	{",\"epochs\":\"w\"", ",\"max_t\":6", 0, 3},
	{"", ",\"max_t\":6", 0, 6},
	{",\"epochs\":4", ",\"max_t\":6", 7, 7},
	{",\"epochs\":9", ",\"max_t\":6,\"until\":8", 0, 8},
	/* there are no rows left to wait for */
	{",\"epochs\":9,\"patience\":1,\"lr\":1e-9", "", 0, 9},
};

TEST_ROWS(fit_is_of_all_rows_and_as_long_as_it_is_asked, lengths)
{
	struct sw_err err = SW_ERR_INIT;
	unsigned char *bytes, *again;
	struct sw_fit out;
	char input[1024];
	size_t n, m;

	snprintf(input, sizeof input,
		 "{\"trainer\":{" DATA "," NET "%s},\"params\":{\"w\":3}," ID "%s}",
		 lengths[_i].trainer, lengths[_i].more);
	ck_assert_msg(fit_into(&out, input, lengths[_i].given, "@/m.safetensors", &err) == SW_OK,
		      "%s", err.msg);
	ck_assert_uint_eq(out.rows, 8);
	ck_assert_uint_eq(out.epochs, lengths[_i].epochs);
	ck_assert(isfinite(out.train_loss) && out.train_loss > 0);
	ck_assert_uint_eq(files_in_folder(), 2);
	bytes = file_take(&n);
	ck_assert_ptr_nonnull(strstr((char *)bytes + 8, "\"sweep\":\"3\",\"trial\":\"4\""));
	ck_assert_ptr_nonnull(strstr((char *)bytes + 8, "[\\\"big\\\",\\\"small\\\"]"));
	/* all rows', 0 to 7 */
	ck_assert_ptr_nonnull(strstr((char *)bytes + 8, "\"fill\\\":3.5"));
	ck_assert_msg(fit_into(&out, input, lengths[_i].given, "@/m.safetensors", &err) == SW_OK,
		      "%s", err.msg);
	again = file_take(&m);
	ck_assert_uint_eq(n, m);
	ck_assert_mem_eq(bytes, again, n);
	free(bytes);
	free(again);
}

TEST(fit_of_numbers_finds_their_line)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_fit out;

	put("n.csv", "x,y\n0,1\n1,3\n2,5\n3,7\n4,9\n", 24);
	ck_assert_msg(
		fit(&out,
		    "{\"trainer\":{\"dataset\":{\"format\":\"csv\",\"path\":\"@/n.csv\",\"label\":"
		    "\"y\"},\"model\":[{\"linear\":1}],\"loss\":\"mse\",\"lr\":0.1,\"scale\":"
		    "\"standard\","
		    "\"batch_size\":5,\"epochs\":300},\"params\":{}," ID "}",
		    &err) == SW_OK,
		"%s", err.msg);
	ck_assert_uint_eq(out.rows, 5);
	ck_assert_double_lt(out.train_loss, 1e-6);
}

#define NOWHERE "/nowhere/m.safetensors"

static const struct {
	const char *input, *out, *ptr, *says;
} wrong[] = {
	{"{\"trainer\":{" DATA "," NET ",\"lr\":-1},\"params\":{\"w\":3}," ID "}",
	 "@/m.safetensors", "/trainer/lr", "\"lr\" must be a number, above 0"},
	{"{\"trainer\":{" DATA "," NET "},\"params\":{}," ID "}", "@/m.safetensors",
	 "/trainer/model/0/linear", "there is no parameter \"w\""},
	{"{\"trainer\":{\"dataset\":{\"format\":\"csv\",\"path\":\"@/"
	 "none.csv\",\"label\":\"c\"}," NET "},\"params\":{\"w\":3}," ID "}",
	 "@/m.safetensors", "/trainer/dataset/path", "No such file or directory"},
	{"{\"trainer\":{" DATA "," NET ",\"lr\":1e6,\"momentum\":0.9},\"params\":{\"w\":3}," ID "}",
	 "@/m.safetensors", "", "the loss is not a finite number in epoch "},
	/* before it trains */
	{"{\"trainer\":{" DATA "," NET ",\"lr\":1e6,\"momentum\":0.9},\"params\":{\"w\":3}," ID "}",
	 NOWHERE, "", "cannot write beside " NOWHERE ": No such file or directory"},
};

TEST_ROWS(fit_that_cannot_be_says_why_and_leaves_no_file, wrong)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_fit out;

	ck_assert_int_ne(fit_into(&out, wrong[_i].input, 0, wrong[_i].out, &err), SW_OK);
	ck_assert_msg(strstr(err.msg, wrong[_i].says) != NULL, "\"%s\" has no \"%s\"", err.msg,
		      wrong[_i].says);
	ck_assert_str_eq(err.ptr, wrong[_i].ptr);
	ck_assert_uint_eq(files_in_folder(), 1);
}

TEST_LOOP(fit_that_fails_anywhere_leaves_what_was_there, 0, 2)
{
	const enum sw_fault_kind kind = _i ? SW_FAULT_IO : SW_FAULT_MALLOC;

	WALK (kind, 15) {
		struct sw_err err = SW_ERR_INIT;
		struct sw_fit out;
		sw_status status;
		size_t bytes;

		put("m.safetensors", "before", 6);
		walk_arm();
		status = fit(&out,
			     "{\"trainer\":{" DATA "," NET ",\"epochs\":1},\"params\":{\"w\":3}," ID
			     "}",
			     &err);
		const unsigned fired = walk_disarm();
		/* an arena that is not to be had is made good by a smaller one */
		ck_assert_msg(status == SW_OK || fired, "%s", err.msg);
		ck_assert_int_eq(*err.msg != '\0', status != SW_OK);
		free(file_take(&bytes));
		ck_assert_int_eq(bytes == 6, status != SW_OK);
		ck_assert_uint_eq(files_in_folder(), 2);
	}
}

RUN_TESTS(setup, folder_remove)
