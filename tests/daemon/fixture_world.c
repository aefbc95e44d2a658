/* tests/daemon/fixture_world.c — a clock, timers, a pool of threads, workers and spec checks that a
 * story turns by hand. What daemon/ asks of libuv and of its own tables for them ends here. */
#include "tests/daemon/fixture_world.h"
#include "daemon/die.h"
#include "daemon/slot/executor.h"
#include "daemon/slot/speccheck.h"
#include <dlfcn.h>
#include <stdarg.h>
#include <uv.h>

/* --- text --- */

struct fixture_text fixture_seen;

static void say(struct fixture_text *t, const char *fmt, va_list ap)
{
	const int n = vsnprintf(t->s + t->n, sizeof t->s - t->n, fmt, ap);

	if (n < 0 || (size_t)n >= sizeof t->s - t->n)
		ck_abort_msg("too much has happened: %s", t->s);
	t->n += (size_t)n;
}

void fixture_say(struct fixture_text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(t, fmt, ap);
	va_end(ap);
}

/* What comes four times and more in a row is "ok (30 times)". */
void fixture_happens(const char *fmt, ...)
{
	static struct fixture_text last;
	static size_t first_at, n;
	struct fixture_text one = {.n = 0};
	va_list ap;

	va_start(ap, fmt);
	say(&one, fmt, ap);
	va_end(ap);
	const bool again = fixture_seen.n > 0 && strcmp(one.s, last.s) == 0;
	n = again ? n + 1 : 1;
	if (!again)
		first_at = fixture_seen.n;
	last = one;
	if (n >= 4)
		fixture_seen.n = first_at;
	if (fixture_seen.n > 0)
		fixture_say(&fixture_seen, "; ");
	fixture_say(&fixture_seen, "%s", one.s);
	if (n >= 4)
		fixture_say(&fixture_seen, " (%zu times)", n);
}

/* --- time --- */

struct fixture_time fixture_time;

static int64_t look_mono_us(void)
{
	return fixture_time.now_us += fixture_time.look_us;
}

static int64_t look_wall_ms(void)
{
	return 1700000000000 + look_mono_us() / 1000;
}

static int64_t look_set_ms(void)
{
	return fixture_time.set_ms;
}

const struct sw_clock fixture_clock = {
	.mono_us = look_mono_us, .wall_ms = look_wall_ms, .set_ms = look_set_ms};

/* --- libuv's timers, on that clock --- */

static struct alarm {
	uv_timer_t *timer; /* NULL: none */
	uv_timer_cb cb;
	int64_t due_us;
	uint64_t repeat_ms;
} alarms[16];

bool fixture_moved;

typedef int timer_start(uv_timer_t *t, uv_timer_cb cb, uint64_t ms, uint64_t repeat_ms);
typedef int timer_stop(uv_timer_t *t);
typedef int async_send(uv_async_t *a);

/* libuv's own function of a name that stands here. */
static void (*real(const char *name))(void)
{
	void (*fn)(void);
	void *at = dlsym(RTLD_NEXT, name);

	if (at == NULL)
		ck_abort_msg("libuv has no %s", name);
	memcpy(&fn, &at, sizeof fn);
	return fn;
}

static struct alarm *alarm_of(const uv_timer_t *t)
{
	for (size_t i = 0; i < ROWS(alarms); i++)
		if (alarms[i].timer == t)
			return &alarms[i];
	return NULL;
}

int uv_timer_start(uv_timer_t *t, uv_timer_cb cb, uint64_t ms, uint64_t repeat_ms)
{
	/* So that uv_is_active() says what is so. It never comes to its end; and it stops the timer
	 * first, here as well. */
	const int rc = ((timer_start *)real("uv_timer_start"))(t, cb, (uint64_t)1 << 40, 0);
	struct alarm *a = alarm_of(NULL);

	if (a == NULL)
		ck_abort_msg("too many timers");
	*a = (struct alarm){.timer = t,
			    .cb = cb,
			    .due_us = fixture_time.now_us + (int64_t)ms * 1000,
			    .repeat_ms = repeat_ms};
	return rc;
}

int uv_timer_stop(uv_timer_t *t)
{
	struct alarm *a = t != NULL ? alarm_of(t) : NULL;

	if (a != NULL)
		a->timer = NULL;
	return ((timer_stop *)real("uv_timer_stop"))(t);
}

uint64_t uv_timer_get_due_in(const uv_timer_t *t)
{
	const struct alarm *a = alarm_of(t);

	if (a == NULL || a->due_us <= fixture_time.now_us)
		return 0;
	return (uint64_t)(a->due_us - fixture_time.now_us) / 1000;
}

