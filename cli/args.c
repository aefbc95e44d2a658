#include "cli/args.h"
#include "proto/nearest.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NUMBER (((uint64_t)1 << 53) - 1)
#define LONG       256 /* what getopt_long returns of row i is LONG + i; its letters are below */

#define AT(field) offsetof(struct sw_args, field)

const struct sw_option sw_options[] = {
	{"watch", 'w', SW_OPT_WATCH, SW_KIND_FLAG, 0, NULL, "show it live until q or Ctrl-C"},
	{"clean-env", 0, SW_OPT_CLEAN_ENV, SW_KIND_FLAG, 0, NULL,
	 "the program gets a short list of the daemon's variables, not this environment"},
	{"state", 0, SW_OPT_STATE, SW_KIND_TEXT, AT(state), "STATE",
	 "only those in this state, such as running"},
	{"filter", 0, SW_OPT_FILTER, SW_KIND_TEXT, AT(filter), "EXPR",
	 "only trials that it takes, such as 'lr < 0.01 and state = completed'"},
	{"sort", 0, SW_OPT_SORT, SW_KIND_TEXT, AT(sort), "NAME",
	 "by a parameter, value, step, ...; -NAME: the greatest first"},
	{"log", 0, SW_OPT_LOG, SW_KIND_FLAG, 0, NULL, "the metric on a logarithmic scale"},
	{"by", 0, SW_OPT_BY, SW_KIND_TEXT, AT(by), "name",
	 "sweeps of one name together, as seeds: their median and range; a name means all of it"},
	{"n", 'n', SW_OPT_N, SW_KIND_NUMBER, AT(n), "N", "how many to show"},
	{"all", 0, SW_OPT_ALL, SW_KIND_FLAG, 0, NULL, "show all, not only what fits the terminal"},
	{"spec", 0, SW_OPT_SPEC, SW_KIND_FLAG, 0, NULL, "show the whole spec, all rungs and edits"},
	{"csv", 0, SW_OPT_CSV, SW_KIND_FLAG, 0, NULL, "print CSV"},
	{"scope", 0, SW_OPT_SCOPE, SW_KIND_TEXT, AT(scope), "SCOPE",
	 "which reports of a trial count: all (its best one; the default), last, avg, last-N-avg"},
	{"run-cap", 0, SW_OPT_RUN_CAP, SW_KIND_NUMBER, AT(run_cap), "N", "most trials"},
	{"max-concurrent", 0, SW_OPT_MAX_CONCURRENT, SW_KIND_TEXT, AT(max_concurrent), "N",
	 "most trials that run at once; none: no limit"},
	{"weight", 0, SW_OPT_WEIGHT, SW_KIND_TEXT, AT(weight), "W",
	 "its share of the slots beside other sweeps (default 1)"},
	{"time-budget", 0, SW_OPT_TIME_BUDGET, SW_KIND_TEXT, AT(time_budget), "SECONDS",
	 "that the sweep may run; none: no budget"},
	{"gpu-hours", 0, SW_OPT_GPU_HOURS, SW_KIND_TEXT, AT(gpu_hours), "H",
	 "that its attempts may hold GPUs; none: no budget"},
	{"lease", 0, SW_OPT_LEASE, SW_KIND_TEXT, AT(lease), "SECONDS",
	 "of silence after which a client's trial goes to another client; none: a minute after its "
	 "connection has closed"},
	{"target", 0, SW_OPT_TARGET, SW_KIND_TEXT, AT(target), "VALUE",
	 "init: the column to predict; edit: the value of the metric at which the sweep ends"},
	{"range", 0, SW_OPT_RANGE, SW_KIND_LIST, 0, "NAME=MIN..MAX",
	 "a number's new range, narrower or wider; may be repeated"},
	{"early-terminate", 0, SW_OPT_EARLY_TERMINATE, SW_KIND_TEXT, AT(early_terminate), "FILE",
	 "the other pruner: an early_terminate object, or a spec with one; \"-\" reads stdin"},
	{"workers", 0, SW_OPT_WORKERS, SW_KIND_NUMBER, AT(workers), "N",
	 "trials at once (default: the most that ran at once)"},
	{"follow", 'f', SW_OPT_FOLLOW, SW_KIND_FLAG, 0, NULL,
	 "go on until the trial ends; Ctrl-C quits before"},
	{"keep-best", 0, SW_OPT_KEEP_BEST, SW_KIND_FLAG, 0, NULL,
	 "the best trial stays, with its checkpoint and the sweep's line in ls"},
	{"stop", 0, SW_OPT_STOP, SW_KIND_FLAG, 0, NULL, "end the daemon once nothing runs"},
	{"off", 0, SW_OPT_OFF, SW_KIND_FLAG, 0, NULL, "hand out trials again"},
	{"out", 'o', SW_OPT_OUT, SW_KIND_TEXT, AT(out), "FILE", "the file or folder to write"},
	{"to", 0, SW_OPT_TO, SW_KIND_TEXT, AT(to), "FORMAT", "csv or json"},
	{"cancel", 0, SW_OPT_CANCEL, SW_KIND_TEXT, AT(cancel), "PREFIX",
	 "end the jobs of another state folder whose sweepd is gone"},
	{"epochs", 0, SW_OPT_EPOCHS, SW_KIND_NUMBER, AT(epochs), "N",
	 "how long to train (default: up to the trial's best epoch)"},
	{"format", 0, SW_OPT_FORMAT, SW_KIND_TEXT, AT(format), "FORMAT",
	 "of the data, if not what its name says: csv, npy, idx, cifar10, cifar100 or tokens"},
	{"proba", 0, SW_OPT_PROBA, SW_KIND_FLAG, 0, NULL, "the probability of each class, too"},
	{"port", 0, SW_OPT_PORT, SW_KIND_NUMBER, AT(port), "N",
	 "of 127.0.0.1 (default: a free one)"},
	{"write", 0, SW_OPT_WRITE, SW_KIND_FLAG, 0, NULL, "tools that change something, too"},
	{"read-only", 0, SW_OPT_READ_ONLY, SW_KIND_FLAG, 0, NULL, "the page changes nothing"},
	{"no-open", 0, SW_OPT_NO_OPEN, SW_KIND_FLAG, 0, NULL,
	 "only print the address, open no browser"},
	{"json", 0, SW_OPT_JSON, SW_KIND_FLAG, 0, NULL,
	 "print the daemon's result unchanged, on one line"},
	{"socket", 0, SW_OPT_SOCKET, SW_KIND_TEXT, AT(socket), "PATH",
	 "the daemon's socket (or SWEEPD_SOCKET)"},
	{"host", 0, SW_OPT_HOST, SW_KIND_TEXT, AT(host), "USER@HOST",
	 "the daemon of that machine, by ssh (or SWEEPD_HOST); its `sweep` must be in the PATH "
	 "there"},
	{"help", 'h', SW_OPT_HELP, SW_KIND_FLAG, 0, NULL, "print help on the verb"},
	{"version", 0, SW_OPT_VERSION, SW_KIND_FLAG, 0, NULL, "print the version"},
};
#define N_OPTIONS (sizeof sw_options / sizeof sw_options[0])
const size_t sw_options_n = N_OPTIONS;

