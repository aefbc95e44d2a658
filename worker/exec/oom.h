/*
 * worker/exec/oom.h — a program that ran out of memory: what it says then, and the smaller
 * parameter that it is run with again.
 */
#ifndef SW_WORKER_EXEC_OOM_H
#define SW_WORKER_EXEC_OOM_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* Does the line of an exception speak of memory that ran out? */
bool sw_oom_said(const char *line);
/* Does a line that may be anything end so, as perror() writes it, or is it an exception's? With
 * "out of memory; trying 32" a program goes on. */
bool sw_oom_ends(const char *line);

/* How many processes the kernel has ended for want of memory, by this file; 0: nobody knows. */
#define SW_OOM_VMSTAT "/proc/vmstat"
uint64_t sw_oom_kills(const char *vmstat);

/* Halves a number of params in place: a whole one stays whole, rounded down. false: it is no
 * number, or its half would be below 1. */
bool sw_oom_halve(cJSON *params, const char *name, double *now);

#endif
