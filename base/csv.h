/* base/csv.h — one field of CSV. Pure. */
#ifndef SW_BASE_CSV_H
#define SW_BASE_CSV_H

#include "base/buf.h"

/* Appends a field by RFC 4180: quoted when it holds a comma, a quote or a line break. The bytes
 * stay as they are: a file is no terminal. Failures latch in the buffer. */
void sw_csv_field(struct sw_buf *b, const char *text);

#endif
