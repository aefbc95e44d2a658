/* web/files.h — what the page is made of: built into the program, compressed. */
#ifndef SW_WEB_FILES_H
#define SW_WEB_FILES_H

#include <stddef.h>

struct sw_web_file {
	const char *path; /* of the URL */
	const char *type;
	const char *bytes; /* of gzip */
	size_t len;
	char etag[24]; /* by its content: it changes with the program alone */
};

/* NULL: there is no such file. */
const struct sw_web_file *sw_web_file_find(const char *path);
/* Before the first one is looked for. */
void sw_web_files_init(void);

#endif