const char *sw_args_option(sw_opts bits, char out[32])
{
	out[0] = '\0';
	for (size_t i = 0; i < N_OPTIONS && out[0] == '\0'; i++)
		if (bits & sw_options[i].bit)
			(void)snprintf(out, 32, "%s%s", sw_options[i].name[1] == '\0' ? "-" : "--",
				       sw_options[i].name);
	return out;
}

/* Decimal digits up to `end`, the value from 1 to 2^53 - 1. */
static bool word_number(const char *s, const char *end, uint64_t *out)
{
	const uint64_t v = strtoull(s, NULL, 10); /* ULLONG_MAX of more digits than it has */

	/* strtoull() alone would take a sign and blanks. Beyond 2^53 JSON's numbers lose digits. */
	if (s + strspn(s, "0123456789") != end || v < 1 || v > MAX_NUMBER)
		return false;
	*out = v;
	return true;
}

sw_status sw_args_ref(const char *word, uint64_t *sweep, uint64_t *trial, size_t *name)
{
	const char *slash = strrchr(word, '/'), *end = word + strlen(word);
	const bool numbers = strspn(word, "0123456789/") == (size_t)(end - word);

	*sweep = *trial = *name = 0;
	/* A name may have slashes; only a number behind the last one is a trial. */
	if (slash != NULL && word_number(slash + 1, end, trial))
		end = slash;
	if (numbers)
		return word_number(word, end, sweep) ? SW_OK : SW_INVALID;
	*name = (size_t)(end - word);
	return SW_OK;
}

static sw_status take_value(struct sw_args *out, const struct sw_option *o, const char *value,
			    struct sw_err *err)
{
	void *field = (char *)out + o->field;
	char name[32];
	uint64_t v = 0;

