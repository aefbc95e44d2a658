/* What ran on which slot when, why it ended, and when nothing ran. */
#include "plot/build.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOTS_MAX 200

/* How a run ended: an index into sw_plot_looks, and behind them into more_looks. */
enum { FAILED = 1, PAUSED = SW_PLOT_LOOKS, OTHER, WAYS_N };
static const struct sw_plot_look more_looks[] = {
	{.role = SW_PLOT_FIRST, .name = "paused"},
	{.role = SW_PLOT_REFERENCE, .name = "other sweeps"},
};

/* One run, or neighbours on a slot that are too short to be seen one by one. */
struct bar {
	double from, to;
	size_t slot, runs, of[WAYS_N];
	const struct sw_plot_run *first;
};

/* Not before its start: a clock may go back. */
static double end_of(const struct sw_plot_data *d, const struct sw_plot_run *r)
{
	return fmax(r->started_ms, isnan(r->ended_ms) ? d->now_ms : r->ended_ms);
}

/* A trial that has not ended was paused, runs, or lost its worker. */
static size_t way_of(const struct sw_plot_run *r)
{
	size_t look = 0;

	if (r->other)
		return OTHER;
	if (r->state == SW_PLOT_STATE_OPEN && !isnan(r->ended_ms))
		return r->cause[0] == '\0' ? PAUSED : FAILED;
	while (sw_plot_looks[look].state != r->state)
		look++;
	return look;
}

/* The bar that begins at run *i, which becomes the first behind it. A short run joins a short bar
 * where the gap is short, too. */
static struct bar next_bar(const struct sw_plot_data *d, size_t *i, double width)
{
	const struct sw_plot_run *r = &d->runs[*i];
	struct bar b = {.from = r->started_ms, .to = r->started_ms, .slot = r->slot, .first = r};

	do {
		b.to = fmax(b.to, end_of(d, r));
		b.of[way_of(r)]++;
		b.runs++;
		r = &d->runs[++*i];
	} while (*i < d->n_runs && r->slot == b.slot && r->started_ms - b.to < width &&
		 b.to - b.from < width && end_of(d, r) - r->started_ms < width);
	return b;
}

static size_t count_bars(const struct sw_plot_data *d, double width)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_runs && d->runs[i].slot < SLOTS_MAX; n++)
		(void)next_bar(d, &i, width);
	return n;
}

/* What most of them came to; failures once they are a quarter. */
static size_t way_of_most(const struct bar *b)
{
	size_t most = 0;

	for (size_t way = 0; way < WAYS_N; way++) {
		/* Failures are what one looks for, and a majority of good runs would hide them. */
		if (way == FAILED && 4 * b->of[way] >= b->runs)
			return way;
		if (b->of[way] > b->of[most])
			most = way;
	}
	return most;
}

static void draw_bar(struct sw_plot *p, const struct bar *b)
{
	const char *text = b->first->cause[0] != '\0' ? b->first->cause : NULL;
	char several[64];

	if (b->runs > 1) {
		(void)snprintf(several, sizeof several, "%zu runs, %zu failed", b->runs,
			       b->of[FAILED]);
		text = several;
	}
	sw_plot_mark(p, (struct sw_plot_mark){
				.x = b->from,
				.x2 = b->to,
				.y = (double)b->slot - .4,
				.y2 = (double)b->slot + .4,
				.v = NAN,
				.trial = b->runs == 1 ? b->first->trial : 0,
				.text = (char *)text,
			});
}

/* A series for each way in which a bar ended. */
static void draw_bars(struct sw_plot *p, const struct sw_plot_data *d, double width, size_t n)
{
	struct bar *const bar = sw_plot_scratch(p, n, sizeof *bar);

	for (size_t k = 0, i = 0; bar != NULL && k < n; k++)
		bar[k] = next_bar(d, &i, width);
	for (size_t way = 0; bar != NULL && way < WAYS_N; way++) {
		const struct sw_plot_look *look = way < PAUSED ? &sw_plot_looks[way]
							       : &more_looks[way - PAUSED];
		bool begun = false;
		for (size_t k = 0; k < n; k++) {
			if (way_of_most(&bar[k]) != way)
				continue;
			if (!begun)
				sw_plot_series(p, look->name, SW_PLOT_BARS, look->role);
			begun = true;
			draw_bar(p, &bar[k]);
		}
	}
	free(bar);
}

static void write_span(double ms, char out[32])
{
	if (ms < 120e3)
		(void)snprintf(out, 32, "%.3g s", ms / 1e3);
	else if (ms < 7200e3)
		(void)snprintf(out, 32, "%.0f min", ms / 60e3);
	else
		(void)snprintf(out, 32, "%.1f h", ms / 3600e3);
}

/* How long slots ran nothing between the first start and the last end, of those that ran at all. */
static void say_gaps(struct sw_plot *p, const struct sw_plot_data *d, double first, double last)
{
	double busy = 0, others = 0, longest = 0, at = first;
	size_t used = 0, where = 0;
	char span[32];

	for (size_t i = 0; i < d->n_runs; i++) {
		const struct sw_plot_run *r = &d->runs[i];
		const bool ends = i + 1 == d->n_runs || d->runs[i + 1].slot != r->slot;
		/* Runs of one slot may overlap where clocks went back: no time counts twice. */
		const double to = fmax(at, end_of(d, r)), gap = r->started_ms - at;
		const double rest = ends ? last - to : 0;
		if (fmax(gap, rest) > longest) {
			longest = fmax(gap, rest);
			where = r->slot;
		}
		busy += to - fmax(at, r->started_ms);
		others += r->other ? to - fmax(at, r->started_ms) : 0;
		at = ends ? first : to;
		used += ends;
	}
	if (!(last > first))
		return;
	write_span(longest, span);
	const double all = (last - first) * (double)used;
	sw_plot_note(p, "Slots were busy for %.1f%% of the time; the longest gap was %s, on %.40s.",
		     100 * busy / all, span, d->slots[where]);
	if (others > 0)
		sw_plot_note(p, "Of that, other sweeps had %.1f%%.", 100 * others / all);
}

SW_PLOT_BUILDER(timeline)
{
	const size_t slots = d->n_slots < SLOTS_MAX ? d->n_slots : SLOTS_MAX;
	double first = INFINITY, last = -INFINITY, width = 0;
	size_t bars;

	sw_plot_panel(p, "time", SW_PLOT_TIME, "slot", SW_PLOT_CATEGORY);
	for (size_t i = 0; i < slots; i++)
		sw_plot_name(p, SW_PLOT_Y, d->slots[i]);
	for (size_t i = 0; i < d->n_runs; i++) {
		if (d->runs[i].other)
			continue;
		first = fmin(first, d->runs[i].started_ms);
		last = fmax(last, end_of(d, &d->runs[i]));
	}
	/* Doubling ends: at the latest one bar a slot is left, of 200 at most. */
	while ((bars = count_bars(d, width)) > SW_PLOT_MARKS)
		width = width > 0 ? 2 * width
				  : fmax(1, (last - first) * (double)slots / SW_PLOT_MARKS);
	if (width > 0) {
		char span[32];
		write_span(width, span);
		sw_plot_note(p, "Runs and gaps shorter than %s are drawn together.", span);
	}
	draw_bars(p, d, width, bars);
	if (slots < d->n_slots)
		sw_plot_note(p, "Of %zu slots the first %zu are drawn.", d->n_slots, slots);
	if (d->n_runs > 0)
		say_gaps(p, d, first, last);
	else
		sw_plot_note(p, "No trial has run on a slot yet.");
	sw_plot_fit(p);
}
