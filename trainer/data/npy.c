#include "trainer/data/npy.h"
#include "base/text.h"
#include "proto/json.h"
#include <ctype.h>
#include <string.h>

/* A Python dictionary as JSON, in place: double quotes, lists for tuples, small letters of True and
 * False, no comma in front of what closes. Returns its length. */
static size_t json_make(char *text, size_t n)
{
	size_t len = 0;
	char quote = '\0';

	for (size_t i = 0; i < n; i++) {
		const char c = text[i];
		const bool ends = c == quote;

		if (quote != '\0' || c == '\'' || c == '"') {
			text[len++] = ends || quote == '\0' ? '"' : c == '"' ? '\'' : c;
			quote = ends ? '\0' : quote != '\0' ? quote : c;
			continue;
		}
		while ((c == ')' || c == '}') && len > 0 && isspace((unsigned char)text[len - 1]))
			len--;
		len -= (c == ')' || c == '}') && len > 0 && text[len - 1] == ',';
		text[len++] = c == '('               ? '['
			      : c == ')'             ? ']'
			      : c == 'T' || c == 'F' ? (char)tolower(c)
						     : c;
	}
	return len;
}

static sw_status wrong(const char *show, const char *ptr, const char *what, struct sw_err *err)
{
	return sw_err_at(err, SW_INVALID, ptr, "%s: the header is not NumPy's: %s", show, what);
}

/* Reads the type of the elements. */
static sw_status type_read(struct sw_npy *out, const cJSON *descr, const char *show,
			   const char *ptr, struct sw_err *err)
{
	static const struct {
		const char *name;
		enum sw_npy_type type;
		size_t item;
	} types[] = {{"<f4", SW_NPY_F4, 4}, {"<f8", SW_NPY_F8, 8}, {"|u1", SW_NPY_U1, 1},
		     {"<u1", SW_NPY_U1, 1}, {"<i4", SW_NPY_I4, 4}, {"<i8", SW_NPY_I8, 8}};
	char text[44];

	if (cJSON_IsArray(descr))
		return sw_err_at(err, SW_INVALID, ptr,
				 "%s has a structured dtype, expected f4, f8, u1, i4 or i8", show);
	if (!cJSON_IsString(descr))
		return wrong(show, ptr, "'descr' is not a string", err);
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		if (strcmp(types[i].name, descr->valuestring) != 0)
			continue;
		out->type = types[i].type;
		out->item = types[i].item;
		return SW_OK;
	}
	return sw_err_at(err, SW_INVALID, ptr,
			 "%s has the dtype %s%s, expected f4, f8, u1, i4 or i8, little endian",
			 show, sw_text_show(descr->valuestring, text),
			 *descr->valuestring == '>' ? " (big endian)" : "");
}

/* Reads the dimensions. */
static sw_status shape_read(struct sw_npy *out, const cJSON *shape, const char *show,
			    const char *ptr, struct sw_err *err)
{
	const cJSON *one;

	if (!cJSON_IsArray(shape))
		return wrong(show, ptr, "'shape' is not a tuple", err);
	cJSON_ArrayForEach (one, shape) {
		uint64_t v = 0;

		if (out->dims == SW_NPY_MAX_DIMS)
			return sw_err_at(err, SW_INVALID, ptr,
					 "%s has over %d dimensions, at most (rows, channels, "
					 "height, width) are possible",
					 show, SW_NPY_MAX_DIMS);
		if (cJSON_IsNumber(one) && one->valuedouble > INT32_MAX)
			return sw_err_at(err, SW_TOO_BIG, ptr, "%s: dimension %zu is over 2^31 - 1",
					 show, out->dims);
		if (!sw_json_u64(one, &v))
			return wrong(show, ptr, "'shape' is not a tuple of integers", err);
		if (v == 0)
			return sw_err_at(err, SW_INVALID, ptr, "%s: dimension %zu is 0", show,
					 out->dims);
		out->dim[out->dims++] = v;
	}
	return out->dims ? SW_OK
			 : sw_err_at(err, SW_INVALID, ptr, "%s has no dimensions, only one number",
				     show);
}

sw_status sw_npy_header(struct sw_npy *out, char *text, size_t n, const char *show, const char *ptr,
			struct sw_err *err)
{
	cJSON *json = NULL;
	sw_status rc = sw_json_parse(&json, text, json_make(text, n), NULL);
	const cJSON *order = sw_json_get(json, "fortran_order");

	memset(out, 0, sizeof *out);
	if (rc == SW_NOMEM)
		rc = sw_err_set(err, rc, "no memory to read %s", show);
	else if (rc != SW_OK || !sw_json_get(json, "descr") || !order ||
		 !sw_json_get(json, "shape") || cJSON_GetArraySize(json) != 3)
		rc = wrong(show, ptr, "it is no dictionary of descr, fortran_order and shape", err);
	else
		rc = type_read(out, sw_json_get(json, "descr"), show, ptr, err);
	if (rc == SW_OK && !cJSON_IsBool(order))
		rc = wrong(show, ptr, "'fortran_order' is neither True nor False", err);
	if (rc == SW_OK && cJSON_IsTrue(order))
		rc = sw_err_at(err, SW_INVALID, ptr,
			       "%s is in Fortran order: save numpy.ascontiguousarray() of it",
			       show);
	if (rc == SW_OK)
		rc = shape_read(out, sw_json_get(json, "shape"), show, ptr, err);
	cJSON_Delete(json);
	return rc;
}
