#include "trainer/file/safetensors.h"
#include "base/memory.h"
#include "proto/json.h"
#include "trainer/data/data_raw.h"
#include "trainer/file/checkpoint_format.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER_MAX ((uint64_t)16 * 1024 * 1024)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "floats of a file need swapping");

/* Reads n bytes at an offset. */
static sw_status read_at(const struct sw_safetensors *s, void *out, size_t n, uint64_t offset,
			 struct sw_err *err)
{
	struct sw_err why = SW_ERR_INIT;
	const sw_status rc = sw_checkpoint_take(s->fd, out, n, offset, &why);

	return rc == SW_OK ? SW_OK : sw_err_set(err, rc, "%s %s", s->show, why.msg);
}

static sw_status wrong_header(const struct sw_safetensors *s, const char *why, struct sw_err *err)
{
	return sw_err_set(err, SW_INVALID, "%s is not a safetensors file: %s", s->show, why);
}

/* Reads the bytes from..to of the file that a tensor takes. false: it names none. */
static bool range(const cJSON *tensor, uint64_t *from, uint64_t *to)
{
	const cJSON *offsets = sw_json_get(tensor, "data_offsets");

	return cJSON_IsArray(offsets) && cJSON_GetArraySize(offsets) == 2 &&
	       sw_json_u64(offsets->child, from) && sw_json_u64(offsets->child->next, to) &&
	       *from <= *to;
}

struct span {
	uint64_t from, to;
};

static int by_begin(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* The tensors follow each other without gaps, up to the end of the file. */
static sw_status spans_check(const struct sw_safetensors *s, struct sw_err *err)
{
	const size_t most = (size_t)cJSON_GetArraySize(s->header);
	struct span *at = sw_calloc(most ? most : 1, sizeof *at);
	uint64_t end = 0;
	size_t n = 0;
	const cJSON *t;
	bool fine = true;

	if (!at)
		return sw_err_set(err, SW_NOMEM, "no memory to read %s", s->show);
	cJSON_ArrayForEach (t, s->header) {
		if (strcmp(t->string, "__metadata__") == 0)
			continue;
		fine = fine && range(t, &at[n].from, &at[n].to);
		n++;
	}
	if (fine)
		qsort(at, n, sizeof *at, by_begin);
	/* Sorted, each has to begin where the one before it ends: neither gaps nor overlaps
	 * pass. */
	for (size_t i = 0; fine && i < n; i++) {
		fine = at[i].from == end;
		end = at[i].to;
	}
	free(at);
	if (!fine)
		return wrong_header(s, "its tensors have no places, or overlap", err);
	if (end > s->length)
		return sw_err_set(err, SW_INVALID,
				  "%s is cut short: it has %" PRIu64 " bytes, its header says "
				  "%" PRIu64,
				  s->show, s->begin + s->length, s->begin + end);
	if (end < s->length)
		return sw_err_set(err, SW_INVALID,
				  "%s has %" PRIu64 " bytes, its header says %" PRIu64, s->show,
				  s->begin + s->length, s->begin + end);
	return SW_OK;
}

/* Reads the header, a JSON object behind eight bytes of its length. */
static sw_status header_read(struct sw_safetensors *s, uint64_t size, struct sw_err *err)
{
	struct sw_err why = SW_ERR_INIT;
	unsigned char b[8];
	uint64_t n = 0;
	sw_status rc;
	char *text;

	if (size < 8)
		return wrong_header(s, "it has under 8 bytes", err);
	rc = read_at(s, b, sizeof b, 0, err);
	if (rc != SW_OK)
		return rc;
	for (size_t i = 8; i-- > 0;)
		n = n << 8 | b[i];
	if (n < 2 || n > HEADER_MAX)
		return wrong_header(s, "its first 8 bytes are not the length of a header", err);
	/* before memory is taken for it: the eight bytes may be anything */
	if (n > size - 8)
		return sw_err_set(err, SW_INVALID,
				  "%s is cut short, or is not a safetensors file: it has %" PRIu64
				  " bytes, its header needs %" PRIu64,
				  s->show, size, 8 + n);
	s->begin = 8 + n;
	s->length = size - s->begin;
	text = sw_malloc((size_t)n);
	if (!text)
		return sw_err_set(err, SW_NOMEM, "no memory to read %s", s->show);
	rc = read_at(s, text, (size_t)n, 8, err);
	if (rc == SW_OK) {
		rc = sw_json_parse(&s->header, text, (size_t)n, &why);
		if (rc == SW_NOMEM)
			rc = sw_err_set(err, rc, "no memory to read %s", s->show);
		else if (rc != SW_OK || !cJSON_IsObject(s->header))
			rc = wrong_header(s, "its header is not a JSON object", err);
	}
	free(text);
	return rc;
}

sw_status sw_safetensors_open(struct sw_safetensors *s, const char *path, struct sw_err *err)
{
	struct sw_data_file f;
	sw_status rc;

	memset(s, 0, sizeof *s);
	s->fd = -1;
	rc = sw_data_file_open(&f, path, "", err);
	if (rc != SW_OK)
		return rc;
	s->fd = f.fd;
	memcpy(s->show, f.show, sizeof s->show);
	rc = header_read(s, f.size, err);
	if (rc == SW_OK)
		rc = spans_check(s, err);
	if (rc != SW_OK)
		sw_safetensors_close(s);
	return rc;
}

void sw_safetensors_close(struct sw_safetensors *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	cJSON_Delete(s->header);
	s->header = NULL;
}

const char *sw_safetensors_meta(const struct sw_safetensors *s, const char *key)
{
	return cJSON_GetStringValue(sw_json_get(sw_json_get(s->header, "__metadata__"), key));
}

sw_status sw_safetensors_read(const struct sw_safetensors *s, const struct sw_checkpoint_tensor *of,
			      float *out, struct sw_err *err)
{
	const char *name = of->name;
	const cJSON *t = sw_json_get(s->header, name), *type = sw_json_get(t, "dtype");
	const cJSON *shape = sw_json_get(t, "shape"), *d = shape ? shape->child : NULL;
	bool same = cJSON_IsArray(shape) && (uint32_t)cJSON_GetArraySize(shape) == of->rank;
	uint64_t from = 0, to = 0, n = 1, its;

	if (!t)
		return sw_err_set(err, SW_INVALID, "%s has no tensor \"%s\", which its model needs",
				  s->show, name);
	if (!cJSON_IsString(type) || strcmp(type->valuestring, "F32") != 0)
		return sw_err_set(err, SW_INVALID, "%s: the tensor \"%s\" is not of type F32",
				  s->show, name);
	for (uint32_t i = 0; same && d && i < of->rank; i++, d = d->next) {
		same = sw_json_u64(d, &its) && its == of->dim[i];
		n *= of->dim[i]; /* no overflow: the model fits memory */
	}
	if (!same || !range(t, &from, &to) || to - from != n * sizeof *out)
		return sw_err_set(err, SW_INVALID,
				  "%s: the tensor \"%s\" has another shape than its model", s->show,
				  name);
	return read_at(s, out, (size_t)n * sizeof *out, s->begin + from, err);
}
