#include "spec/command.h"
#include "base/buf.h"
#include "base/memory.h"
#include "proto/json.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)1 << 20)
#define MAX_NAME  256 /* bytes of a macro's or variable's name */

enum macro {
	ENV,
	INTERPRETER,
	PROGRAM,
	ARGS_JSON,
	ARGS_JSON_FILE,
	ENVVAR,
	TRIAL_DIR,
	ARGS,
	NO_EQUALS,
	NO_HYPHENS,
	NO_BOOLEAN_FLAGS,
	APPEND_HYDRA,
	OVERRIDE_HYDRA,
	MACRO_N
};

/* From ARGS on they may be several words. */
static const char *const macro_names[MACRO_N] = {
	[ENV] = "env",
	[INTERPRETER] = "interpreter",
	[PROGRAM] = "program",
	[ARGS_JSON] = "args_json",
	[ARGS_JSON_FILE] = "args_json_file",
	[ENVVAR] = "envvar",
	[TRIAL_DIR] = "trial_dir",
	[ARGS] = "args",
	[NO_EQUALS] = "args_no_equals",
	[NO_HYPHENS] = "args_no_hyphens",
	[NO_BOOLEAN_FLAGS] = "args_no_boolean_flags",
	[APPEND_HYDRA] = "args_append_hydra",
	[OVERRIDE_HYDRA] = "args_override_hydra",
};

/* What stands before a parameter's name; "--" where nothing is said. */
static const char *const prefixes[MACRO_N] = {
	[NO_HYPHENS] = "",
	[APPEND_HYDRA] = "+",
	[OVERRIDE_HYDRA] = "++",
};

#define MACRO_LIST                                                                                 \
	"${env}, ${interpreter}, ${program}, ${args}, ${args_no_equals}, ${args_no_hyphens}, "     \
	"${args_no_boolean_flags}, ${args_append_hydra}, ${args_override_hydra}, ${args_json}, "   \
	"${args_json_file}, ${trial_dir}, ${envvar:NAME}"

/* A "${...}" in a word. */
struct found {
	const char *start, *end; /* from the "$" to after the "}" */
	size_t name_n;           /* of the name, from start + 2 */
	enum macro macro;        /* MACRO_N: not known */
	char variable[MAX_NAME]; /* of ENVVAR */
};

static enum macro macro_of(const char *name, size_t n)
{
	enum macro m = ENV;

	while (m < MACRO_N && (strlen(macro_names[m]) != n || memcmp(macro_names[m], name, n) != 0))
		m++;
	return m;
}

/* The first at or after text; false: none. */
static bool find_macro(const char *text, struct found *f)
{
	f->start = strstr(text, "${");
	const char *close = f->start != NULL ? strchr(f->start, '}') : NULL;

	/* A "${" that is never closed is plain text. */
	if (close == NULL)
		return false;
	const char *name = f->start + 2;
	const size_t n = (size_t)(close - name), colon = strcspn(name, ":}");
	/* Before the macro is judged: a caller goes on behind this "}" whatever is between. */
	f->end = close + 1;
	f->name_n = n;
	f->macro = macro_of(name, colon);
	f->variable[0] = '\0';
	/* Only a variable has a name after a colon, and it must have one. */
	if ((f->macro == ENVVAR) != (colon < n) || n - colon > MAX_NAME)
		f->macro = MACRO_N;
	if (f->macro == ENVVAR && n - colon > 1)
		/* The name itself is kept: getenv() and its like need the NUL that the word has
		 * not. */
		(void)snprintf(f->variable, sizeof f->variable, "%.*s", (int)(n - colon - 1),
			       name + colon + 1);
	if (f->macro == ENVVAR && f->variable[0] == '\0')
		f->macro = MACRO_N;
	return true;
}

/* W&B's agent makes text of a word like 10 or true; no macro is in it. */
static const char *text_of(const cJSON *word)
{
	return cJSON_IsString(word) ? word->valuestring : "";
}

bool sw_command_has(const cJSON *command, const char *macro)
{
	const enum macro wanted = macro_of(macro, strlen(macro));
	const cJSON *word;
	struct found f;

	cJSON_ArrayForEach (word, command)
		for (const char *p = text_of(word); find_macro(p, &f); p = f.end)
			if (f.macro == wanted)
				return true;
	return false;
}