bool fixture_timer_next(int64_t until_us)
{
	struct alarm *next = NULL;

	for (size_t i = 0; i < ROWS(alarms); i++) {
		struct alarm *a = &alarms[i];

		if (a->timer != NULL && !uv_is_active((uv_handle_t *)a->timer))
			a->timer = NULL; /* it was closed */
		if (a->timer != NULL && (next == NULL || a->due_us < next->due_us))
			next = a;
	}
	if (next == NULL || next->due_us > until_us)
		return false;
	if (fixture_time.now_us < next->due_us)
		fixture_time.now_us = next->due_us;
	uv_timer_t *t = next->timer;
	if (next->repeat_ms != 0)
		next->due_us = fixture_time.now_us + (int64_t)next->repeat_ms * 1000;
	else
		(void)uv_timer_stop(t);
	next->cb(t);
	return true;
}

void fixture_timers_forget(void)
{
	memset(alarms, 0, sizeof alarms);
}

int uv_async_send(uv_async_t *a)
{
	fixture_moved = true;
	return ((async_send *)real("uv_async_send"))(a);
}

/* --- libuv's pool --- */

#define JOBS 16

bool fixture_pool_holds;
static struct {
	uv_work_t *req;
	uv_work_cb work;
	uv_after_work_cb after;
} jobs[JOBS];
static size_t job_n;

int uv_queue_work(uv_loop_t *loop, uv_work_t *req, uv_work_cb work, uv_after_work_cb after)
{
	ck_assert_uint_lt(job_n, JOBS);
	req->loop = loop;
	jobs[job_n].req = req;
	jobs[job_n].work = work;
	jobs[job_n++].after = after;
	return 0;
}

bool fixture_pool_one(void)
{
	uv_work_t *req = jobs[0].req;
	uv_after_work_cb after = jobs[0].after;

	if (job_n == 0)
		return false;
	jobs[0].work(req);
	memmove(jobs, jobs + 1, --job_n * sizeof jobs[0]);
	after(req, 0);
	return true;
}

/* --- workers --- */

struct sw_proc {
	int slot;
	sw_ended_cb *ended;
	void *user;
	const char *asked; /* the cause of the end that it was asked for; NULL: none */
};

struct fixture_worker fixture_workers[FIXTURE_WORKERS];
bool fixture_workers_stubborn, fixture_workers_fail;
long fixture_worker_pid;
static int started_n; /* of all workers ever */

static struct sw_proc *new_proc(int slot, sw_ended_cb *ended, void *user)
{
	struct sw_proc *p = calloc(1, sizeof *p);

	ck_assert_ptr_nonnull(p);
	*p = (struct sw_proc){.slot = slot, .ended = ended, .user = user};
	fixture_workers[slot].proc = p;
	return p;
}

static sw_status start_worker(uv_loop_t *loop, char *const argv[], char *const env[],
			      const char *log, sw_ended_cb *ended, void *user, struct sw_proc **out,
			      char *handle, size_t handle_cap, struct sw_err *err)
{
	int slot = -1, lanes = 1;

	(void)loop;
	(void)env;
	(void)log;
	for (size_t i = 0; argv[i] != NULL; i++)
		if (strcmp(argv[i], "--slot") == 0)
			slot = atoi(argv[i + 1]);
		else if (strcmp(argv[i], "--lanes") == 0)
			lanes = atoi(argv[i + 1]);
	ck_assert(slot >= 0 && slot + lanes <= FIXTURE_WORKERS);
	if (fixture_workers_fail)
		return sw_err_set(err, SW_IO, "cannot start a worker");
	fixture_workers[slot] =
		(struct fixture_worker){.lives = true, .slot = slot, .lanes = lanes};
	(void)snprintf(fixture_workers[slot].handle, sizeof fixture_workers[slot].handle, "%d %d",
		       slot, ++started_n);
	(void)snprintf(handle, handle_cap, "%s", fixture_workers[slot].handle);
	*out = new_proc(slot, ended, user);
	fixture_happens("worker %d starts", slot);
	return SW_OK;
}

static sw_status adopt_worker(uv_loop_t *loop, const char *handle, sw_ended_cb *ended, void *user,
			      struct sw_proc **out, struct sw_err *err)
{
	const int slot = atoi(handle);

