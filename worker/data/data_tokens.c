/* worker/data/data_tokens.c — raw ids, uint16 or uint32, little endian, without a header. With a
 * file of labels (ids of the same size, one for each row) a row is `length` ids and has one label.
 * Without, rows are cut from the text one after the other, and the label of each place is the id
 * that follows it. */
#include "base/memory.h"
#include "worker/data/data_files.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE DATA_IDS_AT_ONCE

sw_status sw_data_ids_open(struct sw_data_ids *s, const char *path, const char *ptr, bool wide,
			   struct sw_err *err)
{
	sw_status rc = sw_data_file_open(&s->f, path, ptr, err);

	s->item = wide ? 4 : 2;
	if (rc != SW_OK)
		return rc;
	s->n = s->f.size / s->item;
	if (s->f.size % s->item != 0)
		return sw_err_at(err, SW_INVALID, ptr,
				 "%s has %" PRIu64 " bytes, expected a multiple of %zu (%s): the "
				 "id at byte %" PRIu64 " is cut short",
				 s->f.show, s->f.size, s->item, wide ? "uint32" : "uint16",
				 s->n * s->item);
	return SW_OK;
}

sw_status sw_data_ids_read(struct sw_data_ids *s, int32_t *out, uint64_t n, uint32_t limit,
			   const char *noun, unsigned char *block, uint32_t *most,
			   struct sw_err *err)
{
	for (uint64_t first = 0; first < n; first += AT_ONCE) {
		const size_t some = n - first < AT_ONCE ? (size_t)(n - first) : AT_ONCE;
		const uint64_t at = s->f.at;
		const sw_status rc =
			sw_data_file_read(&s->f, block, some * s->item, "its ids", err);

		if (rc != SW_OK)
			return rc;
		for (size_t i = 0; i < some; i++) {
			const unsigned char *b = block + i * s->item;
			uint32_t id = (uint32_t)b[0] | (uint32_t)b[1] << 8;

			if (s->item == 4)
				id |= (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
			if (id >= limit)
				return sw_err_at(err, SW_INVALID, s->f.ptr,
						 "%s: byte %" PRIu64 " is the %s %" PRIu32
						 ", expected 0 to %" PRIu32,
						 s->f.show, at + i * s->item, noun, id, limit - 1);
			*most = id > *most ? id : *most;
			if (out)
				out[first + i] = (int32_t)id;
		}
	}
	return SW_OK;
}

/* *rows of one file of ids. */
static sw_status rows_of(const struct sw_data_ids *s, const struct sw_dataset *set, size_t *rows,
			 struct sw_err *err)
{
	const uint64_t t = set->tokens, n = set->next_token ? (s->n - 1) / t : s->n / t;

	if (n == 0)
		return sw_err_at(err, SW_INVALID, s->f.ptr,
				 "%s has %" PRIu64 " ids, a row needs %" PRIu64, s->f.show, s->n,
				 t + (set->next_token ? 1 : 0));
	if (!set->next_token && s->n % t != 0)
		return sw_err_at(err, SW_INVALID, s->f.ptr,
				 "%s has %" PRIu64
				 " ids, expected a multiple of the length %" PRIu64
				 ": the row at byte %" PRIu64 " has %" PRIu64,
				 s->f.show, s->n, t, n * t * s->item, s->n % t);
	if (n > INT32_MAX)
		return sw_err_at(err, SW_TOO_BIG, s->f.ptr, "%s has over 2^31 - 1 rows", s->f.show);
	*rows = (size_t)n;
	return SW_OK;
}

static sw_status labels_check(const struct sw_data_ids *labels, size_t rows, struct sw_err *err)
{
	if (labels->n == rows)
		return SW_OK;
	return sw_err_at(err, SW_INVALID, labels->f.ptr,
			 "%s has %" PRIu64 " labels, expected %zu, one for each row",
			 labels->f.show, labels->n, rows);
}

/* A part: its ids and, with a file of them, its labels, from row `first` of out on. */
static sw_status part_read(struct sw_raw *out, struct sw_data_ids *part, size_t first, size_t rows,
			   const struct sw_dataset *set, unsigned char *block, uint32_t *most,
			   struct sw_err *err)
{
	const uint32_t limit = set->vocab ? (uint32_t)set->vocab : (uint32_t)INT32_MAX;
	const size_t t = out->shape.t;
	uint32_t label = 0;
	int32_t begin = 0;
	sw_status rc;

