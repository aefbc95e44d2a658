#include "worker/exec/program.h"
#include "base/process.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHASE_US 1000 /* it comes again until nothing is left */

/* The lanes' programs. The lock is held from a start until the program is listed, and over each
 * wait for any child, so that only its own lane reaps a program. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sw_program *programs;

void sw_program_init(struct sw_program *p)
{
	*p = (struct sw_program){.pidfd = -1, .metrics = -1, .out = -1, .err = -1};
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* --- start --- */

bool sw_program_find(const char *name, const char *path, char *out, size_t cap)
{
	struct stat st;

	if (strchr(name, '/'))
		return (size_t)snprintf(out, cap, "%s", name) < cap;
	for (const char *at = path; *name; at++) {
		const size_t n = strcspn(at, ":");

		if ((size_t)snprintf(out, cap, "%.*s%s%s", (int)n, at, n ? "/" : "./", name) <
			    cap &&
		    access(out, X_OK) == 0 && stat(out, &st) == 0 && S_ISREG(st.st_mode))
			return true;
		at += n;
		if (*at == '\0')
			break;
	}
	return false;
}

static void close_ends(int theirs[3])
{
	for (size_t i = 0; i < 3; i++)
		close_fd(&theirs[i]);
}

bool sw_program_open(struct sw_program *p, int theirs[3])
{
	/* [1] is the program's end */
	int metrics[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
	/* Close-on-exec: a program that another lane starts meanwhile must not hold these open. */
	const bool good = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, metrics) == 0 &&
			  pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0 &&
			  fcntl(metrics[0], F_SETFL, O_NONBLOCK) == 0 &&
			  fcntl(out[0], F_SETFL, O_NONBLOCK) == 0 &&
			  fcntl(err[0], F_SETFL, O_NONBLOCK) == 0;

	*p = (struct sw_program){.pidfd = -1, .metrics = metrics[0], .out = out[0], .err = err[0]};
	theirs[0] = out[1];
	theirs[1] = err[1];
	theirs[2] = metrics[1];
	if (!good) {
		close_ends(theirs);
		sw_program_close(p);
	}
	return good;
}

/* Gives the program the signals that a shell's child has: it would inherit what the worker
 * ignores. */
static int set_attributes(posix_spawnattr_t *attr)
{
	static const int taken[] = {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ, SIGHUP, SIGQUIT, SIGCHLD};
	sigset_t none, defaults;

	sigemptyset(&none);
	sigemptyset(&defaults);
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		sigaddset(&defaults, taken[i]);
	return posix_spawnattr_setsigmask(attr, &none) |
	       posix_spawnattr_setsigdefault(attr, &defaults) |
	       posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF);
}

/* posix_spawn() makes a child that shares the worker's memory until it runs the program: no page is
 * copied. Returns 0 or errno's code. */
static int spawn(pid_t *pid, const char *file, char *const argv[], char *const env[],
		 const char *cwd, const int ends[3])
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int code = posix_spawn_file_actions_init(&actions);

	if (code != 0)
		return code;
	(void)posix_spawnattr_init(&attr); /* it cannot fail */
	/* In this order: the ends are in their places before all above them is closed. */
	if (posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) |
	    posix_spawn_file_actions_adddup2(&actions, ends[0], STDOUT_FILENO) |
	    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO) |
	    posix_spawn_file_actions_adddup2(&actions, ends[2], SW_PROGRAM_METRICS_FD) |
	    posix_spawn_file_actions_addclosefrom_np(&actions, SW_PROGRAM_METRICS_FD + 1) |
	    posix_spawn_file_actions_addchdir_np(&actions, cwd) | set_attributes(&attr))
		code = ENOMEM;
	else
		code = posix_spawn(pid, file, &actions, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return code;
}

