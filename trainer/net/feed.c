/* trainer/net/feed.c — batches of a data set that does not lie on the device: the rows are gathered
 * into pinned memory and copied to a buffer in the arena while the step before still runs.
 *
 *   host     | gather t+1 | ...          | gather t+2 |
 *   copies         | t+1 to buffer 1 | ...     | t+2 to buffer 0 |
 *   queue    | step t on buffer 0      | step t+1 on buffer 1 |
 *
 * If several ranks share a batch, each fetches its own rows to their places in the batch, and the
 * labels of all rows, for the number of those that count is the whole batch's. A pipeline's later
 * stages get their values from the stage before, so these fetch no inputs.
 *
 * The two buffers take turns. Each holds, each aligned, inputs[feed_rows], labels[feed_rows],
 * lengths[feed_rows]. */
#include "base/memory.h"
#include "trainer/net/internal.h"
#include <stdlib.h>
#include <string.h>

struct fetched {
	bool there, train;
	size_t first, rows;
};

struct sw_feed {
	size_t x_row, label_row, length_row; /* bytes; length_row 0: no lengths */
	size_t label_at, length_at;          /* in a buffer */
	unsigned last;                       /* whose rows were asked for last */
	struct fetched at[2];
	int32_t *order; /* [order_cap], the epoch's */
	int32_t *rows;  /* [feed_rows] of validation: first, first + 1, ... */
	char *pinned[2];
};

static size_t aligned(size_t bytes)
{
	return (bytes + SW_OPS_ALIGN - 1) / SW_OPS_ALIGN * SW_OPS_ALIGN;
}

void sw_net_feed_destroy(struct sw_net *net)
{
	struct sw_feed *f = net->feed;

	if (!f)
		return; /* the rows lie on the device */
	for (unsigned k = 0; k < 2; k++) {
		(void)net->ops->transfer_read(net->q, k); /* a failure is told by the next call */
		net->ops->pinned_free(f->pinned[k]);
	}
	free(f->order);
	free(f->rows);
	free(f);
	net->feed = NULL;
}

sw_status sw_net_feed_create(struct sw_net *net, const struct sw_data *data)
{
	const size_t n = net->at.feed_rows, all = net->at.feed[1] - net->at.feed[0];
	struct sw_feed *f;
	sw_status rc = SW_OK;

	if (!data->streamed)
		return SW_OK; /* net->feed stays NULL */
	f = sw_calloc(1, sizeof *f);
	if (!f)
		return SW_NOMEM;
	net->feed = f;
	f->length_row = data->train.length ? sizeof(int32_t) : 0;
	f->label_row = data->labels * sizeof(int32_t);
	f->x_row = sw_data_row_bytes(data) - f->label_row - f->length_row;
	f->label_at = aligned(n * f->x_row);
	f->length_at = f->label_at + aligned(n * f->label_row);
	f->order = sw_malloc(net->order_cap * sizeof *f->order);
	f->rows = sw_malloc(n * sizeof *f->rows);
	if (!f->order || !f->rows)
		rc = SW_NOMEM;
	for (int k = 0; k < 2 && rc == SW_OK; k++)
		rc = net->ops->pinned_alloc((void **)&f->pinned[k], all);
	for (size_t i = 0; i < n && rc == SW_OK; i++)
		f->rows[i] = (int32_t)i;
	if (rc == SW_OK)
		/* In the feed a batch's rows lie in the batch's order. */
		rc = net->ops->upload(net->q, net->arena + net->at.feed_index, f->rows,
				      net->at.batch * sizeof *f->rows);
	if (rc != SW_OK)
		sw_net_feed_destroy(net);
	return rc;
}

void sw_net_feed_order(struct sw_net *net, const int32_t *order, size_t rows)
{
	if (!net->feed)
		return;
	memcpy(net->feed->order, order, rows * sizeof *order);
	/* The rows that were fetched ahead followed the order of before. */
	net->feed->at[0].there = net->feed->at[1].there = false;
}

static const void *inputs(const struct sw_data_part *part)
{
	return part->u8      ? (const void *)part->u8
	       : part->token ? (const void *)part->token
			     : (const void *)part->x;
}

