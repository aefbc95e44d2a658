/* tests/store/seen.h — rows as text, one line each: what the callbacks of store/read.h saw. Beside
 * tests/store/fixture.h. */
#ifndef SW_TESTS_STORE_SEEN_H
#define SW_TESTS_STORE_SEEN_H

#include "store/read.h"
#include "tests/store/fixture.h"
#include <stdarg.h>

/* What the callbacks saw, as text: one line a row, so that a failure prints both. */
struct seen {
	char text[8192];
	size_t len;
	unsigned n, limit; /* stop after limit rows; 0: never */
	sw_status rc;
	struct sw_err err;
	int64_t next;
};

static bool saw(struct seen *s, const char *fmt, ...) SW_PRINTF(2, 3);
static bool saw(struct seen *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	const int n = vsnprintf(s->text + s->len, sizeof s->text - s->len, fmt, ap);
	va_end(ap);
	ck_assert_int_ge(n, 0);
	s->len += (size_t)n;
	ck_assert_uint_lt(s->len, sizeof s->text);
	s->n++;
	return s->limit == 0 || s->n < s->limit;
}

#define I(x) ((long long)(x))
static const char *or_null(const char *s)
{
	return s == NULL ? "NULL" : s;
}

static bool on_sweep(const struct sw_row_sweep *r, void *arg)
{
	return saw(arg, "%lld %s %s %s %s %s %s %lld %d %d %lld %lld %lld %lld b%lld d%lld s%lld\n",
		   I(r->sweep), or_null(r->name), r->spec, r->state, or_null(r->cause),
		   or_null(r->metric), or_null(r->method), I(r->seed), r->maximize, r->driven,
		   I(r->run_cap), I(r->created_ms), I(r->ended_ms), I(r->uid), I(r->bytes),
		   I(r->data_bytes), I(r->data_sum));
}

static bool on_entry(int64_t n, const char *entry, void *arg)
{
	return saw(arg, "%lld %s\n", I(n), entry);
}

static bool on_trial(const struct sw_row_trial *r, void *arg)
{
	return saw(arg,
		   "%lld/%lld %s %s %s a%lld s%lld %d %.17g %s %lld %lld %lld %g p%lld r%lld\n",
		   I(r->sweep), I(r->trial), r->state, or_null(r->cause), r->params, I(r->attempt),
		   I(r->step), r->has_value, r->value, or_null(r->metrics), I(r->created_ms),
		   I(r->started_ms), I(r->ended_ms), r->seconds, I(r->parent), I(r->resume_step));
}

static bool on_attempt(const struct sw_row_attempt *r, void *arg)
{
	return saw(arg, "%lld/%lld a%lld ev%lld slot%lld %lld %lld %s %s r%lld%s %g %d %g %g %g\n",
		   I(r->sweep), I(r->trial), I(r->attempt), I(r->ev), I(r->slot), I(r->started_ms),
		   I(r->ended_ms), r->state, or_null(r->cause), I(r->resume_step),
		   r->gpu ? " gpu" : "", r->share, r->has_gpu_bytes, r->gpu_bytes, r->gpu_util,
		   r->joules);
}

static bool on_report(const struct sw_row_report *r, void *arg)
{
	return saw(arg, "%lld/%lld a%lld q%lld ev%lld s%lld t%lld %d %.17g %d %s %s%s\n",
		   I(r->sweep), I(r->trial), I(r->attempt), I(r->seq), I(r->ev), I(r->step),
		   I(r->time_ms), r->has_value, r->value, r->diverged, r->verdict,
		   or_null(r->metrics),
		   r->checkpoint > 0   ? " ckpt"
		   : r->checkpoint < 0 ? " none"
				       : "");
}

static bool on_decision(const struct sw_row_decision *r, void *arg)
{
	return saw(arg, "%lld/%lld a%lld q%lld %s b%lld r%lld %lld %lld %lld %d %g %g\n",
		   I(r->sweep), I(r->trial), I(r->attempt), I(r->seq), r->verdict, I(r->bracket),
		   I(r->rung), I(r->n), I(r->better), I(r->keep), r->has_cutoff, r->cutoff,
		   r->value);
}

static bool on_event(const struct sw_row_event *e, void *arg)
{
	return saw(arg, "%lld ev%lld %s %lld a%lld %s %s %lld %lld %lld\n", I(e->sweep), I(e->ev),
		   e->kind, I(e->trial), I(e->attempt), or_null(e->state), or_null(e->cause),
		   I(e->run_cap), I(e->time_ms), I(e->uid));
}

static bool on_history(const struct sw_row_event *e, const struct sw_row_report *r, void *arg)
{
	ck_assert_int_ne(e == NULL, r == NULL);
	return e != NULL ? on_event(e, arg) : on_report(r, arg);
}

static bool on_log(const struct sw_row_log *r, void *arg)
{
	return saw(arg, "%lld/%lld a%lld %lld %s\n", I(r->sweep), I(r->trial), I(r->attempt),
		   I(r->time_ms), r->line);
}

static bool on_slot(const struct sw_row_slot *r, void *arg)
{
	return saw(arg, "%lld %s %s %s\n", I(r->slot), or_null(r->device), or_null(r->worker),
		   or_null(r->handle));
}

static bool on_suggestion(const struct sw_row_suggestion *r, void *arg)
{
	return saw(arg, "%lld/%lld k%lld %s %s\n", I(r->sweep), I(r->trial), I(r->known), r->params,
		   or_null(r->why));
}

static bool on_sampler(const struct sw_row_sampler *r, void *arg)
{
	return saw(arg, "%lld/%lld %s\n", I(r->sweep), I(r->trial), r->state);
}

static bool on_prior(const struct sw_row_prior *r, void *arg)
{
	return saw(arg, "%lld %lld %s %s %lld/%lld\n", I(r->sweep), I(r->n), r->params, r->y,
		   I(r->from_sweep), I(r->from_trial));
}

static bool on_count(const char *state, int64_t n, void *arg)
{
	return saw(arg, "%s %lld\n", state, I(n));
}

#endif
