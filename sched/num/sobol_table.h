/* sched/num/sobol_table.h — what sobol.c starts each dimension's direction numbers from. */
#ifndef SW_SCHED_NUM_SOBOL_TABLE_H
#define SW_SCHED_NUM_SOBOL_TABLE_H

#include "sched/num/sobol.h"
#include <stdint.h>

#define SW_SOBOL_DEGREE_MAX 11

struct sw_sobol_row {
	uint16_t s, a, m[SW_SOBOL_DEGREE_MAX];
};

/* Row k is dimension k + 1; dimension 0, van der Corput's sequence, needs none. */
extern const struct sw_sobol_row sw_sobol_rows[SW_SOBOL_DIMS - 1];

#endif
