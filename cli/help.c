#include "cli/help.h"
#include <stdio.h>
#include <string.h>

#define WIDTH  80
#define INDENT 26 /* of what an option's row says */

/* The words of a text as lines from column INDENT on. */
static void add_wrapped(struct sw_buf *b, const char *text)
{
	size_t at = INDENT;

	for (size_t n; *text != '\0'; text += n + strspn(text + n, " ")) {
		n = strcspn(text, " ");
		if (at + 1 + n > WIDTH) {
			(void)sw_buf_addf(b, "\n%*s", INDENT, "");
			at = INDENT;
		} else if (at > INDENT) {
			(void)sw_buf_adds(b, " ");
			at++;
		}
		(void)sw_buf_add(b, text, n);
		at += n;
	}
	(void)sw_buf_adds(b, "\n");
}

/* "  left                    text". */
static void add_row(struct sw_buf *b, const char *left, const char *text)
{
	(void)sw_buf_addf(b, "  %-*s", INDENT - 2, left);
	if (strlen(left) + 4 > INDENT)
		(void)sw_buf_addf(b, "\n%*s", INDENT, "");
	add_wrapped(b, text);
}

/* A row for each option in `bits`: "  -w, --watch             show it live ...". */
static void print_options(struct sw_buf *b, const char *title, sw_opts bits)
{
	char name[32], left[64];

	if (bits != 0)
		(void)sw_buf_addf(b, "\n%s:\n", title);
	for (size_t i = 0; i < sw_options_n; i++) {
		const struct sw_option *o = &sw_options[i];
		const char letter[] = {'-', o->letter, ',', ' ', '\0'};

		if (!(bits & o->bit))
			continue;
		(void)sw_args_option(o->bit, name);
		(void)snprintf(left, sizeof left, "%s%s%s%s",
			       o->letter != '\0' && name[1] == '-' ? letter : "", name,
			       o->value != NULL ? " " : "", o->value != NULL ? o->value : "");
		add_row(b, left, o->help);
	}
}

/* tests/e2e/test_cli.py runs each of them, in this order. */
static const struct {
	const char *verb, *line;
} examples[] = {
	{"init", "sweep init new.csv --target digit > new.json"},
	{"submit", "sweep submit sweep.yaml --watch"},
	{"validate", "sweep validate sweep.yaml"},
	{"schema", "sweep schema > sweep.schema.json"},
	{"ls", "sweep ls -n5 --state=completed"},
	{"show", "sweep show digits --spec"},
	{"trials", "sweep trials digits --state completed --csv > digits.csv"},
	{"export", "sweep export digits --to csv --out digits"},
	{"export", "sweep export digits --to json --out digits.json"},
	{"watch", "sweep watch digits"},
	{"best", "sweep best digits -n 3 --scope last"},
	{"why", "sweep why digits/1"},
	{"simulate", "sweep simulate digits --early-terminate median.json"},
	{"log", "sweep log digits/1"},
	{"checkpoint", "sweep checkpoint digits --out best.safetensors"},
	{"fit", "sweep fit digits/1 --epochs 3 --out final.safetensors"},
	{"predict", "sweep predict best.safetensors new.csv > predicted.csv"},
	{"extend", "sweep extend digits --run-cap 80"},
	{"pause", "sweep pause digits"},
	{"edit", "sweep edit digits --max-concurrent none --range lr=0.01..0.5"},
	{"enqueue", "sweep enqueue digits lr=0.1"},
	{"enqueue", "sweep enqueue digits '{\"lr\": 0.2, \"batch_size\": 64}'"},
	{"resume", "sweep resume digits"},
	{"cancel", "sweep cancel digits"},
	{"tag", "sweep tag digits baseline wide"},
	{"note", "sweep note digits 'before the new data'"},
	{"clone", "sweep clone digits"},
	{"rm", "sweep rm 1 --keep-best"},
	{"devices", "sweep devices --json"},
	{"rpc", "sweep rpc sweep.get '{\"sweep\": 1}'"},
};

static void print_examples(struct sw_buf *b, const struct sw_verb *v)
{
	const char *title = "\nExample:\n";

	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
		if (strcmp(examples[i].verb, v->name) == 0) {
			(void)sw_buf_addf(b, "%s  %s\n", title, examples[i].line);
			title = "";
		}
}

void sw_help_print(struct sw_buf *b, const struct sw_verb *v)
{
	char left[64];

	if (v != NULL) {
		(void)sw_buf_addf(b, "sweep %s%s%s%s\n%s.\n%s", v->name,
				  v->usage[0] != '\0' ? " " : "", v->usage,
				  v->options != 0 ? " [OPTION ...]" : "", v->summary, v->more);
		print_examples(b, v);
		print_options(b, "Options", v->options);
	} else {
		(void)sw_buf_adds(b, "sweep VERB ...: talks to sweepd, the tuning daemon.\n\n");
		for (size_t i = 0; i < sw_verbs_n; i++) {
			(void)snprintf(left, sizeof left, "%s %s", sw_verbs[i].name,
				       sw_verbs[i].usage);
			add_row(b, left, sw_verbs[i].summary);
		}
		(void)sw_buf_adds(b,
				  "\nSWEEP is a number, or the name in a spec (the newest sweep of "
				  "that name).\n`sweep help VERB` has the options of a verb.\n");
	}
	print_options(b, "Everywhere", SW_OPT_ALWAYS);
	if (v == NULL)
		(void)sw_buf_adds(b, "\nExit status: 0 done, 1 refused, 2 usage, 3 no daemon.\n");
}
