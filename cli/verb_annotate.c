/* cli/verb_annotate.c — tag and note: a person's words on a sweep, which change nothing of it. */
#include "cli/verb.h"
#include "proto/json.h"

static void print_words(struct sw_cli *c, const cJSON *result)
{
	(void)result;
	sw_cli_subject(c);
	(void)sw_buf_addf(&c->out, " %s", c->args.verb);
	for (size_t i = 1; i < c->args.n_words; i++) {
		(void)sw_buf_adds(&c->out, i > 1 ? " " : ": ");
		sw_cli_text(c, c->args.word[i]);
	}
	(void)sw_buf_adds(&c->out, "\n");
}

int sw_verb_tag(struct sw_cli *c)
{
	struct sw_buf b;
	struct sw_jw w;

	sw_cli_begin(c, &b, &w);
	sw_jw_karr(&w, "tags");
	for (size_t i = 1; i < c->args.n_words; i++)
		if (c->args.word[i][0] != '\0') /* '' alone: none */
			sw_jw_str(&w, c->args.word[i]);
	sw_jw_arr_end(&w);
	sw_jw_obj_end(&w);
	return sw_cli_answer(c, "sweep.annotate", &b, print_words);
}

int sw_verb_note(struct sw_cli *c)
{
	struct sw_buf b, text;
	struct sw_jw w;

	sw_cli_begin(c, &b, &w);
	sw_buf_init(&text, (size_t)1 << 20);
	for (size_t i = 1; i < c->args.n_words; i++)
		(void)sw_buf_addf(&text, "%s%s", i > 1 ? " " : "", c->args.word[i]);
	sw_jw_kstr(&w, "note", text.data);
	if (text.failed != SW_OK)
		b.failed = text.failed;
	sw_buf_fini(&text);
	sw_jw_obj_end(&w);
	return sw_cli_answer(c, "sweep.annotate", &b, print_words);
}
