/*
 * tests/walk.h — a walk over what can fail. The body runs with the first call of a kind that fails,
 * then with the second alone, and so on; the last round is the one in which all calls were good:
 *
 *	WALK (SW_FAULT_MALLOC, 10) {
 *		struct sw_db *db;
 *
 *		walk_arm();
 *		const sw_status rc = sw_peek_open(&db, dir, NULL);
 *		const bool fired = walk_disarm();
 *		ck_assert_int_eq(rc, fired ? SW_NOMEM : SW_OK);
 *		sw_peek_close(db);
 *	}
 *
 * A walk that meets fewer failures than the number fails the test: it was not over what the test is
 * about. A build without SW_FAULTS has the last round alone.
 */
#ifndef SW_TESTS_WALK_H
#define SW_TESTS_WALK_H

#include "base/fault.h"

#include <check.h>

static struct {
	enum sw_fault_kind kind;
	unsigned nth;   /* the call that fails, from 1 */
	unsigned fired; /* the failures of the round */
	bool forever;   /* all calls after it fail, too; for the body to set */
} walk;

static inline bool walk_next(unsigned least)
{
	if (walk.fired != 0) {
		walk.nth++;
		return true;
	}
#ifndef SW_FAULTS
	least = 0;
#endif
	ck_assert_uint_gt(walk.nth, least);
	return false;
}

#define WALK(which, least)                                                                         \
	for (walk.kind = (which), walk.nth = 0, walk.fired = 1, walk.forever = false;              \
	     walk_next(least);)

static inline void walk_arm(void)
{
#ifdef SW_FAULTS
	sw_fault_arm(walk.kind, walk.nth, walk.forever);
#endif
}

static inline unsigned walk_disarm(void)
{
#ifdef SW_FAULTS
	walk.fired = sw_fault_fired(walk.kind);
	sw_fault_arm(walk.kind, 0, false);
#else
	walk.fired = 0;
#endif
	return walk.fired;
}

#endif
