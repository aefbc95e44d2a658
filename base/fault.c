#include "base/fault.h"

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
