/*
 * base/memory.h — malloc, calloc, realloc and strdup that a test can make fail (base/fault.h).
 *
 * Memory   The caller owns what it gets and frees it with free().
 * Errors   NULL when there is no memory left, or when a test planted that failure.
 * Threads  Safe from any.
 */
#ifndef SW_BASE_MEMORY_H
#define SW_BASE_MEMORY_H

#include <stddef.h>

void *sw_malloc(size_t n);
void *sw_calloc(size_t n, size_t size);
void *sw_realloc(void *p, size_t n);
char *sw_strdup(const char *s);

#endif
