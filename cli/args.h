/* cli/args.h — the command line: one verb, its words, and the table of options. */
#ifndef SW_CLI_ARGS_H
#define SW_CLI_ARGS_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_ARGS_MAX 64 /* words after the verb */

/* Options as bits: what was given, and what a verb takes. */
enum sw_opt {
	SW_OPT_JSON = 1 << 0,
	SW_OPT_SOCKET = 1 << 1,
	SW_OPT_HELP = 1 << 2,
	SW_OPT_VERSION = 1 << 3,
	SW_OPT_WATCH = 1 << 4,
	SW_OPT_CSV = 1 << 5,
	SW_OPT_STATE = 1 << 6,
	SW_OPT_SCOPE = 1 << 7,
	SW_OPT_N = 1 << 8,
	SW_OPT_RUN_CAP = 1 << 9,
	SW_OPT_MAX_CONCURRENT = 1 << 10,
	SW_OPT_WEIGHT = 1 << 11,
	SW_OPT_TIME_BUDGET = 1 << 12,
	SW_OPT_GPU_HOURS = 1 << 13,
	SW_OPT_LEASE = 1 << 14,
	SW_OPT_TARGET = 1 << 15,
	SW_OPT_RANGE = 1 << 16,
	SW_OPT_EARLY_TERMINATE = 1 << 17,
	SW_OPT_WORKERS = 1 << 18,
	SW_OPT_OUT = 1 << 19,
	SW_OPT_EPOCHS = 1 << 20,
	SW_OPT_FORMAT = 1 << 21,
	SW_OPT_FOLLOW = 1 << 22,
	SW_OPT_ALL = 1 << 23,
	SW_OPT_SPEC = 1 << 24,
	SW_OPT_KEEP_BEST = 1 << 25,
	SW_OPT_STOP = 1 << 26,
	SW_OPT_OFF = 1 << 27,
	SW_OPT_TO = 1 << 28,
	SW_OPT_HOST = 1 << 29,
	SW_OPT_CANCEL = 1 << 30,
};
#define SW_OPT_CLEAN_ENV (1U << 31) /* more than an enumerator can be */
#define SW_OPT_EDIT                                                                                \
	(SW_OPT_RUN_CAP | SW_OPT_MAX_CONCURRENT | SW_OPT_WEIGHT | SW_OPT_TIME_BUDGET |             \
	 SW_OPT_GPU_HOURS | SW_OPT_LEASE | SW_OPT_TARGET | SW_OPT_RANGE)
#define SW_OPT_ALWAYS (SW_OPT_JSON | SW_OPT_SOCKET | SW_OPT_HOST | SW_OPT_HELP | SW_OPT_VERSION)

enum sw_opt_kind { SW_KIND_FLAG, SW_KIND_TEXT, SW_KIND_NUMBER, SW_KIND_LIST };

/* One row an option: the reader, the help, the man page and the completions are made from these
 * rows. A verb's row (cli/verb.h) says which of them it takes. */
struct sw_option {
	const char *name; /* "run-cap" */
	char letter;      /* 'n', or '\0' */
	unsigned bit;     /* of enum sw_opt */
	enum sw_opt_kind kind;
	size_t field;      /* offset in struct sw_args of what a value goes to */
	const char *value; /* the value's name in help, "N"; NULL of a flag */
	const char *help;  /* one line, without a full stop */
};

extern const struct sw_option sw_options[];
extern const size_t sw_options_n;

struct sw_args {
	unsigned given;   /* enum sw_opt */
	const char *verb; /* NULL: none; all texts are argv's */
	const char *word[SW_ARGS_MAX];
	size_t n_words;
	const char *socket, *host, *state, *scope, *early_terminate, *out, *format, *to, *cancel;
	uint64_t n, run_cap, workers, epochs;
	const char *max_concurrent, *weight, *time_budget, *gpu_hours, *lease,
		*target;                /* as written */
	const char *range[SW_ARGS_MAX]; /* "NAME=MIN..MAX"; --range may stand again and again */
	size_t n_ranges;
};

/* argv[0] is skipped. As getopt_long reads them: "-n5", "-n 5", "--n=5", the beginning of a name
 * that has no second meaning, "--" before words that begin with "-"; "-" alone is a word. Options
 * may stand anywhere; of one that is given twice the last value counts. SW_INVALID with one line
 * about what is wrong (the nearest option suggested). Not for two threads at once: getopt's state
 * is the process's. */
SW_NODISCARD sw_status sw_args_read(struct sw_args *out, int argc, char *const *argv,
				    struct sw_err *err);
/* The name of the first option in `bits` as one writes it, "-n" or "--json"; "" for none. */
const char *sw_args_option(unsigned bits, char out[32]);

/* "7": a sweep (*trial 0), "1/7": a trial. Decimal, from 1 up to 2^53 - 1. "digits", "digits/7":
 * the sweep is the first *name bytes of the word, and *sweep is 0 (*name is 0 of a number). What
 * has only digits and slashes is no name: SW_INVALID where it is no number either. */
SW_NODISCARD sw_status sw_args_ref(const char *word, uint64_t *sweep, uint64_t *trial,
				   size_t *name);

#endif
