#include "daemon/sweep/precision.h"
#include "daemon/daemon.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/live.h"
#include "spec/spec.h"
#include <stdio.h>

/* Of the slots that would do but for the precision those that lack it; *known: such a GPU. */
static size_t count_without_precision(const struct sw_daemon *d, const struct sw_spec *spec,
				      size_t *all, const struct sw_slot **known)
{
	struct sw_room_need need = sw_live_need_of(spec);
	size_t n = 0;

	need.precision = false;
	*all = 0;
	*known = NULL;
	for (size_t i = 0; i < d->slot_n; i++) {
		const struct sw_slot *slot = &d->slots[i];

		if (sw_room_takes(slot, &need) == 0)
			continue;
		++*all;
		if (sw_room_has_precision(slot))
			continue;
		n++;
		if (slot->device.gpu && *known == NULL)
			*known = slot;
	}
	return n;
}

sw_status sw_precision_check(const struct sw_daemon *d, const struct sw_spec *spec,
			     struct sw_err *err)
{
	const struct sw_slot *known;
	size_t all;
	const size_t n = count_without_precision(d, spec, &all, &known);

	if (spec->precision == NULL || n < all || known == NULL)
		return SW_OK;
	return sw_err_at(
		err, SW_INVALID, "/trainer/precision",
		"no slot computes in %s: that takes a GPU of compute capability %.1f, and %s "
		"has %.1f",
		spec->precision, SW_ROOM_PRECISION / 10.0, known->device.name,
		known->device.capability / 10.0);
}

bool sw_precision_warning(const struct sw_daemon *d, const struct sw_spec *spec, char *out,
			  size_t cap)
{
	const struct sw_slot *known;
	size_t all;
	const size_t n = count_without_precision(d, spec, &all, &known);

	if (spec->precision == NULL || n == 0)
		return false;
	(void)snprintf(out, cap,
		       "/trainer/precision: %zu of %zu slots lack %s (a CPU has fp32 alone, a GPU "
		       "needs compute capability %.1f): its trials will %s",
		       n, all, spec->precision, SW_ROOM_PRECISION / 10.0,
		       n < all ? "go to the others" : "wait");
	return true;
}
