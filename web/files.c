#include "web/files.h"
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define JS  "text/javascript; charset=utf-8"
#define CSS "text/css; charset=utf-8"

/* Made by the build of each file of web/page (web/CMakeLists.txt). */
#define FILES(X)                                                                                   \
	X("/index.html", "text/html; charset=utf-8", index_html)                                   \
	X("/icon.svg", "image/svg+xml", icon_svg)                                                  \
	X("/page.css", CSS, page_css)                                                              \
	X("/app.js", JS, app_js)                                                                   \
	X("/dom.js", JS, dom_js)                                                                   \
	X("/daemon.js", JS, daemon_js)                                                             \
	X("/sweeps.js", JS, sweeps_js)                                                             \
	X("/sweep.js", JS, sweep_js)                                                               \
	X("/table.js", JS, table_js)                                                               \
	X("/plots.js", JS, plots_js)                                                               \
	X("/trial.js", JS, trial_js)                                                               \
	X("/route.js", JS, route_js)                                                               \
	X("/act.js", JS, act_js)

#define DECLARE(path, type, name)                                                                  \
	extern const char sw_web_##name[];                                                         \
	extern const unsigned long sw_web_##name##_len;
FILES(DECLARE)

#define ROW(path, type, name) {path, type, sw_web_##name, 0, ""},
static struct sw_web_file files[] = {FILES(ROW)};
#define N_FILES (sizeof files / sizeof *files)

void sw_web_files_init(void)
{
	size_t i = 0;

#define LENGTH(path, type, name) files[i++].len = sw_web_##name##_len;
	FILES(LENGTH)
	for (i = 0; i < N_FILES; i++)
		(void)snprintf(files[i].etag, sizeof files[i].etag, "\"%016llx\"",
			       (unsigned long long)XXH64(files[i].bytes, files[i].len, 0));
}

const struct sw_web_file *sw_web_file_find(const char *path)
{
	for (size_t i = 0; i < N_FILES; i++)
		if (strcmp(files[i].path, path) == 0)
			return &files[i];
	return NULL;
}
