#include "base/process.h"
#include "base/clock.h"
#include "base/memory.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENVIRONMENT_MAX ((size_t)2 * 1024 * 1024)
#define END_US          ((int64_t)2 * 1000000)
#define CHASE_US        10000

bool sw_process_lacks(int code)
{
	return code == EAGAIN || code == ENOMEM || code == EMFILE || code == ENFILE;
}

bool sw_process_read(pid_t pid, struct sw_process *out)
{
	char path[64], text[1024];
	unsigned long long start;
	long parent, session;
	char state;

	(void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	const ssize_t n = read(fd, text, sizeof text - 1);
	(void)close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	/* "PID (NAME) STATE PARENT GROUP SESSION ...": the name may hold anything. */
	const char *name = strchr(text, '('), *end = strrchr(text, ')'), *p = end;
	if (name == NULL || end == NULL ||
	    sscanf(end + 1, " %c %ld %*d %ld", &state, &parent, &session) != 3)
		return false;
	for (int field = 2; p != NULL && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (p == NULL || sscanf(p, " %llu", &start) != 1)
		return false;
	*out = (struct sw_process){.pid = pid,
				   .parent = (pid_t)parent,
				   .session = (pid_t)session,
				   .state = state,
				   .start = start};
	(void)snprintf(out->name, sizeof out->name, "%.*s", (int)(end - name - 1), name + 1);
	return true;
}

sw_status sw_process_list(struct sw_process **out, size_t *n)
{
	struct sw_process *all = NULL;
	size_t cap = 0;
	sw_status rc = SW_OK;
	DIR *dir = opendir("/proc");

	*out = NULL;
	*n = 0;
	if (dir == NULL)
		return errno == ENOMEM ? SW_NOMEM : SW_IO;
	for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
		const long pid = *e->d_name >= '1' && *e->d_name <= '9' ? atol(e->d_name) : 0;

		if (pid == 0)
			continue;
		if (!sw_array_reserve(&all, &cap, *n + 1, sizeof *all)) {
			rc = SW_NOMEM;
			break;
		}
		*n += sw_process_read((pid_t)pid, &all[*n]);
	}
	(void)closedir(dir);
	if (rc == SW_OK)
		*out = all;
	else
		free(all);
	return rc;
}

/* Reads up to cap bytes of a file of unknown size. */
static size_t read_whole(const char *path, char *to, size_t cap)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got;

	if (fd < 0)
		return 0;
	while (n < cap && (got = read(fd, to + n, cap - n)) > 0)
		n += (size_t)got;
	(void)close(fd);
	return n;
}

static bool holds_entry(const char *text, size_t n, const char *entry)
{
	const size_t len = strlen(entry) + 1; /* its NUL as well: the whole entry is compared */

	for (size_t at = 0; at + len <= n;) {
		const char *end = memchr(text + at, '\0', n - at);

		if (end == NULL)
			return false;
		if ((size_t)(end - text) + 1 - at == len && memcmp(text + at, entry, len) == 0)
			return true;
		at = (size_t)(end - text) + 1;
	}
	return false;
}

uint64_t sw_process_mark(const char *entry)
{
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */

	for (; *entry != '\0'; entry++)
		hash = (hash ^ (unsigned char)*entry) * 0x100000001b3;
	return hash;
}

static bool holds_one(const char *text, size_t len, const char *const *entry, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (holds_entry(text, len, entry[i]))
			return true;
	return false;
}

static bool has_limit(pid_t pid, const char *const *entry, size_t n)
{
	static const char name[] = "Max file locks";
	char path[64], text[4096];

	(void)snprintf(path, sizeof path, "/proc/%ld/limits", (long)pid);
	text[read_whole(path, text, sizeof text - 1)] = '\0';
	const char *line = strstr(text, name);
	const uint64_t limit = line != NULL ? strtoull(line + sizeof name, NULL, 10) : 0;

	for (size_t i = 0; limit != 0 && i < n; i++)
		if (sw_process_mark(entry[i]) == limit)
			return true;
	return false;
}

