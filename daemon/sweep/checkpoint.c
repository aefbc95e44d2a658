#include "daemon/sweep/checkpoint.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/running.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- names --- */

void sw_checkpoint_folder(const struct sw_running *live, char out[SW_CHECKPOINT_FOLDER_MAX])
{
	(void)snprintf(out, SW_CHECKPOINT_FOLDER_MAX, "%s/" SW_CHECKPOINT_FOLDER "/%lld",
		       live->d->config.state, (long long)live->sweep);
}

sw_status sw_checkpoint_make_folder(struct sw_running *live, struct sw_err *err)
{
	char path[SW_CHECKPOINT_FOLDER_MAX];
	struct stat st;

	sw_checkpoint_folder(live, path);
	char *const last = strrchr(path, '/');
	for (int depth = 0; depth < 2; depth++) {
		*last = depth == 0 ? '\0' : '/';
		if (mkdir(path, 0700) != 0 && errno != EEXIST)
			return sw_err_set(err, SW_IO, "cannot make the folder %s: %s", path,
					  strerror(errno));
		/* Files behind a link would never be removed (daemon/sweep/janitor.c). */
		if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode))
			return sw_err_set(err, SW_IO, "%s is a link, or not a folder", path);
	}
	live->files.made = true;
	return SW_OK;
}

/* --- who needs what --- */

struct sw_checkpoint sw_checkpoint_of(const struct sw_running *live, uint64_t trial)
{
	const struct sw_trial *t = live->driven ? NULL : sw_sweep_trial(live->sched, trial);
	struct sw_checkpoint c = {.sweep = live->sweep};

	/* Clients keep the state of trials that they run: there is no file of those. */
	if (t != NULL && t->resume_step != 0) {
		c.trial = sw_sweep_from(live->sched, trial);
		c.step = t->resume_step;
	}
	return c;
}

/* The place of a trial in the list of open ones, or where it would be. */
static size_t open_at(const struct sw_keeping *k, uint64_t trial)
{
	return sw_array_place(k->open, k->open_n, sizeof *k->open, trial);
}

/* NULL: it is not among them. */
static struct sw_keeping_open *find_open(const struct sw_keeping *k, uint64_t trial)
{
	const size_t at = open_at(k, trial);

	return at < k->open_n && k->open[at].trial == trial && !k->open[at].gone ? &k->open[at]
										 : NULL;
}

/* The place is given up. To close each gap at once would cost a move of all that are behind it, and
 * where a sweep ends that is all of them for each of them. */
static void close_open(struct sw_keeping *k, struct sw_keeping_open *open)
{
	size_t n = 0;

	open->gone = true;
	/* Less than half of them are gaps. */
	if (++k->gone_n * 2 <= k->open_n)
		return;
	for (size_t i = 0; i < k->open_n; i++)
		if (!k->open[i].gone)
			k->open[n++] = k->open[i];
	k->open_n = n;
	k->gone_n = 0;
}

struct sw_keeping_open *sw_checkpoint_open(struct sw_running *live, uint64_t trial)
{
	struct sw_keeping *k = &live->files.keeping;
	struct sw_keeping_open *open = find_open(k, trial);
	const size_t at = open_at(k, trial);

	if (open != NULL)
		return open;
	assert(at == k->open_n || k->open[at].trial != trial); /* what has ended stays ended */
	if (!sw_array_reserve(&k->open, &k->open_cap, k->open_n + 1, sizeof *k->open))
		sw_daemon_die("note a checkpoint", SW_NOMEM);
	memmove(&k->open[at + 1], &k->open[at], (k->open_n - at) * sizeof *k->open);
	k->open_n++;
	k->open[at] = (struct sw_keeping_open){.trial = trial};
	return &k->open[at];
}

void sw_checkpoint_ended(struct sw_running *live, const struct sw_keeping_ended *file)
{
	struct sw_keeping *k = &live->files.keeping;

	if (!sw_array_reserve(&k->ended, &k->ended_cap, k->ended_n + 1, sizeof *k->ended))
		sw_daemon_die("note a checkpoint", SW_NOMEM);
	k->ended[k->ended_n++] = *file;
}

/* Is it better by the sweep's metric? */
static bool is_better(const struct sw_running *live, double value, double than)
{
	return live->maximize ? value > than : value < than;
}

void sw_checkpoint_record(struct sw_running *live, double value)
{
	struct sw_keeping *k = &live->files.keeping;

	if (!k->has_record || is_better(live, value, k->record))
		k->record = value;
	k->has_record = true;
}

