/*
 * bench/lib/flags.h — the command line of a bench: one table says what is read, what is allowed and
 * what the usage shows.
 *
 * Memory   Texts are borrowed from argv. A flag that is not given leaves its default.
 * Errors   0, or -1 after the usage went to stderr.
 */
#ifndef SW_BENCH_LIB_FLAGS_H
#define SW_BENCH_LIB_FLAGS_H

#include <stddef.h>

#define BENCH_MAX_COUNTS 16

struct bench_counts {
	size_t v[BENCH_MAX_COUNTS], n;
};

enum bench_flag_kind {
	BENCH_TEXT,   /* to: const char * */
	BENCH_COUNT,  /* to: size_t */
	BENCH_COUNTS, /* to: struct bench_counts, "1,8" */
	BENCH_REAL,   /* to: double */
	BENCH_YES,    /* to: bool; takes no value */
	BENCH_OWN     /* to: what `read` knows */
};

struct bench_flag {
	const char *name; /* "trials"; NULL ends the table */
	enum bench_flag_kind kind;
	void *to;
	double least, most;                      /* of a number, both included */
	const char *help;                        /* "N       of each run" */
	int (*read)(void *to, const char *text); /* BENCH_OWN: 0 or -1 */
};

/* At most 31 flags. bench: "rpc". */
int bench_flags_read(const char *bench, const struct bench_flag *flags, int argc, char **argv);

#endif