	(void)loop;
	if (!fixture_workers[slot].lives || strcmp(fixture_workers[slot].handle, handle) != 0)
		return sw_err_set(err, SW_NOT_FOUND, "it is gone");
	*out = new_proc(slot, ended, user);
	fixture_happens("worker %d is found", slot);
	return SW_OK;
}

static void stop_worker(struct sw_proc *p, bool hard);
static void forget_worker(struct sw_proc *p);

static bool dismiss_worker(struct sw_daemon *d, const char *handle)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_proc *p;

	(void)d;
	if (adopt_worker(NULL, handle, NULL, NULL, &p, &err) != SW_OK)
		return false;
	stop_worker(p, true);
	forget_worker(p);
	return true;
}

static void tell_worker(struct sw_proc *p, const char *input)
{
	struct fixture_worker *w = &fixture_workers[p->slot];

	for (int i = 0; i < w->lanes; i++)
		(void)snprintf(w[i].id, sizeof w[i].id, "%s", input);
}

static void stop_worker(struct sw_proc *p, bool hard)
{
	fixture_happens("worker %d is %s", p->slot, hard ? "killed" : "stopped");
	if (hard)
		fixture_workers[p->slot].lives = false;
	if (hard || !fixture_workers_stubborn)
		p->asked = hard ? "signal:9" : "exit:0";
	fixture_moved = true;
}

static void forget_worker(struct sw_proc *p)
{
	fixture_workers[p->slot].proc = NULL;
	free(p);
}

static long pid_of_worker(const struct sw_proc *p)
{
	(void)p;
	return fixture_worker_pid;
}

const struct sw_executor fixture_executor = {.start = start_worker,
					     .tell = tell_worker,
					     .adopt = adopt_worker,
					     .dismiss = dismiss_worker,
					     .stop = stop_worker,
					     .forget = forget_worker,
					     .pid = pid_of_worker};

void fixture_worker_ends(int slot, const char *cause, const char *said)
{
	struct sw_proc *p = fixture_workers[slot].proc;

	fixture_workers[slot] = (struct fixture_worker){.slot = slot};
	if (p == NULL)
		return;
	p->ended(p->user, cause, said);
	free(p);
}

bool fixture_workers_turn(void)
{
	bool any = false;

	for (int i = 0; i < FIXTURE_WORKERS; i++) {
		const struct sw_proc *p = fixture_workers[i].proc;

		if (p == NULL || p->asked == NULL)
			continue;
		fixture_worker_ends(i, p->asked, "");
		any = true;
	}
	return any;
}

/* --- checks --- */

struct fixture_check fixture_check;
static struct {
	sw_speccheck_cb *done;
	void *user;
} checks[8];
static size_t check_n;

sw_status sw_speccheck_start(struct sw_daemon *d, const char *text, bool form,
			     sw_speccheck_cb *done, void *user, struct sw_err *err)
{
	(void)d;
	(void)text;
	(void)form;
	(void)err;
	ck_assert_uint_lt(check_n, ROWS(checks));
	checks[check_n].done = done;
	checks[check_n++].user = user;
	return SW_OK;
}

static void answer_check(const struct sw_err *err)
{
	const struct sw_speccheck facts = fixture_check.facts;
	sw_speccheck_cb *done = checks[0].done;
	void *user = checks[0].user;

	memmove(checks, checks + 1, --check_n * sizeof checks[0]);
	done(user, err, &facts);
}

void sw_speccheck_stop_all(struct sw_daemon *d)
{
	struct sw_err err = SW_ERR_INIT;

	(void)d;
	(void)sw_err_set(&err, SW_BUSY, "the daemon is stopping");
	while (check_n > 0)
		answer_check(&err);
}

bool fixture_checks_turn(void)
{
	struct sw_err err = SW_ERR_INIT;

	if (check_n == 0 || fixture_check.holds)
		return false;
	if (fixture_check.refusal[0] != '\0')
		(void)sw_err_at(&err, SW_INVALID, "/trainer", "%s", fixture_check.refusal);
	answer_check(&err);
	return true;
}

/* --- the machine --- */

long __real_sysconf(int name);
long __wrap_sysconf(int name);

long __wrap_sysconf(int name)
{
	return name == _SC_NPROCESSORS_ONLN ? FIXTURE_CORES : __real_sysconf(name);
}

/* --- the end of the process --- */

bool fixture_daemon_runs;

_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);

_Noreturn void __wrap__exit(int status)
{
	if (fixture_daemon_runs && status == SW_EXIT_LOST) /* a test that fails ends by another */
		fixture_daemon_exits(status);
	__real__exit(status);
}
