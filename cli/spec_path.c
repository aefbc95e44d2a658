/* cli/spec_path.c — the data files of a spec, as the daemon can find them. */
#include "cli/spec_path.h"
#include "cli/spec_run.h"
#include "proto/json.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 4096 /* the longest path that a spec takes, and its end */

/* The path below the current directory; false: none of that length, or no such file. */
static bool resolve(const char *path, char out[PATH_SIZE])
{
	char here[PATH_SIZE];

	if (path[0] == '\0' || path[0] == '/' || access(path, F_OK) != 0 ||
	    getcwd(here, sizeof here) == NULL || here[0] != '/')
		return false;
	while (path[0] == '.' && path[1] == '/')
		for (path += 2; path[0] == '/';)
			path++;
	const int n = snprintf(out, PATH_SIZE, "%s%s%s", here, here[1] == '\0' ? "" : "/", path);
	return n > 0 && n < PATH_SIZE;
}

/* The value of a key in our own tree, so it may change. *changed is set when it did. */
static sw_status make_absolute(const cJSON *dataset, const char *key, bool *changed)
{
	cJSON *given = cJSON_GetObjectItemCaseSensitive(dataset, key);
	char path[PATH_SIZE];

	if (!cJSON_IsString(given) || !resolve(given->valuestring, path))
		return SW_OK; /* the daemon says what is wrong with it, if anything is */
	*changed = true;
	return cJSON_SetValuestring(given, path) != NULL ? SW_OK : SW_NOMEM;
}

sw_status sw_spec_path_absolute(struct sw_buf *text, struct sw_err *err)
{
	static const char *const keys[] = {"path", "label_path", "val_path", "val_label_path"};
	bool changed = false;
	cJSON *tree = NULL;

	sw_status rc = sw_json_parse(&tree, text->data, text->len, err);
	if (rc != SW_OK)
		return rc;
	const cJSON *dataset = sw_json_get(sw_json_get(tree, "trainer"), "dataset");
	for (size_t i = 0; rc == SW_OK && i < sizeof keys / sizeof keys[0]; i++)
		rc = make_absolute(dataset, keys[i], &changed);
	if (rc == SW_OK)
		rc = sw_spec_run_fill(tree, &changed, err);
	if (rc == SW_OK && changed) {
		struct sw_jw w;

		sw_buf_clear(text);
		sw_jw_init(&w, text);
		sw_jw_cjson(&w, tree);
		rc = text->failed;
	}
	cJSON_Delete(tree);
	return rc == SW_OK ? rc : sw_err_set(err, rc, "%s", sw_status_str(rc));
}
