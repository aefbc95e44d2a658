/* tests/worker/exec/test_reported.c — what a program's lines say: reports, and memory that ran
 * out. */
#include "proto/json.h"
#include "tests/run.h"
#include "worker/exec/oom.h"
#include "worker/exec/reported.h"

static const struct {
	const char *line, *text; /* NULL: no report */
	uint64_t step;
	bool has_step, checkpoint, has_metric;
	const char *left_out;
} reports[] = {
	{"{\"loss\": 0.5}", "{\"loss\":0.5}", 0, false, false, true, ""},
	{"{\"step\": 3, \"loss\": 1e-3, \"acc\": 2}", "{\"loss\":0.001,\"acc\":2}", 3, true, false,
	 true, ""},
	{" {\"acc\": 2, \"checkpoint\": true} ", "{\"acc\":2}", 0, false, true, false, ""},
	{"{\"loss\": NaN, \"a\": Infinity, \"b\": -Infinity}",
	 "{\"loss\":\"nan\",\"a\":\"inf\",\"b\":\"-inf\"}", 0, false, false, true, ""},
	{"{\"loss\": \"nan\"}", "{\"loss\":\"nan\"}", 0, false, false, true, ""},
	{"{\"\\\"NaN\": 1, \"loss\": NaN}", "{\"\\\"NaN\":1,\"loss\":\"nan\"}", 0, false, false,
	 true, ""},
	{"{\"loss\": 1, \"note\": \"NaN\", \"more\": {}, \"flag\": true}", "{\"loss\":1}", 0, false,
	 false, true, "note"},
	{"{}", "{}", 0, false, false, false, ""},
	{"{\"step\": 3.0, \"loss\": 1}", "{\"loss\":1}", 3, true, false, true, ""},
	{"{\"step\": 0.0, \"loss\": 1}", "{\"loss\":1}", 0, true, false, true, ""},
	{"{\"step\": 1e300, \"loss\": 1}", NULL, 0, false, false, false, NULL},
	{"{\"step\": \"3\", \"loss\": 1}", NULL, 0, false, false, false, NULL},
	{"{\"step\": 1.5, \"loss\": 1}", NULL, 0, false, false, false, NULL},
	{"{\"step\": -1, \"loss\": 1}", NULL, 0, false, false, false, NULL},
	{"{\"loss\": 1", NULL, 0, false, false, false, NULL},
	{"{\"loss\": NaNa}", NULL, 0, false, false, false, NULL},
	{"[1]", NULL, 0, false, false, false, NULL},
	{"1", NULL, 0, false, false, false, NULL},
	{"", NULL, 0, false, false, false, NULL},
};

TEST_ROWS(report_is_read_from_a_line, reports)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_reported r;
	const sw_status rc = sw_reported_read(&r, reports[_i].line, strlen(reports[_i].line),
					      "loss", NULL, &err);

	ck_assert_int_eq(rc, reports[_i].text ? SW_OK : SW_INVALID);
	if (rc == SW_OK) {
		ck_assert_str_eq(r.text.data, reports[_i].text);
		ck_assert_uint_eq(r.step, reports[_i].step);
		ck_assert_int_eq(r.has_step, reports[_i].has_step);
		ck_assert_int_eq(r.checkpoint, reports[_i].checkpoint);
		ck_assert_int_eq(r.has_metric, reports[_i].has_metric);
		ck_assert_str_eq(r.left_out, reports[_i].left_out);
	} else {
		ck_assert_str_ne(err.msg, "");
	}
	sw_reported_fini(&r);
}

/* clang-format off */
static const struct {
	const char *line, *text;
	int step; /* -1: none */
	bool has_metric;
} texts[] = {
	{"loss: 0.5", "{\"loss\":0.5}", -1, true},
	{"Epoch 3/9 - loss: 0.1202 - acc=9e-1", "{\"loss\":0.1202,\"acc\":0.9}", 3, true},
	{"[Epoch [10/20], Step [100/600]] loss = .25", "{\"loss\":0.25}", 10, true},
	{"iteration #7: loss=-1", "{\"loss\":-1}", 7, true},
	{"2026-01-02 12:30:45,123 INFO step=12 loss: 0.5 (best loss: 0.4) lr: 1e-05", "{\"loss\":0.5,\"lr\":1e-5}", 12, true},
	{"100%|####| 10/10 [00:01<00:00, 9.1it/s, loss=0.3, acc=0.9]", "{\"loss\":0.3,\"acc\":0.9}", -1, true},
	{"{'loss': 0.5, 'epoch': 1.0}", "{\"loss\":0.5}", -1, true},
	{"{'loss': 0.5, 'epoch': 0.25}", "{\"loss\":0.5}", -1, true},
	{"Epoch 1.5, step 300, loss: 0.5", "{\"loss\":0.5}", 300, true},
	{"{'loss': '0.5', 'epoch': '2'}", "{\"loss\":0.5}", 2, true},
	{"\033[1mloss\033[0m: \033[32m0.5\033[0m \033[1macc=1\033[0m", "{\"loss\":0.5,\"acc\":1}", -1, true},
	{"loss\t:\t0.5,acc=1", "{\"loss\":0.5,\"acc\":1}", -1, true},
	{"Step 1,000 loss: 1,234.5 loss: 0,5 loss=1_000", "{}", -1, false},
	{"loss: nan acc: inf", "{\"loss\":\"nan\",\"acc\":\"inf\"}", -1, true},
	{"Epoch 0: loss: 0.5%", "{\"loss\":0.5}", 0, true},
	{"val_loss: 0.5, losses: 3, loss 0.5", "{\"val_loss\":0.5,\"losses\":3}", -1, false},
	{"loss: 12:30, loss: 3s, loss: low, loss:", "{}", -1, false},
	{"loss: 9905/10000 loss: 2024-01-01 loss=1.2.3 loss=1e5.5", "{}", -1, false},
	{"│loss: 0.5│ →acc: 0.5. ✅f1=1", "{\"loss\":0.5,\"acc\":0.5,\"f1\":1}", -1, true},
	{"", "{}", -1, false},
};

