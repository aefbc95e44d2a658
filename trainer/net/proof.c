/* trainer/net/proof.c — the first sums of devices are of numbers that are known. Between two GPUs a
 * way that CUDA announces may carry nothing, for good, or other bytes (PCIe's ACS, an IOMMU, some
 * boards): no answer of NCCL's says so. */
#include "base/clock.h"
#include "base/memory.h"
#include "trainer/net/internal.h"
#include <stdio.h>
#include <stdlib.h>

/* 1 MiB, as a small bucket of gradients: more than NCCL sends in one piece. */
#define FLOATS ((size_t)1 << 18)

/* Sockets of this machine, the slowest way, take some ms. The daemon takes 60 s of silence for the
 * worker's end. */
#define LIMIT_US ((int64_t)20 * 1000000)

#define ADVICE "set NCCL_P2P_DISABLE=1 for sweepd, or switch PCIe's ACS off"

struct proof {
	const struct sw_ops *ops;
	struct sw_queue *q;
	struct sw_comm *comm;
	unsigned groups;
	void *device, *host; /* [FLOATS floats] */
	int64_t end_us;
};

static sw_status look(void *arg)
{
	const struct proof *p = arg;

	if (sw_clock_mono_us() > p->end_us)
		sw_comm_give_up(p->comm, SW_BUSY, "GPUs wait for each other's first sum: " ADVICE);
	return sw_comm_look(p->comm);
}

/* Whole numbers, whose sums are so in a float, too: no order of additions matters. */
static double number(unsigned rank, size_t i)
{
	return 1000 * (rank + 1.0) + (double)(i % 251);
}

static double wanted(const struct proof *p, bool all, size_t i)
{
	const unsigned first = all ? 0 : sw_comm_rank(p->comm) % p->groups;
	double sum = 0;

	for (unsigned r = first; r < sw_comm_world(p->comm); r += all ? 1 : p->groups)
		sum += number(r, i);
	return sum;
}

static sw_status compare(const struct proof *p, bool all, size_t n)
{
	char line[200];

	for (size_t i = 0; i < n; i++) {
		const double want = wanted(p, all, i);
		const double got = all ? ((double *)p->host)[i] : (double)((float *)p->host)[i];

		if (got == want)
			continue;
		(void)snprintf(line, sizeof line,
			       "number %zu of GPUs' first sum is %.9g, not %.9g: %s", i, got, want,
			       ADVICE);
		sw_comm_give_up(p->comm, SW_BUSY, line);
		return sw_comm_look(p->comm); /* what another rank found first stands */
	}
	return SW_OK;
}

/* all: of all ranks' doubles; else of a group's floats, as gradients' sums are. */
static sw_status prove(struct proof *p, bool all)
{
	const size_t bytes = FLOATS * sizeof(float), n = all ? bytes / sizeof(double) : FLOATS;
	const unsigned rank = sw_comm_rank(p->comm), world = sw_comm_world(p->comm);
	void *stream;
	sw_status rc;

	for (size_t i = 0; i < n; i++)
		if (all)
			((double *)p->host)[i] = number(rank, i);
		else
			((float *)p->host)[i] = (float)number(rank, i);
	rc = p->ops->upload(p->q, p->device, p->host, bytes);
	if (rc == SW_OK)
		rc = p->ops->fork(p->q, &stream);
	if (rc == SW_OK)
		rc = all ? sw_comm_sum_now(p->comm, stream, p->device, n, world)
			 : sw_comm_sum_begin(p->comm, stream, p->device, n, world / p->groups);
	if (rc == SW_OK)
		rc = sw_comm_sum_end(p->comm);
	/* From here on: NCCL connects within its call, which has a limit of its own. */
	p->end_us = sw_clock_mono_us() + LIMIT_US;
	if (rc == SW_OK)
		rc = p->ops->join(p->q);
	if (rc == SW_OK)
		rc = p->ops->download(p->q, p->host, p->device, bytes);
	return rc == SW_OK ? compare(p, all, n) : rc;
}

sw_status sw_net_prove_sums(const struct sw_ops *ops, struct sw_queue *q, struct sw_comm *comm,
			    unsigned stages)
{
	struct proof p = {.ops = ops, .q = q, .comm = comm, .groups = stages};
	sw_status rc;

	p.end_us = sw_clock_mono_us() + LIMIT_US;
	p.host = sw_malloc(FLOATS * sizeof(float));
	rc = p.host ? ops->alloc(&p.device, FLOATS * sizeof(float)) : SW_NOMEM;
	ops->watch(q, look, &p);
	if (rc == SW_OK)
		rc = prove(&p, false);
	/* in a pipeline gradients' groups are not all that talks */
	if (rc == SW_OK && stages > 1)
		rc = prove(&p, true);
	ops->watch(q, NULL, NULL);
	if (rc != SW_OK) {
		/* ends the sums that others wait in, and what still uses the memory here: on the
		 * queue, and beside it where no join was reached */
		sw_comm_give_up(comm, rc, sw_status_str(rc));
		(void)ops->join(q);
		(void)ops->sync(q);
	}
	ops->free(p.device);
	free(p.host);
	return rc;
}
