/*
 * store/wal.h — what a damaged write-ahead log would silently take with it.
 *
 * SQLite reads a log up to the first frame that is not right and takes that for its end: after a
 * crash it is. If a byte in the middle went bad, the commits behind it are dropped without a
 * word. So the log is walked before SQLite opens it, past the first bad frame.
 *
 * Counted behind it is what nothing but damage, or a loss of power in the middle of a commit,
 * leaves there: whole frames of the log's own run (its salts) up to the last one that ends a
 * commit. Frames of an earlier run are normal and not counted; so are those of a
 * commit that kill -9 cut short and a later one wrote over in part. A log that was cut short
 * looks as after a crash: how many commits were found is all that can be said.
 *
 * Source   SQLite, "Database File Format", section 4: The Write-Ahead Log.
 */
#ifndef SW_STORE_WAL_H
#define SW_STORE_WAL_H

#include <stdint.h>

struct sw_wal_lost {
	int64_t frame;   /* the first that is not right, from 1; 0: the log's header */
	int64_t frames;  /* whole ones behind it, up to the last that ends a commit */
	int64_t commits; /* that end among these; 0: nothing is known to be lost */
	int64_t found;   /* commits in front of it: what SQLite takes */
	int64_t rest;    /* bytes behind the last of them, which it leaves out */
};

/* path: the log's. One that is not there, or cannot be read, has lost nothing that could be told.
 * Cost: reads the log once, about 1 GB/s. */
struct sw_wal_lost sw_wal_walk(const char *path);

#endif
