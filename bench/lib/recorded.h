/*
 * bench/lib/recorded.h — recorded curves of real trainings as a family: a table (bench/curves), and
 * a surrogate for the configurations that are not in it.
 *
 * File     bench/curves/NAME.csv. A line a training: the configuration's number; its coordinates in
 *          the unit cube, in 1/10000; the loss after each of 27 epochs, as 1000 times its natural
 *          logarithm, rounded, at most BENCH_RECORDED_MOST (diverged stands there). The first
 *          BENCH_RECORDED_TWINS configurations have three trainings that differ by their seeds, in
 *          consecutive lines, the others one.
 * Truth    The mean over 60 extremely randomised trees (Geurts, Ernst, Wehenkel, 2006), each grown
 *          on all configurations to leaves of two or fewer, of the mean curves of the leaves, by
 *          logarithms. A split is the best of d thresholds drawn at random, by the squares that it
 *          leaves over all epochs together.
 * Noise    The whole residual curve of one training of a configuration that has three, one of the
 *          12 trainings whose final losses are nearest to the truth, by (seed, trial).
 */
#ifndef SW_BENCH_LIB_RECORDED_H
#define SW_BENCH_LIB_RECORDED_H

#include "bench/lib/family.h"

#define BENCH_RECORDED_MOST  3000 /* 1000 ln loss */
#define BENCH_RECORDED_TWINS 75

/* "digits", "breast_cancer", "diabetes", "boost"; NULL past the last. */
const char *bench_recorded_name(size_t i);
/* Reads the table of that name. The family's ctx is owned by the family: bench_recorded_close(). 0,
 * or -1 with a line on stderr. */
int bench_recorded_open(struct bench_family *out, const char *name);
void bench_recorded_close(struct bench_family *f);

#endif
