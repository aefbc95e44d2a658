#include "worker/pilot.h"
#include "base/text.h"
#include "tls/dial.h"
#include "worker/serve.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define INPUT_MAX ((size_t)8192)
#define TERM_US   ((int64_t)25000000)
#define DAY_S     86400L
#define TIME_MOST (INT_MAX / 1000L) /* s: 24 days are a number of milliseconds */

struct told {
	char host[256], name[64], worker[65], device[40];
	char probe[4096], token[129];
	unsigned char key[32];
	bool has_key;
	long port, slot, cores, memory, time_s, stagger_s;
};

static volatile sig_atomic_t time_is_up;
static int wake_fd;
static int64_t time_leave_us; /* that the trial has at the end of the job's time */

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "sweep-worker: pilot: %s%s\n", what, why);
	return 2;
}

/* --- what it is told --- */

static bool read_text(const char *value, char *out, size_t cap)
{
	if (*value == '\0' || strlen(value) >= cap)
		return false;
	strcpy(out, value);
	return true;
}

static bool read_number(const char *value, long max, long *out)
{
	char *end;

	errno = 0;
	*out = strtol(value, &end, 10);
	return *value >= '0' && *value <= '9' && *end == '\0' && errno == 0 && *out <= max;
}

static bool read_key(struct told *t, const char *value)
{
	if (strlen(value) != 2 * sizeof t->key ||
	    strspn(value, "0123456789abcdefABCDEF") != 2 * sizeof t->key)
		return false;
	for (size_t i = 0; i < sizeof t->key; i++) {
		unsigned byte;

		(void)sscanf(value + 2 * i, "%2x", &byte); /* two digits are there */
		t->key[i] = (unsigned char)byte;
	}
	t->has_key = true;
	return true;
}

/* Cuts the last word off, and returns it; "": there is only one. */
static char *cut_last(char *value)
{
	char *blank = strrchr(value, ' ');

	if (!blank)
		return value + strlen(value);
	*blank = '\0';
	return blank + 1;
}

/* false: the word cannot have this value. */
static bool take_line(struct told *t, const char *word, char *value)
{
	if (strcmp(word, "dial") == 0) {
		const char *port = cut_last(value);

		return read_number(port, 65535, &t->port) && t->port > 0 &&
		       read_text(value, t->host, sizeof t->host);
	}
	if (strcmp(word, "probe") == 0) {
		const char *token = cut_last(value);

		return read_text(token, t->token, sizeof t->token) &&
		       read_text(value, t->probe, sizeof t->probe);
	}
	if (strcmp(word, "key") == 0)
		return read_key(t, value);
	if (strcmp(word, "name") == 0)
		return read_text(value, t->name, sizeof t->name);
	if (strcmp(word, "worker") == 0)
		return read_text(value, t->worker, sizeof t->worker);
	if (strcmp(word, "device") == 0)
		return read_text(value, t->device, sizeof t->device);
	if (strcmp(word, "slot") == 0)
		return read_number(value, 100000, &t->slot);
	if (strcmp(word, "cores") == 0)
		return read_number(value, 4096, &t->cores) && t->cores > 0;
	if (strcmp(word, "memory") == 0)
		return read_number(value, LONG_MAX, &t->memory);
	if (strcmp(word, "time") == 0)
		return read_number(value, LONG_MAX, &t->time_s);
	if (strcmp(word, "stagger") == 0)
		return read_number(value, LONG_MAX, &t->stagger_s);
	return true; /* of a later version */
}

/* 0, or the exit status of what it complained about. A value is not shown: it may be the key. */
static int read_told(struct told *t, char *text)
{
	char *rest, *line = strtok_r(text, "\n", &rest);

	for (; line; line = strtok_r(NULL, "\n", &rest)) {
		char *value = line + strcspn(line, " ");

		if (*value != '\0')
			*value++ = '\0';
		if (!take_line(t, line, value))
			return complain("standard input: no such value for ", line);
	}
	if (!*t->host || !*t->name || !t->has_key || !*t->worker || !*t->device || t->slot < 0)
		return complain("standard input lacks ", !*t->host     ? "dial"
							 : !*t->name   ? "name"
							 : !t->has_key ? "key"
							 : !*t->worker ? "worker"
							 : !*t->device ? "device"
								       : "slot");
	return 0;
}

