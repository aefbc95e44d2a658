/*
 * cli/import.h — a study of another tool, read into what a sweep needs: metrics, parameters and the
 * trials that have ended.
 *
 *	sw_import_init -> sw_import_optuna | _nni | _ray -> sw_import_fit -> sw_import_send -> fini
 *
 * Memory   The struct is the caller's, and owns its trees.
 * Errors   SW_IO, SW_PARSE, SW_INVALID with one line that names the file; SW_NOMEM.
 */
#ifndef SW_CLI_IMPORT_H
#define SW_CLI_IMPORT_H

#include "base/status.h"
#include "cli/cli.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

struct sw_import {
	const char *tool;  /* "Optuna": for the description */
	const char *path;  /* borrowed */
	char name[64];     /* of the sweep: the study's, cut where it is too long */
	cJSON *metrics;    /* array of {"name", "goal"} */
	cJSON *parameters; /* object: bodies as in a spec, in the order of their first trial */
	/* Array of {"params": {name: value}, "state", "reports": [{"step", "metrics"}]} and, where
	 * the tool keeps a value beside them, "metrics". Parameters go by their full names. */
	cJSON *trials;
	size_t n_open;  /* left out: they had not ended */
	size_t n_unfit; /* left out: they lack a parameter, and nothing says when it is active */
};

void sw_import_init(struct sw_import *im, const char *tool, const char *path);
void sw_import_fini(struct sw_import *im);

/* path: an SQLite storage or a JSON journal. study: NULL if there is only one. metric: what the
 * objective is called here, NULL: as the study names it, or "value". */
SW_NODISCARD sw_status sw_import_optuna(struct sw_import *im, const char *study, const char *metric,
					struct sw_err *err);
/* path: an experiment's nni.sqlite. metric: NULL: "default". */
SW_NODISCARD sw_status sw_import_nni(struct sw_import *im, const char *metric, struct sw_err *err);
/* path: an experiment's folder. metric, goal: which of the reported numbers is compared. */
SW_NODISCARD sw_status sw_import_ray(struct sw_import *im, const char *metric, const char *goal,
				     struct sw_err *err);

/* Says of parameters that some trials lack when they are active ("when", by the values of another
 * one), and removes the trials that still do not fit. O(trials * parameters^2). */
SW_NODISCARD sw_status sw_import_fit(struct sw_import *im, struct sw_err *err);

/* Submits the sweep and plays its trials; prints what became of it. An exit status. */
int sw_import_send(struct sw_cli *c, const struct sw_import *im);

/* --- for the readers --- */

/* A trial, added to the end; NULL: no memory. state: as trial.tell takes it. */
cJSON *sw_import_trial(struct sw_import *im, const char *state);
/* A report, or the last word, of one metric; what is not finite is left out of reports. False: no
 * memory. */
bool sw_import_report(cJSON *trial, double step, const char *metric, double value);
bool sw_import_final(cJSON *trial, const char *metric, double value);
/* One of the metrics that are compared. */
bool sw_import_metric(struct sw_import *im, const char *name, bool maximize);
/* A number of a spec; real: written with a point. NULL: no memory. */
cJSON *sw_import_number(double value, bool real);

/* A parameter's body, added under its name: a distribution and its bounds; real: they are written
 * with a point. low and high alike: a constant. NULL: no memory. */
cJSON *sw_import_range(struct sw_import *im, const char *name, const char *distribution, double low,
		       double high, bool real);
/* The same of a step: "q" where all of low + k * step are multiples of it, else a plain range. */
cJSON *sw_import_steps(struct sw_import *im, const char *name, double low, double high, double step,
		       bool real);
/* {"values": list}; takes list, NULL is allowed. */
cJSON *sw_import_choice(struct sw_import *im, const char *name, cJSON *list);

/* text[len] of a Python program, which writes NaN and Infinity as words: they are read as null.
 * Else it is strict JSON. */
SW_NODISCARD sw_status sw_import_json(cJSON **out, const char *text, size_t len,
				      struct sw_err *err);

#endif
