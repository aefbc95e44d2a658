/* web/files.h — what the page is made of: built into the program, compressed. */
#ifndef SW_WEB_FILES_H
#define SW_WEB_FILES_H

#include "web/http.h"

/* Answers with the file of that URL, or that it has not changed, or that there is none. */
enum MHD_Result sw_web_files_send(struct sw_request *r, const char *path);

#endif
