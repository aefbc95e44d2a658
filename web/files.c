#include "web/files.h"
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

enum MHD_Result sw_web_files_send(struct sw_request *r, const char *path)
{
	const char *had = MHD_lookup_connection_value(r->conn, MHD_HEADER_KIND, "If-None-Match");
	char etag[24]; /* by its content: it changes with the program alone */
	const struct sw_web_file *f = sw_web_files;

	while (f->path != NULL && strcmp(f->path, path) != 0)
		f++;
	if (f->path == NULL)
		return sw_http_refuse(r, 404, "the page has nothing there");
	(void)snprintf(etag, sizeof etag, "\"%016llx\"",
		       (unsigned long long)XXH64(f->bytes, *f->len, 0));
	const bool same = had != NULL && strcmp(had, etag) == 0;
	struct MHD_Response *response = MHD_create_response_from_buffer(
		same ? 0 : *f->len, (void *)f->bytes, MHD_RESPMEM_PERSISTENT);
	if (response != NULL) {
		(void)MHD_add_response_header(response, "Content-Type", f->type);
		(void)MHD_add_response_header(response, "Content-Encoding", "gzip");
		(void)MHD_add_response_header(response, "ETag", etag);
		(void)MHD_add_response_header(response, "Cache-Control", "no-cache");
	}
	return sw_http_send(r, same ? 304 : 200, response);
}