static const struct {
	const char *metric, *line, *text;
} named[] = {
	{"Acc@1", " * Acc@1: 76.13 Acc@5=92.8 (n=3)", "{\"Acc@1\":76.13,\"n\":3}"},
	{"val loss", "train loss: 0.9, val loss: 0.5", "{\"loss\":0.9,\"val loss\":0.5}"},
	{"précision", "\"précision\" = 0.8", "{\"précision\":0.8}"},
	{"R²", "xR²: 1 R²: 0.5", "{\"R²\":0.5}"},
	{"loss", "losses: 3 a.loss: 2 Acc@1: 5", "{\"losses\":3,\"a.loss\":2}"},
};
/* clang-format on */

TEST_ROWS(metric_of_any_name_is_read_from_a_text, named)
{
	struct sw_reported r;

	ck_assert_int_eq(sw_reported_text(&r, named[_i].line, named[_i].metric), SW_OK);
	ck_assert_str_eq(r.text.data, named[_i].text);
	sw_reported_fini(&r);
}

TEST_ROWS(report_is_read_from_a_text, texts)
{
	struct sw_reported r;

	ck_assert_int_eq(sw_reported_text(&r, texts[_i].line, "loss"), SW_OK);
	ck_assert_str_eq(r.text.data, texts[_i].text);
	ck_assert_int_eq(r.has_step ? (int)r.step : -1, texts[_i].step);
	ck_assert_int_eq(r.has_metric, texts[_i].has_metric);
	sw_reported_fini(&r);
}

static const struct {
	const char *line;
	bool oom;
} said[] = {
	{"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", true},
	{"RuntimeError: CUDA error: out of memory", true},
	{"CUDA_ERROR_OUT_OF_MEMORY", true},
	{"terminate called after throwing an instance of 'std::bad_alloc'", true},
	{"MemoryError", true},
	{"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory", true},
	{"numpy.core._exceptions._ArrayMemoryError: Unable to allocate 1 TiB", true},
	{"except MemoryError:", false},
	{"ValueError: memory", false},
	{"", false},
};

TEST_ROWS(oom_is_known_by_what_programs_say, said)
{
	ck_assert_int_eq(sw_oom_said(said[_i].line), said[_i].oom);
}

TEST(oom_kills_are_counted_by_the_kernel)
{
	char path[] = "/tmp/sw-oom-XXXXXX";
	const int fd = mkstemp(path);

	ck_assert_uint_eq(sw_oom_kills("/no/such"), 0);
	ck_assert_int_gt(dprintf(fd, "oom_killer 9\noom_kill 3\ndrop 1\n"), 0);
	ck_assert_uint_eq(sw_oom_kills(path), 3);
	ck_assert_int_eq(unlink(path) | close(fd), 0);
}

static const struct {
	const char *params, *after; /* NULL: not halved */
} halves[] = {
	{"{\"b\":64}", "{\"b\":32}"}, {"{\"b\":7}", "{\"b\":3}"}, {"{\"b\":3.0}", "{\"b\":1.5}"},
	{"{\"b\":2}", "{\"b\":1}"},   {"{\"b\":1}", NULL},        {"{\"b\":1.5}", NULL},
	{"{\"b\":-64}", NULL},        {"{\"b\":\"64\"}", NULL},   {"{\"c\":64}", NULL},
};

TEST_ROWS(oom_halves_a_number, halves)
{
	cJSON *params;
	struct sw_buf b;
	struct sw_jw w;
	double now;

	ck_assert_int_eq(sw_json_parse(&params, halves[_i].params, strlen(halves[_i].params), NULL),
			 SW_OK);
	ck_assert_int_eq(sw_oom_halve(params, "b", &now), halves[_i].after != NULL);
	sw_buf_init(&b, 4096);
	sw_jw_init(&w, &b);
	sw_jw_cjson(&w, params);
	ck_assert_str_eq(b.data, halves[_i].after ? halves[_i].after : halves[_i].params);
	sw_buf_fini(&b);
	cJSON_Delete(params);
}

RUN_TESTS(NULL, NULL)