/* A trial that failed is nobody's best, and its record none: the best of the others is. */
static void forget_record(struct sw_running *live)
{
	struct sw_keeping *k = &live->files.keeping;

	k->has_record = false;
	for (size_t i = 0; i < k->open_n; i++)
		if (!k->open[i].gone && k->open[i].has_value)
			sw_checkpoint_record(live, k->open[i].value);
	for (size_t i = 0; i < k->ended_n; i++)
		if (k->ended[i].has_value)
			sw_checkpoint_record(live, k->ended[i].value);
}

size_t sw_checkpoint_best(const struct sw_running *live, bool whole)
{
	const struct sw_keeping *k = &live->files.keeping;
	size_t best = k->ended_n;

	for (size_t i = 0; i < k->ended_n; i++) {
		const struct sw_keeping_ended *e = &k->ended[i], *b = &k->ended[best];

		if (e->has_value && (e->step != 0 || !whole) &&
		    (best == k->ended_n || is_better(live, e->value, b->value) ||
		     (!(e->value < b->value) && !(e->value > b->value) && e->trial < b->trial)))
			best = i;
	}
	return best;
}

static bool is_kept(const struct sw_running *live, uint64_t trial, uint64_t step)
{
	const struct sw_keeping *k = &live->files.keeping;

	for (size_t i = 0; i < k->ended_n; i++)
		if (k->ended[i].trial == trial && k->ended[i].step == step)
			return true;
	return false;
}

uint64_t sw_checkpoint_best_of(const struct sw_running *live, uint64_t trial)
{
	const struct sw_keeping *k = &live->files.keeping;
	const struct sw_keeping_open *open = find_open(k, trial);
	uint64_t best = open != NULL ? open->best : 0;

	/* Of one that has ended no other files are left than these two. */
	for (size_t i = 0; open == NULL && i < k->ended_n; i++)
		if (k->ended[i].trial == trial && k->ended[i].step != 0 &&
		    (best == 0 || k->ended[i].step < best))
			best = k->ended[i].step;
	return best;
}

bool sw_checkpoint_has_heir(const struct sw_running *live, uint64_t trial, uint64_t step)
{
	for (size_t i = 0; i < live->files.heirs.n; i++)
		if (live->files.heirs.v[i].from == trial && live->files.heirs.v[i].step == step)
			return true;
	return false;
}

static bool is_needed(const struct sw_running *live, uint64_t trial, uint64_t step)
{
	const struct sw_checkpoint own = sw_checkpoint_of(live, trial);
	const struct sw_trial *t = sw_sweep_trial(live->sched, trial);
	const struct sw_keeping_open *open = find_open(&live->files.keeping, trial);

	/* Three may need it: the trial itself, the trial again should its last one prove damaged,
	 * and a child that has none of its own yet. */
	if (sw_trial_ended((enum sw_trial_state)t->state) ? is_kept(live, trial, step)
							  : own.trial == trial && own.step == step)
		return true;
	return (open != NULL && (open->before == step || open->best == step)) ||
	       sw_checkpoint_has_heir(live, trial, step);
}

static void add_unneeded(struct sw_unneeded *out, uint64_t trial, uint64_t step)
{
	if (!sw_array_reserve(&out->v, &out->cap, out->n + 1, sizeof *out->v))
		sw_daemon_die("note a checkpoint", SW_NOMEM);
	out->v[out->n++] =
		(struct sw_checkpoint){.sweep = out->live->sweep, .trial = trial, .step = step};
}

/* trial 0, step 0: there is no such file. */
static void release(struct sw_unneeded *out, uint64_t trial, uint64_t step)
{
	if (trial != 0 && step != 0 && !is_needed(out->live, trial, step))
		add_unneeded(out, trial, step);
}

static void add_heir(struct sw_running *live, uint64_t child, uint64_t from, uint64_t step)
{
	struct sw_heirs *v = &live->files.heirs;

	if (!sw_array_reserve(&v->v, &v->cap, v->n + 1, sizeof *v->v))
		sw_daemon_die("note a checkpoint", SW_NOMEM);
	v->v[v->n++] = (struct sw_heir){.child = child, .from = from, .step = step};
}

/* The trial has one of its own now, or needs none. */
static void drop_heir(struct sw_unneeded *out, uint64_t child)
{
	struct sw_heirs *v = &out->live->files.heirs;

	for (size_t i = 0; i < v->n; i++) {
		if (v->v[i].child != child)
			continue;
		const struct sw_heir heir = v->v[i];
		v->v[i] = v->v[--v->n];
		release(out, heir.from, heir.step);
		return;
	}
}

