/* cli/args.h — the command line: one verb, its words, and the table of options. */
#ifndef SW_CLI_ARGS_H
#define SW_CLI_ARGS_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_ARGS_MAX 64 /* words after the verb */

/* Options as bits: what was given, and what a verb takes. */
typedef uint64_t sw_opts;
#define SW_OPT_JSON            ((sw_opts)1 << 0)
#define SW_OPT_SOCKET          ((sw_opts)1 << 1)
#define SW_OPT_HELP            ((sw_opts)1 << 2)
#define SW_OPT_VERSION         ((sw_opts)1 << 3)
#define SW_OPT_WATCH           ((sw_opts)1 << 4)
#define SW_OPT_CSV             ((sw_opts)1 << 5)
#define SW_OPT_STATE           ((sw_opts)1 << 6)
#define SW_OPT_SCOPE           ((sw_opts)1 << 7)
#define SW_OPT_N               ((sw_opts)1 << 8)
#define SW_OPT_RUN_CAP         ((sw_opts)1 << 9)
#define SW_OPT_MAX_CONCURRENT  ((sw_opts)1 << 10)
#define SW_OPT_WEIGHT          ((sw_opts)1 << 11)
#define SW_OPT_TIME_BUDGET     ((sw_opts)1 << 12)
#define SW_OPT_GPU_HOURS       ((sw_opts)1 << 13)
#define SW_OPT_LEASE           ((sw_opts)1 << 14)
#define SW_OPT_TARGET          ((sw_opts)1 << 15)
#define SW_OPT_RANGE           ((sw_opts)1 << 16)
#define SW_OPT_EARLY_TERMINATE ((sw_opts)1 << 17)
#define SW_OPT_WORKERS         ((sw_opts)1 << 18)
#define SW_OPT_OUT             ((sw_opts)1 << 19)
#define SW_OPT_EPOCHS          ((sw_opts)1 << 20)
#define SW_OPT_FORMAT          ((sw_opts)1 << 21)
#define SW_OPT_FOLLOW          ((sw_opts)1 << 22)
#define SW_OPT_ALL             ((sw_opts)1 << 23)
#define SW_OPT_SPEC            ((sw_opts)1 << 24)
#define SW_OPT_KEEP_BEST       ((sw_opts)1 << 25)
#define SW_OPT_STOP            ((sw_opts)1 << 26)
#define SW_OPT_OFF             ((sw_opts)1 << 27)
#define SW_OPT_TO              ((sw_opts)1 << 28)
#define SW_OPT_HOST            ((sw_opts)1 << 29)
#define SW_OPT_CANCEL          ((sw_opts)1 << 30)
#define SW_OPT_CLEAN_ENV       ((sw_opts)1 << 31)
#define SW_OPT_PORT            ((sw_opts)1 << 32)
#define SW_OPT_READ_ONLY       ((sw_opts)1 << 33)
#define SW_OPT_NO_OPEN         ((sw_opts)1 << 34)
#define SW_OPT_FILTER          ((sw_opts)1 << 35)
#define SW_OPT_SORT            ((sw_opts)1 << 36)
#define SW_OPT_WRITE           ((sw_opts)1 << 37)
#define SW_OPT_LOG             ((sw_opts)1 << 38)
#define SW_OPT_BY              ((sw_opts)1 << 39)
#define SW_OPT_PROBA           ((sw_opts)1 << 40)
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
	sw_opts bit;
	enum sw_opt_kind kind;
	size_t field;      /* offset in struct sw_args of what a value goes to */
	const char *value; /* the value's name in help, "N"; NULL of a flag */
	const char *help;  /* one line, without a full stop */
};

extern const struct sw_option sw_options[];
extern const size_t sw_options_n;

struct sw_args {
	sw_opts given;
	const char *verb; /* NULL: none; all texts are argv's */
	const char *word[SW_ARGS_MAX];
	size_t n_words;
	const char *socket, *host, *state, *scope, *early_terminate, *out, *format, *to, *cancel,
		*filter, *sort, *by;
	uint64_t n, run_cap, workers, epochs, port;
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
const char *sw_args_option(sw_opts bits, char out[32]);

/* "7": a sweep (*trial 0), "1/7": a trial. Decimal, from 1 up to 2^53 - 1. "digits", "digits/7":
 * the sweep is the first *name bytes of the word, and *sweep is 0 (*name is 0 of a number). What
 * has only digits and slashes is no name: SW_INVALID where it is no number either. */
SW_NODISCARD sw_status sw_args_ref(const char *word, uint64_t *sweep, uint64_t *trial,
				   size_t *name);

#endif
