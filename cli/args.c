#include "cli/args.h"
#include "proto/nearest.h"
#include <string.h>

#define MAX_NUMBER (((uint64_t)1 << 53) - 1)

enum kind { KIND_FLAG, KIND_TEXT, KIND_NUMBER, KIND_RANGE };

static const struct option {
	const char *name, *brief; /* brief: NULL or the one-letter form */
	enum sw_opt bit;
	enum kind kind;
	size_t field; /* offset in struct sw_args of what a value goes to */
} options[] = {
	{"--json", NULL, SW_OPT_JSON, KIND_FLAG, 0},
	{"--socket", NULL, SW_OPT_SOCKET, KIND_TEXT, offsetof(struct sw_args, socket)},
	{"--help", "-h", SW_OPT_HELP, KIND_FLAG, 0},
	{"--version", NULL, SW_OPT_VERSION, KIND_FLAG, 0},
	{"--watch", NULL, SW_OPT_WATCH, KIND_FLAG, 0},
	{"--csv", NULL, SW_OPT_CSV, KIND_FLAG, 0},
	{"--state", NULL, SW_OPT_STATE, KIND_TEXT, offsetof(struct sw_args, state)},
	{"--epochs", NULL, SW_OPT_EPOCHS, KIND_NUMBER, offsetof(struct sw_args, epochs)},
	{"--format", NULL, SW_OPT_FORMAT, KIND_TEXT, offsetof(struct sw_args, format)},
	{"--out", NULL, SW_OPT_OUT, KIND_TEXT, offsetof(struct sw_args, out)},
	{"--scope", NULL, SW_OPT_SCOPE, KIND_TEXT, offsetof(struct sw_args, scope)},
	{"--n", "-n", SW_OPT_N, KIND_NUMBER, offsetof(struct sw_args, n)},
	{"--run-cap", NULL, SW_OPT_RUN_CAP, KIND_NUMBER, offsetof(struct sw_args, run_cap)},
	{"--max-concurrent", NULL, SW_OPT_MAX_CONCURRENT, KIND_TEXT,
	 offsetof(struct sw_args, max_concurrent)},
	{"--weight", NULL, SW_OPT_WEIGHT, KIND_TEXT, offsetof(struct sw_args, weight)},
	{"--time-budget", NULL, SW_OPT_TIME_BUDGET, KIND_TEXT,
	 offsetof(struct sw_args, time_budget)},
	{"--lease", NULL, SW_OPT_LEASE, KIND_TEXT, offsetof(struct sw_args, lease)},
	{"--gpu-hours", NULL, SW_OPT_GPU_HOURS, KIND_TEXT, offsetof(struct sw_args, gpu_hours)},
	{"--target", NULL, SW_OPT_TARGET, KIND_TEXT, offsetof(struct sw_args, target)},
	{"--range", NULL, SW_OPT_RANGE, KIND_RANGE, 0},
	{"--early-terminate", NULL, SW_OPT_EARLY_TERMINATE, KIND_TEXT,
	 offsetof(struct sw_args, early_terminate)},
	{"--follow", "-f", SW_OPT_FOLLOW, KIND_FLAG, 0},
	{"--workers", NULL, SW_OPT_WORKERS, KIND_NUMBER, offsetof(struct sw_args, workers)},
};
#define N_OPTIONS (sizeof options / sizeof options[0])

const char *sw_args_option(unsigned bits)
{
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (bits & options[i].bit)
			return options[i].brief != NULL && options[i].bit == SW_OPT_N
				       ? options[i].brief
				       : options[i].name;
	return "";
}

/* Decimal digits up to `end`, the value from 1 to 2^53 - 1. */
static bool word_number(const char *s, const char *end, uint64_t *out)
{
	uint64_t v = 0;

	if (s == end)
		return false;
	for (; s < end; s++) {
		if (*s < '0' || *s > '9')
			return false;
		v = v * 10 + (uint64_t)(*s - '0');
		if (v > MAX_NUMBER)
			return false;
	}
	*out = v;
	return v >= 1;
}

