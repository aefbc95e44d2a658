#include "daemon/pilot/others.h"
#include "base/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OTHERS_MAX 1000
#define FOLDER     (sizeof SW_PILOT_ALL - 1 + 12) /* bytes of "sweepd-3f2a91c04b7d" */

/* Does it begin with a state folder's name, up to a byte `end`? A user's own "sweepd-test" does
 * not. */
static bool has_folder(const char *name, char end)
{
	const size_t n = sizeof SW_PILOT_ALL - 1;

	return strncmp(name, SW_PILOT_ALL, n) == 0 &&
	       strspn(name + n, "0123456789abcdef") == FOLDER - n && name[FOLDER] == end;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct sw_pilot_line *)a)->name,
		      ((const struct sw_pilot_line *)b)->name);
}

void sw_others_read(struct sw_daemon_pilot *all, const char *text)
{
	struct sw_pilot_line line;

	all->n_others = 0;
	while (all->n_others < OTHERS_MAX && sw_pilot_line_next(&text, &line)) {
		if (line.state >= SW_PILOT_DONE || !has_folder(line.name, '-') ||
		    strncmp(line.name, all->prefix, FOLDER) == 0)
			continue;
		if (all->others == NULL)
			all->others = sw_calloc(OTHERS_MAX, sizeof line);
		if (all->others == NULL)
			return; /* they are looked at again with the next list */
		/* For people to see, and to cancel by hand: they are never cancelled by themselves,
		 * since another daemon may live. */
		all->others[all->n_others++] = line;
	}
	if (all->n_others > 0)
		qsort(all->others, all->n_others, sizeof line, by_name);
}

/* How many from `first` on are of its state folder. */
static size_t count_alike(const struct sw_daemon_pilot *all, const struct sw_pilot_line *first)
{
	const size_t most = (size_t)(all->others + all->n_others - first);
	size_t n = 0;

	while (n < most && strncmp(first[n].name, first->name, FOLDER) == 0)
		n++;
	return n;
}

void sw_others_write(const struct sw_daemon_pilot *all, struct sw_jw *w)
{
	sw_jw_karr(w, "others");
	for (size_t i = 0; i < all->n_others;) {
		const struct sw_pilot_line *first = &all->others[i];
		const size_t n = count_alike(all, first);
		char folder[FOLDER + 1];
		int64_t running = 0;

		for (size_t k = 0; k < n; k++)
			running += first[k].state == SW_PILOT_RUNNING;
		(void)snprintf(folder, sizeof folder, "%.*s", (int)FOLDER, first->name);
		sw_jw_obj(w);
		sw_jw_kstr(w, "prefix", folder);
		sw_jw_kint(w, "jobs", (int64_t)n);
		sw_jw_kint(w, "running", running);
		sw_jw_kstr(w, "job", first->id);
		sw_jw_obj_end(w);
		i += n;
	}
	sw_jw_arr_end(w);
}

sw_status sw_others_find(const struct sw_daemon_pilot *all, const char *folder,
			 const struct sw_pilot_line **first, size_t *n, struct sw_err *err)
{
	if (!has_folder(folder, '\0'))
		return sw_err_at(err, SW_INVALID, "/prefix",
				 "expected the beginning of jobs' names as `sweep devices` "
				 "shows it, such as sweepd-3f2a91c04b7d");
	if (strncmp(folder, all->prefix, FOLDER) == 0)
		return sw_err_at(err, SW_INVALID, "/prefix",
				 "%s: these are this daemon's own jobs; they end with their "
				 "sweeps",
				 folder);
	for (size_t i = 0; i < all->n_others; i++) {
		*first = &all->others[i];
		if (strncmp((*first)->name, folder, FOLDER) == 0) {
			*n = count_alike(all, *first);
			return SW_OK;
		}
	}
	return sw_err_at(err, SW_NOT_FOUND, "/prefix",
			 "%s: the last list names no job of it; `sweep devices` has those that "
			 "are there",
			 folder);
}
