#include "daemon/sweep/give/claim.h"

size_t sw_claim_least(const struct sw_claim *v, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		if (sw_share_before(&v[i].share, &v[best].share))
			best = i;
	return best;
}

void *sw_claim_pick(struct sw_claim *v, size_t n, sw_claim_room_cb *room, void *user,
		    int64_t now_us, int64_t reserve_us, void **reserver)
{
	*reserver = NULL;
	for (; n > 0; n--) {
		const size_t best = sw_claim_least(v, n);
		struct sw_claim *t = &v[best];
		const enum sw_claim_room has = room(t->who, user);

		if (has == SW_CLAIM_FITS)
			return t->who;
		/* Noted once and kept over calls: the wait is of the sweep's next trial, whichever
		 * slot is looked at. */
		if (has == SW_CLAIM_SHORT && *t->short_us == 0)
			*t->short_us = now_us;
		if (has == SW_CLAIM_SHORT && now_us - *t->short_us >= reserve_us) {
			/* Nobody behind it is looked at: a small trial let in now is what the wait
			 * has already allowed for. */
			*reserver = t->who;
			return NULL;
		}
		/* In their order, which decides between those that are level. */
		for (size_t i = best + 1; i < n; i++)
			v[i - 1] = v[i];
	}
	return NULL;
}
