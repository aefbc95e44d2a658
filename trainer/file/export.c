#include "trainer/file/export.h"
#include "base/buf.h"
#include "base/fault.h"
#include "base/memory.h"
#include "base/part.h"
#include "proto/json.h"
#include "trainer/file/checkpoint_format.h"
#include "trainer/file/label.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK      ((size_t)64 * 1024)
#define HEADER_MAX ((size_t)16 * 1024 * 1024)
#define PATH_BYTES 4096

struct export
{
	int from, to;
	struct sw_checkpoint_head head;
	struct sw_buf header; /* the 8 bytes of its length, then itself */
	char *chunk;
	uint64_t at; /* of the next tensor in the new file, after the header */
};

/* "0.weight": {"dtype": "F32", "shape": [64, 13], "data_offsets": [0, 3328]} */
static void describe(struct export *x, struct sw_jw *w, const char *name, const char *type,
		     const struct sw_checkpoint_tensor *t, uint64_t bytes)
{
	sw_jw_key(w, name);
	sw_jw_obj(w);
	sw_jw_kstr(w, "dtype", type);
	sw_jw_key(w, "shape");
	sw_jw_arr(w);
	for (uint32_t i = 0; t && i < t->rank; i++)
		sw_jw_int(w, (int64_t)t->dim[i]);
	sw_jw_arr_end(w);
	sw_jw_key(w, "data_offsets");
	sw_jw_arr(w);
	sw_jw_int(w, (int64_t)x->at);
	sw_jw_int(w, (int64_t)(x->at + bytes));
	sw_jw_arr_end(w);
	sw_jw_obj_end(w);
	x->at += bytes;
}

/* Reads line i of the tensor table. *n: its floats. */
static sw_status table(const struct export *x, uint32_t i, struct sw_checkpoint_tensor *t,
		       uint64_t *n, struct sw_err *err)
{
	const uint64_t first = sw_checkpoint_table_at(&x->head);
	unsigned char line[CHECKPOINT_TENSOR];
	const sw_status rc = sw_checkpoint_take(x->from, line, sizeof line,
						first + (uint64_t)i * sizeof line, err);

	return rc == SW_OK ? sw_checkpoint_tensor_decode(t, n, line, err) : rc;
}

/* Exports the best epoch's weights, or the last one's if the file records no best. */
static uint64_t epoch(const struct sw_checkpoint_head *h)
{
	return sw_checkpoint_has_best(h) ? h->best_epoch : h->id.epoch;
}

static uint64_t updates_of(const struct sw_checkpoint_head *h)
{
	return sw_checkpoint_has_best(h) ? h->best_updates : h->updates;
}

/* Writes the file's metadata: the trial, and the model's label as it is. */
static void metadata(const struct export *x, struct sw_jw *w, const cJSON *label)
{
	const struct sw_checkpoint_head *h = &x->head;
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {{"sweep", h->id.sweep},
		       {"trial", h->id.trial},
		       {"epoch", epoch(h)},
		       {"step", updates_of(h)}};
	const cJSON *one;
	char text[24];

	sw_jw_key(w, "__metadata__");
	sw_jw_obj(w);
	sw_jw_kstr(w, "format", "pt");
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		snprintf(text, sizeof text, "%" PRIu64, numbers[i].value);
		sw_jw_kstr(w, numbers[i].name, text);
	}
	cJSON_ArrayForEach (one, label)
		if (cJSON_IsString(one))
			sw_jw_kstr(w, one->string, one->valuestring);
	sw_jw_obj_end(w);
}

/* PyTorch's norms count their batches. */
static bool counter(const struct sw_checkpoint_tensor *t, char out[96])
{
	const char *last = strrchr(t->name, '.');

	if (!t->running || !last || strcmp(last, ".running_var") != 0)
		return false;
	snprintf(out, 96, "%.*s.num_batches_tracked", (int)(last - t->name), t->name);
	return true;
}

/* The tensors of one kind, in the order in which they are written: counters, weights, running
 * statistics. counters: how many there are. */
static sw_status describe_all(struct export *x, struct sw_jw *w, uint32_t *counters,
			      struct sw_err *err)
{
	uint64_t sums[2] = {0, 0};
	struct sw_checkpoint_tensor t = {.rank = 0};
	char name[96];
	uint64_t n = 0;