void sw_checkpoint_created(struct sw_running *live, const struct sw_action *create)
{
	if (!live->driven && create->from != 0 && create->from != create->trial)
		add_heir(live, create->trial, create->from, create->resume_step);
}

/* The one before a trial's last goes. */
static void release_before(struct sw_unneeded *out, uint64_t trial)
{
	struct sw_keeping_open *open = find_open(&out->live->files.keeping, trial);
	const uint64_t before = open != NULL ? open->before : 0;

	/* It has one file or none. */
	if (before == 0)
		return;
	open->before = 0;
	release(out, trial, before);
}

/* The last that was COMPLETED, whole: of those with a checkpoint; ended_n: none. */
static size_t last_of(const struct sw_keeping *k, bool whole)
{
	size_t i = k->ended_n;

	while (i > 0 && !(k->ended[i - 1].completed && (k->ended[i - 1].step != 0 || !whole)))
		i--;
	return i > 0 ? i - 1 : k->ended_n;
}

/* A program's own folder stays while the program is still being ended: it goes when its worker asks
 * again (sw_janitor_late()). */
static void release_ended(struct sw_unneeded *out, const struct sw_keeping_ended *gone)
{
	const struct sw_running *live = out->live;

	if (gone->step != 0)
		release(out, gone->trial, gone->step);
	else if (!sw_slot_holds(live->d, live->sweep, (int64_t)gone->trial))
		add_unneeded(out, gone->trial, 0);
}

/* Of the trials that have ended only the best and the last that was COMPLETED stay, and if those
 * have no checkpoint, the best and the last that have one. */
static void keep_best_and_last(struct sw_unneeded *out)
{
	struct sw_keeping *k = &out->live->files.keeping;
	const size_t at[] = {sw_checkpoint_best(out->live, false), last_of(k, false),
			     sw_checkpoint_best(out->live, true), last_of(k, true)};
	uint64_t stay[4];

	for (size_t i = 0; i < 4; i++)
		stay[i] = at[i] < k->ended_n ? k->ended[at[i]].trial : 0;
	for (size_t i = 0; i < k->ended_n;) {
		const struct sw_keeping_ended one = k->ended[i];

		if (one.trial == stay[0] || one.trial == stay[1] || one.trial == stay[2] ||
		    one.trial == stay[3]) {
			i++;
			continue;
		}
		k->ended_n--; /* before it is released: is_needed() reads the list */
		memmove(&k->ended[i], &k->ended[i + 1], (k->ended_n - i) * sizeof one);
		release_ended(out, &one);
	}
}

bool sw_checkpoint_goes(const struct sw_running *live, uint64_t trial)
{
	const struct sw_keeping *k = &live->files.keeping;

	if (!sw_trial_ended((enum sw_trial_state)sw_sweep_trial(live->sched, trial)->state))
		return false;
	for (size_t i = 0; i < k->ended_n; i++)
		if (k->ended[i].trial == trial)
			return false;
	return true;
}

/* A trial has ended: does its last checkpoint stay, and what goes for it? */
static void settle_trial(struct sw_unneeded *out, uint64_t trial)
{
	struct sw_running *live = out->live;
	const struct sw_trial *t = sw_sweep_trial(live->sched, trial);
	const struct sw_checkpoint last = sw_checkpoint_of(live, trial);
	struct sw_keeping *k = &live->files.keeping;
	struct sw_keeping_ended file = {
		.trial = trial, .step = last.step, .completed = t->state == SW_TRIAL_COMPLETED};
	struct sw_keeping_open *open = find_open(k, trial);
	bool doubted = false;
	uint64_t best = 0;

	release_before(out, trial); /* while the trial still has its place in the list */
	if (open != NULL) {
		file.has_value = open->has_value;
		file.value = open->value;
		doubted = open->doubted;
		best = open->best != last.step ? open->best : 0;
		close_open(k, open);
	}
	if ((t->state == SW_TRIAL_FAILED || t->state == SW_TRIAL_INFEASIBLE || doubted) &&
	    file.has_value && k->has_record && !is_better(live, k->record, file.value))
		forget_record(live);
	file.has_value = file.has_value && !doubted; /* as sweep.best has it */
	/* Its last may be its parent's, which is not its to keep; and nobody exports what
	 * failed. */
	const bool none = live->spec->checkpoint.keep == SW_SPEC_KEEP_NONE ||
			  t->state == SW_TRIAL_FAILED || t->state == SW_TRIAL_INFEASIBLE;
	if (last.trial != trial || none) {
		release(out, last.trial, last.step);
		release(out, trial, best);
	} else {
		sw_checkpoint_ended(live, &file);
		file.step = best;
		if (best != 0)
			sw_checkpoint_ended(live, &file);
	}
	/* Its own folder, which may be all that it has. */
	file.step = 0;
	if (!none && live->spec->command != NULL)
		sw_checkpoint_ended(live, &file);
	if (live->spec->checkpoint.keep == SW_SPEC_KEEP_BEST_AND_LAST)
		keep_best_and_last(out);
	if (live->spec->checkpoint.max_mb != 0 || live->d->config.keep_checkpoints != 0)
		out->shrink = true;
}

