#include "daemon/sweep/files/files_rule.h"
#include "base/memory.h"
#include <stdlib.h>

/* --- the files of a trial --- */

static int by_name(const void *a, const void *b)
{
	const struct sw_file *x = a, *y = b;

	if (x->trial != y->trial)
		return x->trial < y->trial ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

bool sw_files_group(struct sw_files *f)
{
	f->trials = sw_calloc(f->n + 1, sizeof *f->trials);
	f->trial_n = 0;
	if (f->trials == NULL)
		return false;
	if (f->n > 0)
		qsort(f->v, f->n, sizeof *f->v, by_name);
	for (size_t i = 0; i < f->n; i++) {
		/* Sorted by trial, so trials come out in order, and sw_files_find() may search by
		 * halves. */
		if (i == 0 || f->v[i].trial != f->v[i - 1].trial)
			f->trials[f->trial_n++] =
				(struct sw_files_trial){.trial = f->v[i].trial, .at = i};
		f->trials[f->trial_n - 1].n++;
	}
	return true;
}

void sw_files_fini(struct sw_files *f)
{
	free(f->v);
	free(f->trials);
	*f = (struct sw_files){.n = 0};
}

struct sw_files_trial *sw_files_find(const struct sw_files *f, uint64_t trial)
{
	const size_t at = sw_array_place(f->trials, f->trial_n, sizeof *f->trials, trial);

	return at < f->trial_n && f->trials[at].trial == trial ? &f->trials[at] : NULL;
}

struct sw_file *sw_files_at(const struct sw_files *f, uint64_t trial, uint64_t step)
{
	const struct sw_files_trial *t = sw_files_find(f, trial);

	for (size_t i = 0; t != NULL && i < t->n; i++)
		if (f->v[t->at + i].whole && f->v[t->at + i].step == step)
			return &f->v[t->at + i];
	return NULL;
}

/* --- one trial --- */

static void judge_open(const struct sw_files *f, const struct sw_files_trial *t)
{
	/* A worker may have written more than it could report; a program's folders stay until its
	 * next attempt begins. Such a file is newer than the row: it is what the trial goes on from
	 * if its report arrives. */
	const bool ahead = t->state == SW_TRIAL_RUNNING || f->program;
	struct sw_file *v = &f->v[t->at];
	uint64_t before = 0;

	/* One that is paused has shown that its last can be read: it was just written. */
	for (size_t i = 0; t->state != SW_TRIAL_PAUSED && i < t->n; i++)
		if (v[i].whole && v[i].step < t->last && v[i].step > before)
			before = v[i].step;
	for (size_t i = 0; i < t->n; i++) {
		const uint64_t step = v[i].step;

		/* Step 0 is the folder that the program works in. Of a trainer there is no such
		 * name. */
		v[i].stays = step == 0
				     ? f->program
				     : (ahead && step >= t->last) ||
					       (v[i].whole && (step == t->last || step == before ||
							       step == t->best));
	}
}

static void judge_ended(const struct sw_files *f, const struct sw_files_trial *t)
{
	/* Nobody exports what failed. */
	const bool none = !t->known || f->spec.keep == SW_SPEC_KEEP_NONE ||
			  t->state == SW_TRIAL_FAILED || t->state == SW_TRIAL_INFEASIBLE;

	for (size_t i = 0; i < t->n; i++) {
		struct sw_file *v = &f->v[t->at + i];

		/* A file that is not whole when its trial has ended will never be. */
		v->stays = !none && v->whole &&
			   (v->step == 0 ? f->program : v->step == t->last || v->step == t->best);
	}
}

static bool has_ended(const struct sw_files_trial *t)
{
	return !t->known || sw_trial_ended(t->state);
}

/* Does it keep a file, or (whole) a checkpoint? */
static bool keeps(const struct sw_files *f, const struct sw_files_trial *t, bool whole)
{
	for (size_t i = 0; i < t->n; i++)
		if (f->v[t->at + i].stays && (!whole || f->v[t->at + i].step != 0))
			return true;
	return false;
}

static void drop(const struct sw_files *f, const struct sw_files_trial *t)
{
	for (size_t i = 0; i < t->n; i++)
		f->v[t->at + i].stays = false;
}

/* --- which trials --- */

/* Returns the best that has ended, and of equals the first; NULL: none has a value. */
static const struct sw_files_trial *best_of(const struct sw_files *f, bool whole)
{
	const struct sw_files_trial *best = NULL, *t = f->trials;

	for (; t < f->trials + f->trial_n; t++)
		if (has_ended(t) && t->has_value && keeps(f, t, whole) &&
		    (best == NULL ||
		     (f->maximize ? t->value > best->value : t->value < best->value)))
			best = t;
	return best;
}

/* The last that was COMPLETED. */
static const struct sw_files_trial *last_of(const struct sw_files *f, bool whole)
{
	const struct sw_files_trial *last = NULL, *t = f->trials;

	for (; t < f->trials + f->trial_n; t++)
		if (t->known && t->state == SW_TRIAL_COMPLETED && keeps(f, t, whole) &&
		    (last == NULL || t->ended_ms >= last->ended_ms))
			last = t;
	return last;
}

/* Of the trials that have ended only the best and the last that was COMPLETED stay, and if those
 * have no checkpoint, the best and the last that have one. */
static void retain_best_and_last(const struct sw_files *f)
{
	const struct sw_files_trial *stay[] = {best_of(f, false), last_of(f, false),
					       best_of(f, true), last_of(f, true)};
	const struct sw_files_trial *t = f->trials;

	for (; t < f->trials + f->trial_n; t++)
		if (has_ended(t) && t != stay[0] && t != stay[1] && t != stay[2] && t != stay[3])
			drop(f, t);
}

void sw_files_judge(struct sw_files *f)
{
	for (size_t i = 0; i < f->trial_n; i++) {
		if (has_ended(&f->trials[i]))
			judge_ended(f, &f->trials[i]);
		else
			judge_open(f, &f->trials[i]);
	}
	if (f->spec.keep == SW_SPEC_KEEP_BEST_AND_LAST)
		/* Before the heirs and the held ones: those stay whatever the spec says, but do not
		 * count as its best or last. */
		retain_best_and_last(f);
	for (size_t i = 0; i < f->n; i++)
		f->v[i].stays |= f->v[i].heir;
	for (size_t i = 0; i < f->trial_n; i++)
		for (size_t k = 0; f->trials[i].held && k < f->trials[i].n; k++)
			f->v[f->trials[i].at + k].stays = true;
}

/* --- within what room --- */

struct offer {
	struct sw_file *file;
	const struct sw_files_trial *of;
	bool maximize;
};

/* The worst first, then those without a value; of equals the later trial. */
static int worse_first(const void *a, const void *b)
{
	const struct offer *x = a, *y = b;

	if (x->of->has_value != y->of->has_value)
		return x->of->has_value ? 1 : -1;
	if (x->of->has_value && (x->of->value < y->of->value || x->of->value > y->of->value))
		return (x->of->value < y->of->value) == x->maximize ? -1 : 1;
	return by_name(y->file, x->file);
}

/* Lists the files that may go. */
static size_t gather(const struct sw_files *f, struct offer *v)
{
	const struct sw_files_trial *best = best_of(f, false);
	size_t n = 0;

	for (const struct sw_files_trial *t = f->trials; t < f->trials + f->trial_n; t++)
		for (size_t i = 0; has_ended(t) && !t->held && t != best && i < t->n; i++)
			/* Files of open trials are never offered: a limit on room must not cost a
			 * trial its progress. */
			if (f->v[t->at + i].stays && !f->v[t->at + i].heir)
				v[n++] = (struct offer){&f->v[t->at + i], t, f->maximize};
	if (n > 0)
		qsort(v, n, sizeof *v, worse_first);
	return n;
}

sw_status sw_files_shrink(struct sw_files *f, bool *over, uint64_t *bytes)
{
	const uint64_t room = f->spec.max_mb != 0 ? f->spec.max_mb * 1000000 : UINT64_MAX;
	uint64_t ended = 0;

	*over = false;
	*bytes = 0;
	if (f->spec.max_mb == 0 && f->most == 0)
		return SW_OK;
	struct offer *v = sw_calloc(f->n + 1, sizeof *v);
	if (v == NULL)
		return SW_NOMEM;
	for (const struct sw_files_trial *t = f->trials; t < f->trials + f->trial_n; t++)
		for (size_t i = 0; i < t->n; i++) {
			const struct sw_file *file = &f->v[t->at + i];

			*bytes += file->stays && file->whole ? file->bytes : 0;
			/* a program's own folder is no checkpoint */
			ended += has_ended(t) && file->stays && file->whole && file->step != 0;
		}
	const size_t n = gather(f, v);
	for (size_t i = 0; i < n && (*bytes > room || (f->most != 0 && ended > f->most)); i++) {
		v[i].file->stays = false;
		/* Unsigned and safe: a file that is not whole has 0 bytes here and was not
		 * added. */
		*bytes -= v[i].file->bytes;
		ended -= v[i].file->step != 0;
	}
	free(v);
	*over = *bytes > room;
	return SW_OK;
}