	if (!set->next_token) {
		rc = sw_data_ids_read(&part[0], out->token ? out->token + first * t : NULL,
				      (uint64_t)rows * t, limit, "id", block, most, err);
		if (rc == SW_OK)
			rc = sw_data_ids_read(&part[1], out->label + first, rows,
					      SW_DATASET_MAX_CLASSES, "label", block, &label, err);
		return rc;
	}
	/* the labels of all rows are the text without its first id, the rows without its last */
	int32_t *after = out->label + first * t, *row = out->token ? out->token + first * t : NULL;

	rc = sw_data_ids_read(&part[0], &begin, 1, limit, "id", block, most, err);
	if (rc == SW_OK)
		rc = sw_data_ids_read(&part[0], after, (uint64_t)rows * t, limit, "id", block, most,
				      err);
	if (rc == SW_OK && row) {
		row[0] = begin;
		memcpy(row + 1, after, (rows * t - 1) * sizeof *row);
	}
	return rc;
}

/* The ids of a row in front of its padding. */
static sw_status lengths_make(struct sw_raw *out, int32_t pad, struct sw_err *err)
{
	const size_t t = out->shape.t;

	out->length = sw_malloc(out->rows * sizeof *out->length);
	if (!out->length)
		return sw_err_set(err, SW_NOMEM, "no memory for the lengths of %zu rows",
				  out->rows);
	for (size_t i = 0; out->token && i < out->rows; i++)
		out->length[i] = sw_data_ids_length(out->token + i * t, t, pad);
	return SW_OK;
}

/* Reads all files of the set, whose sizes are known. */
static sw_status take_ids(struct sw_raw *out, struct sw_data_ids s[4], const struct sw_dataset *set,
			  bool keep, struct sw_err *err)
{
	uint32_t most = 0;
	unsigned char *block;
	sw_status rc = rows_of(&s[0], set, &out->rows, err);

	if (rc == SW_OK && !set->next_token)
		rc = labels_check(&s[1], out->rows, err);
	if (rc == SW_OK && set->val_path)
		rc = rows_of(&s[2], set, &out->val_rows, err);
	if (rc == SW_OK && set->val_path && !set->next_token)
		rc = labels_check(&s[3], out->val_rows, err);
	if (rc != SW_OK)
		return rc;
	const size_t train = out->rows;

	out->rows += out->val_rows;
	out->kind = SW_RAW_TOKEN;
	out->shape = sw_shape_tokens(set->tokens, 0);
	out->labels = set->next_token ? set->tokens : 1;
	rc = sw_data_raw_alloc(out, keep, true, err);
	if (rc != SW_OK)
		return rc;
	block = sw_malloc(AT_ONCE * 4);
	if (!block)
		return sw_err_set(err, SW_NOMEM, "no memory to read %s", s[0].f.show);
	rc = part_read(out, &s[0], 0, train, set, block, &most, err);
	if (rc == SW_OK && set->val_path)
		rc = part_read(out, &s[2], train, out->val_rows, set, block, &most, err);
	free(block);
	out->vocab = set->vocab ? set->vocab : (size_t)most + 1;
	if (rc == SW_OK && set->pad >= 0)
		rc = lengths_make(out, (int32_t)set->pad, err);
	if (rc != SW_OK)
		return rc;
	const size_t labels = set->next_token ? 0 : 1;

	rc = sw_data_raw_classes(out, s[labels].f.show, s[labels].f.ptr, err);
	/* whatever the training rows have, the next may be any */
	out->classes = set->next_token ? out->vocab : out->classes;
	return rc;
}

sw_status sw_data_tokens(struct sw_raw *out, const struct sw_data_source *source,
			 const struct sw_data_want *want, bool keep, struct sw_err *err)
{
	const struct sw_dataset *set = &source->set;
	const char *const path[] = {source->path, set->label_path, set->val_path,
				    set->val_label_path};
	static const char *const ptr[] = {"/path", "/label_path", "/val_path", "/val_label_path"};
	struct sw_data_ids s[4];
	sw_status rc = sw_data_raw_wants_classes(want, "token files", err);

	memset(s, 0, sizeof s);
	for (size_t i = 0; i < 4; i++)
		s[i].f.fd = -1;
	for (size_t i = 0; rc == SW_OK && i < 4; i++)
		if (path[i])
			rc = sw_data_ids_open(&s[i], path[i], ptr[i], set->wide, err);
	if (rc == SW_OK)
		rc = take_ids(out, s, set, keep, err);
	for (size_t i = 0; i < 4; i++)
		sw_data_file_close(&s[i].f);
	return rc;
}
