/* Any stream: cut into lines, each read as a request, its parameters checked, an answer written. */
#include "proto/frame.h"
#include "proto/json.h"
#include "proto/methods.h"
#include "proto/rpc.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sw_methods *methods;

static void answer(const cJSON *v, struct sw_buf *out)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_rpc_request r;
	cJSON *check = NULL;

	sw_status rc = sw_rpc_request_read(v, &r, &err);
	if (rc == SW_OK) {
		const int i = sw_methods_find(methods, r.method);
		if (i >= 0)
			rc = sw_methods_check(methods, (size_t)i, r.params, &err);
	}
	sw_buf_clear(out);
	if (rc == SW_OK)
		sw_rpc_write_result(out, r.id, "{}");
	else
		sw_rpc_write_error(out, r.id, sw_rpc_code(rc), &err);
	if (out->failed != SW_OK || sw_json_parse(&check, out->data, out->len, NULL) != SW_OK)
		abort();
	cJSON_Delete(check);
}

static void message(const char *line, size_t len, struct sw_buf *out)
{
	cJSON *tree = NULL;
	const cJSON *one;

	if (sw_json_parse(&tree, line, len, NULL) != SW_OK)
		return;
	if (cJSON_IsArray(tree))
		cJSON_ArrayForEach (one, tree)
			answer(one, out);
	else
		answer(tree, out);
	cJSON_Delete(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t piece = size > 0 ? 1 + data[0] % 61u : 1;
	struct sw_frame f;
	struct sw_buf out;
	char *at, *line;
	size_t room, len;

	if (methods == NULL && sw_methods_load(&methods, NULL) != SW_OK)
		abort();
	sw_frame_init(&f);
	sw_buf_init(&out, 16 * size + 4096);
	while (size > 0) {
		if (sw_frame_room(&f, &at, &room) != SW_OK)
			abort();
		size_t n = piece < size ? piece : size;
		n = n < room ? n : room;
		memcpy(at, data, n);
		sw_frame_fed(&f, n);
		data += n;
		size -= n;
		while (sw_frame_next(&f, &line, &len) == SW_OK && line != NULL)
			message(line, len, &out);
	}
	sw_buf_fini(&out);
	sw_frame_fini(&f);
	return 0;
}