bool sw_process_marked(pid_t pid, const char *const *entry, size_t n)
{
	char path[64], few[16384];

	/* A program may have cleared its environment; the limit is inherited all the same. */
	if (has_limit(pid, entry, n))
		return true;
	(void)snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
	/* Most environments are small: the larger buffer is had only for those that fill this
	 * one. */
	size_t len = read_whole(path, few, sizeof few);
	if (len < sizeof few)
		return holds_one(few, len, entry, n);
	char *all = sw_malloc(ENVIRONMENT_MAX);
	if (all == NULL)
		return false;
	len = read_whole(path, all, ENVIRONMENT_MAX);
	const bool is = holds_one(all, len, entry, n);

	free(all);
	return is;
}

bool sw_process_signal(const struct sw_process *p, int sig)
{
	const int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	struct sw_process now;
	bool sent = false;

	if (fd < 0 && errno != ENOSYS)
		return false;
	/* The look comes after the descriptor holds it, so it is the one that gets the signal. */
	if (sw_process_read(p->pid, &now) && now.start == p->start)
		sent = (fd < 0 ? kill(p->pid, sig)
			       : (int)syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0)) == 0;
	if (fd >= 0)
		(void)close(fd);
	return sent;
}

size_t sw_process_chase_marked(const char *const *entry, size_t n_entries, int64_t us)
{
	const int64_t until = sw_clock_mono_us() + us;
	struct sw_process newest;
	pid_t sent_to = 0;
	char text[100];
	size_t n = 0;

	while (sw_clock_mono_us() < until) {
		/* its last word is the number that was given out last */
		text[read_whole("/proc/loadavg", text, sizeof text - 1)] = '\0';
		const char *last = strrchr(text, ' ');
		if (last == NULL || !sw_process_read((pid_t)atol(last), &newest) ||
		    newest.pid == sent_to || newest.state == 'Z' ||
		    !sw_process_marked(newest.pid, entry, n_entries) ||
		    !sw_process_signal(&newest, SIGKILL))
			continue;
		sent_to = newest.pid;
		n++;
	}
	return n;
}

/* One look. Returns how many with the mark are left; those that this look met first are added to
 * *killed. */
static size_t kill_marked(const char *const *entry, size_t n_entries, size_t *killed)
{
	struct sw_process *all;
	size_t n, left = sw_process_chase_marked(entry, n_entries, CHASE_US);

	*killed += left;
	if (sw_process_list(&all, &n) != SW_OK)
		return 0;
	for (size_t i = 0; i < n; i++) {
		/* A zombie is gone but for its status, which its parent will fetch. */
		if (all[i].pid == getpid() || all[i].state == 'Z' ||
		    !sw_process_marked(all[i].pid, entry, n_entries))
			continue;
		left++;
		*killed += sw_process_signal(&all[i], SIGKILL);
	}
	free(all);
	return left;
}

size_t sw_process_end_marked(const char *const *entry, size_t n)
{
	const int64_t until = sw_clock_mono_us() + END_US;
	size_t killed = 0, again = 0;
	int clean = 0; /* looks in a row that met none */

	/* A look can miss a process that is forked meanwhile, and one that has not run its program
	 * yet, since it has no environment of its own. So two looks in a row must meet none. */
	for (size_t *count = &killed;; count = &again) {
		clean = kill_marked(entry, n, count) > 0 ? 0 : clean + 1;
		if (clean == 2 || sw_clock_mono_us() >= until)
			return killed;
	}
}

int sw_process_input(const void *bytes, size_t n)
{
	/* A file in memory and not a pipe: all of it is written at once, whatever its size, and
	 * nobody has to feed it. */
	const int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd < 0 || (write(fd, bytes, n) == (ssize_t)n && lseek(fd, 0, SEEK_SET) == 0))
		return fd;
	(void)close(fd);
	return -1;
}
