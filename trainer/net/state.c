/* trainer/net/state.c — a net's weights, optimizer state and statistics: to and from host memory,
 * and from rank 0 to all.
 *
 * Rank 0 of a pipeline has its own stage's alone. When it reads or sets those of the whole model,
 * it says so with a word, for which the others wait, and they take their part. So it may do this at
 * any time between two steps, and the others need not know when a checkpoint is due. */
#include "base/memory.h"
#include "trainer/net/internal.h"
#include <stdlib.h>

/* Rank 0's words; FETCH and PUT with a set's number. */
enum { STOP, GO, FETCH, PUT = FETCH + 4, WORDS = PUT + 4 };
_Static_assert(SW_NET_RUNNING > sizeof((struct sw_layout *)NULL)->state / sizeof(size_t),
	       "a number behind the weights' and the optimizer's");

size_t sw_net_sets(const struct sw_net *net)
{
	return 1 + net->at.states_n;
}

/* --- of the own operations --- */

static char *set_at(const struct sw_net *net, size_t set)
{
	return net->arena + (set == SW_NET_RUNNING ? net->at.running
			     : set == 0            ? net->at.weights
						   : net->at.state[set - 1]);
}

static size_t own_bytes(const struct sw_net *net, size_t set)
{
	return (set == SW_NET_RUNNING ? net->own->running_n : net->own->weights_n) * sizeof(float);
}

static sw_status own_download(const struct sw_net *net, size_t set, float *host)
{
	return net->ops->download(net->q, host, set_at(net, set), own_bytes(net, set));
}

sw_status sw_net_own_upload(const struct sw_net *net, size_t set, const float *host)
{
	return net->ops->upload(net->q, set_at(net, set), host, own_bytes(net, set));
}

/* --- of the whole model --- */

static const size_t *fronts(const struct sw_net *net, size_t set)
{
	return set == SW_NET_RUNNING ? net->ranks.running : net->ranks.weights;
}

static size_t whole_n(const struct sw_net *net, size_t set)
{
	return set == SW_NET_RUNNING ? net->model->running_n : net->model->weights_n;
}

/* A rank that cannot take its part in what rank 0 has asked for ends all: rank 0 may go on after an
 * error, as when a checkpoint cannot be written, and they would wait for each other. */
static sw_status all_or_none(const struct sw_net *net, sw_status rc)
{
	if (rc != SW_OK)
		sw_comm_give_up(net->ranks.comm, rc, sw_status_str(rc));
	return rc;
}

/* host, float[whole_n], of every rank becomes the set of rank 0's pipeline. */
static sw_status set_gather(const struct sw_net *net, size_t set, float *host)
{
	const size_t *front = fronts(net, set);
	sw_status rc = all_or_none(net, own_download(net, set, host + front[net->ranks.stage]));

	/* Each stage in turn says its own, and all hear it: a broadcast is a call of all ranks. */
	for (unsigned s = 0; rc == SW_OK && s < net->ranks.stages; s++)
		rc = sw_comm_broadcast(net->ranks.comm, s, host + front[s],
				       (front[s + 1] - front[s]) * sizeof *host);
	return rc;
}

/* host of rank 0 becomes the set of all; host of the others is written. */
static sw_status set_spread(const struct sw_net *net, size_t set, float *host)
{
	const float *own = host + fronts(net, set)[net->ranks.stage];
	const sw_status rc =
		sw_comm_broadcast(net->ranks.comm, 0, host, whole_n(net, set) * sizeof *host);

	return rc == SW_OK ? all_or_none(net, sw_net_own_upload(net, set, own)) : rc;
}

static sw_status say(const struct sw_net *net, size_t word)
{
	unsigned char byte = (unsigned char)word;

	return sw_comm_broadcast(net->ranks.comm, 0, &byte, 1);
}

sw_status sw_net_set_download(const struct sw_net *net, size_t set, float *host)
{
	sw_status rc;

	if (net->ranks.stages == 1)
		return own_download(net, set, host);
	rc = say(net, FETCH + set);
	if (rc == SW_OK)
		rc = set_gather(net, set, host);
	/* a rank that could not take part has ended all: rank 0 may have needed nothing of it */
	return rc == SW_OK ? sw_comm_barrier(net->ranks.comm) : rc;
}