/* Finds the words for what is wrong: mostly it is run.cwd, of which posix_spawn() says nothing. */
static sw_status cannot_start(struct sw_err *err, const char *file, const char *cwd, int code)
{
	struct stat st;

	if (stat(cwd, &st) != 0)
		return sw_err_set(err, SW_NOT_FOUND, "run.cwd: %.200s: %s", cwd, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return sw_err_set(err, SW_INVALID, "run.cwd: %.200s: not a folder", cwd);
	return sw_err_set(err,
			  code == ENOENT           ? SW_NOT_FOUND
			  : code == EACCES         ? SW_DENIED
			  : sw_process_lacks(code) ? SW_BUSY
						   : SW_INVALID,
			  "cannot start %.200s: %s", file, strerror(code));
}

/* The program has the mark from its first moment, before it could hide: it inherits the limit,
 * which is the worker's own for as long. So the daemon need not be told of it first, and while the
 * daemon is away programs start all the same. It inherits the umask the same way; that is this
 * thread's alone, so no other makes a file by it. */
static int spawn_marked(struct sw_program *p, const char *file, char *const argv[],
			char *const env[], const char *cwd, int mask, const char *mark,
			const int ends[3])
{
	struct rlimit own = {.rlim_max = 0};
	const bool set = getrlimit(RLIMIT_LOCKS, &own) == 0;
	const struct rlimit marked = {.rlim_cur = sw_process_mark(mark), .rlim_max = own.rlim_max};

	p->marked = set && setrlimit(RLIMIT_LOCKS, &marked) == 0;
	(void)unshare(CLONE_FS); /* if it is forbidden the others have it for a moment, too */
	const mode_t old = mask >= 0 ? umask((mode_t)mask) : 0;
	const int code = spawn(&p->pid, file, argv, env, cwd, ends);
	if (mask >= 0)
		(void)umask(old);
	if (set)
		(void)setrlimit(RLIMIT_LOCKS, &own);
	return code;
}

/* Lists it, for its own lane to reap. Called with the lock. */
static void list(struct sw_program *p, const char *mark)
{
	p->mark = mark;
	p->next = programs;
	programs = p;
}

/* It is not reaped before: the number is its own. */
static bool watch_end(struct sw_program *p)
{
	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	return p->pidfd >= 0;
}

sw_status sw_program_start(struct sw_program *p, const char *file, char *const argv[],
			   char *const env[], const char *cwd, int mask, const char *mark,
			   struct sw_err *err)
{
	int ends[3], code;

	if (!sw_program_open(p, ends))
		return sw_err_set(err, SW_BUSY, "cannot start a program: %s", strerror(errno));
	/* before the first program: orphans of those that were started earlier are init's */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	pthread_mutex_lock(&lock);
	code = spawn_marked(p, file, argv, env, cwd, mask, mark, ends);
	if (code == 0)
		list(p, mark);
	pthread_mutex_unlock(&lock);
	/* the program has its ends now; ours would keep the pipes open after its end */
	close_ends(ends);
	if (code != 0) {
		sw_program_close(p);
		return cannot_start(err, file, cwd, code);
	}
	if (watch_end(p))
		return SW_OK;
	/* without it an end could not be waited for: the program is taken back */
	code = errno;
	(void)kill(p->pid, SIGKILL);
	(void)waitpid(p->pid, NULL, 0);
	sw_program_close(p);
	return sw_err_set(err, SW_BUSY, "cannot watch a program: %s", strerror(code));
}

/* --- a start by a launcher --- */

void sw_program_keep(struct sw_program *p)
{
	pthread_mutex_lock(&lock);
	p->keeps = true;
	pthread_mutex_unlock(&lock);
}

bool sw_program_take(struct sw_program *p, pid_t pid, const struct sw_program *launcher,
		     const char *mark)
{
	struct sw_process is;
	bool good;

	pthread_mutex_lock(&lock);
	/* no lane reaps it meanwhile, so it is this child as long as it is listed */
	good = sw_process_read(pid, &is) && is.parent == getpid() && is.session == launcher->pid &&
	       is.state != 'Z';
	if (good) {
		p->pid = pid;
		p->marked = launcher->marked;
		list(p, mark);
	}
	pthread_mutex_unlock(&lock);
	return good && watch_end(p);
}

/* --- its end, and that of what it started --- */

bool sw_program_has_ended(struct sw_program *p)
{
	siginfo_t info = {0};

	pthread_mutex_lock(&lock);
	/* With the lock: another lane that goes through the list finds it running, or reaped. */
	if (!p->ended && waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG) == 0 &&
	    info.si_pid == p->pid) {
		p->ended = true;
		p->code = info.si_code == CLD_EXITED ? info.si_status : 0;
		p->signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
	}
	pthread_mutex_unlock(&lock);
	return p->ended;
}

/* The listed program that is this process, which its lane reaps, or NULL. Called with the lock. */
static const struct sw_program *find_listed(pid_t pid)
{
	for (const struct sw_program *p = programs; p; p = p->next)
		if (p->pid == pid && !p->ended)
			return p;
	return NULL;
}

/* Has another lane a program? One that has ended may still have orphans. Called with the lock. */
static bool has_others(const struct sw_program *of)
{
	for (const struct sw_program *p = programs; p; p = p->next)
		if (strcmp(p->mark, of->mark) != 0)
			return true;
	return false;
}

void sw_program_reap(void)
{
	siginfo_t info;

	pthread_mutex_lock(&lock);
	for (;;) {
		info.si_pid = 0;
		/* Looked at first, and left there: one that a lane has listed is that lane's to
		 * reap. */
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 ||
		    find_listed(info.si_pid) ||
		    getpgid(info.si_pid) == getpgrp()) /* of no program: those lead sessions */
			break;
		(void)waitpid(info.si_pid, NULL, WNOHANG);
	}
	pthread_mutex_unlock(&lock);
}

static int by_pid(const void *a, const void *b)
{
	const pid_t x = ((const struct sw_process *)a)->pid,
		    y = ((const struct sw_process *)b)->pid;

	return (x > y) - (x < y);
}

