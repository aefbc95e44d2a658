/* bench/lib/options.c — the command line of the benches that run samplers. */
#include "bench/lib/cells.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool bench_listed(const char *list, const char *name)
{
	const size_t len = strlen(name);

	if (list == NULL)
		return true;
	for (const char *at = list; *at != '\0'; at += strspn(at, ",")) {
		const size_t n = strcspn(at, ",");

		if (n == len && memcmp(at, name, n) == 0)
			return true;
		at += n;
	}
	return false;
}

static int read_samplers(struct bench_options *o, const char *list)
{
	size_t named = 1, known = 0;

	for (const char *p = list; *p != '\0'; p++)
		named += *p == ',';
	for (int k = 0; k < SW_SAMPLER_KIND_N; k++) {
		o->sampler[k] = bench_listed(list, bench_sampler_names[k]);
		known += o->sampler[k];
	}
	return known == named ? 0 : -1;
}

/* "20": seeds 1 to 20; "5-9". */
static int read_seeds(struct bench_options *o, const char *text)
{
	char *end;
	const long a = strtol(text, &end, 10);
	const long from = *end == '-' ? a : 1, to = *end == '-' ? strtol(end + 1, &end, 10) : a;

	if (*end != '\0' || from < 1 || to < from || to - from >= BENCH_MAX_SEEDS)
		return -1;
	o->seed_from = (uint64_t)from;
	o->seeds = (size_t)(to - from + 1);
	return 0;
}

/* "1,8" */
static int read_parallel(struct bench_options *o, const char *text)
{
	const long most = o->most_parallel > 0 ? (long)o->most_parallel : BENCH_MAX_PARALLEL;
	char *end;

	for (o->modes = 0; o->modes < BENCH_MAX_MODES; text = end + 1) {
		const long v = strtol(text, &end, 10);

		if (v < 1 || v > most)
			return -1;
		o->parallel[o->modes++] = (size_t)v;
		if (*end != ',')
			return *end == '\0' ? 0 : -1;
	}
	return -1;
}

static int read_one(struct bench_options *o, int c)
{
	const long number = strchr("jnkab", c) != NULL ? strtol(optarg, NULL, 10) : 0;

	switch (c) {
	case 's':
		return read_samplers(o, optarg);
	case 'e':
		return read_seeds(o, optarg);
	case 'p':
		return read_parallel(o, optarg);
	case 'j':
		o->jobs = (size_t)number;
		return number >= 1 && number <= 64 ? 0 : -1;
	case 'n':
		o->budget = (size_t)number;
		return number >= 4 && number <= BENCH_MAX_TRIALS ? 0 : -1;
	case 'k':
		o->folds = (size_t)number;
		return number >= 1 && number <= 4 ? 0 : -1;
	case 'o':
		o->own_seeds = true;
		return 0;
	case 'a':
		o->again = (size_t)number;
		return number >= 0 && number <= 100 ? 0 : -1;
	case 'b':
		o->full = (size_t)number;
		return number >= 4 && number <= 40 ? 0 : -1;
	case 'f':
		o->subjects = optarg;
		return 0;
	case 't':
		o->sets = optarg;
		return 0;
	case 'c':
		o->csv = optarg;
		return 0;
	case 'u':
		o->curves = optarg;
		return 0;
	case 'm':
		o->memo = optarg;
		return 0;
	case 'q':
		o->quick = true;
		return 0;
	default:
		return -1;
	}
}

int bench_options_read(struct bench_options *o, int argc, char **argv)
{
	static const struct option known[] = {{"samplers", required_argument, NULL, 's'},
					      {"seeds", required_argument, NULL, 'e'},
					      {"parallel", required_argument, NULL, 'p'},
					      {"jobs", required_argument, NULL, 'j'},
					      {"trials", required_argument, NULL, 'n'},
					      {"functions", required_argument, NULL, 'f'},
					      {"data", required_argument, NULL, 'f'},
					      {"set", required_argument, NULL, 't'},
					      {"csv", required_argument, NULL, 'c'},
					      {"curves", required_argument, NULL, 'u'},
					      {"folds", required_argument, NULL, 'k'},
					      {"own-seeds", no_argument, NULL, 'o'},
					      {"again", required_argument, NULL, 'a'},
					      {"full", required_argument, NULL, 'b'},
					      {"memo", required_argument, NULL, 'm'},
					      {"quick", no_argument, NULL, 'q'},
					      {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1)
		if (read_one(o, c) != 0)
			return -1;
	return optind == argc ? 0 : -1;
}

void bench_options_usage(const char *name, const char *subjects, const char *sets)
{
	(void)fprintf(stderr,
		      "usage: %s [OPTIONS]\n"
		      "  %s\n"
		      "%s"
		      "  --samplers A,B  of random grid sobol tpe bohb bayes (default all)\n"
		      "  --seeds N|A-B   seeds 1 to N, or A to B\n"
		      "  --parallel P,Q  trials pending at all times (default 1)\n"
		      "  --trials N      of each run, instead of the bench's own number\n"
		      "  --jobs J        processes (default 1)\n"
		      "  --csv FILE      the rows;  --curves FILE  the best after every trial\n"
		      "  --quick         a short run, to see that all works\n",
		      name, subjects, sets);
}