/* One piece of a batch, of some of its rows: gathered, and on its way. */
static sw_status piece(const struct sw_net *net, unsigned k, size_t at, const void *src,
		       const int32_t *order, const struct sw_net_share *some, size_t row)
{
	const size_t n = some->to - some->from;

	at += some->from * row;
	char *host = net->feed->pinned[k] + at;

	if (n == 0 || row == 0)
		return SW_OK; /* of a rank without rows, or of data without lengths */
	sw_data_rows_take(host, src, order + some->from, n, row);
	return net->ops->transfer(net->q, k, net->arena + net->at.feed[k] + at, host, n * row);
}

sw_status sw_net_feed_fetch(struct sw_net *net, const struct sw_data *data, bool train,
			    size_t first, size_t rows)
{
	struct sw_feed *f = net->feed;
	const struct sw_data_part *part = train ? &data->train : &data->val;
	sw_status rc;

	if (!f || rows == 0)
		return SW_OK; /* no feed, or this epoch's rows have all been fetched */
	const int32_t *order = train ? f->order + first : f->rows;
	const unsigned k = 1 - f->last;
	const struct sw_net_share all = {.to = rows};
	const struct sw_net_share mine = train ? sw_net_share_of(net, rows) : all;

	/* Until all is on its way it holds neither the old rows nor the new. */
	f->at[k].there = false;
	/* The pinned memory is written below: its last copy must have left it. */
	rc = net->ops->transfer_read(net->q, k);
	for (size_t i = 0; !train && i < rows; i++)
		f->rows[i] = (int32_t)(first + i);
	if (rc == SW_OK && sw_net_is_first(net))
		rc = piece(net, k, 0, inputs(part), order, &mine, f->x_row);
	if (rc == SW_OK)
		rc = piece(net, k, f->label_at,
			   part->label ? (const void *)part->label : (const void *)part->target,
			   order, &all, f->label_row);
	if (rc == SW_OK)
		rc = piece(net, k, f->length_at, part->length, order, &mine, f->length_row);
	if (rc == SW_OK)
		f->at[k] = (struct fetched){true, train, first, rows};
	return rc;
}

sw_status sw_net_feed_take(struct sw_net *net, const struct sw_data *data, bool train, size_t first,
			   size_t rows, struct sw_net_rows *out)
{
	struct sw_feed *f = net->feed;
	const unsigned k = f ? 1 - f->last : 0;
	const struct fetched *at = f ? &f->at[k] : NULL;
	sw_status rc = SW_OK;

	*out = (struct sw_net_rows){.part = train ? data->train : data->val,
				    .index = sw_net_order_at(net) + (train ? first : 0)};
	if (!f)
		return SW_OK; /* the rows are used where they lie */
	/* At the begin of an epoch, or of an evaluation, nothing was fetched ahead. */
	if (!at->there || at->train != train || at->first != first || at->rows != rows)
		rc = sw_net_feed_fetch(net, data, train, first, rows);
	/* The queue waits for the copy, not the host; and the other buffer is free once it has come
	 * here. */
	if (rc == SW_OK)
		rc = net->ops->transfer_wait(net->q, k);
	if (rc != SW_OK)
		return rc;
	f->last = k;
	/* They are used once: whoever asks for the same again gets them fetched. */
	f->at[k].there = false;

	char *buffer = net->arena + net->at.feed[k];
	struct sw_data_part *part = &out->part;

	part->x = part->x ? (float *)(void *)buffer : NULL;
	part->u8 = part->u8 ? (uint8_t *)buffer : NULL;
	part->token = part->token ? (int32_t *)(void *)buffer : NULL;
	part->label = part->label ? (int32_t *)(void *)(buffer + f->label_at) : NULL;
	part->target = part->target ? (float *)(void *)(buffer + f->label_at) : NULL;
	part->length = part->length ? (int32_t *)(void *)(buffer + f->length_at) : NULL;
	out->number = out->index;
	out->index = (const int32_t *)(const void *)(net->arena + net->at.feed_index);
	out->buffer = k;
	return SW_OK;
}
