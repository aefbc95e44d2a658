#include "base/memory.h"
#include "base/fault.h"
#include <stdlib.h>
#include <string.h>

void *sw_malloc(size_t n)
{
	return sw_fault_hit(SW_FAULT_MALLOC) ? NULL : malloc(n);
}

void *sw_calloc(size_t n, size_t size)
{
	return sw_fault_hit(SW_FAULT_MALLOC) ? NULL : calloc(n, size);
}

void *sw_realloc(void *p, size_t n)
{
	return sw_fault_hit(SW_FAULT_MALLOC) ? NULL : realloc(p, n);
}

char *sw_strdup(const char *s)
{
	const size_t n = strlen(s) + 1;
	char *copy = sw_malloc(n);

	if (copy != NULL)
		memcpy(copy, s, n);
	return copy;
}

bool sw_array_resize(void *array, size_t n, size_t size)
{
	void *old, *grown;

	/* The pointer is of any type: its bytes are read and written, not it. */
	memcpy(&old, array, sizeof old);
	grown = sw_realloc(old, (n != 0 ? n : 1) * size);
	if (grown != NULL)
		memcpy(array, &grown, sizeof grown);
	return grown != NULL;
}

bool sw_array_reserve(void *array, size_t *cap, size_t n, size_t size)
{
	size_t more = *cap != 0 ? *cap : 8;

	if (n <= *cap)
		return true;
	/* Doubled, so that n elements cost O(n) copies in all. */
	while (more < n)
		more *= 2;
	if (!sw_array_resize(array, more, size))
		return false;
	*cap = more;
	return true;
}

size_t sw_array_place(const void *array, size_t n, size_t size, uint64_t key)
{
	size_t low = 0, high = n;
	uint64_t at;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		memcpy(&at, (const char *)array + mid * size, sizeof at);
		if (at < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}
