/* tests/worker/exec/test_printed.c — what is said of a program that printed no metric. */
#include "tests/run.h"
#include "worker/exec/printed.h"
#include "worker/exec/reported.h"

#define PRINT(what) what ": print {\"val_loss\": 0.1} as a line of stdout, or call sweepd.report"

/* clang-format off */
static const struct {
	const char *lines[3], *says;
} prints[] = {
	{{NULL}, PRINT("printed no number")},
	{{"12:30:45 INFO start, see http://host/a 3", "Epoch 3 of 9", "v1.2"}, PRINT("printed no number")},
	{{"{\"step\": 1, \"loss\": 0.5, \"name\": \"a\"}"},
	 "printed \"loss\", no \"val_loss\"; did you mean \"loss\"?"},
	{{"epoch 3: acc=0.5, f1: -.5 loss 0.25", "acc 0.5"},
	 "printed \"acc\", \"f1\", \"loss\", no \"val_loss\"; did you mean \"loss\"?"},
	{{"a: 1 b: 2"}, "printed \"a\", \"b\", no \"val_loss\""},
	{{"score: 1"}, "printed \"score\", no \"val_loss\"; did you mean \"score\"?"},
	{{"val_loss: 0.5"},
	 "printed it as text: \"run\": {\"metrics\": \"text\"} in the spec reads that, or print {\"val_loss\": 0.1}"},
	{{"a1=1 a2=1 a3=1 a4=1 a5=1 a6=1 a7=1"},
	 "printed \"a1\", \"a2\", \"a3\", \"a4\", \"a5\", \"a6\", no \"val_loss\""},
	{{"{\"val_loss \": 0.5}"}, "printed \"val_loss \", no \"val_loss\"; did you mean \"val_loss \"?"},
	{{"{\"val loss\": 0.5}"}, "printed \"val loss\", no \"val_loss\"; did you mean \"val loss\"?"},
	{{"{\"Val_Loss\": 0.5}"}, "printed \"Val_Loss\", no \"val_loss\"; did you mean \"Val_Loss\"?"},
	{{"{\"verlüst (%)\": 0.5}"}, "printed \"verlüst (%)\", no \"val_loss\"; did you mean \"verlüst (%)\"?"},
	{{"{\"val_loss\": \"0.33\"}"}, "line 1: \"val_loss\" is \"0.33\", no number"},
	{{"{\"val_loss\": [0.5]}"}, "line 1: \"val_loss\" is [0.5], no number"},
	{{"{\"val_loss\": {}}"}, "line 1: \"val_loss\" is {}, no number"},
	{{"{\"val_loss\": null}"}, "line 1: \"val_loss\" is null, no number"},
	{{"{\"val_loss\": true}", "{\"val_loss\": false}"}, "line 1: \"val_loss\" is true, no number"},
	{{"start", "{\"val\": {\"val_loss\": 0.5}}"}, "line 2: \"val_loss\" is within \"val\""},
	{{"{\"loss\": 1}", "{\"val_loss\": 0,5}"},
	 "line 2: not valid JSON at byte 15: expected a key in double quotes after ',', not '5'"},
	{{"{\"val_loss\": 9, \"val_loss\": 1}"}, "line 1: not valid JSON at byte 16: the key \"val_loss\" appears twice"},
	{{"{'val_loss': 1}"}, "line 1: a dict as Python shows it is no JSON: print json.dumps()"},
	{{"{", "  \"val_loss\": 1", "}"},
	 "line 1: not valid JSON at byte 1: expected a key in double quotes or '}', not the end of the text"},
	{{"{seen}", "{\"val_loss\": \"low\"}"}, "line 2: \"val_loss\" is \"low\", no number"},
	{{"{seen}", "{\"loss\": 1}"}, "printed \"loss\", no \"val_loss\"; did you mean \"loss\"?"},
	{{"{'train_val_loss': 1}"}, "line 1: a dict as Python shows it is no JSON: print json.dumps()"},
	{{"{'train_val_loss': 1}", "{'val_loss': 1}"}, "line 2: a dict as Python shows it is no JSON: print json.dumps()"},
};
/* clang-format on */

/* As worker/exec/reports.c reads them. */
static void take(struct sw_printed *p, uint64_t number, const char *line)
{
	size_t len = strlen(line);
	const char *object = sw_reported_object(line, &len);
	struct sw_err err = SW_ERR_INIT;
	struct sw_reported r;

	if (!object) {
		sw_printed_text(p, line, "val_loss");
		return;
	}
	const bool is = sw_reported_read(&r, object, len, "val_loss", p, &err) == SW_OK;
	if (!is || *r.why)
		sw_printed_odd(p, number, is ? r.why : err.msg, is || r.has_metric);
	sw_reported_fini(&r);
}

TEST_ROWS(printed_lines_are_explained, prints)
{
	struct sw_printed p = {.n = 0};
	char out[SW_WORDS_MAX];

	for (size_t i = 0; i < 3 && prints[_i].lines[i]; i++)
		take(&p, i + 1, prints[_i].lines[i]);
	ck_assert_str_eq(sw_printed_say(&p, "val_loss", out), prints[_i].says);
}

static const struct {
	const char *line, *says;
} texts[] = {
	{"val_loss 0.5", "printed no line with \"val_loss: 0.1\", only without its \":\""},
	{"val_loss: 3/10", "printed no line with \"val_loss: 0.1\""},
};

TEST_ROWS(printed_lines_are_explained_where_texts_are_read, texts)
{
	struct sw_printed p = {.text = true};
	char out[SW_WORDS_MAX];

	take(&p, 1, texts[_i].line);
	ck_assert_str_eq(sw_printed_say(&p, "val_loss", out), texts[_i].says);
}

static const struct {
	const char *line, *object; /* NULL: it begins with something else */
} objects[] = {
	{"{\"a\":1}", "{\"a\":1}"},
	{" \t{\"a\":1} ", "{\"a\":1}"},
	{"\xef\xbb\xbf{\"a\":1}", "{\"a\":1}"},
	{"\033[32m{\"a\":1}\033[0m", "{\"a\":1}"},
	{"\033[1;32m {\"a\":1},\033[0m ", "{\"a\":1}"},
	{"{\"a\":1},", "{\"a\":1}"},
	{"{\"a\":1},,", "{\"a\":1},,"},
	{"{\"a\":1}{\"a\":2}", "{\"a\":1}{\"a\":2}"},
	{"{\"a\":1} end", "{\"a\":1} end"},
	{"100%|###| 3/3 [00:02<00:00, 1.5it/s]{\"a\":1}", "{\"a\":1}"},
	{"loss 3% [1]{\"a\":1}", NULL},
	{"INFO train: {\"a\":1}", NULL},
	{"[{\"a\":1}]", NULL},
	{"\033[", NULL},
	{"", NULL},
	{"{", "{"},
};

TEST_ROWS(printed_object_is_found_in_its_decoration, objects)
{
	size_t len = strlen(objects[_i].line);
	const char *object = sw_reported_object(objects[_i].line, &len);
	char text[100] = "none";

	if (object)
		(void)snprintf(text, sizeof text, "%.*s", (int)len, object);
	ck_assert_str_eq(text, objects[_i].object ? objects[_i].object : "none");
}

RUN_TESTS(NULL, NULL)