	/* Three passes over the table instead of a list of it: the file has an order of its own, by
	 * kind. */
	for (int pass = 0; pass < 3; pass++)
		for (uint32_t i = 0; i < x->head.tensors_n; i++) {
			const sw_status rc = table(x, i, &t, &n, err);

			if (rc != SW_OK)
				return rc;
			assert(t.running <= 1); /* it was checked */
			if (pass == 0 && counter(&t, name)) {
				describe(x, w, name, "I64", NULL, 8);
				++*counters;
			} else if (pass == 1 + (int)t.running) {
				sums[t.running] += n;
				describe(x, w, t.name, "F32", &t, 4 * n);
			}
		}
	if (sums[0] != x->head.parameters || sums[1] != x->head.running)
		return sw_err_set(err, SW_INVALID, "has a table of tensors that makes no sense");
	return SW_OK;
}

/* *out: what the model is for; NULL where the file does not say. */
static sw_status label_read(const struct export *x, cJSON **out, struct sw_err *err)
{
	const size_t n = x->head.label_n;
	struct sw_err why = SW_ERR_INIT;
	char *text;
	sw_status rc;

	*out = NULL;
	if (n == 0)
		return SW_OK; /* it was too long to keep */
	if (n > SW_LABEL_MOST)
		return sw_err_set(err, SW_INVALID, "has a label that is too long");
	text = sw_malloc(n);
	if (!text)
		return sw_err_set(err, SW_NOMEM, "cannot be exported: no memory");
	rc = sw_checkpoint_take(x->from, text, n, sw_checkpoint_label_at(&x->head), err);
	if (rc == SW_OK)
		rc = sw_json_parse(out, text, n, &why);
	free(text);
	if (*why.msg)
		return sw_err_set(err, rc, "has a label that makes no sense: %s", why.msg);
	return rc;
}

/* Refuses two tensors of one name, or one with the name of a counter. A file may have the right
 * checksum and still not be sweepd's, and readers of JSON take the last of two keys, or neither. */
static sw_status header_check(const struct sw_buf *header, struct sw_err *err)
{
	struct sw_err why = SW_ERR_INIT;
	const sw_status rc = sw_json_check(header->data + 8, header->len - 8, &why);

	if (rc == SW_NOMEM)
		return sw_err_set(err, rc, "cannot be exported: no memory");
	if (rc != SW_OK)
		return sw_err_set(err, SW_INVALID, "has names of tensors that make no sense: %s",
				  why.msg);
	return SW_OK;
}

/* Makes the header: it is padded with blanks, so that the tensors are aligned. */
static sw_status make_header(struct export *x, uint32_t *counters, struct sw_err *err)
{
	cJSON *label;
	struct sw_jw w;
	sw_status rc = label_read(x, &label, err);

	if (rc != SW_OK)
		return rc;

	(void)sw_buf_add(&x->header, "\0\0\0\0\0\0\0\0", 8);
	sw_jw_init_obj(&w, &x->header);
	metadata(x, &w, label);
	cJSON_Delete(label);
	rc = describe_all(x, &w, counters, err);
	sw_jw_obj_end(&w);
	while (x->header.failed == SW_OK && x->header.len % 8 != 0)
		(void)sw_buf_adds(&x->header, " ");
	if (rc == SW_OK && x->header.failed != SW_OK)
		rc = sw_err_set(err, x->header.failed, "needs a header that is too long");
	if (rc == SW_OK)
		rc = header_check(&x->header, err);
	/* the length is known only now; its place was left free */
	for (size_t i = 0; rc == SW_OK && i < 8; i++)
		x->header.data[i] = (char)((uint64_t)(x->header.len - 8) >> 8 * i);
	return rc;
}

