/* trainer/net/memory.c — the arena: taken once, and its second piece again when memory is short. */
#include "trainer/net/internal.h"
#include <assert.h>
#include <pthread.h>

/* The trainer's options with the size of a row that must be fed, which the layout needs. */
static struct sw_trainer trainer_of(const struct sw_net *net, const struct sw_data *data)
{
	struct sw_trainer t = *net->trainer;

	t.feed_row = data->streamed ? sw_data_row_bytes(data) : 0;
	return t;
}

/* One net at a time asks what is free and takes of it: else several would take the same bytes, and
 * with them what the device keeps for itself. */
static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;

/* A library that makes products takes its own memory first, before the rest is divided. */
static sw_status library_take(struct sw_net *net, const struct sw_data *data, struct sw_err *err)
{
	const struct sw_trainer t = trainer_of(net, data);
	sw_status rc = sw_layout_fit(&net->at, net->own, &t, data->train.rows, data->val.rows,
				     net->ops, SIZE_MAX / 2, &net->oom_events, err);

	if (rc != SW_OK || net->at.product_bytes == 0)
		return rc;
	rc = net->ops->products_open(net->q, err);
	return rc == SW_OK ? SW_OK
			   : sw_err_set(err, rc, "no products by a library on %s: %s",
					net->ops->name, sw_status_str(rc));
}

static size_t less(size_t a, size_t b)
{
	return a > b ? a - b : 0;
}

/* The layout, and its pieces: of a smaller micro-batch when there are not enough bytes. */
static sw_status arena_alloc(struct sw_net *net, const struct sw_data *data, struct sw_err *err)
{
	const struct sw_ops *ops = net->ops;
	const struct sw_trainer t = trainer_of(net, data);
	size_t most = net->trainer->memory ? less(net->trainer->memory, net->at.library)
					   : SIZE_MAX / 2;
	size_t free_bytes, total;
	void *piece = NULL;
	sw_status rc;

	/* the kernel lends memory that it does not have: ask before, not after */
	if (ops->memory(&free_bytes, &total) == SW_OK && free_bytes < most)
		most = free_bytes;
	do {
		rc = sw_layout_fit(&net->at, net->own, &t, data->train.rows, data->val.rows, ops,
				   most, &net->oom_events, err);
		if (rc != SW_OK)
			return rc;
		/* The first piece is the same for each micro-batch: one that was taken stays. */
		if (!net->arena) {
			rc = ops->alloc(&piece, net->at.kept);
			net->arena = piece;
		}
		if (rc == SW_OK) {
			rc = ops->alloc(&piece, net->at.bytes - net->at.kept);
			net->parts = piece;
		}
		/* A byte less, so that the next layout is of a smaller micro-batch. */
		most = net->at.bytes - 1;
	} while (rc == SW_NOMEM && net->at.micro > 1);
	return rc;
}

/* The gaps between gradients are zero for good, for sums go over them. */
static sw_status part_zero(const struct sw_net *net)
{
	if (net->at.micro == net->at.share)
		return SW_OK; /* there is one part: none are added up */
	return net->ops->zero(net->q, net->parts + net->at.part,
			      net->own->weights_n * sizeof(float));
}

/* Only the second piece is given back: the first has all that a step must not lose. */
sw_status sw_net_shrink(struct sw_net *net, const struct sw_data *data)
{
	struct sw_trainer part = trainer_of(net, data);
	const size_t kept = net->at.kept;
	void *piece = NULL;
	unsigned more;
	sw_status rc;

	/* sums in mid-pass want one part of each rank */
	if (net->at.micro == 1 || net->trainer->sync_batchnorm)
		return SW_NOMEM;
	sw_net_forget(net); /* then nothing uses the piece */
	pthread_mutex_lock(&taking);
	/* Before the smaller one is taken, for which there may be no room beside it. */
	net->ops->free(net->parts);
	do {
		const size_t most = net->at.bytes;

		part.micro_batch = (net->at.micro + 1) / 2;
		rc = sw_layout_fit(&net->at, net->own, &part, data->train.rows, data->val.rows,
				   net->ops, most, &more, NULL);
		net->oom_events += 1 + more;
		assert(net->at.kept == kept);
		if (rc == SW_OK)
			rc = net->ops->alloc(&piece, net->at.bytes - kept);
	} while (rc == SW_NOMEM && net->at.micro > 1);
	/* NULL after a failure, so that nothing is given back twice. */
	net->parts = piece;
	pthread_mutex_unlock(&taking);
	if (rc == SW_OK)
		rc = part_zero(net);
	return rc == SW_OK ? sw_net_precision(net) : rc;
}

sw_status sw_net_arena_take(struct sw_net *net, const struct sw_data *data, struct sw_err *err)
{
	const struct sw_ops *ops = net->ops;
	sw_status rc;

	pthread_mutex_lock(&taking);
	rc = library_take(net, data, err);
	if (rc == SW_OK)
		rc = arena_alloc(net, data, err);
	pthread_mutex_unlock(&taking);
	/* gradients and state begin at zero, and the gaps between tensors stay so */
	if (rc == SW_OK)
		rc = ops->zero(net->q, net->arena, net->at.metrics);
	if (rc == SW_OK)
		rc = part_zero(net);
	/* unless the layout or the library has said why */
	return rc == SW_OK ? SW_OK
			   : sw_err_set(err, rc, "no arena of %zu bytes: %s", net->at.bytes,
					sw_status_str(rc));
}
