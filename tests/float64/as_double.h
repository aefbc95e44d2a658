/*
 * tests/float64/as_double.h — included before the first line of each source of sw_double: from here
 * on `float` is double, and so are the library's functions on floats.
 *
 * What others wrote is included before, so that it keeps its meaning; what is ours gets the new
 * one, the headers of kernels and worker included. base and proto have no float in what they share
 * with them, and are linked as they are.
 */
#ifndef SW_TESTS_FLOAT64_AS_DOUBLE_H
#define SW_TESTS_FLOAT64_AS_DOUBLE_H

#include <assert.h>
#include <cblas.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#undef I /* of complex.h, which cblas.h brings */

#define float double
#define erff        erf
#define expf        exp
#define fabsf       fabs
#define logf        log
#define powf        pow
#define sqrtf       sqrt
#define tanhf       tanh
#define cblas_sgemm cblas_dgemm

#endif
