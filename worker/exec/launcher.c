#include "worker/exec/launcher.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/process.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRIES    3 /* a launcher may be out of date, a spare may be killed */
#define SLICE_MS 100
#define END_MS   5000              /* for a SIGKILL to be done */
#define KEY_MAX  ((size_t)4 << 20) /* more than the system lets a program have */

extern const char sw_launcher_py[];
extern const unsigned long sw_launcher_py_len;

/* Told to the interpreter: its program comes by the socket, so that `ps` shows the script's name
 * and no program text. It reads no byte more: the next is an order. */
#define BOOT                                                                                       \
	"import os\ns = b''\nwhile len(s) < %lu:\n    s += os.read(3, %lu - len(s)) or "           \
	"os._exit(1)\nexec(compile(s, '<sweepd>', 'exec'))"

static void init_one(struct sw_launcher *l)
{
	*l = (struct sw_launcher){.asked_us = 0};
	sw_program_init(&l->program);
	sw_buf_init(&l->key, KEY_MAX);
}

void sw_launchers_init(struct sw_launchers *all)
{
	all->told = 0;
	for (size_t i = 0; i < SW_LAUNCHERS; i++)
		init_one(&all->of[i]);
}

/* Ends the process with its spares; the key stays. */
static void end_process(struct sw_launcher *l)
{
	struct pollfd ended = {.fd = l->program.pidfd, .events = POLLIN};

	if (l->program.pid == 0)
		return; /* none was started, or it has been ended */
	/* it is not reaped before: the number is still its session's */
	(void)kill(-l->program.pid, SIGKILL);
	/* Waited for, so that its memory is free before the next one takes some. */
	(void)poll(&ended, 1, END_MS);
	(void)sw_program_has_ended(&l->program);
	sw_program_close(&l->program);
}

static void close_one(struct sw_launcher *l)
{
	end_process(l);
	sw_buf_fini(&l->key);
}

void sw_launchers_close(struct sw_launchers *all)
{
	for (size_t i = 0; i < SW_LAUNCHERS; i++)
		close_one(&all->of[i]);
}

static bool is_dead(const struct sw_launcher *l)
{
	struct pollfd ended = {.fd = l->program.pidfd, .events = POLLIN};

	return l->program.pid != 0 && poll(&ended, 1, 0) > 0;
}

