#include "bench/lib/flags.h"
#include <assert.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS_MAX 31

/* The number at the head of text; *end: behind it. */
static int read_number(const struct bench_flag *f, const char *text, char **end, double *out)
{
	*out = f->kind == BENCH_REAL ? strtod(text, end) : (double)strtol(text, end, 10);
	return *end != text && *out >= f->least && *out <= f->most ? 0 : -1;
}

static int read_counts(const struct bench_flag *f, const char *text)
{
	struct bench_counts *const out = f->to;
	double v;
	char *end;

	for (out->n = 0; out->n < BENCH_MAX_COUNTS; text = end + 1) {
		if (read_number(f, text, &end, &v) != 0)
			return -1;
		out->v[out->n++] = (size_t)v;
		if (*end != ',')
			return *end == '\0' ? 0 : -1;
	}
	return -1;
}

static int read_value(const struct bench_flag *f, const char *text)
{
	double v = 0;
	char *end;

	switch (f->kind) {
	case BENCH_TEXT:
		*(const char **)f->to = text;
		return 0;
	case BENCH_YES:
		*(bool *)f->to = true;
		return 0;
	case BENCH_COUNTS:
		return read_counts(f, text);
	case BENCH_OWN:
		return f->read(f->to, text);
	case BENCH_COUNT:
	case BENCH_REAL:
		break;
	}
	if (read_number(f, text, &end, &v) != 0 || *end != '\0')
		return -1;
	if (f->kind == BENCH_REAL)
		*(double *)f->to = v;
	else
		*(size_t *)f->to = (size_t)v;
	return 0;
}

static int usage(const char *bench, const struct bench_flag *flags)
{
	(void)fprintf(stderr, "usage: bench_%s [FLAGS]\n", bench);
	for (const struct bench_flag *f = flags; f->name != NULL; f++)
		(void)fprintf(stderr, "  --%-11s %s\n", f->name, f->help);
	return -1;
}

int bench_flags_read(const char *bench, const struct bench_flag *flags, int argc, char **argv)
{
	struct option known[FLAGS_MAX + 1] = {{NULL, 0, NULL, 0}};
	int c;

	for (int i = 0; flags[i].name != NULL; i++) {
		assert(i < FLAGS_MAX);
		known[i] = (struct option){
			.name = flags[i].name,
			.has_arg = flags[i].kind == BENCH_YES ? no_argument : required_argument,
			.val = i};
	}
	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (c >= FLAGS_MAX)
			return usage(bench, flags);
		if (read_value(&flags[c], optarg) == 0)
			continue;
		(void)fprintf(stderr, "--%s does not take %s", flags[c].name, optarg);
		if (flags[c].most > 0)
			(void)fprintf(stderr, ", but %g to %g", flags[c].least, flags[c].most);
		(void)fprintf(stderr, "\n");
		return usage(bench, flags);
	}
	return optind == argc ? 0 : usage(bench, flags);
}
