#include "plot/ticks.h"
#include "base/term.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Steps between times that people count in, in seconds; above the last it is whole days. */
static const double time_steps[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
				    600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
#define TIME_STEPS_N (sizeof time_steps / sizeof time_steps[0])
#define DAY_MS       86400e3

double sw_plot_place(const struct sw_plot_axis *a, double v)
{
	if (a->scale != SW_PLOT_LOG)
		return (v - a->min) / (a->max - a->min);
	if (!(v > 0 && a->min > 0))
		return NAN;
	return (log(v) - log(a->min)) / (log(a->max) - log(a->min));
}

/* --- text --- */

void sw_plot_shorten(char *text)
{
	char *e = strchr(text, 'e');

	if (e == NULL)
		return;
	char *from = e + 1, *to = e + 1;
	if (*from == '-')
		to++;
	from++;
	while (*from == '0' && from[1] != '\0')
		from++;
	memmove(to, from, strlen(from) + 1);
}

/* The n characters from `from` on of "2026-11-26 19:08:00". */
static void time_text(double ms, size_t from, size_t n, char own[SW_PLOT_VALUE])
{
	char all[SW_PLOT_VALUE];
	struct tm tm;

	/* Years of more than four digits are nobody's time. */
	const time_t seconds = fabs(ms) < 2e14 ? (time_t)floor(ms / 1000) : 0;
	if (!(fabs(ms) < 2e14) || gmtime_r(&seconds, &tm) == NULL ||
	    strftime(all, sizeof all, "%Y-%m-%d %H:%M:%S", &tm) != 19)
		(void)snprintf(own, SW_PLOT_VALUE, "%.6g", ms);
	else
		(void)snprintf(own, SW_PLOT_VALUE, "%.*s", (int)n, all + from);
}

const char *sw_plot_value(const struct sw_plot_axis *a, double v, char own[SW_PLOT_VALUE])
{
	if (a->scale == SW_PLOT_CATEGORY && v >= 0 && v < (double)a->n_names && v == floor(v))
		return a->names[(size_t)v];
	if (a->scale == SW_PLOT_TIME) {
		time_text(v, 0, 19, own);
	} else {
		(void)snprintf(own, SW_PLOT_VALUE, "%.6g", v);
		sw_plot_shorten(own);
	}
	return own;
}

void sw_plot_label(const struct sw_plot_axis *a, char out[SW_PLOT_LABEL])
{
	char day[SW_PLOT_VALUE];

	(void)snprintf(out, SW_PLOT_LABEL, "%s", a->label);
	if (a->scale != SW_PLOT_TIME)
		return;
	time_text(a->min, 0, 10, day);
	(void)snprintf(out, SW_PLOT_LABEL, "%.200s%sUTC, from %s", a->label,
		       a->label[0] != '\0' ? ", " : "", day);
}

double sw_plot_width(const char *text, double (*rune_width)(uint32_t rune))
{
	double width = 0;
	uint32_t r;

	/* Wider than any page: a name of a megabyte is not read to its end. */
	while (width < 2000 && (r = sw_term_rune(&text)) != 0)
		width += rune_width(r);
	return width;
}

/* --- ticks --- */

/* The next tick, if its place is on the axis; its text is own[n], unless given. */
static void add_tick(const struct sw_plot_axis *a, double at, const char *text,
		     struct sw_plot_ticks *out)
{
	const double place = sw_plot_place(a, at);

	/* Multiples of a step are a rounding off: the one at the very end still counts. */
	if (out->n == SW_PLOT_TICKS_MOST || !(place > -1e-9 && place < 1 + 1e-9))
		return;
	out->at[out->n] = at;
	out->text[out->n] = text != NULL ? text : out->own[out->n];
	out->n++;
}

/* The smallest of 1, 2, 5, 10, 20, ... that is at least v. */
static double round_up(double v)
{
	const double ten = pow(10, floor(log10(v))), k = v / ten;

	return ten * (k <= 1 ? 1 : k <= 2 ? 2 : k <= 5 ? 5 : 10);
}

/* A number with as many digits as tell it from the next tick. */
static void step_text(const struct sw_plot_axis *a, double step, double at,
		      char text[SW_PLOT_VALUE])
{
	const double after = ceil(-log10(step) - 1e-9); /* digits behind the point */
	const double digits = floor(log10(fmax(fabs(a->min), fabs(a->max))));
	/* An exponent where that is much shorter. */
	const bool plain = fmax(digits, 0) + fmax(after, 0) + 2 <= digits + after + 6;
	const double before = at != 0 ? floor(log10(fabs(at)) + 1e-9) : 0;
	const bool point = plain || at == 0;

	(void)snprintf(text, SW_PLOT_VALUE, point ? "%.*f" : "%.*e",
		       (int)fmin(fmax(after + (point ? 0 : before), 0), 16), at);
	sw_plot_shorten(text);
}

/* The multiples of step, on a TIME axis or a LINEAR one. */
static void step_ticks(const struct sw_plot_axis *a, double step, struct sw_plot_ticks *out)
{
	const double first = ceil(a->min / step);

	for (int i = 0; i < SW_PLOT_TICKS_MOST && (first + i) * step <= a->max; i++) {
		const double at = (first + i) * step + 0.0; /* no -0 */
		/* At midnight the day stands in place of 00:00, so that a range of days says
		 * which. */
		const bool midnight = fmod(at, DAY_MS) == 0;
		if (a->scale == SW_PLOT_TIME)
			time_text(at, midnight ? 5 : 11, midnight || step >= 60e3 ? 5 : 8,
				  out->own[out->n]);
		else
			step_text(a, step, at, out->own[out->n]);
		add_tick(a, at, NULL, out);
	}
}

/* Decades, all or each k-th; 1, 2 and 5 of each where that many have room; linear ones where two of
 * these do not lie on the axis. */
static void log_ticks(const struct sw_plot_axis *a, size_t most, struct sw_plot_ticks *out)
{
	static const double parts[] = {1, 2, 5};
	const double decades = log10(a->max) - log10(a->min);
	const size_t n_parts = 3 * decades <= (double)most ? 3 : 1;
	const double each = round_up(fmax(1, ceil(decades / (double)most)));

	const double first = floor(log10(a->min) / each);
	for (size_t k = 0; k <= SW_PLOT_TICKS_MOST; k++)
		for (size_t i = 0; i < n_parts && out->n < SW_PLOT_TICKS_MOST; i++) {
			const double at = parts[i] * pow(10, each * (first + (double)k));
			(void)sw_plot_value(a, at, out->own[out->n]);
			add_tick(a, at, NULL, out);
		}
	if (out->n < 2) {
		out->n = 0;
		step_ticks(a, round_up((a->max - a->min) / (double)most), out);
	}
}

/* The smallest step of times that is at least that long. */
static double time_step(double least)
{
	for (size_t i = 0; i < TIME_STEPS_N; i++)
		if (time_steps[i] * 1000 >= least)
			return time_steps[i] * 1000;
	return DAY_MS * round_up(least / DAY_MS);
}

/* Are the numbers of the panel's marks on that side whole, all of them? */
static bool is_whole(const struct sw_plot *p, const struct sw_plot_panel *panel,
		     enum sw_plot_side side)
{
	bool any = false;

	for (size_t i = panel->series; i < panel->series + panel->n; i++)
		for (size_t k = 0; k < p->series[i].n; k++) {
			const struct sw_plot_mark *m = &p->marks[p->series[i].mark + k];
			const double v = side == SW_PLOT_X ? m->x : m->y,
				     w = side == SW_PLOT_X ? m->x2 : m->y2;
			if ((isfinite(v) && v != floor(v)) || (isfinite(w) && w != floor(w)))
				return false;
			any = any || isfinite(v);
		}
	return any;
}

static void make_ticks(const struct sw_plot_axis *a, size_t most, bool whole,
		       struct sw_plot_ticks *out)
{
	const double least = (a->max - a->min) / (double)most;

	out->n = 0;
	if (a->scale == SW_PLOT_TIME)
		step_ticks(a, time_step(least), out);
	else if (a->scale == SW_PLOT_LOG)
		log_ticks(a, most, out);
	else if (a->scale == SW_PLOT_LINEAR)
		step_ticks(a, fmax(round_up(least), whole ? 1 : 0), out);
	else
		for (size_t i = 0; i < a->n_names; i += (a->n_names + most - 1) / most)
			add_tick(a, (double)i, a->names[i], out);
}

static double room_of(const struct sw_plot_room *room, const char *text)
{
	return room->gap + (room->rune_width == NULL
				    ? 0
				    : fmin(sw_plot_width(text, room->rune_width), room->most));
}

static bool have_room(const struct sw_plot_axis *a, const struct sw_plot_ticks *t, double length,
		      const struct sw_plot_room *room)
{
	for (size_t i = 1; i < t->n; i++) {
		const double apart = sw_plot_place(a, t->at[i]) - sw_plot_place(a, t->at[i - 1]);
		if (apart * length <
		    (room_of(room, t->text[i]) + room_of(room, t->text[i - 1])) / 2 - 1e-6)
			return false;
	}
	return true;
}

void sw_plot_ticks(const struct sw_plot *p, const struct sw_plot_panel *panel,
		   enum sw_plot_side side, double length, const struct sw_plot_room *room,
		   struct sw_plot_ticks *out)
{
	const struct sw_plot_axis *a = side == SW_PLOT_X ? &panel->x : &panel->y;
	const bool whole = is_whole(p, panel, side);
	size_t most = a->scale == SW_PLOT_CATEGORY ? SW_PLOT_TICKS_MOST : 10;

	/* Fewer and fewer until they fit; a width depends on the texts, and those on the step. */
	do {
		make_ticks(a, most, whole, out);
	} while (!have_room(a, out, length, room) && --most > 1);
	if (most == 1)
		out->n = 1;
}