/* Writes all n bytes. */
static sw_status export_put(const struct export *x, const void *bytes, size_t n, struct sw_err *err)
{
	const char *at = bytes;

	while (n > 0) {
		const ssize_t done = sw_fault_hit(SW_FAULT_IO) ? (errno = ENOSPC, -1)
							       : write(x->to, at, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return sw_err_set(err, errno == ENOSPC ? SW_FULL : SW_IO,
					  "cannot be exported: %s", strerror(errno));
		at += done;
		n -= (size_t)done;
	}
	return SW_OK;
}

/* Copies n bytes of the checkpoint, from an offset on. */
static sw_status copy(const struct export *x, uint64_t from, uint64_t n, struct sw_err *err)
{
	sw_status rc = SW_OK;

	for (uint64_t at = 0; rc == SW_OK && at < n; at += CHUNK) {
		const size_t part = n - at < CHUNK ? (size_t)(n - at) : CHUNK;

		rc = sw_checkpoint_take(x->from, x->chunk, part, from + at, err);
		if (rc == SW_OK)
			rc = export_put(x, x->chunk, part, err);
	}
	return rc;
}

/* Writes the header, the counters, the weights and the statistics, in this order. */
static sw_status write_all(struct export *x, struct sw_err *err)
{
	const struct sw_checkpoint_head *h = &x->head;
	const int64_t updates = (int64_t)updates_of(h);
	uint32_t counters = 0;
	sw_status rc = make_header(x, &counters, err);

	x->chunk = sw_malloc(CHUNK);
	if (rc == SW_OK && !x->chunk)
		rc = sw_err_set(err, SW_NOMEM, "cannot be exported: no memory");
	if (rc == SW_OK)
		rc = export_put(x, x->header.data, x->header.len, err);
	for (uint32_t i = 0; rc == SW_OK && i < counters; i++)
		rc = export_put(x, &updates, sizeof updates, err);
	if (rc == SW_OK)
		rc = copy(x, sw_checkpoint_best_at(h), 4 * h->parameters, err);
	if (rc == SW_OK)
		rc = copy(x, sw_checkpoint_best_running_at(h), 4 * h->running, err);
	/* Before the rename, or a power cut could leave the name without its bytes. */
	if (rc == SW_OK && (sw_fault_hit(SW_FAULT_IO) || fsync(x->to) != 0))
		rc = sw_err_set(err, SW_IO, "cannot be exported: %s",
				strerror(errno ? errno : EIO));
	free(x->chunk);
	return rc;
}

/* Writes beside the name and renames: a failure leaves what was there before. */
static sw_status export_to(struct export *x, const char *to, struct sw_err *err)
{
	char part[PATH_BYTES + 8];
	sw_status rc;

	if (strlen(to) >= PATH_BYTES)
		return sw_err_set(err, SW_TOO_BIG, "cannot be exported: the path is too long");
	errno = 0;
	x->to = sw_fault_hit(SW_FAULT_IO) ? -1 : sw_part_open(part, sizeof part, to);
	if (x->to < 0)
		return sw_err_set(err, SW_IO, "cannot be exported to %s: %s", to,
				  strerror(errno ? errno : EIO));
	rc = write_all(x, err);
	if (close(x->to) != 0 && rc == SW_OK)
		rc = sw_err_set(err, SW_IO, "cannot be exported: %s", strerror(errno));
	if (rc == SW_OK && (sw_fault_hit(SW_FAULT_IO) || rename(part, to) != 0))
		rc = sw_err_set(err, SW_IO, "cannot be exported to %s: %s", to,
				strerror(errno ? errno : EIO));
	if (rc != SW_OK)
		(void)unlink(part);
	return rc;
}

sw_status sw_export(const char *from, const char *to, struct sw_exported *out, struct sw_err *err)
{
	const char *slash = strrchr(from, '/');
	struct sw_err why = SW_ERR_INIT;
	struct export x = {.to = -1};
	sw_status rc;

	*out = (struct sw_exported){0};
	errno = EIO;
	x.from = sw_fault_hit(SW_FAULT_IO) ? -1 : open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (x.from < 0)
		return sw_err_set(err, errno == ENOENT ? SW_NOT_FOUND : SW_IO,
				  "the checkpoint %s cannot be read: %s", slash ? slash + 1 : from,
				  strerror(errno));
	sw_buf_init(&x.header, HEADER_MAX);
	rc = sw_checkpoint_check(x.from, &x.head, &why);
	if (rc == SW_OK)
		rc = export_to(&x, to, &why);
	sw_buf_fini(&x.header);
	close(x.from);
	*out = (struct sw_exported){
		.sweep = x.head.id.sweep, .trial = x.head.id.trial, .epoch = epoch(&x.head)};
	if (rc != SW_OK)
		return sw_err_set(err, rc, "the checkpoint %s %s", slash ? slash + 1 : from,
				  why.msg);
	return SW_OK;
}
