/* worker/exec/limit.h — for how long a program may run and be silent, and its processes. */
#ifndef SW_WORKER_EXEC_LIMIT_H
#define SW_WORKER_EXEC_LIMIT_H

#include "worker/exec/program.h"
#include <cjson/cJSON.h>
#include <stdint.h>

struct sw_limit {
	int64_t started_us;  /* the attempt, not this run of the program */
	int64_t counted_us;  /* when its processes were counted */
	const char *overdue; /* the key of `run` that ends it; NULL: none */
};

/* Milliseconds that a program has, which was heard at heard_us; 0: `overdue` says what is over. */
int sw_limit_left_ms(struct sw_limit *l, const cJSON *run, const struct sw_program *p,
		     int64_t heard_us);

#endif