static int read_input(struct told *t)
{
	char text[INPUT_MAX + 2];
	size_t n = 0;
	ssize_t got;
	int code;

	/* A byte over the limit tells an input that is too long from one that just fits. */
	while (n <= INPUT_MAX) {
		got = read(STDIN_FILENO, text + n, INPUT_MAX + 1 - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	text[n] = '\0';
	code = n > INPUT_MAX ? complain("standard input: ", "over 8 KiB") : read_told(t, text);
	/* The key has been copied; of its text nothing stays in memory. */
	explicit_bzero(text, sizeof text);
	return code;
}

/* Does it see the daemon's files? Only a file's own words say so: a path may be there on each node,
 * and another file everywhere. */
static bool sees_files(const struct told *t)
{
	const size_t len = strlen(t->token);
	char text[sizeof t->token] = "";
	struct stat st;
	bool same;
	int fd;

	if (!*t->probe)
		return false;
	fd = open(t->probe, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	same = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && read(fd, text, len) == (ssize_t)len &&
	       memcmp(text, t->token, len) == 0;
	close(fd);
	return same;
}

/* The scheduler's name of the host, by which `sweep devices` can be compared with its own lists. */
static void find_node(char *out, size_t cap)
{
	const char *name = getenv("SLURMD_NODENAME");

	if (name && *name)
		snprintf(out, cap, "%s", name);
	else if (gethostname(out, cap) != 0)
		snprintf(out, cap, "unknown");
	out[cap - 1] = '\0';
	sw_text_plain(out);
}

/* --- its time --- */

static void on_time(int sig)
{
	const int saved = errno;

	(void)sig;
	/* Before the byte: who reads that asks at once why. */
	time_is_up = 1;
	const ssize_t n = write(wake_fd, "", 1);

	(void)n; /* a full pipe is readable, too */
	errno = saved;
}

static const char *leave(int64_t *us, bool *told)
{
	*told = !time_is_up;
	*us = time_is_up ? time_leave_us : TERM_US;
	return time_is_up ? "the job's time is nearly up" : "told to end: SIGTERM";
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* false: there is no timer. */
static bool set_time(const struct told *t)
{
	const struct sigaction action = {.sa_handler = on_time, .sa_flags = SA_RESTART};
	const double time_s = (double)t->time_s;
	/* A quarter of a short job at the most. The stagger lets jobs that began together end
	 * apart. */
	const double before_s = least(60, time_s / 4) + least((double)t->stagger_s, time_s / 8);
	const double at_s = time_s - before_s;
	const struct itimerval timer = {
		.it_value = {.tv_sec = (time_t)at_s,
			     .tv_usec = (suseconds_t)((at_s - (double)(time_t)at_s) * 1e6)}};

	time_leave_us = (int64_t)(least(60, before_s) * 1e6 * 5 / 6);
	return t->time_s == 0 || (sigaction(SIGALRM, &action, NULL) == 0 &&
				  setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

int sw_pilot(const int wake[2])
{
	struct told t = {.slot = -1, .cores = 1};
	struct sw_err err = SW_ERR_INIT;
	struct sw_tls_dial *dial = NULL;
	unsigned process = 0;
	char node[201];
	int code = read_input(&t);

	wake_fd = wake[1];
	if (code == 0 && !set_time(&t))
		code = complain("no timer: ", strerror(errno));
	if (code == 0 && sw_tls_dial(&dial, t.host, (unsigned)t.port, t.name, t.key, &err) != SW_OK)
		code = complain(err.msg, "");
	explicit_bzero(t.key, sizeof t.key);
	if (code == 0 && getrandom(&process, sizeof process, 0) != sizeof process)
		code = complain("no random bytes: ", strerror(errno));
	if (code != 0)
		return code;
	find_node(node, sizeof node);
	/* It waits for its daemon as long as the job may last. */
	const long away_s = t.time_s == 0 ? DAY_S : t.time_s;
	const struct sw_serve serve = {
		.link = {.socket = sw_tls_dial_path(dial),
			 .worker = t.worker,
			 .slot = (int)t.slot,
			 .wake_fd = wake[0],
			 .away_ms = (unsigned)(away_s < TIME_MOST ? away_s : TIME_MOST) * 1000,
			 .leave = leave,
			 .node = node,
			 .files = sees_files(&t),
			 .process = process},
		.lanes = 1,
		.device = t.device,
		.cores = (unsigned)t.cores,
		.memory = (size_t)t.memory,
		.wake = wake[1]};

	code = sw_serve(&serve);
	sw_tls_dial_close(dial); /* its last words go out */
	return code;
}