/* A trial has reported a value. With one metric its best counts, as for who asks for the best
 * trial; with several the last, as for the front. */
static void take_value(struct sw_running *live, struct sw_keeping_open *open, double value)
{
	if (live->spec->n_metrics > 1) {
		open->has_value = sw_sweep_believes(live->sched, value);
		open->value = value;
		return;
	}
	/* A value that diverged is never the best, nor is one below a threshold. */
	open->doubted = !sw_sweep_believes(live->sched, value);
	if (open->doubted)
		return;
	if (!open->has_value || is_better(live, value, open->value))
		open->value = value;
	open->has_value = true;
	sw_checkpoint_record(live, value);
}

/* A program has kept a checkpoint: is it its best? Of equals the first stays. */
static void take_best(struct sw_unneeded *out, struct sw_keeping_open *open,
		      const struct sw_event *event)
{
	const struct sw_spec *spec = out->live->spec;
	const uint64_t old = open->best;

	if (spec->command == NULL || spec->checkpoint.keep == SW_SPEC_KEEP_NONE ||
	    spec->n_metrics > 1 || !event->has_value ||
	    !sw_sweep_believes(out->live->sched, event->value) ||
	    (old != 0 && !is_better(out->live, event->value, open->best_value)))
		return;
	open->best = event->step;
	open->best_value = event->value;
	release(out, open->trial, old);
}

/* The trial of a report has another last checkpoint, or another value. */
static void take_report(struct sw_unneeded *out, const struct sw_event *event,
			const struct sw_checkpoint *before)
{
	struct sw_running *live = out->live;
	const uint64_t trial = event->trial;
	const struct sw_checkpoint now = sw_checkpoint_of(live, trial);
	const bool fresh = now.trial == trial &&
			   (before->trial != trial || before->step != now.step);

	/* Neither a file nor a number: nothing of this report is kept. */
	if (!fresh && !event->has_value)
		return;
	struct sw_keeping_open *open = sw_checkpoint_open(live, trial);
	if (event->has_value)
		take_value(live, open, event->value);
	if (!fresh)
		return;
	drop_heir(out, trial);
	release_before(out, trial);
	/* The one before stays for a worker that finds the last one damaged; it goes with the
	 * next. */
	if (before->trial == trial)
		open->before = before->step;
	take_best(out, open, event);
	release(out, before->trial, before->step);
}

void sw_checkpoint_stepped(struct sw_unneeded *out, const struct sw_event *event,
			   const struct sw_checkpoint *before, const struct sw_actions *step)
{
	const struct sw_running *live = out->live;

	/* Clients keep their own files. */
	if (live->driven)
		return;
	if (event->trial != 0 && event->kind == SW_EVENT_REPORT)
		take_report(out, event, before);
	for (size_t i = 0; i < step->n; i++) {
		const struct sw_action *a = &step->v[i];

		if (a->kind == SW_ACTION_PAUSE) {
			release_before(out, a->trial);
		} else if (a->kind == SW_ACTION_END) {
			drop_heir(out, a->trial);
			settle_trial(out, a->trial);
		} else if (a->kind == SW_ACTION_SWEEP && live->files.made && live->ended_ms != 0) {
			/* Trial 0 stands for the folder: what nobody keeps of a sweep that has
			 * ended goes in one sweep through it. */
			add_unneeded(out, 0, sw_sweep_trial_n(live->sched));
		}
	}
}

void sw_checkpoint_recovered(struct sw_running *live)
{
	const uint64_t n = sw_sweep_trial_n(live->sched);

	for (uint64_t trial = 1; !live->driven && trial <= n; trial++) {
		const struct sw_trial *t = sw_sweep_trial(live->sched, trial);
		const struct sw_checkpoint c = sw_checkpoint_of(live, trial);

		if (c.trial != 0 && c.trial != trial &&
		    !sw_trial_ended((enum sw_trial_state)t->state))
			add_heir(live, trial, c.trial, c.step);
	}
}
