/* trainer/comm/comm_exchange.c — between two ranks: each takes what the other gives out of its
 * buffer, and is back when both have. */
#include "trainer/comm/comm_internal.h"
#include "trainer/comm/nccl.h"
#include <assert.h>
#include <string.h>

/* Has the peer given something that this rank has not taken? */
static bool has_given(const struct sw_comm *c, size_t peer)
{
	const struct comm_move *m = &c->all->rank[peer].to[c->rank];

	return atomic_load(&m->given) > atomic_load(&m->taken);
}

/* Has the peer taken all that this rank gave? */
static bool has_taken(const struct sw_comm *c, size_t peer)
{
	const struct comm_move *m = &c->to[peer];

	return atomic_load(&m->taken) == atomic_load(&m->given);
}

static sw_status take(struct sw_comm *c, unsigned peer, float *in, size_t n)
{
	struct comm_move *m = &c->all->rank[peer].to[c->rank];
	sw_status rc = comm_until(c, has_given, peer);

	if (rc == SW_OK)
		rc = comm_enter(c);
	if (rc != SW_OK)
		return rc;
	assert(m->n == n);
	memcpy(in, m->p, n * sizeof *in);
	comm_leave(c);
	/* Last: from here on the giver may write its buffer again. */
	(void)atomic_fetch_add(&m->taken, 1);
	comm_move_on(c);
	return SW_OK;
}

sw_status sw_comm_exchange(struct sw_comm *c, void *stream, unsigned peer, const float *out,
			   size_t out_n, float *in, size_t in_n)
{
	struct comm_move *to = &c->to[peer];
	sw_status rc = comm_failed(c);

	assert(peer < c->all->world && peer != c->rank);
	if (c->nccl != NULL)
		return sw_nccl_exchange(c->nccl, stream, peer, out, out_n, in, in_n);
	if (rc == SW_OK && out_n > 0) {
		/* Given before anything is taken: two that give to each other do not wait for each
		 * other. */
		to->p = out;
		to->n = out_n;
		(void)atomic_fetch_add(&to->given, 1);
		comm_move_on(c);
	}
	if (rc == SW_OK && in_n > 0)
		rc = take(c, peer, in, in_n);
	return rc == SW_OK && out_n > 0 ? comm_until(c, has_taken, peer) : rc;
}
