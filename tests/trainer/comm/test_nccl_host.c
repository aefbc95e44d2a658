/* tests/trainer/comm/test_nccl_host.c — the same without a device at all: the stand-in for NCCL
 * moves the host's memory within each call, as worker programs of the end-to-end tests use it. */
#include "tests/trainer/comm/gang.h"

enum { N = 70001 };

/* A pipeline of two stages, each twice: what crosses the cut is the rank's number, as is its
 * part. */
static sw_status turns(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	const unsigned rank = sw_comm_rank(c), peer = rank ^ 1;
	static _Thread_local float out[N], in[N], g[N];
	struct sw_err err = SW_ERR_INIT;
	sw_status rc;

	(void)ctx;
	sw_comm_groups(c, 2);
	rc = sw_comm_devices(c, &err);
	for (unsigned turn = 0; turn < 20 && rc == SW_OK; turn++) {
		for (unsigned i = 0; i < N; i++) {
			out[i] = g[i] = (float)(rank * 1000 + turn + i);
			in[i] = 0;
		}
		rc = sw_comm_exchange(c, NULL, peer, out, N - turn, in, N - turn);
		if (rc == SW_OK)
			rc = sw_comm_sum_begin(c, NULL, g, N, sw_comm_world(c) / 2);
		if (rc == SW_OK)
			rc = sw_comm_sum_end(c);
		for (unsigned i = 0; i < N && rc == SW_OK; i++) {
			float sum = 0;

			for (unsigned r = rank % 2; r < sw_comm_world(c); r += 2)
				sum += (float)(r * 1000 + turn + i);
			if (g[i] != sum)
				GANG_BAD(me, "turn %u: a sum is another", turn);
			if (in[i] != (i < N - turn ? (float)(peer * 1000 + turn + i) : 0))
				GANG_BAD(me, "turn %u: what was exchanged is another", turn);
		}
	}
	if (sw_comm_devices_end(c) != SW_OK)
		GANG_BAD(me, "NCCL does not end");
	return rc == SW_OK ? sw_comm_barrier(c) : rc;
}

TEST_LOOP(nccl_without_a_device_exchanges_and_sums, 0, 2)
{
	gang_run_on(true, _i == 0 ? 2 : 4, turns, NULL);
}

RUN_TESTS(NULL, NULL)
