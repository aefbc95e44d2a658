/*
 * worker/exec/oom.h — a program that ran out of memory: what it says then, and the smaller
 * parameter that it is run with again. Pure.
 */
#ifndef SW_WORKER_EXEC_OOM_H
#define SW_WORKER_EXEC_OOM_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Does a line of stderr speak of memory that ran out? */
bool sw_oom_said(const char *line);

/* Halves a number of params in place: a whole one stays whole, rounded down. false: it is no
 * number, or its half would be below 1. */
bool sw_oom_halve(cJSON *params, const char *name, double *now);

#endif