/* Has a lane a launcher? Its spares are the worker's children, too. Called with the lock. */
static bool has_launchers(void)
{
	for (const struct sw_program *p = programs; p; p = p->next)
		if (p->keeps)
			return true;
	return false;
}

/* Is this one the program or another rank of its trial, or an orphan of them, which is now the
 * worker's child? Called with the lock. */
static bool is_root(const struct sw_program *p, const struct sw_process *of)
{
	const struct sw_program *listed = find_listed(of->pid);
	const struct sw_program *leader = find_listed(of->session);

	if (of->parent != getpid())
		return false; /* orphans become the worker's children: it is a subreaper */
	if (listed)
		return strcmp(listed->mark, p->mark) == 0 && !listed->keeps;
	if (leader && leader->keeps)
		return false; /* a spare */
	return !has_others(p) || sw_process_marked(of->pid, &p->mark, 1);
}

/* Is it in a part, if the rest of it is? */
static bool is_part(enum sw_program_part part, const struct sw_process *of)
{
	return part == SW_PROGRAM_ALL || of->session != of->pid;
}

/* Sets mine[i] for the program, its trial's other ranks, their orphans, and all below them. */
static void find_tree(const struct sw_program *p, enum sw_program_part part,
		      const struct sw_process *all, size_t n, bool *mine)
{
	bool more = part != SW_PROGRAM_TOPS;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n; i++)
		mine[i] = is_part(part, &all[i]) && is_root(p, &all[i]);
	pthread_mutex_unlock(&lock);
	/* Down from the roots until a round finds nobody new. */
	while (more) {
		more = false;
		for (size_t i = 0; i < n; i++) {
			const struct sw_process key = {.pid = all[i].parent};
			const struct sw_process *parent =
				mine[i] ? NULL : bsearch(&key, all, n, sizeof *all, by_pid);

			if (parent && mine[parent - all] && is_part(part, &all[i]))
				mine[i] = more = true;
		}
	}
}

/* Notes it. true: it was noted before, or there is no room: then it only gets SIGKILL. */
static bool was_told(struct sw_told *told, const struct sw_process *of)
{
	for (size_t i = 0; i < told->n; i++)
		if (told->pid[i] == of->pid)
			return true;
	if (told->n == sizeof told->pid / sizeof *told->pid)
		return true;
	told->pid[told->n++] = of->pid;
	return false;
}

/* Before SIGKILL all are stopped, so that none starts again what another one was. */
size_t sw_program_signal(const struct sw_program *p, enum sw_program_part part, int sig,
			 struct sw_told *told)
{
	struct sw_process *all;
	size_t n, count = 0;
	bool *mine;

	if (sw_process_list(&all, &n) != SW_OK)
		return 0;                   /* no memory: the caller looks again */
	qsort(all, n, sizeof *all, by_pid); /* parents are looked up by their numbers */
	mine = calloc(n ? n : 1, sizeof *mine);
	if (mine)
		find_tree(p, part, all, n, mine);
	for (size_t i = 0; mine && i < n; i++)
		/* A zombie has ended: it only waits for its parent, and takes no signal. */
		mine[i] = mine[i] && all[i].state != 'Z';
	for (size_t i = 0; sig == SIGKILL && mine && i < n; i++)
		if (mine[i])
			(void)sw_process_signal(&all[i], SIGSTOP);
	for (size_t i = 0; mine && i < n; i++)
		if (mine[i] && (sig == 0 || (told && was_told(told, &all[i])) ||
				sw_process_signal(&all[i], sig)))
			count++;
	if (sig == SIGKILL && part == SW_PROGRAM_ALL)
		(void)sw_process_chase_marked(&p->mark, 1, CHASE_US);
	free(mine);
	free(all);
	return count;
}

bool sw_program_is_left(const struct sw_program *p)
{
	siginfo_t info;
	bool others;

	if (!p->ended)
		return true;
	/* the cheap question first: without children there is nothing to look for in /proc */
	sw_program_reap();
	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD)
		return false;
	pthread_mutex_lock(&lock);
	others = has_others(p) || has_launchers();
	pthread_mutex_unlock(&lock);
	/* Every child is its own. A chain of forks slips through a look, not through this. */
	return !others || sw_program_signal(p, SW_PROGRAM_ALL, 0, NULL) > 0 ||
	       sw_program_signal(p, SW_PROGRAM_ALL, 0, NULL) > 0;
}

void sw_program_close(struct sw_program *p)
{
	pthread_mutex_lock(&lock);
	for (struct sw_program **at = &programs; *at; at = &(*at)->next)
		if (*at == p) {
			*at = p->next;
			break;
		}
	pthread_mutex_unlock(&lock);
	close_fd(&p->pidfd);
	close_fd(&p->metrics);
	close_fd(&p->out);
	close_fd(&p->err);
	p->pid = 0;
}
