#include "base/fault.h"
#include <stdlib.h>
#include <string.h>

#ifdef SW_FAULTS
#include <stdatomic.h>

static struct fault {
	atomic_uint countdown; /* calls until the failure; 0: disarmed */
	atomic_bool forever;
	atomic_uint fired;
} faults[SW_FAULT_KIND_N];

void sw_fault_arm(enum sw_fault_kind kind, unsigned nth, bool forever)
{
	atomic_store(&faults[kind].fired, 0);
	atomic_store(&faults[kind].forever, forever);
	atomic_store(&faults[kind].countdown, nth);
}

unsigned sw_fault_fired(enum sw_fault_kind kind)
{
	return atomic_load(&faults[kind].fired);
}

bool sw_fault_hit(enum sw_fault_kind kind)
{
	struct fault *f = &faults[kind];
	unsigned left = atomic_load(&f->countdown);

	do {
		if (left == 0)
			return false;
	} while (!atomic_compare_exchange_weak(
		&f->countdown, &left, left == 1 && atomic_load(&f->forever) ? 1 : left - 1));
	if (left != 1)
		return false;
	atomic_fetch_add(&f->fired, 1);
	return true;
}
#endif

void *sw_malloc(unsigned long n)
{
	return sw_fault_hit(SW_FAULT_MALLOC) ? NULL : malloc(n);
}

void *sw_calloc(unsigned long n, unsigned long size)
{
	return sw_fault_hit(SW_FAULT_MALLOC) ? NULL : calloc(n, size);
}

void *sw_realloc(void *p, unsigned long n)
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
