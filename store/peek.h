/*
 * store/peek.h — a database file opened to be looked at, while another process may have it open.
 *
 * Nothing is written: no log folded in, no file made beside it where that can be
 * helped. A file that lies alone (no -wal beside it, so nobody has it open) is read without locks,
 * from a read-only medium too; sw_peek_end() says whether it changed meanwhile. Else SQLite's own
 * locks keep the snapshot, and the writer goes on: a reader never holds up a commit.
 *
 * Threads  One thread for each sw_db.
 */
#ifndef SW_STORE_PEEK_H
#define SW_STORE_PEEK_H

#include "base/status.h"
#include "store/read.h"

/* path: the file, or the state directory that holds it. SW_NOT_FOUND: no such file. SW_IO: not a
 * sweepd database, damaged, not readable. SW_CONFLICT: of another schema than this program's.
 * Cost: reads the whole file (quick_check). *out is the caller's, on SW_OK. */
SW_NODISCARD sw_status sw_peek_open(struct sw_db **out, const char *path, struct sw_err *err);
void sw_peek_close(struct sw_db *db); /* NULL is allowed */

/* A snapshot: all reads between the two see one state of the file. end: SW_CONFLICT when the file
 * was written to though nobody had it open at the start. */
SW_NODISCARD sw_status sw_peek_begin(struct sw_db *db, struct sw_err *err);
SW_NODISCARD sw_status sw_peek_end(struct sw_db *db, struct sw_err *err);

/* --- what only a check of the file asks for --- */

/* The number of the last event or report; 0: none. */
SW_NODISCARD sw_status sw_peek_events(struct sw_db *db, int64_t sweep, int64_t *last,
				      struct sw_err *err);

#endif
