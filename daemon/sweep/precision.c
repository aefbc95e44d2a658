#include "daemon/sweep/precision.h"
#include "daemon/daemon.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/need.h"
#include "spec/spec.h"
#include <stdio.h>

/* Of the slots that would do but for the precision those that lack it; *known: such a GPU. */
static size_t count_without_precision(const struct sw_daemon *d, const struct sw_spec *spec,
				      size_t *all, const struct sw_slot **known)
{
	struct sw_room_need need = sw_need_of_spec(spec);
	size_t n = 0;

	need.precision = false;
	*all = 0;
	*known = NULL;
	for (size_t i = 0; i < d->slot.slot_n; i++) {
		const struct sw_slot *slot = &d->slot.slots[i];

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
	char ptr[sizeof err->ptr] = "/trainer/precision", has[96] = "there is no GPU";
	const struct sw_slot *known;
	size_t all;
	const size_t n = count_without_precision(d, spec, &all, &known);

	/* fp32; or some slot will do; or none would in fp32 either, which has a warning of its
	 * own. */
	if (spec->precision == NULL || n < all || all == 0)
		return SW_OK;
	if (known != NULL)
		(void)snprintf(has, sizeof has, "%s has %.1f", known->device.name,
			       known->device.capability / 10.0);
	if (spec->precision_param >= 0)
		sw_spec_param_pointer(&spec->params[spec->precision_param], ptr, sizeof ptr);
	return sw_err_at(err, SW_INVALID, ptr,
			 "no slot computes in %s%s: that takes a GPU of compute capability %.1f, "
			 "and %s",
			 spec->precision,
			 spec->precision_param >= 0 ? ", which is one of its values" : "",
			 SW_ROOM_PRECISION / 10.0, has);
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
		       "needs compute capability %.1f): its trials%s will go to the others",
		       n, all, spec->precision, SW_ROOM_PRECISION / 10.0,
		       spec->precision_param >= 0 ? " that are not in fp32" : "");
	return true;
}
