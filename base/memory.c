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
