/*
 * store/tx.c — a list of row operations in one growing block of bytes.
 *
 *   operation  u8 kind, u8 number of values, then the values
 *   value      u8 type, then nothing | int64 | double | u32 length, bytes, NUL
 *
 * Two allocations make a transaction and a few more let it grow; the writer binds text where it
 * lies. Bytes are this process's own, so what is read back is asserted.
 */
#include "base/memory.h"
#include "store/internal.h"
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct sw_op_def *const sw_op_defs[SW_OP_N] = {
#define ROW(op, name) [SW_OP_##op] = &sw_op_##name,
	SW_OPS(ROW)
#undef ROW
};

sw_status sw_tx_create(struct sw_tx **out)
{
	struct sw_tx *tx = sw_calloc(1, sizeof *tx);

	*out = tx;
	if (tx == NULL)
		return SW_NOMEM;
	tx->job.tx = tx;
	sw_buf_init(&tx->ops, SW_TX_MAX_BYTES);
	return SW_OK;
}

void sw_tx_destroy(struct sw_tx *tx)
{
	if (tx == NULL)
		return;
	sw_buf_fini(&tx->ops);
	free(tx);
}

static void tx_put(struct sw_tx *tx, const void *bytes, size_t n)
{
	(void)sw_buf_add(&tx->ops, bytes, n); /* latches */
}

void sw_tx_op(struct sw_tx *tx, enum sw_store_op op)
{
	const unsigned char head[2] = {(unsigned char)op, 0};

	/* Room for a common operation at once, not by doubling from 64 bytes. */
	(void)sw_buf_reserve(&tx->ops, 480);
	/* The number of values is counted up behind it as they come. */
	tx->op_at = tx->ops.len;
	tx_put(tx, head, sizeof head);
	tx->n_ops++;
}

static void put_value(struct sw_tx *tx, unsigned char type, const void *bytes, size_t n)
{
	tx_put(tx, &type, 1);
	tx_put(tx, bytes, n);
	if (tx->ops.failed == SW_OK)
		tx->ops.data[tx->op_at + 1]++;
}

static void put_null(struct sw_tx *tx)
{
	put_value(tx, SW_VALUE_NULL, NULL, 0);
}

void sw_tx_int(struct sw_tx *tx, int64_t v)
{
	put_value(tx, SW_VALUE_INT, &v, sizeof v);
}

void sw_tx_int_opt(struct sw_tx *tx, int64_t v)
{
	if (v != 0)
		sw_tx_int(tx, v);
	else
		put_null(tx);
}

void sw_tx_ints(struct sw_tx *tx, const int64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sw_tx_int(tx, v[i]);
}

void sw_tx_real(struct sw_tx *tx, double v)
{
	if (!isfinite(v))
		tx->failed = SW_INVALID; /* SQLite would store NaN as NULL without a word */
	put_value(tx, SW_VALUE_REAL, &v, sizeof v);
}

void sw_tx_real_opt(struct sw_tx *tx, bool has, double v)
{
	if (has)
		sw_tx_real(tx, v);
	else
		put_null(tx);
}

void sw_tx_text_opt(struct sw_tx *tx, const char *s)
{
	if (s == NULL) {
		put_null(tx);
		return;
	}
	const size_t n = strlen(s);
	/* With its NUL, so that the text can be read where it lies. */
	const uint32_t len = (uint32_t)n;
	assert(n < INT_MAX); /* no message is as long */
	put_value(tx, SW_VALUE_TEXT, &len, sizeof len);
	tx_put(tx, s, n + 1);
}

void sw_tx_text(struct sw_tx *tx, const char *s)
{
	if (s == NULL)
		tx->failed = SW_INVALID;
	sw_tx_text_opt(tx, s);
}

static const char *get_bytes(const struct sw_tx *tx, size_t *at, void *out, size_t n)
{
	const char *p = tx->ops.data + *at;

	assert(n <= tx->ops.len - *at);
	if (out != NULL)
		memcpy(out, p, n);
	*at += n;
	return p;
}

bool sw_tx_next(const struct sw_tx *tx, size_t *at, enum sw_store_op *op,
		struct sw_op_value *values, unsigned *n)
{
	unsigned char head[2], type;
	uint32_t len;

	if (*at == tx->ops.len)
		return false;
	(void)get_bytes(tx, at, head, sizeof head);
	assert(head[0] < SW_OP_N && head[1] <= SW_OP_VALUES_MAX);
	*op = (enum sw_store_op)head[0];
	*n = head[1];
	for (unsigned i = 0; i < *n; i++) {
		struct sw_op_value *v = &values[i];

		(void)get_bytes(tx, at, &type, 1);
		assert(type <= SW_VALUE_TEXT);
		v->type = type;
		if (type == SW_VALUE_INT) {
			(void)get_bytes(tx, at, &v->i, sizeof v->i);
		} else if (type == SW_VALUE_REAL) {
			(void)get_bytes(tx, at, &v->d, sizeof v->d);
		} else if (type == SW_VALUE_TEXT) {
			(void)get_bytes(tx, at, &len, sizeof len);
			v->len = (int)len;
			/* No copy: the block stays until the group is committed, and SQLite is told
			 * so (SQLITE_STATIC). */
			v->s = get_bytes(tx, at, NULL, (size_t)len + 1);
		}
	}
	return true;
}
