/*
 * cli/curve.h — the curve of one trial as a watcher shows it: its reports, as far as they have
 * come. Pure but for memory: cli/watch.c asks the daemon.
 *
 * Bounds   SW_CURVE_MAX reports; when there are more, every other one is kept, and so on.
 * Memory   The struct is the caller's; a zeroed one is of no trial. sw_curve_fini() frees.
 */
#ifndef SW_CLI_CURVE_H
#define SW_CLI_CURVE_H

#include "cli/canvas.h"
#include "cli/fmt.h"
#include "cli/view.h"
#include "plot/plot.h"

#define SW_CURVE_MAX 2000

struct sw_curve_point {
	double step, value;
};

struct sw_curve {
	uint64_t sweep, trial;
	struct sw_curve_point *points; /* of rising steps */
	size_t n, cap;
	size_t every, seen; /* one report in `every` is kept */
	char after[48];     /* the last that has come: "attempt.seq" */
	bool more;          /* the daemon has more that were not asked for */
	uint64_t change;    /* of the trial's row when it was last asked */
	int64_t id;         /* the response that is waited for; 0: none */
};

void sw_curve_fini(struct sw_curve *c);

/* From now on it is this trial's: what is there of another one goes. */
void sw_curve_of(struct sw_curve *c, uint64_t sweep, uint64_t trial);

/* Is it time to ask for reports? Then params[160] are those of trial.reports. */
bool sw_curve_ask(struct sw_curve *c, const struct sw_view *v, char params[160]);

/* Takes a result of trial.reports, whatever its shape. A step that comes again, from a checkpoint,
 * replaces what was behind it. SW_NOMEM. */
SW_NODISCARD sw_status sw_curve_take(struct sw_curve *c, const cJSON *result, const char *metric);

/* Draws it on the whole of a blank canvas; alone: that is the screen, with its sweep above and the
 * keys below, else it has a table above. v: its sweep. now_us: monotonic. SW_NOMEM. */
SW_NODISCARD sw_status sw_curve_draw(struct sw_canvas *canvas, const struct sw_curve *c,
				     const struct sw_view *v, const struct sw_look *look,
				     int64_t now_us, bool alone);

#endif
