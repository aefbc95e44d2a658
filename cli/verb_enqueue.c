/* cli/verb_enqueue.c — a trial of the user's own: name=value words, or one JSON object; retry. */
#include "cli/verb.h"
#include "proto/json.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

bool sw_verb_add_word(cJSON *object, const char *word)
{
	const char *eq = strchr(word, '=');
	struct sw_err err = SW_ERR_INIT;
	char name[256];
	cJSON *value = NULL;

	if (eq == NULL || eq == word || (size_t)(eq - word) >= sizeof name)
		return false;
	memcpy(name, word, (size_t)(eq - word));
	name[eq - word] = '\0';
	/* A word that is no JSON is taken as it stands, so that names of choices need no quotes. */
	if (sw_json_parse(&value, eq + 1, strlen(eq + 1), &err) != SW_OK)
		value = cJSON_CreateString(eq + 1);
	if (value == NULL || sw_json_get(object, name) != NULL ||
	    !cJSON_AddItemToObject(object, name, value)) {
		cJSON_Delete(value);
		return false;
	}
	return true;
}

static void print_trial(struct sw_cli *c, const cJSON *result)
{
	(void)sw_buf_addf(&c->out, "trial %" PRIu64, c->sweep);
	sw_cli_put(c, "/", sw_json_get(result, "trial"), "\n");
}

static int send_params(struct sw_cli *c, const cJSON *params)
{
	struct sw_buf text;
	struct sw_jw w;

	sw_cli_begin(c, &text, &w);
	sw_jw_key(&w, "params");
	sw_jw_cjson(&w, params);
	sw_jw_obj_end(&w);
	return sw_cli_answer(c, "trial.enqueue", &text, print_trial);
}

int sw_verb_retry(struct sw_cli *c)
{
	return sw_cli_answer(c, "trial.retry", NULL, print_trial);
}

int sw_verb_enqueue(struct sw_cli *c)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *params = NULL;
	int status;

	if (c->args.word[1][0] == '{') {
		if (c->args.n_words > 2)
			return sw_cli_usage(c, "enqueue: one JSON object, or NAME=VALUE words");
		if (sw_json_parse(&params, c->args.word[1], strlen(c->args.word[1]), &err) != SW_OK)
			return sw_cli_usage(c, "enqueue: %s", err.msg);
	} else {
		params = cJSON_CreateObject();
		for (size_t i = 1; params != NULL && i < c->args.n_words; i++)
			if (!sw_verb_add_word(params, c->args.word[i])) {
				cJSON_Delete(params);
				return sw_cli_usage(c,
						    "enqueue: expected NAME=VALUE, each name "
						    "once, not '%s'",
						    c->args.word[i]);
			}
	}
	if (params == NULL) {
		sw_cli_say(c, "out of memory");
		return SW_EXIT_REFUSED;
	}
	status = send_params(c, params);
	cJSON_Delete(params);
	return status;
}
