#include "bench/lib/load.h"
#include "bench/lib/table.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts: the length of what was written to line ---- */

static size_t ask_text(char line[BENCH_LINE], long sweep)
{
	return (size_t)snprintf(line, BENCH_LINE,
				"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"trial.ask\","
				"\"params\":{\"sweep\":%ld,\"count\":1}}",
				sweep);
}

/* A loss after the first step. */
static size_t report_text(char line[BENCH_LINE], long sweep, long trial)
{
	return (size_t)snprintf(line, BENCH_LINE,
				"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"trial.report\","
				"\"params\":{\"sweep\":%ld,\"trial\":%ld,\"attempt\":1,\"seq\":1,"
				"\"step\":1,\"metrics\":{\"loss\":0.%ld}}}",
				sweep, trial, trial);
}

static size_t tell_text(char line[BENCH_LINE], long sweep, long trial)
{
	return (size_t)snprintf(line, BENCH_LINE,
				"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"trial.tell\","
				"\"params\":{\"sweep\":%ld,\"trial\":%ld,\"attempt\":1,"
				"\"state\":\"COMPLETED\"}}",
				sweep, trial);
}

double bench_number(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at != NULL ? strtod(at + strlen(key), NULL) : 0;
}

long bench_submit(struct bench_client *c, const char *spec)
{
	char line[4 * BENCH_LINE];
	const int n = snprintf(line, sizeof line,
			       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sweep.submit\","
			       "\"params\":{\"spec\":%s}}",
			       spec);

	assert(n > 0 && (size_t)n < sizeof line);
	bench_client_put(c, line, (size_t)n);
	const char *answer = bench_client_flush(c) == 0 ? bench_client_line(c) : NULL;
	const long sweep = answer != NULL ? (long)bench_number(answer, "\"sweep\":") : 0;

	if (sweep > 0)
		return sweep;
	(void)fprintf(stderr, "unexpected answer: %.300s\n", answer != NULL ? answer : "(none)");
	return -1;
}

/* ---- many in flight ---- */

/* Requests without an answer, oldest first. */
struct flight {
	struct sent {
		double at;
		size_t lane;
	} * ring; /* [lanes] */
	size_t lanes, first, n;
};

static size_t issue(struct bench_client *c, const struct bench_load *l, struct flight *f,
		    size_t lane)
{
	char line[BENCH_LINE];
	const size_t len = l->make(l->ctx, lane, line);

	if (len == 0)
		return 0;
	bench_client_put(c, line, len);
	f->ring[(f->first + f->n++) % f->lanes] = (struct sent){bench_now(), lane};
	return 1;
}

static int fly(struct bench_client *c, const struct bench_load *l, struct flight *f, size_t n,
	       double *latency)
{
	size_t issued = 0;

	for (size_t lane = 0; lane < f->lanes && issued < n; lane++)
		issued += issue(c, l, f, lane);
	if (bench_client_flush(c) != 0)
		return -1;
	for (size_t done = 0; f->n > 0; done++) {
		const char *line = bench_client_line(c);
		const struct sent sent = f->ring[f->first];

		f->first = (f->first + 1) % f->lanes;
		f->n--;
		latency[done] = bench_now() - sent.at;
		if (line == NULL || l->take(l->ctx, sent.lane, line) != 0) {
			(void)fprintf(stderr, "unexpected answer: %.300s\n",
				      line != NULL ? line : "(none)");
			return -1;
		}
		if (issued < n)
			issued += issue(c, l, f, sent.lane);
		if (!bench_client_ready(c) && bench_client_flush(c) != 0)
			return -1;
	}
	return 0;
}

int bench_load_run(struct bench_client *c, const struct bench_load *l, size_t n, size_t lanes,
		   double *latency)
{
	struct flight f = {.ring = calloc(lanes, sizeof *f.ring), .lanes = lanes};

	assert(f.ring != NULL);
	const int rc = fly(c, l, &f, n, latency);

	free(f.ring);
	return rc;
}

/* ---- a driven sweep ---- */

enum stage { ASK, REPORT, TELL, STAGES };

static size_t make_driven(void *ctx, size_t lane, char line[BENCH_LINE])
{
	struct bench_driven *const d = ctx;
	const struct bench_driven_lane *const at = &d->lane[lane];

	switch ((enum stage)at->stage) {
	case REPORT:
		return report_text(line, d->sweep, at->trial);
	case TELL:
		return tell_text(line, d->sweep, at->trial);
	default:
		if (d->left == 0)
			return 0;
		d->left--;
		return ask_text(line, d->sweep);
	}
}

static int take_driven(void *ctx, size_t lane, const char *line)
{
	struct bench_driven *const d = ctx;
	struct bench_driven_lane *const at = &d->lane[lane];

	if (strstr(line, "\"error\"") != NULL)
		return -1;
	if (at->stage == ASK) {
		at->trial = (long)bench_number(line, "\"trial\":");
		if (at->trial < 1)
			return -1;
	}
	at->stage = (at->stage + 1) % STAGES;
	return 0;
}

struct bench_load bench_driven_load(struct bench_driven *d)
{
	return (struct bench_load){.make = make_driven, .take = take_driven, .ctx = d};
}
