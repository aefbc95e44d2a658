#include "daemon/sweep/recheck.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include "daemon/slot/slot.h"
#include "daemon/slot/speccheck.h"
#include "daemon/sweep/live.h"

void sw_recheck_take(struct sw_live *live, const struct sw_speccheck *facts)
{
	struct sw_daemon *d = live->d;

	live->data_bytes = facts->data_bytes;
	sw_pace_estimate(&live->pace, facts->flops, facts->launches);
	live->recheck_us = INT64_MAX;
	for (size_t i = 0; i < d->slot_n; i++)
		if (d->slots[i].state == SW_SLOT_BUSY && d->slots[i].sweep == live->sweep)
			d->slots[i].data_bytes = facts->data_bytes;
	d->slots_due = true;
}

static void try_later(struct sw_live *live, const struct sw_err *err)
{
	live->recheck_us = live->d->clock->mono_us() + SW_RECHECK_WAIT_US;
	sw_log(SW_LOG_WARN, "sweep.recheck", "sweep=%lld why=\"%s\"", (long long)live->sweep,
	       err->msg);
}

static void on_checked(void *user, const struct sw_err *err, const struct sw_speccheck *facts)
{
	struct sw_live *live = user;

	if (err->code == SW_OK)
		sw_recheck_take(live, facts);
	else
		try_later(live, err);
}

void sw_recheck(struct sw_live *live)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf text;
	struct sw_jw w;

	if (live->spec->trainer == NULL || live->recheck_us == INT64_MAX ||
	    live->d->clock->mono_us() < live->recheck_us)
		return;
	live->recheck_us = INT64_MAX;
	sw_buf_init(&text, SW_REPLY_MAX);
	sw_jw_init(&w, &text);
	sw_jw_cjson(&w, live->spec->tree);
	if (text.failed != SW_OK)
		(void)sw_err_set(&err, text.failed, "out of memory");
	if (text.failed != SW_OK ||
	    sw_speccheck_start(live->d, text.data, on_checked, live, &err) != SW_OK)
		try_later(live, &err);
	sw_buf_fini(&text);
}