bool sw_command_is_module(const cJSON *command)
{
	const cJSON *word;

	cJSON_ArrayForEach (word, command)
		if (strcmp(text_of(word), "-m") == 0 &&
		    strcmp(text_of(word->next), "${program}") == 0)
			return true;
	return false;
}

cJSON *sw_command_default(void)
{
	static const char *const words[] = {"${env}", "${interpreter}", "${program}", "${args}"};

	return cJSON_CreateStringArray(words, sizeof words / sizeof words[0]);
}

/* --- the check --- */

static sw_status check_macro(const struct found *f, const char *word, const char *program,
			     const char *ptr, struct sw_err *err)
{
	const int shown = f->name_n < 40 ? (int)f->name_n : 40;
	const char *name = f->start + 2;

	if (f->macro == MACRO_N)
		return sw_err_at(err, SW_INVALID, ptr, "unknown macro ${%.*s}: it is one of %s",
				 shown, name, MACRO_LIST);
	if (f->macro >= ARGS && (f->start != word || *f->end != '\0'))
		return sw_err_at(err, SW_INVALID, ptr,
				 "${%.*s} may be several words: it must stand alone", shown, name);
	if (f->macro == PROGRAM && program == NULL)
		return sw_err_at(err, SW_INVALID, ptr, "${program} needs \"program\"");
	return SW_OK;
}

static sw_status check_word(const cJSON *word, size_t i, const char *program, struct sw_err *err)
{
	char ptr[40];
	struct found f;
	sw_status rc = SW_OK;

	(void)snprintf(ptr, sizeof ptr, "/command/%zu", i);
	/* A YAML file gives [python, train.py, --epochs, 10] with a number in it, and W&B's agent
	 * runs that. */
	if (!cJSON_IsString(word) && (i == 0 || !(cJSON_IsNumber(word) || cJSON_IsBool(word))))
		return sw_err_at(err, SW_INVALID, ptr,
				 i == 0 ? "the program to run must be a string"
					: "\"command\" must be an array of strings (or numbers, "
					  "true and false)");
	if (i == 0 && word->valuestring[0] == '\0')
		return sw_err_at(err, SW_INVALID, ptr, "the program to run is empty");
	for (const char *p = text_of(word); rc == SW_OK && find_macro(p, &f); p = f.end)
		rc = check_macro(&f, word->valuestring, program, ptr, err);
	/* A program stands first, or behind env. */
	if (rc == SW_OK && find_macro(text_of(word), &f) && f.start == text_of(word) &&
	    (f.macro >= ARGS || f.macro == ARGS_JSON || f.macro == ARGS_JSON_FILE) &&
	    (i == 0 || (i == 1 && strcmp(text_of(word->prev), "${env}") == 0)))
		return sw_err_at(err, SW_INVALID, ptr,
				 "%.40s are arguments: the program comes first", f.start);
	return rc;
}

sw_status sw_command_check(const cJSON *command, const char *program, struct sw_err *err)
{
	const cJSON *word;
	sw_status rc = SW_OK;
	size_t i = 0;

	cJSON_ArrayForEach (word, command) {
		if (rc == SW_OK)
			rc = check_word(word, i++, program, err);
	}
	return rc;
}

/* --- the expansion --- */

/* The words that are done, each with its NUL. */
struct words {
	struct sw_buf text;
	size_t n;
};

static void end_word(struct words *w)
{
	(void)sw_buf_add(&w->text, "", 1);
	w->n++;
}

/* A value as a Python script expects it on its command line. */
static void add_value(struct sw_buf *b, const cJSON *v)
{
	struct sw_jw w;

	if (cJSON_IsString(v)) {
		(void)sw_buf_adds(b, v->valuestring);
	} else if (cJSON_IsBool(v)) {
		(void)sw_buf_adds(b, cJSON_IsTrue(v) ? "True" : "False");
	} else if (cJSON_IsNull(v)) {
		(void)sw_buf_adds(b, "None");
	} else {
		/* A number gets the digits that it has in the trial's JSON: both say the same. */
		sw_jw_init(&w, b);
		sw_jw_cjson(&w, v);
	}
}

