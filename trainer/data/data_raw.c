#include "trainer/data/data_raw.h"
#include "base/memory.h"
#include "proto/json.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* *out = rows * n * size, or false when that is over SW_DATA_MAX_BYTES. */
static bool bytes_of(size_t rows, size_t n, size_t size, uint64_t *out)
{
	/* Divided, so that no product wraps. */
	if (n != 0 && rows > SW_DATA_MAX_BYTES / n)
		return false;
	if ((uint64_t)rows * n > SW_DATA_MAX_BYTES / size)
		return false;
	*out = (uint64_t)rows * n * size;
	return true;
}

/* Refuses what is too much, before it is taken. *x: bytes of all rows, *y: of their labels. */
static sw_status sizes_check(const struct sw_raw *r, bool keep, uint64_t *x, uint64_t *y,
			     struct sw_err *err)
{
	const size_t n = sw_shape_count(&r->shape);
	size_t free_bytes = 0, total;

	if (r->rows > INT32_MAX)
		return sw_err_set(err, SW_TOO_BIG, "the data set has over 2^31 - 1 rows");
	if (!bytes_of(r->rows, n, r->kind == SW_RAW_U8 ? 1 : 4, x) ||
	    !bytes_of(r->rows, r->labels, 4, y))
		return sw_err_set(err, SW_TOO_BIG, "%zu rows of %zu values are over 1 TiB", r->rows,
				  n);
	if (keep && r->most != 0 && *x + *y >= r->most)
		return sw_err_set(err, SW_NOMEM,
				  "the data set has %" PRIu64 " bytes, a trial may have %zu",
				  *x + *y, r->most);
	/* The kernel lends memory that it does not have, and kills later: so it is asked first. */
	if (sw_ops_cpu.memory(&free_bytes, &total) == SW_OK && (keep ? *x : 0) + *y > free_bytes)
		return sw_err_set(err, SW_NOMEM,
				  "the data set needs %" PRIu64 " bytes to be read, %zu are free",
				  (keep ? *x : 0) + *y, free_bytes);
	return SW_OK;
}

static sw_status no_memory(const struct sw_raw *r, struct sw_err *err)
{
	return sw_err_set(err, SW_NOMEM, "no memory for %zu rows of %zu values", r->rows,
			  sw_shape_count(&r->shape));
}

/* Takes x bytes; at least one: NULL means that there was no memory. */
static bool rows_take(struct sw_raw *r, uint64_t x)
{
	void *rows = sw_malloc(x ? x : 1);

	if (r->kind == SW_RAW_U8)
		r->u8 = rows;
	else if (r->kind == SW_RAW_TOKEN)
		r->token = rows;
	else
		r->x = rows;
	return rows != NULL;
}

sw_status sw_data_raw_rows(struct sw_raw *r, struct sw_err *err)
{
	uint64_t x = 0, y = 0;
	const sw_status rc = sizes_check(r, true, &x, &y, err);

	return rc != SW_OK || rows_take(r, x) ? rc : no_memory(r, err);
}

sw_status sw_data_raw_alloc(struct sw_raw *r, bool keep, bool classes, struct sw_err *err)
{
	uint64_t x = 0, y = 0;
	const sw_status rc = sizes_check(r, keep, &x, &y, err);

	if (rc != SW_OK)
		return rc;
	if (classes)
		r->label = sw_malloc(y ? y : 1);
	else
		r->value = sw_malloc(y ? y : 1);
	return (r->label || r->value) && (!keep || rows_take(r, x)) ? SW_OK : no_memory(r, err);
}

void sw_data_raw_fini(struct sw_raw *r)
{
	free(r->x);
	free(r->base);
	free(r->u8);
	free(r->token);
	free(r->length);
	free(r->label);
	free(r->value);
	free(r->order);
	sw_data_table_end(r->table);
	sw_data_about_fini(&r->about);
	memset(r, 0, sizeof *r);
}

sw_status sw_data_raw_wants_classes(const struct sw_data_want *want, const char *format,
				    struct sw_err *err)
{
	if (want->classes)
		return SW_OK; /* the loss is one of classes, too */
	return sw_err_set(err, SW_INVALID,
			  "the loss \"mse\" needs numbers to predict, the labels of %s are classes",
			  format);
}

sw_status sw_data_raw_classes(struct sw_raw *r, const char *show, const char *ptr,
			      struct sw_err *err)
{
	int32_t largest = 0, first = r->label[0];
	bool all = true;

	for (size_t i = 0; i < r->rows * r->labels; i++) {
		largest = r->label[i] > largest ? r->label[i] : largest;
		all = all && r->label[i] == first;
	}
	r->classes = (size_t)largest + 1;
	if (!all)
		return SW_OK;
	return sw_err_at(err, SW_INVALID, ptr, "%s: all %zu rows have the label %d", show, r->rows,
			 (int)first);
}

/* --- the columns and classes of a data set, as JSON lists --- */

sw_status sw_data_about_take(struct sw_data_about *about, struct sw_buf *list, char **out,
			     struct sw_err *err)
{
	const sw_status failed = list->failed;
	size_t len;

	*out = failed == SW_OK ? sw_buf_take(list, &len) : NULL;
	sw_buf_fini(list);
	about->too_big = about->too_big || failed == SW_TOO_BIG;
	if (*out || failed == SW_TOO_BIG)
		return SW_OK;
	return sw_err_set(err, SW_NOMEM, "no memory for what is known of the columns");
}

sw_status sw_data_about_numbers(struct sw_data_about *about, const double *v, size_t n, char **out,
				struct sw_err *err)
{
	struct sw_buf list;
	struct sw_jw w;

	sw_buf_init(&list, SW_DATA_ABOUT_MOST);
	sw_jw_init(&w, &list);
	sw_jw_arr(&w);
	for (size_t i = 0; i < n; i++)
		sw_jw_num(&w, v[i]);
	sw_jw_arr_end(&w);
	return sw_data_about_take(about, &list, out, err);
}

void sw_data_about_fini(struct sw_data_about *about)
{
	free(about->table);
	free(about->classes);
	free(about->mean);
	free(about->std);
	memset(about, 0, sizeof *about);
}
