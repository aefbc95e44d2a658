/* cli/spec_file.h — a spec from a file or stdin, JSON or YAML, checked with the place at fault. */
#ifndef SW_CLI_SPEC_FILE_H
#define SW_CLI_SPEC_FILE_H

#include "base/status.h"
#include "cli/place.h"
#include "proto/frame.h"
#include <cjson/cJSON.h>

#define SW_SPEC_FILE_MAX (SW_FRAME_MAX - 256) /* it travels in one line, with a little about it */

/* *out: the tree of path ("-": stdin), the caller's even where it fails. Its data file is as
 * sw_spec_path_absolute() leaves it; far: it is for another machine, and its paths stay. A name
 * that ends in .yaml or .yml is YAML, and so is stdin that does not begin like JSON. SW_IO: it
 * cannot be read; SW_TOO_BIG; SW_PARSE: "FILE:LINE:COLUMN: POINTER: what is wrong" (both from 1,
 * columns in bytes; the pointer where there is one); SW_NOMEM. source (NULL: nobody asks) gets the
 * text as it was written. */
SW_NODISCARD sw_status sw_spec_file_read(cJSON **out, const char *path, bool far,
					 struct sw_place_source *source, struct sw_err *err);

/* The same of a text that was read elsewhere; path says its format as above, and name stands in
 * errors. */
SW_NODISCARD sw_status sw_spec_file_parse(cJSON **out, const struct sw_buf *text, const char *path,
					  const char *name, bool far, struct sw_err *err);

/* Turns sw_json_check()'s error about text into "name:line:column: pointer: what" and returns
 * SW_PARSE. Pure. */
SW_NODISCARD sw_status sw_spec_file_place(const char *name, const char *text, size_t len,
					  const struct sw_err *why, struct sw_err *err);

#endif