/* One parameter as one or two words, or none. */
static void add_parameter(struct words *w, enum macro macro, const cJSON *v)
{
	const bool flag = macro == NO_BOOLEAN_FLAGS && cJSON_IsBool(v);

	assert(macro >= ARGS && macro < MACRO_N);
	/* A flag that is false is left out. */
	if (flag && cJSON_IsFalse(v))
		return;
	(void)sw_buf_adds(&w->text, prefixes[macro] != NULL ? prefixes[macro] : "--");
	(void)sw_buf_adds(&w->text, v->string);
	/* The name and the value become two words here, also where the value is empty text:
	 * argparse counts words, not bytes. */
	if (macro == NO_EQUALS)
		end_word(w);
	else if (!flag)
		(void)sw_buf_adds(&w->text, "=");
	if (!flag)
		add_value(&w->text, v);
	end_word(w);
}

static sw_status add_macro(struct sw_buf *b, const struct found *f,
			   const struct sw_command_values *values, struct sw_err *err)
{
	const char *text = "";
	struct sw_jw w;

	switch (f->macro) {
	case ENV:
		text = "/usr/bin/env";
		break;
	case INTERPRETER:
		text = values->interpreter != NULL ? values->interpreter : "python";
		break;
	case PROGRAM:
		text = values->program;
		break;
	case ARGS_JSON_FILE:
		text = values->json_file;
		break;
	case TRIAL_DIR:
		text = values->variable(values->user, "SWEEPD_TRIAL_DIR");
		break;
	case ENVVAR:
		text = values->variable(values->user, f->variable);
		break;
	default: /* ARGS_JSON: the check left nothing else */
		sw_jw_init(&w, b);
		sw_jw_cjson(&w, values->params);
		return SW_OK;
	}
	if (text == NULL)
		return sw_err_set(err, SW_INVALID, "%.*s has no value here",
				  (int)(f->end - f->start < 100 ? f->end - f->start : 100),
				  f->start);
	(void)sw_buf_adds(b, text);
	return SW_OK;
}

static sw_status expand_word(struct words *w, const cJSON *given,
			     const struct sw_command_values *values, struct sw_err *err)
{
	const char *word = text_of(given);
	const cJSON *v;
	struct found f;
	sw_status rc = SW_OK;

	if (!cJSON_IsString(given))
		add_value(&w->text, given);
	/* It stands alone in its word: the check has seen to that. */
	if (find_macro(word, &f) && f.macro >= ARGS) {
		cJSON_ArrayForEach (v, values->params)
			add_parameter(w, f.macro, v);
		return SW_OK;
	}
	for (; rc == SW_OK && find_macro(word, &f); word = f.end) {
		(void)sw_buf_add(&w->text, word, (size_t)(f.start - word));
		rc = add_macro(&w->text, &f, values, err);
	}
	/* What follows the last macro, which is the whole word where there was none. */
	(void)sw_buf_adds(&w->text, word);
	end_word(w);
	return rc;
}

/* One block: the pointers and, behind them, the words, so that one free() does for both. */
static char **as_list(const struct words *w)
{
	char **list = sw_malloc((w->n + 1) * sizeof *list + w->text.len);
	char *at;

	if (list == NULL)
		return NULL;
	at = (char *)(list + w->n + 1);
	/* A word has no NUL inside, since JSON text here has no \u0000: each ends where the next
	 * begins. */
	memcpy(at, w->text.data, w->text.len);
	for (size_t i = 0; i < w->n; i++, at += strlen(at) + 1)
		list[i] = at;
	list[w->n] = NULL;
	return list;
}

sw_status sw_command_expand(char ***out, const cJSON *command,
			    const struct sw_command_values *values, struct sw_err *err)
{
	struct words w = {.n = 0};
	const cJSON *word;
	sw_status rc = SW_OK;

	*out = NULL;
	sw_buf_init(&w.text, MAX_BYTES);
	cJSON_ArrayForEach (word, command) {
		if (rc == SW_OK)
			rc = expand_word(&w, word, values, err);
	}
	if (rc == SW_OK)
		/* Asked once: after its first failure the buffer takes no more, and says which it
		 * was. */
		rc = w.text.failed;
	if (rc == SW_OK && (*out = as_list(&w)) == NULL)
		rc = SW_NOMEM;
	sw_buf_fini(&w.text);
	return rc == SW_OK ? rc : sw_err_set(err, rc, "the command: %s", sw_status_str(rc));
}
