/* bench/lib/train_profile.c — where a step's time goes: the CPU's table with entries that measure
 * themselves. */
#include "bench/lib/table.h"
#include "bench/lib/train_job.h"
#include <stdio.h>
#include <string.h>

#define LAPS 64

/* Of each call of a step the shortest time of all steps: what else the machine does counts
 * little. */
static struct {
	struct {
		const char *name;
		double gap, s; /* since the entry before it; itself */
	} lap[LAPS];
	size_t at;
	double left; /* when the last entry ended */
} prof;

static double lesser(double known, double s)
{
	return known == 0 || s < known ? s : known;
}

static sw_status leave(const char *name, double began, sw_status status)
{
	const double end = bench_now();

	if (prof.at < LAPS) {
		prof.lap[prof.at].name = name;
		prof.lap[prof.at].gap = lesser(prof.lap[prof.at].gap, began - prof.left);
		prof.lap[prof.at].s = lesser(prof.lap[prof.at].s, end - began);
		prof.at++;
	}
	prof.left = bench_now();
	return status;
}

#define TIMED(entry, params, args)                                                                 \
	static sw_status timed_##entry params                                                      \
	{                                                                                          \
		const double began = bench_now();                                                  \
                                                                                                   \
		return leave(#entry, began, sw_ops_cpu.entry args);                                \
	}

TIMED(gather,
      (struct sw_queue * q, const float *rows, const int32_t *index, float *out, size_t B,
       size_t D),
      (q, rows, index, out, B, D))
TIMED(gather_i32,
      (struct sw_queue * q, const int32_t *values, const int32_t *index, int32_t *out, size_t B,
       size_t D),
      (q, values, index, out, B, D))
TIMED(gather_image,
      (struct sw_queue * q, const void *rows, const int32_t *index, float *out, size_t B,
       const struct sw_images *im),
      (q, rows, index, out, B, im))
TIMED(conv2d_forward,
      (struct sw_queue * q, const float *x, const float *w, const float *b, float *y,
       const struct sw_conv *c, enum sw_act act, void *work),
      (q, x, w, b, y, c, act, work))
TIMED(conv2d_backward,
      (struct sw_queue * q, const float *x, const float *w, const float *y, float *dy, float *dx,
       float *dw, float *db, const struct sw_conv *c, enum sw_act act, void *work),
      (q, x, w, y, dy, dx, dw, db, c, act, work))
TIMED(conv2d_maxpool_forward,
      (struct sw_queue * q, const float *x, const float *w, const float *b,
       const struct sw_pooled *m, const struct sw_conv *c, enum sw_act act, void *work),
      (q, x, w, b, m, c, act, work))
TIMED(conv2d_maxpool_backward,
      (struct sw_queue * q, const float *x, const float *w, const struct sw_pooled *m,
       const float *dy, float *dfull, float *dx, float *dw, float *db, const struct sw_conv *c,
       enum sw_act act, void *work),
      (q, x, w, m, dy, dfull, dx, dw, db, c, act, work))
TIMED(maxpool2d_forward,
      (struct sw_queue * q, const float *x, float *y, int32_t *argmax, const struct sw_window *p),
      (q, x, y, argmax, p))
TIMED(maxpool2d_backward,
      (struct sw_queue * q, const float *dy, const int32_t *argmax, float *dx,
       const struct sw_window *p),
      (q, dy, argmax, dx, p))
TIMED(linear_forward,
      (struct sw_queue * q, const float *x, const float *w, const float *b, float *y, size_t B,
       size_t I, size_t O, enum sw_act act, void *kept),
      (q, x, w, b, y, B, I, O, act, kept))
TIMED(linear_backward,
      (struct sw_queue * q, const float *x, const float *w, const float *y, float *dy, float *dx,
       float *dw, float *db, size_t B, size_t I, size_t O, enum sw_act act, const void *kept),
      (q, x, w, y, dy, dx, dw, db, B, I, O, act, kept))
TIMED(cross_entropy,
      (struct sw_queue * q, const float *z, const int32_t *label, const int32_t *index, float *dz,
       struct sw_metrics *m, float scale, const int32_t *count, size_t B, size_t C, float smooth),
      (q, z, label, index, dz, m, scale, count, B, C, smooth))
TIMED(sgd_step,
      (struct sw_queue * q, float *w, const float *g, float *v, size_t n, struct sw_sgd o,
       const struct sw_step *s, const double *norm2),
      (q, w, g, v, n, o, s, norm2))

sw_status train_job_profile(struct train_job *job, size_t steps)
{
	const double k = 1e6 / (double)job->net.at.batch;
	double between = 0;
	sw_status status = train_job_step(job);

	memset(&prof, 0, sizeof prof);
	job->ops.gather = timed_gather;
	job->ops.gather_i32 = timed_gather_i32;
	job->ops.gather_image = timed_gather_image;
	job->ops.conv2d_forward = timed_conv2d_forward;
	job->ops.conv2d_backward = timed_conv2d_backward;
	job->ops.conv2d_maxpool_forward = timed_conv2d_maxpool_forward;
	job->ops.conv2d_maxpool_backward = timed_conv2d_maxpool_backward;
	job->ops.maxpool2d_forward = timed_maxpool2d_forward;
	job->ops.maxpool2d_backward = timed_maxpool2d_backward;
	job->ops.linear_forward = timed_linear_forward;
	job->ops.linear_backward = timed_linear_backward;
	job->ops.cross_entropy = timed_cross_entropy;
	job->ops.sgd_step = timed_sgd_step;
	for (size_t i = 0; status == SW_OK && i < steps; i++) {
		prof.at = 0;
		prof.left = bench_now();
		status = train_job_step(job);
	}
	job->ops = sw_ops_cpu;
	printf("  us a row:");
	for (size_t i = 0; i < prof.at; i++) {
		printf(" %s %.3f,", prof.lap[i].name, prof.lap[i].s * k);
		between += prof.lap[i].gap;
	}
	printf(" between them %.3f\n", between * k);
	return status;
}