/* Reads the bytes of memory that it has now; 0: it does not run. */
static uint64_t bytes_of(const struct sw_launcher *l)
{
	char path[64];
	unsigned long long pages = 0;
	FILE *f;

	if (l->program.pid == 0)
		return 0; /* none runs */
	(void)snprintf(path, sizeof path, "/proc/%ld/statm", (long)l->program.pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*u %llu", &pages) != 1)
		pages = 0;
	if (f)
		(void)fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void sw_launchers_look(struct sw_launchers *all, struct sw_session *s)
{
	const int64_t since_us = sw_clock_mono_us() - (int64_t)SW_LAUNCHER_IDLE_S * 1000000;
	uint64_t bytes = 0;

	for (size_t i = 0; i < SW_LAUNCHERS; i++) {
		struct sw_launcher *l = &all->of[i];

		if (is_dead(l) || l->asked_us < since_us)
			end_process(l);
		bytes += bytes_of(l);
	}
	/* while one imports it grows: not each page is news */
	if (bytes + bytes / 8 < all->told || bytes > all->told + all->told / 8)
		sw_session_launcher(s, all->told = bytes);
}

/* --- what is started --- */

/* A command that is `[/usr/bin/env] python [-u] SCRIPT.py ...`. */
struct python {
	char *word;          /* the interpreter's */
	bool unbuffered;     /* -u */
	char *const *script; /* and its arguments */
};

/* Reads a command of that form. false: it has another; *why says why it must start cold, if a user
 * may wonder. */
static bool read_command(struct python *out, char *const *argv, char *why)
{
	const char *name, *end;

	if (strcmp(argv[0], "/usr/bin/env") == 0 && argv[1])
		argv++;
	name = strrchr(argv[0], '/');
	name = name ? name + 1 : argv[0];
	if (strcmp(name, "torchrun") == 0)
		(void)snprintf(why, SW_LAUNCHER_WHY, "torchrun starts processes of its own");
	if (strncmp(name, "python", 6) != 0 || name[6 + strspn(name + 6, "0123456789.")] != '\0')
		return false; /* another program */
	out->word = argv[0];
	out->unbuffered = argv[1] && strcmp(argv[1], "-u") == 0;
	out->script = argv + 1 + out->unbuffered;
	if (!*out->script)
		return false; /* it has nothing to run */
	end = strrchr(*out->script, '.');
	if (**out->script == '-')
		(void)snprintf(why, SW_LAUNCHER_WHY, "python has an option: %.100s", *out->script);
	else if (!end || strcmp(end, ".py") != 0)
		(void)snprintf(why, SW_LAUNCHER_WHY, "its script's name does not end with .py");
	return *why == '\0';
}

/* Is it a variable that each trial, or rank, has its own of? The launcher has those of the first;
 * if a package asks for one when it is imported, the others start cold. */
static bool is_trials(const char *entry)
{
	static const char *const names[] = {"RANK", "LOCAL_RANK", "MASTER_PORT", "PWD",
					    "WANDB_SWEEP_PARAM_PATH"};
	const size_t n = strcspn(entry, "=");

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == n && strncmp(entry, names[i], n) == 0)
			return true;
	return strncmp(entry, "SWEEPD_", 7) == 0 && strncmp(entry, "SWEEPD_COOKIE=", 14) != 0 &&
	       strncmp(entry, "SWEEPD_SOCKET=", 14) != 0;
}

static void add_word(struct sw_buf *b, const char *word)
{
	(void)sw_buf_add(b, word, strlen(word) + 1);
}

/* Makes a file in memory of what a spare needs: the folder, how many words, these, the environment.
 * -1: it cannot be. */
static int make_order(char *const *script, const struct sw_launch *of)
{
	char number[24];
	struct sw_buf b;
	int n = 0, fd;

	sw_buf_init(&b, KEY_MAX);
	while (script[n])
		n++;
	(void)snprintf(number, sizeof number, "%d", n);
	add_word(&b, of->cwd);
	add_word(&b, number);
	for (char *const *w = script; *w; w++)
		add_word(&b, *w);
	for (char *const *e = of->env; *e; e++)
		add_word(&b, *e);
	/* A file, not bytes of the socket: an environment may be more than a socket takes at
	 * once. */
	fd = b.failed == SW_OK ? sw_process_input(b.data, b.len) : -1;
	sw_buf_fini(&b);
	return fd;
}

/* --- the launcher's start --- */

/* Spawns it and sends it its program. */
static bool spawn_launcher(struct sw_launcher *l, const char *file, const struct python *python,
			   const struct sw_launch *of)
{
	const unsigned long len = sw_launcher_py_len;
	char boot[sizeof BOOT + 40];
	char *const plain[] = {python->word, "-c", boot, *python->script, NULL};
	char *const unbuffered[] = {python->word, "-u", "-c", boot, *python->script, NULL};
	char *const *argv = python->unbuffered ? unbuffered : plain;

	(void)snprintf(boot, sizeof boot, BOOT, len, len);
	(void)snprintf(l->mark, sizeof l->mark, "%s", of->mark);
	if (sw_program_start(&l->program, file, argv, of->env, of->from, of->mask, l->mark, NULL) !=
	    SW_OK)
		return false;
	sw_program_keep(&l->program);
	/* In one piece: a fresh socket takes it whole, or it is no use. */
	if (send(l->program.metrics, sw_launcher_py, len, MSG_NOSIGNAL) == (ssize_t)len)
		return true;
	end_process(l);
	return false;
}

/* The one of this key, or a new one in the place of that which was asked longest ago; takes key. */
static struct sw_launcher *choose(struct sw_launchers *all, struct sw_buf *key)
{
	struct sw_launcher *oldest = &all->of[0];

	for (size_t i = 0; i < SW_LAUNCHERS; i++) {
		struct sw_launcher *l = &all->of[i];

		if (key->len == l->key.len && memcmp(key->data, l->key.data, key->len) == 0)
			return l;
		if (l->asked_us < oldest->asked_us)
			oldest = l;
	}
	/* Its programs run on: they are the worker's children, and no longer need what forked
	 * them. */
	close_one(oldest);
	init_one(oldest);
	oldest->key = *key;
	sw_buf_init(key, 0);
	return oldest;
}

/* Sees that a launcher for it runs, or may not: why is not "". NULL: there can be none. */
static struct sw_launcher *prepare(struct sw_launchers *all, const struct python *python,
				   const struct sw_launch *of)
{
	struct sw_launcher *l = NULL;
	char file[PATH_MAX];
	struct sw_buf key;

	if (!sw_program_find(python->word, of->path, file, sizeof file))
		return NULL; /* the cold start says so */
	sw_buf_init(&key, KEY_MAX);
	/* All that decides what is imported, and how: two trials share a launcher if none of these
	 * differs. */
	add_word(&key, file);
	add_word(&key, python->unbuffered ? "-u" : "");
	add_word(&key, python->word);
	add_word(&key, *python->script);
	add_word(&key, of->from);
	(void)sw_buf_addf(&key, "%d", of->mask);
	for (char *const *e = of->env; *e; e++)
		if (!is_trials(*e))
			add_word(&key, *e);
	if (key.failed == SW_OK)
		l = choose(all, &key);
	if (l && is_dead(l))
		end_process(l);
	if (l && !*l->why && l->program.pid == 0 && !spawn_launcher(l, file, python, of))
		l = NULL;
	sw_buf_fini(&key);
	return l;
}

/* --- a program's start --- */

/* Sends an order. The descriptors are the spare's then, and ours to close. */
static bool send_order(const struct sw_launcher *l, int order, const int theirs[3])
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(4 * sizeof(int))];
	} control = {.room = {0}};
	struct iovec byte = {.iov_base = (char[]){'o'}, .iov_len = 1};
	const struct msghdr m = {.msg_iov = &byte,
				 .msg_iovlen = 1,
				 .msg_control = control.room,
				 .msg_controllen = sizeof control.room};
	const int fds[4] = {order, theirs[0], theirs[1], theirs[2]};

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof fds);
	memcpy(CMSG_DATA(&control.head), fds, sizeof fds);
	return sendmsg(l->program.metrics, &m, MSG_NOSIGNAL) == 1;
}

