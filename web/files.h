/* web/files.h — what the page is made of: built into the program, compressed. */
#ifndef SW_WEB_FILES_H
#define SW_WEB_FILES_H

#include "web/http.h"

struct sw_web_file {
	const char *path, *type, *bytes; /* "/app.js"; of HTTP; of gzip */
	const unsigned long *len;
};

/* Made by the build of web/page (web/CMakeLists.txt); NULL behind the last. */
extern const struct sw_web_file sw_web_files[];

/* Answers with the file of that path, or that it has not changed, or that there is none. */
enum MHD_Result sw_web_files_send(struct sw_request *r, const char *path);

#endif
