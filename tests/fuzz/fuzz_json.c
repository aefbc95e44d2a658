/* Any bytes: the check and the parser agree, and what was parsed is written as text that parses to
 * the same again. */
#include "proto/json.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *tree = NULL, *again = NULL;
	struct sw_buf b;
	struct sw_jw w;

	const sw_status checked = sw_json_check((const char *)data, size, &err);
	if (checked != SW_OK && (err.code != SW_PARSE || err.msg[0] == '\0'))
		abort();
	const sw_status parsed = sw_json_parse(&tree, (const char *)data, size, NULL);
	if (parsed != checked || (tree != NULL) != (parsed == SW_OK))
		abort();
	if (tree == NULL)
		return 0;
	sw_buf_init(&b, 16 * size + 1024);
	sw_jw_init(&w, &b);
	sw_jw_cjson(&w, tree);
	if (b.failed != SW_OK || sw_json_parse(&again, b.data, b.len, NULL) != SW_OK)
		abort();
	if (!cJSON_Compare(tree, again, 1))
		abort();
	cJSON_Delete(again);
	cJSON_Delete(tree);
	sw_buf_fini(&b);
	return 0;
}