/* Waits for what the spare says (true), or the launcher (false): a line, "" if it has ended, or the
 * trial is dropped. line is "" before. */
static bool hear(const struct sw_launcher *l, const struct sw_program *p,
		 const struct sw_launch *of, char line[SW_LAUNCHER_WHY])
{
	struct pollfd fds[] = {{.fd = p->metrics, .events = POLLIN},
			       {.fd = l->program.metrics, .events = POLLIN}};

	while (poll(fds, 2, SLICE_MS) <= 0) { /* it imports; the session is heard meanwhile */
		if (!sw_session_may_begin(of->session))
			return true; /* the spare that takes the order will find nobody */
		if (sw_clock_mono_us() < of->until_us)
			continue;
		(void)snprintf(line, SW_LAUNCHER_WHY, "its launcher did not answer in time");
		return false;
	}
	/* The spare's word counts first. A dying launcher drops orders that no spare has taken, and
	 * closes their sockets: then launcher and program have both ended. */
	ssize_t n = fds[0].revents ? read(fds[0].fd, line, SW_LAUNCHER_WHY - 1) : 0;
	const bool spare = n > 0 || fds[1].revents == 0;

	if (!spare)
		n = read(fds[1].fd, line, SW_LAUNCHER_WHY - 1);
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return spare;
}

/* One try. true: the program runs. Else word says why not; "": a spare was killed, try again. */
static bool try_once(struct sw_launcher *l, struct sw_program *p, const struct sw_launch *of,
		     int order, char word[SW_LAUNCHER_WHY])
{
	int theirs[3];
	char *end;
	long pid;

	*word = '\0';
	if (!sw_program_open(p, theirs))
		return false;
	/* The order goes with its descriptors, so that a spare that takes it has all that it needs;
	 * ours are closed at once, or an end would not be seen. */
	const bool sent = send_order(l, order, theirs);

	for (size_t i = 0; i < 3; i++)
		(void)close(theirs[i]);
	const bool spare = sent && hear(l, p, of, word);

	pid = spare ? strtol(word, &end, 10) : 0;
	/* without this byte it never begins: no answer, however late, makes a second program */
	if (pid > 0 && sw_program_take(p, (pid_t)pid, &l->program, of->mark) &&
	    send(p->metrics, "g", 1, MSG_NOSIGNAL) == 1)
		return true;
	sw_program_close(p);
	if (pid > 0) {
		*word = '\0';
	} else if (!spare) {
		if (*word == '\0')
			(void)snprintf(word, SW_LAUNCHER_WHY, "its launcher was killed");
		end_process(l);
	} else if (strcmp(word, "changed") == 0) {
		end_process(l); /* the next one loads what is there now */
		*word = '\0';
	}
	return false;
}

bool sw_launchers_start(struct sw_launchers *all, struct sw_program *p, const struct sw_launch *of,
			char *why)
{
	struct sw_launcher *l = NULL;
	struct python python;
	bool started = false;
	int order;

	*why = '\0';
	if (!read_command(&python, of->argv, why))
		return false; /* no script, or one that must start cold */
	/* One for all tries: spares read it from its begin, wherever another one stopped. */
	order = make_order(python.script, of);
	for (int i = 0; i < TRIES && order >= 0 && !started && !*why &&
			sw_session_may_begin(of->session) && (l = prepare(all, &python, of));
	     i++) {
		l->asked_us = sw_clock_mono_us();
		if (*l->why)
			memcpy(why, l->why, SW_LAUNCHER_WHY);
		else
			started = try_once(l, p, of, order, why);
	}
	if (order >= 0)
		(void)close(order);
	if (started)
		all->told = 0; /* once more for each trial: a daemon may be new */
	else if (!*why && l && l->program.pid != 0)
		(void)snprintf(why, SW_LAUNCHER_WHY, "its launcher's programs are killed");
	/* "!": for good. All else may be the machine's trouble, which passes. */
	if (*why == '!') {
		memmove(why, why + 1, strlen(why));
		memcpy(l->why, why, SW_LAUNCHER_WHY);
		end_process(l);
	}
	return started;
}
