/*
 * base/memory.h — malloc, calloc, realloc and strdup that a test can make fail (base/fault.h), and
 * arrays that grow.
 *
 * Memory   The caller owns what it gets and frees it with free().
 * Errors   NULL when there is no memory left, or when a test planted that failure.
 * Threads  Safe from any.
 */
#ifndef SW_BASE_MEMORY_H
#define SW_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *sw_malloc(size_t n);
void *sw_calloc(size_t n, size_t size);
void *sw_realloc(void *p, size_t n);
char *sw_strdup(const char *s);

/* Room for n elements of `size` bytes; array: the address of the pointer to the first of them,
 * which may be NULL. Never fewer than there were are asked for. False: no memory, and all is as it
 * was. */
bool sw_array_resize(void *array, size_t n, size_t size);
/* The same where n may fit already, *cap being how many do: by doubling it, from 8 on. */
bool sw_array_reserve(void *array, size_t *cap, size_t n, size_t size);
/* The first of n elements that is not below key, or n: each begins with 64 bits, not negative, by
 * which they are sorted. O(log n). */
size_t sw_array_place(const void *array, size_t n, size_t size, uint64_t key);

#endif
