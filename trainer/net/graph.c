/* trainer/net/graph.c — steps that were recorded, so that they can be given again as one call. */
#include "trainer/net/internal.h"

void sw_net_forget(struct sw_net *net)
{
	(void)net->ops->sync(net->q); /* a failure is told by the next call */
	for (int i = 0; i < 2; i++) {
		if (net->graphs.whole[i])
			net->ops->graph_free(net->graphs.whole[i]);
		net->graphs.whole[i] = NULL;
		net->graphs.made[i] = false;
	}
	if (net->graphs.many)
		net->ops->graph_free(net->graphs.many);
	net->graphs.many = NULL;
}

/* Another lane can disturb a recording, or leave too little memory for it: the next steps try
 * again, and the trial goes on by calls after the last try. */
void sw_net_graph_missed(struct sw_net *net)
{
	net->graphs.misses++;
	net->graphs.off = net->graphs.misses == SW_NET_GRAPH_TRIES;
}

sw_status sw_net_graph_record(struct sw_net *net, const struct sw_net_steps *steps,
			      sw_status (*give)(struct sw_net *, const struct sw_net_steps *),
			      struct sw_graph **out)
{
	const struct sw_ops *ops = net->ops;
	sw_status rc = ops->graph_begin(net->q), ended;

	*out = NULL;
	if (rc == SW_UNSUPPORTED) {
		net->graphs.off = true;
		return SW_OK;
	}
	/* Ended whatever was given: a recording that stays open holds off all that must be
	 * alone. */
	if (rc == SW_OK) {
		sw_comm_records(net->ranks.comm, true);
		rc = give(net, steps);
		sw_comm_records(net->ranks.comm, false);
		ended = ops->graph_end(net->q, out);
		if (rc == SW_OK)
			rc = ended;
		if (rc != SW_OK && *out) {
			ops->graph_free(*out);
			*out = NULL;
		}
	}
	if (rc != SW_OK)
		sw_net_graph_missed(net);
	/* All else costs the graph alone: the step is given by calls. */
	return rc == SW_DEVICE_LOST ? rc : SW_OK;
}
