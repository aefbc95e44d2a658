/*
 * base/fault.h — failures on demand, for tests: fail the Nth call of a kind, once or for ever.
 *
 * Only builds with SW_FAULTS defined (every preset but release) have the counters; elsewhere
 * sw_fault_hit() is the constant false and costs nothing.
 * Threads  The counters are atomic; a test arms them before it starts threads.
 */
#ifndef SW_BASE_FAULT_H
#define SW_BASE_FAULT_H

#include <stdbool.h>

enum sw_fault_kind { SW_FAULT_MALLOC, SW_FAULT_IO, SW_FAULT_KIND_N };

#ifdef SW_FAULTS
/* The nth (from 1) call of this kind fails; with forever, so does every later one. 0 disarms. */
void sw_fault_arm(enum sw_fault_kind kind, unsigned nth, bool forever);
/* How often the armed failure has fired since it was armed: 0 ends a walk over failure points. */
unsigned sw_fault_fired(enum sw_fault_kind kind);
bool sw_fault_hit(enum sw_fault_kind kind);
#else
static inline bool sw_fault_hit(enum sw_fault_kind kind)
{
	(void)kind;
	return false;
}
#endif

#endif
