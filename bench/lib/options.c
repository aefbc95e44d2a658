/* bench/lib/options.c — the flags of the benches that run samplers. */
#include "bench/lib/cells.h"
#include "bench/lib/flags.h"
#include "bench/lib/jobs.h"
#include "sched/sweep/samplers.h"
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

bool bench_sampled(const struct bench_options *o, enum sw_sampler_kind kind)
{
	return kind != SW_SAMPLER_GRID && bench_listed(o->samplers, sw_samplers_name(kind));
}

/* "20": seeds 1 to 20; "5-9". */
static int read_seeds(void *to, const char *text)
{
	struct bench_options *const o = to;
	char *end;
	const long a = strtol(text, &end, 10);
	const long from = *end == '-' ? a : 1, last = *end == '-' ? strtol(end + 1, &end, 10) : a;

	if (*end != '\0' || from < 1 || last < from || last - from >= BENCH_MAX_SEEDS)
		return -1;
	o->seed_from = (uint64_t)from;
	o->seeds = (size_t)(last - from + 1);
	return 0;
}

int bench_options_read(struct bench_options *o, const char *bench, const char *takes,
		       const char *subjects, const char *sets, int argc, char **argv)
{
	const struct bench_flag all[] = {
		{"functions", BENCH_TEXT, &o->subjects, .help = subjects},
		{"data", BENCH_TEXT, &o->subjects, .help = subjects},
		{"set", BENCH_TEXT, &o->sets, .help = sets},
		{"samplers", BENCH_TEXT, &o->samplers,
		 .help = "A,B  of random sobol tpe bohb bayes (default all)"},
		{"seeds", BENCH_OWN, o, .read = read_seeds,
		 .help = "N|A-B  seeds 1 to N, or A to B"},
		{"parallel", BENCH_COUNTS, &o->parallel, 1, (double)o->most_parallel,
		 .help = "P,Q  trials pending at all times, or workers"},
		{"trials", BENCH_COUNT, &o->budget, 4, BENCH_MAX_TRIALS,
		 .help = "N  of each run; of asha, full trainings at most"},
		{"full", BENCH_COUNT, &o->full, 4, 40,
		 .help = "N  the budget, instead of 20 full trainings, or 5 a worker"},
		{"jobs", BENCH_COUNT, &o->jobs, 1, BENCH_MAX_JOBS,
		 .help = "J  processes (default 1)"},
		{"csv", BENCH_TEXT, &o->csv, .help = "FILE  the rows"},
		{"quick", BENCH_YES, &o->quick, .help = "a short run, to see that all works"},
	};
	struct bench_flag taken[sizeof all / sizeof *all + 1] = {{.name = NULL}};
	size_t n = 0;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (bench_listed(takes, all[i].name))
			taken[n++] = all[i];
	return bench_flags_read(bench, taken, argc, argv);
}
