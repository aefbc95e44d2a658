/* tests/trainer/cache_get.h — a data set of a cache, which nobody holds afterwards. */
#ifndef SW_TESTS_WORKER_CACHE_GET_H
#define SW_TESTS_WORKER_CACHE_GET_H

#include "trainer/data/data.h"

/* *out is valid until the next call for the cache. */
static inline sw_status cache_get(struct sw_data_cache *c, const cJSON *set,
				  struct sw_data_want want, const struct sw_data **out,
				  struct sw_err *err)
{
	const sw_status rc = sw_data_cache_hold(c, NULL, set, want, out, err);

	sw_data_cache_release(c, *out);
	return rc;
}

#endif
