/* trainer/data/data_place.c — takes a data set's rows to their places: into the device's memory,
 * each piece 64-byte aligned, or in the same order into the host's, when they are streamed. */
#include "base/beat.h"
#include "base/memory.h"
#include "trainer/data/data_raw.h"
#include <stdlib.h>
#include <string.h>

#define PACK_BYTES ((size_t)1 << 20) /* that go to the device at once, or one row */
#define BEAT_EACH  64                /* rows, of up to 1 GiB each */

static size_t aligned(size_t bytes)
{
	return (bytes + SW_OPS_ALIGN - 1) / SW_OPS_ALIGN * SW_OPS_ALIGN;
}

static size_t x_bytes(const struct sw_data *d, bool u8, size_t rows)
{
	return aligned(rows * d->features * (u8 ? 1 : 4));
}

static size_t part_bytes(const struct sw_data *d, bool u8, bool lengths, size_t rows)
{
	return x_bytes(d, u8, rows) + aligned(rows * d->labels * 4) +
	       (lengths ? aligned(rows * 4) : 0);
}

static size_t channels_bytes(const struct sw_data *d)
{
	return d->input.kind == SW_SHAPE_IMAGE ? aligned(2 * sizeof(float) * d->input.c) : 0;
}

void sw_data_place_bytes(struct sw_data *d, bool u8, bool lengths)
{
	d->bytes = part_bytes(d, u8, lengths, d->train.rows) +
		   part_bytes(d, u8, lengths, d->val.rows) + channels_bytes(d);
}

bool sw_data_in_host(const struct sw_data *d, size_t device_bytes)
{
	return d->ops == &sw_ops_cpu || (device_bytes != 0 && d->bytes > device_bytes);
}

size_t sw_data_row_bytes(const struct sw_data *d)
{
	return d->features * (d->train.u8 ? 1 : 4) + d->labels * 4 + (d->train.length ? 4 : 0);
}

char *sw_data_part_place(const struct sw_data *d, enum sw_raw_kind kind, bool lengths,
			 struct sw_data_part *part, char *at)
{
	if (kind == SW_RAW_U8)
		part->u8 = (uint8_t *)at;
	else if (kind == SW_RAW_TOKEN)
		part->token = (int32_t *)(void *)at;
	else
		part->x = (float *)(void *)at;
	at += x_bytes(d, kind == SW_RAW_U8, part->rows);
	if (d->classes)
		part->label = (int32_t *)(void *)at;
	else
		part->target = (float *)(void *)at;
	at += aligned(part->rows * d->labels * 4);
	if (lengths) {
		part->length = (int32_t *)(void *)at;
		at += aligned(part->rows * 4);
	}
	return at;
}

void sw_data_rows_take(void *dst, const void *src, const int32_t *order, size_t rows, size_t bytes)
{
	for (size_t i = 0; i < rows; i++) {
		if (i % BEAT_EACH == 0)
			sw_beat();
		memcpy((char *)dst + i * bytes, (const char *)src + (size_t)order[i] * bytes,
		       bytes);
	}
}

/* dst[i] = src[order[i]], rows of `bytes` bytes, by way of `pack`; NULL: dst is the host's. */
static sw_status rows_upload(const struct sw_ops *ops, struct sw_queue *q, void *dst,
			     const void *src, const int32_t *order, size_t rows, size_t bytes,
			     char *pack)
{
	const size_t at_once = bytes < PACK_BYTES ? PACK_BYTES / bytes : 1;
	sw_status rc = SW_OK;

	if (!pack) { /* streamed: the host's memory is where they stay */
		sw_data_rows_take(dst, src, order, rows, bytes);
		return SW_OK;
	}
	for (size_t first = 0; rc == SW_OK && first < rows; first += at_once) {
		const size_t n = rows - first < at_once ? rows - first : at_once;

		sw_data_rows_take(pack, src, order + first, n, bytes);
		rc = ops->upload(q, (char *)dst + first * bytes, pack, n * bytes);
	}
	return rc;
}

