/* Any bytes as YAML: one line, or a tree whose JSON is valid. */
#include "cli/yaml.h"
#include "proto/json.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *tree;
	struct sw_buf b;
	struct sw_jw w;

	sw_buf_init(&b, (size_t)16 << 20);
	const sw_status rc = sw_yaml_read(&tree, "f.yaml", (const char *)data, size, &err);
	if (rc == SW_OK) {
		sw_jw_init(&w, &b);
		sw_jw_cjson(&w, tree);
		if (sw_json_check(b.data, b.len, NULL) != SW_OK)
			abort();
	} else if (err.code != rc || strncmp(err.msg, "f.yaml:", 7) != 0 ||
		   strchr(err.msg, '\n') != NULL) {
		abort();
	}
	cJSON_Delete(tree);
	sw_buf_fini(&b);
	return 0;
}
