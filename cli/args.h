/* cli/args.h — the command line: one verb, its words, and options that may stand anywhere. Pure. */
#ifndef SW_CLI_ARGS_H
#define SW_CLI_ARGS_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_ARGS_MAX 64 /* words after the verb */

/* Options as bits: what was given, and what a verb takes. */
enum sw_opt {
	SW_OPT_JSON = 1,
	SW_OPT_SOCKET = 2,
	SW_OPT_HELP = 4,
	SW_OPT_VERSION = 8,
	SW_OPT_WATCH = 16,
	SW_OPT_CSV = 32,
	SW_OPT_STATE = 64,
	SW_OPT_SCOPE = 128,
	SW_OPT_N = 256,
	SW_OPT_RUN_CAP = 512,
	SW_OPT_MAX_CONCURRENT = 1024,
	SW_OPT_WEIGHT = 2048,
	SW_OPT_TIME_BUDGET = 4096,
	SW_OPT_GPU_HOURS = 8192,
	SW_OPT_TARGET = 16384,
	SW_OPT_RANGE = 32768,
	SW_OPT_EARLY_TERMINATE = 65536,
	SW_OPT_WORKERS = 131072,
	SW_OPT_OUT = 262144,
	SW_OPT_EPOCHS = 524288,
	SW_OPT_FORMAT = 1048576,
	SW_OPT_LEASE = 2097152,
	SW_OPT_FOLLOW = 4194304,
};
#define SW_OPT_EDIT                                                                                \
	(SW_OPT_RUN_CAP | SW_OPT_MAX_CONCURRENT | SW_OPT_WEIGHT | SW_OPT_TIME_BUDGET |             \
	 SW_OPT_GPU_HOURS | SW_OPT_LEASE | SW_OPT_TARGET | SW_OPT_RANGE)
#define SW_OPT_ALWAYS (SW_OPT_JSON | SW_OPT_SOCKET | SW_OPT_HELP | SW_OPT_VERSION)

struct sw_args {
	unsigned given;   /* enum sw_opt */
	const char *verb; /* NULL: none; all texts are argv's */
	const char *word[SW_ARGS_MAX];
	size_t n_words;
	const char *socket, *state, *scope, *early_terminate, *out, *format;
	uint64_t n, run_cap, workers, epochs;
	const char *max_concurrent, *weight, *time_budget, *gpu_hours, *lease,
		*target;                /* as written */
	const char *range[SW_ARGS_MAX]; /* "NAME=MIN..MAX"; --range may stand again and again */
	size_t n_ranges;
};

/* argv[0] is skipped. "--opt value", "--opt=value", "--" before words that begin with "-"; "-"
 * alone is a word. SW_INVALID with one line about what is wrong (the nearest option suggested). */
SW_NODISCARD sw_status sw_args_read(struct sw_args *out, int argc, char *const *argv,
				    struct sw_err *err);
/* The name of the first option in `bits`, "" for none. */
const char *sw_args_option(unsigned bits);

/* "7": a sweep (*trial 0), "1/7": a trial. Decimal, from 1 up to 2^53 - 1. SW_INVALID. */
SW_NODISCARD sw_status sw_args_ref(const char *word, uint64_t *sweep, uint64_t *trial);

#endif
