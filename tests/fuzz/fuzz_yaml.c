/* Any bytes as YAML: one line, or JSON that is valid but for its depth, as aliases add to it. */
#include "cli/yaml.h"
#include "proto/json.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_err err = SW_ERR_INIT, why = SW_ERR_INIT;
	struct sw_buf b;

	sw_buf_init(&b, (size_t)1 << 20);
	const sw_status rc = sw_yaml_to_json(&b, "f.yaml", (const char *)data, size, &err);
	if (rc == SW_OK) {
		if (sw_json_check(b.data, b.len, &why) != SW_OK &&
		    strstr(why.msg, "nested deeper") == NULL)
			abort();
	} else if (err.code != rc || strncmp(err.msg, "f.yaml:", 7) != 0 ||
		   strchr(err.msg, '\n') != NULL) {
		abort();
	}
	sw_buf_fini(&b);
	return 0;
}
