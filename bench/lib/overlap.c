#include "bench/lib/overlap.h"
#include "base/memory.h"
#include "bench/lib/stats.h"
#include "bench/lib/train_job.h"
#include <stdlib.h>
#include <string.h>

#define PAIRS 1024

static float *at(const struct train_job *job, size_t offset)
{
	return (float *)(void *)(job->net.arena + offset);
}

/* Two batches of the same rows. A net without ranks works on the first rows of a batch, so in the
 * second one those of this rank come first. */
static sw_status order_twice(struct train_job *job, const struct sw_comm *c)
{
	const size_t batch = job->net.at.batch, own = sw_comm_rank(c) * job->net.at.share;

	if (2 * batch > job->data.train.rows || sw_comm_world(c) * job->net.at.share != batch)
		return SW_INVALID;
	for (size_t i = 0; i < batch; i++) {
		job->order[i] = (int32_t)i;
		job->order[batch + i] = (int32_t)((own + i) % batch);
	}
	return sw_net_order(&job->net, job->order, 2 * batch);
}

static struct overlap_time now(void)
{
	return (struct overlap_time){.s = bench_now(), .cpu_s = bench_cpu_now()};
}

static struct overlap_time since(struct overlap_time from)
{
	const struct overlap_time to = now();

	return (struct overlap_time){.s = to.s - from.s, .cpu_s = to.cpu_s - from.cpu_s};
}

/* *sum: what a late one takes. */
static sw_status gradient(struct train_job *job, struct sw_comm *c, bool beside,
			  struct overlap_time *sum)
{
	struct sw_net *net = &job->net;
	const size_t batch = net->at.batch;
	sw_status rc;

	net->comm = beside ? c : NULL;
	rc = sw_net_gradient(net, &job->data, beside ? 0 : batch, batch);
	if (rc != SW_OK || beside)
		return rc;
	const struct overlap_time from = now();

	rc = sw_comm_sum(c, SW_COMM_F32, at(job, net->at.grads), job->model.weights_n,
			 sw_comm_world(c));
	*sum = since(from);
	return rc;
}

static sw_status step(struct train_job *job, struct sw_comm *c, bool beside,
		      struct overlap_time *took, struct overlap_time *sum)
{
	const struct sw_head *head = (const void *)(job->net.arena + job->net.at.step);
	const struct sw_sgd sgd = {.momentum = (float)job->trainer.momentum};
	sw_status rc = sw_comm_barrier(c);
	const struct overlap_time from = now();

	if (rc == SW_OK)
		rc = gradient(job, c, beside, sum);
	if (rc == SW_OK)
		rc = job->ops.sgd_step(job->q, at(job, job->net.at.weights),
				       at(job, job->net.at.grads), at(job, job->net.at.state[0]),
				       job->model.weights_n, sgd, &head->step[0], NULL);
	*took = since(from);
	return rc;
}

static sw_status check_same(struct train_job *job, struct sw_comm *c)
{
	const size_t bytes = job->model.weights_n * sizeof(float);
	float *beside = sw_malloc(bytes);
	struct overlap_time none;
	sw_status rc = beside ? gradient(job, c, true, &none) : SW_NOMEM;

	if (rc == SW_OK)
		memcpy(beside, at(job, job->net.at.grads), bytes);
	if (rc == SW_OK)
		rc = gradient(job, c, false, &none);
	if (rc == SW_OK && memcmp(beside, at(job, job->net.at.grads), bytes) != 0)
		rc = SW_INTERNAL;
	free(beside);
	return rc;
}

static struct overlap_time median(const struct overlap_time *v, size_t n)
{
	static double s[PAIRS], cpu_s[PAIRS];

	for (size_t i = 0; i < n; i++) {
		s[i] = v[i].s;
		cpu_s[i] = v[i].cpu_s;
	}
	return (struct overlap_time){.s = bench_stat_quantile(s, n, 0.5),
				     .cpu_s = bench_stat_quantile(cpu_s, n, 0.5)};
}

static sw_status measure(struct train_job *job, struct sw_comm *c, size_t pairs,
			 struct overlap *out)
{
	static struct overlap_time took[2][PAIRS], sum[PAIRS];
	static double ratio[PAIRS];
	sw_status rc = order_twice(job, c);

	if (rc == SW_OK)
		rc = check_same(job, c);
	for (size_t i = 0; i < pairs && rc == SW_OK; i++) {
		const bool first = i % 2; /* neither kind always comes after the other */

		rc = step(job, c, first, &took[first][i], &sum[i]);
		if (rc == SW_OK)
			rc = step(job, c, !first, &took[!first][i], &sum[i]);
		ratio[i] = took[0][i].s / took[1][i].s;
	}
	if (rc != SW_OK)
		return rc;
	out->weights_n = job->model.weights_n;
	out->late = median(took[0], pairs);
	out->beside = median(took[1], pairs);
	out->sum = median(sum, pairs);
	for (int q = 0; q < 3; q++)
		out->ratio[q] = bench_stat_quantile(ratio, pairs, 0.25 * (q + 1));
	return SW_OK;
}

sw_status overlap_measure(struct overlap *out, struct sw_comm *c, const char *net, size_t batch,
			  size_t pairs, struct sw_err *err)
{
	struct train_job job;
	sw_status rc = train_job_make(&job, net, batch, c, err);

	if (rc != SW_OK)
		return rc;
	rc = measure(&job, c, pairs < PAIRS ? pairs : PAIRS, out);
	job.net.comm = c;
	train_job_free(&job);
	if (rc == SW_INTERNAL)
		return sw_err_set(err, rc, "%s: one late sum gives other gradients", net);
	return rc == SW_OK ? rc : sw_err_set(err, rc, "%s: a step failed", net);
}