/* Takes the rows of a part, and what belongs to them, to their places. */
static sw_status part_upload(const struct sw_data *d, const struct sw_data_part *part,
			     const struct sw_raw *raw, const int32_t *order, char *pack,
			     struct sw_queue *q)
{
	const size_t four = 4;
	void *x = part->x ? (void *)part->x : part->u8 ? (void *)part->u8 : (void *)part->token;
	const void *from = raw->x    ? (const void *)raw->x
			   : raw->u8 ? (const void *)raw->u8
				     : (const void *)raw->token;
	sw_status rc = raw->table ? SW_OK /* they were encoded to where they are */
				  : rows_upload(d->ops, q, x, from, order, part->rows,
						d->features * (raw->u8 ? 1 : four), pack);

	if (rc == SW_OK && part->label)
		rc = rows_upload(d->ops, q, part->label, raw->label, order, part->rows,
				 d->labels * four, pack);
	if (rc == SW_OK && part->target)
		rc = rows_upload(d->ops, q, part->target, raw->value, order, part->rows, four,
				 pack);
	if (rc == SW_OK && part->length)
		rc = rows_upload(d->ops, q, part->length, raw->length, order, part->rows, four,
				 pack);
	return rc;
}

/* Device memory for what lies there: all, or of a set that is streamed the channels' numbers. */
static sw_status device_take(struct sw_data *d, struct sw_err *err)
{
	size_t free_bytes, total;

	/* the kernel lends memory that it does not have: ask before, not after */
	if (d->ops->memory(&free_bytes, &total) == SW_OK && d->bytes > free_bytes)
		return sw_err_set(err, SW_NOMEM, "the data set needs %zu bytes, %zu are free",
				  d->bytes, free_bytes);
	return d->ops->alloc(&d->memory, d->bytes);
}

sw_status sw_data_place(struct sw_data *d, const struct sw_raw *raw, const float *channels,
			const int32_t *order, size_t device_bytes, struct sw_queue *q,
			struct sw_err *err)
{
	const size_t row = 4 * (d->features > d->labels ? d->features : d->labels);
	char *pack = NULL, *at;
	sw_status rc;

	d->streamed = device_bytes != 0 && d->bytes > device_bytes;
	if (d->streamed) {
		d->host = sw_malloc(d->bytes);
		d->bytes = channels_bytes(d);
	} else {
		/* Rows go by way of a piece of memory: a shuffled set costs the host no second
		 * copy. */
		pack = sw_malloc(row > PACK_BYTES ? row : PACK_BYTES);
	}
	if (!pack && !d->host)
		return sw_err_set(err, SW_NOMEM, "no memory to take the data set to the device");
	rc = device_take(d, err);
	if (rc == SW_OK) {
		at = sw_data_part_place(d, raw->kind, raw->length != NULL, &d->train,
					d->streamed ? d->host : d->memory);
		at = sw_data_part_place(d, raw->kind, raw->length != NULL, &d->val, at);
		if (channels) {
			at = d->streamed ? d->memory : at;
			d->scale = (const float *)(void *)at;
			d->shift = d->scale + d->input.c;
			rc = d->ops->upload(q, at, channels, d->input.c * 2 * sizeof *channels);
		}
	}
	if (rc == SW_OK && raw->table) {
		const struct sw_raw_to to[2] = {
			{d->val.x, order, d->val.rows},
			{d->train.x, order + (raw->rows - d->train.rows), d->train.rows}};

		rc = sw_data_table_encode(raw->table, to, err);
	}
	if (rc == SW_OK)
		rc = part_upload(d, &d->val, raw, order, pack, q);
	if (rc == SW_OK)
		/* the validation rows are the first */
		rc = part_upload(d, &d->train, raw, order + (raw->rows - d->train.rows), pack, q);
	/* other queues may use it, too; and after a failure it is freed */
	const sw_status synced = d->ops->sync(q);

	rc = rc == SW_OK ? synced : rc;
	free(pack);
	if (rc != SW_OK)
		return sw_err_set(err, rc, "the data set does not get to the device: %s",
				  sw_status_str(rc));
	return SW_OK;
}
