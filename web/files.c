#include "web/files.h"
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define HTML "text/html; charset=utf-8"
#define JS   "text/javascript; charset=utf-8"
#define CSS  "text/css; charset=utf-8"

/* Made by the build of each file of web/page (web/CMakeLists.txt). */
#define FILES(X)                                                                                   \
	X("/", HTML, index_html)                                                                   \
	X("/compare", HTML, index_html)                                                            \
	X("/new", HTML, index_html)                                                                \
	X("/favicon.ico", "image/svg+xml", icon_svg)                                               \
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

#define ROW(path, type, name) {path, type, sw_web_##name, &sw_web_##name##_len},
static const struct {
	const char *path, *type, *bytes; /* of gzip */
	const unsigned long *len;
} files[] = {FILES(ROW)};

enum MHD_Result sw_web_files_send(struct sw_request *r, const char *path)
{
	const char *had = MHD_lookup_connection_value(r->conn, MHD_HEADER_KIND, "If-None-Match");
	char etag[24]; /* by its content: it changes with the program alone */
	size_t i = 0;

	while (i < sizeof files / sizeof *files && strcmp(files[i].path, path) != 0)
		i++;
	if (i == sizeof files / sizeof *files)
		return sw_http_refuse(r, 404, "the page has nothing there");
	(void)snprintf(etag, sizeof etag, "\"%016llx\"",
		       (unsigned long long)XXH64(files[i].bytes, *files[i].len, 0));
	const bool same = had != NULL && strcmp(had, etag) == 0;
	struct MHD_Response *response = MHD_create_response_from_buffer(
		same ? 0 : *files[i].len, (void *)files[i].bytes, MHD_RESPMEM_PERSISTENT);
	if (response != NULL) {
		(void)MHD_add_response_header(response, "Content-Type", files[i].type);
		(void)MHD_add_response_header(response, "Content-Encoding", "gzip");
		(void)MHD_add_response_header(response, "ETag", etag);
		(void)MHD_add_response_header(response, "Cache-Control", "no-cache");
	}
	return sw_http_send(r, same ? 304 : 200, response);
}