sw_status sw_net_set_upload(struct sw_net *net, size_t set, const float *host)
{
	sw_status rc;

	if (net->ranks.stages == 1)
		return sw_net_own_upload(net, set, host);
	rc = say(net, PUT + set);
	/* rank 0's is only read */
	if (rc == SW_OK)
		rc = set_spread(net, set, (float *)host);
	return rc == SW_OK ? sw_comm_barrier(net->ranks.comm) : rc;
}

/* --- rank 0's word --- */

static sw_status set_serve(const struct sw_net *net, size_t set, bool put)
{
	float *host = sw_malloc(whole_n(net, set) * sizeof *host);
	sw_status rc = all_or_none(net, host ? SW_OK : SW_NOMEM);

	if (rc == SW_OK)
		rc = put ? set_spread(net, set, host) : set_gather(net, set, host);
	free(host);
	return rc == SW_OK ? sw_comm_barrier(net->ranks.comm) : rc;
}

/* Does what rank 0 says, until it says whether they go on. */
static sw_status obey(const struct sw_net *net, bool *on)
{
	unsigned char word = FETCH;
	sw_status rc = SW_OK;

	while (rc == SW_OK && word >= FETCH) {
		rc = sw_comm_broadcast(net->ranks.comm, 0, &word, 1);
		if (rc == SW_OK && word >= WORDS)
			rc = SW_INTERNAL;
		else if (rc == SW_OK && word >= FETCH)
			rc = set_serve(net, (word - FETCH) % 4u, word >= PUT);
	}
	*on = word == GO;
	return rc;
}

sw_status sw_net_go(struct sw_net *net, bool *on)
{
	if (!net->ranks.comm)
		return SW_OK; /* alone: *on is its own */
	return sw_comm_rank(net->ranks.comm) == 0 ? say(net, *on ? GO : STOP) : obey(net, on);
}

/* --- rank 0's state --- */

/* All ranks of a stage get the set of the first of them. */
static sw_status set_share(struct sw_net *net, size_t set, float *host)
{
	const size_t *front = fronts(net, set);
	sw_status rc = SW_OK;

	for (unsigned s = 0; rc == SW_OK && s < net->ranks.stages; s++) {
		const bool lead = sw_comm_rank(net->ranks.comm) == s;

		if (lead)
			rc = own_download(net, set, host);
		if (rc == SW_OK)
			rc = sw_comm_broadcast(net->ranks.comm, s, host,
					       (front[s + 1] - front[s]) * sizeof *host);
		if (rc == SW_OK && !lead && s == net->ranks.stage)
			rc = sw_net_own_upload(net, set, host);
	}
	return rc;
}

sw_status sw_net_running_share(struct sw_net *net)
{
	float *host;
	sw_status rc;

	/* Nothing to share; or one rank a stage: then nobody else has its statistics. */
	if (!net->ranks.comm || net->model->running_n == 0 ||
	    sw_comm_world(net->ranks.comm) == net->ranks.stages)
		return SW_OK;
	host = sw_malloc(net->model->running_n * sizeof *host);
	rc = host ? set_share(net, SW_NET_RUNNING, host) : SW_NOMEM;
	free(host);
	return rc;
}

static sw_status sets_share(struct sw_net *net)
{
	float *host = sw_malloc(net->model->weights_n * sizeof *host);
	sw_status rc = host ? SW_OK : SW_NOMEM;

	for (size_t set = 0; rc == SW_OK && set < sw_net_sets(net); set++)
		rc = set_share(net, set, host);
	free(host);
	return rc == SW_OK ? sw_net_running_share(net) : rc;
}

sw_status sw_net_state_share(struct sw_net *net, uint64_t *epoch)
{
	struct {
		uint64_t epoch, step, stale, seed; /* a copy of another trial has that one's seed */
		double best_loss;
	} head = {*epoch, net->step, net->stale, net->seed, net->best_loss};
	bool on = true;
	sw_status rc;

	if (!net->ranks.comm)
		return SW_OK;
	/* a pipeline's ranks have what rank 0 has put; else all are as the seed made them */
	rc = net->ranks.stages > 1 ? sw_net_go(net, &on) : SW_OK;
	if (rc == SW_OK)
		rc = sw_comm_broadcast(net->ranks.comm, 0, &head, sizeof head);
	if (rc != SW_OK)
		return rc;
	*epoch = head.epoch;
	net->step = head.step;
	net->stale = head.stale;
	net->seed = head.seed;
	net->best_loss = head.best_loss;
	return net->ranks.stages > 1 ? SW_OK : sets_share(net);
}