sw_status sw_args_ref(const char *word, uint64_t *sweep, uint64_t *trial)
{
	const char *slash = strchr(word, '/'), *end = word + strlen(word);

	*trial = 0;
	if (slash == NULL)
		return word_number(word, end, sweep) ? SW_OK : SW_INVALID;
	return word_number(word, slash, sweep) && word_number(slash + 1, end, trial) ? SW_OK
										     : SW_INVALID;
}

/* The option that word[0..n) names; SW_INVALID suggests the nearest. */
static sw_status find_option(const char *word, size_t n, const struct option **out,
			     struct sw_err *err)
{
	const char *names[N_OPTIONS], *near;
	char text[64];

	for (size_t i = 0; i < N_OPTIONS; i++) {
		const char *brief = options[i].brief;

		names[i] = options[i].name;
		if ((strlen(names[i]) == n && memcmp(word, names[i], n) == 0) ||
		    (brief != NULL && strlen(brief) == n && memcmp(word, brief, n) == 0)) {
			*out = &options[i];
			return SW_OK;
		}
	}
	n = n < sizeof text - 1 ? n : sizeof text - 1;
	memcpy(text, word, n);
	text[n] = '\0';
	near = sw_nearest(text, names, N_OPTIONS);
	if (near != NULL)
		return sw_err_set(err, SW_INVALID, "unknown option %s; did you mean %s?", text,
				  near);
	return sw_err_set(err, SW_INVALID, "unknown option %s", text);
}

static sw_status take_value(struct sw_args *out, const struct option *o, const char *value,
			    struct sw_err *err)
{
	void *field = (char *)out + o->field;

	if (o->kind == KIND_RANGE) {
		if (out->n_ranges == SW_ARGS_MAX)
			return sw_err_set(err, SW_INVALID, "more than %d ranges", SW_ARGS_MAX);
		out->range[out->n_ranges++] = value;
		return SW_OK;
	}
	if (o->kind == KIND_TEXT) {
		memcpy(field, &value, sizeof value);
		return SW_OK;
	}
	uint64_t v = 0;
	if (!word_number(value, value + strlen(value), &v))
		return sw_err_set(err, SW_INVALID, "%s: expected a whole number from 1, not '%s'",
				  sw_args_option(o->bit), value);
	memcpy(field, &v, sizeof v);
	return SW_OK;
}

/* One option at argv[*i]; its value may be the next word. */
static sw_status read_option(struct sw_args *out, int argc, char *const *argv, int *i,
			     struct sw_err *err)
{
	const char *word = argv[*i], *eq = strchr(word, '=');
	const struct option *o = NULL;
	sw_status rc = find_option(word, eq != NULL ? (size_t)(eq - word) : strlen(word), &o, err);

	if (rc != SW_OK)
		return rc;
	out->given |= (unsigned)o->bit;
	if (o->kind == KIND_FLAG) {
		if (eq != NULL)
			return sw_err_set(err, SW_INVALID, "%s takes no value", o->name);
		return SW_OK;
	}
	if (eq != NULL)
		return take_value(out, o, eq + 1, err);
	if (*i + 1 >= argc)
		return sw_err_set(err, SW_INVALID, "%s needs a value", sw_args_option(o->bit));
	return take_value(out, o, argv[++*i], err);
}

sw_status sw_args_read(struct sw_args *out, int argc, char *const *argv, struct sw_err *err)
{
	bool words_only = false;

	*out = (struct sw_args){.verb = NULL};
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];

		if (!words_only && strcmp(word, "--") == 0) {
			words_only = true;
		} else if (!words_only && word[0] == '-' && word[1] != '\0') {
			const sw_status rc = read_option(out, argc, argv, &i, err);

			if (rc != SW_OK)
				return rc;
		} else if (out->verb == NULL) {
			out->verb = word;
		} else if (out->n_words == SW_ARGS_MAX) {
			return sw_err_set(err, SW_INVALID, "more than %d words", SW_ARGS_MAX);
		} else {
			out->word[out->n_words++] = word;
		}
	}
	return SW_OK;
}