	switch (o->kind) {
	case SW_KIND_FLAG:
		break;
	case SW_KIND_TEXT:
		/* The row alone knows the field's type; memcpy() is right whichever it is. */
		memcpy(field, &value, sizeof value);
		break;
	case SW_KIND_LIST:
		if (out->n_ranges == SW_ARGS_MAX)
			return sw_err_set(err, SW_INVALID, "more than %d ranges", SW_ARGS_MAX);
		out->range[out->n_ranges++] = value;
		break;
	case SW_KIND_NUMBER:
		if (!word_number(value, value + strlen(value), &v))
			return sw_err_set(err, SW_INVALID,
					  "%s: expected a whole number from 1, not '%s'",
					  sw_args_option(o->bit, name), value);
		memcpy(field, &v, sizeof v);
	}
	out->given |= o->bit;
	return SW_OK;
}

static sw_status take_word(struct sw_args *out, const char *word, struct sw_err *err)
{
	if (out->verb == NULL)
		out->verb = word;
	else if (out->n_words == SW_ARGS_MAX)
		return sw_err_set(err, SW_INVALID, "more than %d words", SW_ARGS_MAX);
	else
		out->word[out->n_words++] = word;
	return SW_OK;
}

/* Says what is wrong with an option that getopt_long does not know: a letter, a name, or the
 * beginning of two names. */
static sw_status say_unknown(const char *word, int letter, struct sw_err *err)
{
	const char *names[N_OPTIONS], *near, *first = NULL;
	char text[64];

	if (letter != 0)
		return sw_err_set(err, SW_INVALID, "unknown option -%c", letter);
	(void)snprintf(text, sizeof text, "%.*s", (int)strcspn(word + 2, "="), word + 2);
	for (size_t i = 0; i < N_OPTIONS; i++) {
		names[i] = sw_options[i].name;
		if (strncmp(names[i], text, strlen(text)) != 0)
			continue;
		if (first != NULL)
			return sw_err_set(err, SW_INVALID,
					  "--%s may be --%s or --%s: write more of it", text, first,
					  names[i]);
		first = names[i];
	}
	near = sw_nearest(text, names, N_OPTIONS);
	if (near != NULL)
		return sw_err_set(err, SW_INVALID, "unknown option --%s; did you mean --%s?", text,
				  near);
	return sw_err_set(err, SW_INVALID, "unknown option --%s", text);
}

/* The table as getopt wants it. "-": a word is returned at its place, as option 1, so that nothing
 * is moved in argv and POSIXLY_CORRECT changes nothing; ":": the lines are ours. */
static void write_getopt(struct option names[N_OPTIONS + 1], char letters[2 * N_OPTIONS + 3])
{
	char *at = letters;

	*at++ = '-';
	*at++ = ':';
	for (size_t i = 0; i < N_OPTIONS; i++) {
		const bool value = sw_options[i].kind != SW_KIND_FLAG;

		names[i] = (struct option){sw_options[i].name,
					   value ? required_argument : no_argument, NULL,
					   LONG + (int)i};
		if (sw_options[i].letter != '\0')
			*at++ = sw_options[i].letter;
		if (sw_options[i].letter != '\0' && value)
			*at++ = ':';
	}
	*at = '\0';
	names[N_OPTIONS] = (struct option){NULL, 0, NULL, 0};
}

/* The row of what getopt returned; NULL: none. */
static const struct sw_option *option_of(int code)
{
	if (code >= LONG)
		return &sw_options[code - LONG];
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (code != 0 && sw_options[i].letter == code)
			return &sw_options[i];
	return NULL;
}

sw_status sw_args_read(struct sw_args *out, int argc, char *const *argv, struct sw_err *err)
{
	struct option names[N_OPTIONS + 1];
	char letters[2 * N_OPTIONS + 3], name[32];
	sw_status rc = SW_OK;
	int code;

	write_getopt(names, letters);
	*out = (struct sw_args){.verb = NULL};
	optind = 0; /* glibc: begin anew */
	opterr = 0;
	while (rc == SW_OK && (code = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		/* getopt says ':' and '?' instead of the option, and which one it was in optopt. */
		const struct sw_option *o = option_of(code == ':' || code == '?' ? optopt : code);

		if (code == 1)
			rc = take_word(out, optarg, err);
		else if (code == ':' && o != NULL)
			rc = sw_err_set(err, SW_INVALID, "%s needs a value: %s",
					sw_args_option(o->bit, name), o->value);
		else if (code == '?' && o != NULL)
			rc = sw_err_set(err, SW_INVALID, "--%s takes no value", o->name);
		else if (o != NULL)
			rc = take_value(out, o, optarg, err);
		else
			rc = say_unknown(argv[optind - 1], optopt, err);
	}
	for (; rc == SW_OK && optind < argc; optind++) /* behind "--" */
		rc = take_word(out, argv[optind], err);
	return rc;
}
