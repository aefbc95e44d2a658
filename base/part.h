/* base/part.h — a file on its way: beside its place, which it takes by rename() once it is
 * whole. */
#ifndef SW_BASE_PART_H
#define SW_BASE_PART_H

#include <stddef.h>

/* A new file beside path, of the mode that any new file has; part[cap]: its name. In a folder that
 * others may write in, a name that they can know could lead to a file of this user. -1: errno says
 * why. Threads: the umask is read, which no other thread may change. */
int sw_part_open(char *part, size_t cap, const char *path);

#endif
