#include "trainer/runner.h"
#include "kernels/backend.h"

sw_status sw_runner_open(struct sw_runner *r, const char *device, struct sw_err *err)
{
	sw_status rc = SW_OK;

	if (!r->ops)
		rc = sw_backend_open(device, r->cores, &r->ops, err);
	if (rc != SW_OK)
		return rc;
	/* On a CPU the rows lie in the memory that the net works in: there is nothing to stream
	 * to. */
	r->streams = r->ops != &sw_ops_cpu;
	if (!r->q)
		rc = r->ops->queue_create(&r->q);
	if (rc == SW_OK && !r->cache)
		rc = sw_data_cache_create(&r->cache, r->ops);
	return rc;
}

void sw_runner_close(struct sw_runner *r, const struct sw_runner *of)
{
	if (!of || r->cache != of->cache)
		sw_data_cache_destroy(r->cache);
	if (r->q)
		r->ops->queue_destroy(r->q);
}

void sw_runner_share(const struct sw_runner *r, unsigned ranks)
{
	if (r->ops == &sw_ops_cpu)
		sw_ops_cpu_ranks(r->cores, ranks);
}
