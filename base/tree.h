/*
 * base/tree.h — all that is below a folder. Nothing outside is followed: a link is a name like any
 * other.
 *
 * Errors   false, and errno says why.
 * Cost     A look at each name; beats (base/beat.h).
 */
#ifndef SW_BASE_TREE_H
#define SW_BASE_TREE_H

#include <stdbool.h>
#include <stdint.h>

/* Calls see() for each name below the folder, a folder's own after what is in it, until it says
 * false. at: of the folder that it is in, or AT_FDCWD. ELOOP: over 32 folders deep. */
bool sw_tree_walk(int at, const char *name,
		  bool (*see)(int at, const char *name, bool folder, void *arg), void *arg);

/* Makes a folder writable, so that its contents can be removed: DVC, git-annex and Go's module
 * cache leave them read-only. One that is another user's stays as it is. */
void sw_tree_open_up(int at, const char *name);

/* Removes a file, or a folder with all that is in it, however deep, read-only folders too. */
bool sw_tree_remove(int at, const char *name);

/* Makes a folder, of mode 0700, and the one that it is in; true also where it is there. */
bool sw_tree_make(const char *dir);

/* Bytes of a file, or of the files below a folder; 0 of what is not there. */
uint64_t sw_tree_bytes(int at, const char *name);

#endif
