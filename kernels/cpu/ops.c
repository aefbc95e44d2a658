/* kernels/cpu/ops.c — the CPU table: memory, and the list of entries. */
#include "base/fault.h"
#include "base/memory.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/threads.h"
#include <cblas.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sw_queue {
	char unused; /* calls finish before they return: there is nothing to keep */
};

void sw_ops_cpu_threads(unsigned cores)
{
	sw_ops_cpu_ranks(cores, 1);
}

void sw_ops_cpu_ranks(unsigned cores, unsigned ranks)
{
	sw_cpu_threads_set(cores);
	sw_cpu_callers_set(ranks);
	/* its threads are the process's: ranks would wait for one another */
	openblas_set_num_threads(ranks > 1 ? 1 : (int)sw_cpu_threads());
	sw_cpu_parallel_begin();
}

static void describe(char *text, size_t cap)
{
	const unsigned threads = sw_cpu_threads();

	snprintf(text, cap, "CPU, %u %s, OpenBLAS for %s", threads,
		 threads == 1 ? "thread" : "threads", openblas_get_corename());
}

/* MemAvailable is what the kernel thinks can be had without swapping; sysconf only knows what is
 * wholly free. */
static sw_status memory(size_t *free_bytes, size_t *total_bytes)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];
	uint64_t kib;

	*free_bytes = 0;
	*total_bytes = 0;
	if (!f)
		return SW_IO;
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "MemTotal: %" SCNu64, &kib) == 1)
			*total_bytes = (size_t)kib * 1024;
		else if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
			*free_bytes = (size_t)kib * 1024;
	}
	fclose(f);
	return *total_bytes && *free_bytes ? SW_OK : SW_IO;
}

static sw_status queue_create(struct sw_queue **out)
{
	*out = sw_malloc(sizeof **out);
	return *out ? SW_OK : SW_NOMEM;
}

static void queue_destroy(struct sw_queue *q)
{
	free(q);
}

static sw_status mem_alloc(void **out, size_t bytes)
{
	*out = NULL;
	if (bytes == 0)
		return SW_OK;
	if (bytes > SIZE_MAX / 2 || sw_fault_hit(SW_FAULT_MALLOC))
		return SW_NOMEM;
	/* C asks for a size that is a multiple of the alignment. */
	*out = aligned_alloc(SW_OPS_ALIGN,
			     (bytes + SW_OPS_ALIGN - 1) / SW_OPS_ALIGN * SW_OPS_ALIGN);
	return *out ? SW_OK : SW_NOMEM;
}

static void mem_free(void *p)
{
	free(p);
}

static sw_status copy(struct sw_queue *q, void *dst, const void *src, size_t bytes)
{
	(void)q;
	if (bytes)
		memcpy(dst, src, bytes);
	return SW_OK;
}

static sw_status zero(struct sw_queue *q, void *dst, size_t bytes)
{
	(void)q;
	if (bytes)
		memset(dst, 0, bytes);
	return SW_OK;
}

static sw_status sync_queue(struct sw_queue *q)
{
	(void)q;
	return SW_OK;
}

/* --- what a device that works by itself has: here calls are done when they return --- */

static sw_status graph_begin(struct sw_queue *q)
{
	(void)q;
	return SW_UNSUPPORTED;
}

static sw_status graph_end(struct sw_queue *q, struct sw_graph **out)
{
	(void)q;
	*out = NULL;
	return SW_UNSUPPORTED;
}

static sw_status graph_run(struct sw_queue *q, struct sw_graph *g)
{
	(void)q;
	(void)g;
	return SW_UNSUPPORTED;
}

static void graph_free(struct sw_graph *g)
{
	(void)g;
}

/* OpenBLAS has memory of its own. */
static size_t linear_products(enum sw_precision p, size_t B, size_t in, size_t out)
{
	(void)p;
	(void)B;
	(void)in;
	(void)out;
	return 0;
}

static size_t conv2d_products(enum sw_precision p, const struct sw_conv *c)
{
	(void)p;
	(void)c;
	return 0;
}

static sw_status products_open(struct sw_queue *q, struct sw_err *err)
{
	(void)q;
	(void)err;
	return SW_OK;
}

static sw_status precision(struct sw_queue *q, enum sw_precision p, void *work, size_t bytes)
{
	(void)q;
	(void)work;
	(void)bytes;
	return p == SW_FP32 ? SW_OK : SW_UNSUPPORTED;
}

static size_t weights_copy(enum sw_precision p, size_t n)
{
	(void)p;
	(void)n;
	return 0;
}

static sw_status weights(struct sw_queue *q, const float *w, size_t n, void *to)
{
	(void)q;
	(void)w;
	(void)n;
	(void)to;
	return SW_OK;
}

static void watch(struct sw_queue *q, sw_status (*look)(void *ctx), void *ctx)
{
	(void)q;
	(void)look; /* nothing is waited for */
	(void)ctx;
}

static sw_status fork_queue(struct sw_queue *q, void **stream)
{
	(void)q;
	*stream = NULL;
	return SW_OK;
}

static sw_status transfer(struct sw_queue *q, unsigned buffer, void *dst, const void *src,
			  size_t bytes)
{
	return buffer > 1 ? SW_INVALID : copy(q, dst, src, bytes);
}

static sw_status transfer_wait(struct sw_queue *q, unsigned buffer)
{
	(void)q;
	return buffer > 1 ? SW_INVALID : SW_OK;
}

const struct sw_ops sw_ops_cpu = {
	.version = SW_OPS_VERSION,
	.name = "cpu",
	.describe = describe,
	.memory = memory,
	.queue_create = queue_create,
	.queue_destroy = queue_destroy,
	.alloc = mem_alloc,
	.free = mem_free,
	.upload = copy,
	.download = copy,
	.zero = zero,
	.sync = sync_queue,
	.watch = watch,
	.graph_begin = graph_begin,
	.graph_end = graph_end,
	.graph_run = graph_run,
	.graph_free = graph_free,
	.linear_products = linear_products,
	.conv2d_products = conv2d_products,
	.products_open = products_open,
	.precision = precision,
	.weights_copy = weights_copy,
	.weights = weights,
	.pinned_alloc = mem_alloc,
	.pinned_free = mem_free,
	.transfer = transfer,
	.transfer_wait = transfer_wait,
	.transfer_read = transfer_wait,
	.fork = fork_queue,
	.join = sync_queue,
#define SW_OP(result, name, parameters) .name = sw_cpu_##name,
#include "kernels/ops_list.h"
};
