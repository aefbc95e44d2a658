#include "tls/loop.h"
#include "base/clock.h"
#include "tls/listen.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIMIT_US     ((int64_t)10000000) /* of a handshake, and of an end */
#define SHAKING_MOST 64
#define YOUNG_US     ((int64_t)200000) /* a handshake that has more than a round trip's time */
#define FAILED_MOST  64                /* in YOUNG_US; more wait in the system's queue */
#define NO_ROOM_US   ((int64_t)200000) /* until accept() is tried again */
#define EVENTS       64

static struct sw_bridge *first(const struct sw_tls_loop *l, enum sw_bridge_state state)
{
	return TAILQ_FIRST(&l->lists[state]);
}

static void move(struct sw_tls_loop *l, struct sw_bridge *b, enum sw_bridge_state to)
{
	pthread_mutex_lock(&l->lock);
	TAILQ_REMOVE(&l->lists[b->state], b, link);
	l->n[b->state]--;
	b->state = to;
	/* Behind the others: each list is in the order of this time, so its first is the next to
	 * expire. */
	b->since_us = sw_clock_mono_us();
	TAILQ_INSERT_TAIL(&l->lists[to], b, link);
	l->n[to]++;
	pthread_mutex_unlock(&l->lock);
}

/* Asks epoll for `wants`; for nothing, it forgets fd. false: the system has no room. */
static bool watch(struct sw_tls_loop *l, int fd, void *what, uint32_t *watched, uint32_t wants)
{
	struct epoll_event e = {.events = wants, .data.ptr = what};
	const int op = *watched == 0 ? EPOLL_CTL_ADD : wants == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;

	if (*watched == wants)
		return true;
	/* Set even if the call fails: the caller ends the bridge then. */
	*watched = wants;
	return epoll_ctl(l->epoll, op, fd, &e) == 0;
}

/* It is destroyed after the round: events that came with this one may name it. */
static void end(struct sw_tls_loop *l, struct sw_bridge *b)
{
	/* before the close: a child that was forked just now may hold the sockets, too */
	(void)watch(l, b->far, b, &b->far_watched, 0);
	if (b->near >= 0)
		(void)watch(l, b->near, b, &b->near_watched, 0);
	move(l, b, SW_BRIDGE_OVER);
}

static void fail(struct sw_tls_loop *l, struct sw_bridge *b, const char *why)
{
	const int64_t now_us = sw_clock_mono_us();

	if (now_us - l->failed_us >= YOUNG_US) {
		l->failed_us = now_us;
		l->failed_n = 0;
	}
	l->failed_n++;
	if (why)
		snprintf(b->why, sizeof b->why, "%s", why);
	/* Before its end, which takes it off the lists that the listener knows it by. */
	l->role->failed(l->user, b);
	end(l, b);
}

static void go_on(struct sw_tls_loop *l, struct sw_bridge *b)
{
	enum sw_bridge_state next = b->state;

	if (b->state == SW_BRIDGE_SHAKING) {
		bool done;

		if (!sw_bridge_shake(b, &done) || (done && !l->role->shook(l->user, b))) {
			fail(l, b, NULL);
			return;
		}
		if (done)
			move(l, b, SW_BRIDGE_OPEN);
		next = b->state;
	}
	if (b->state != SW_BRIDGE_SHAKING)
		next = sw_bridge_step(b);
	if (next == SW_BRIDGE_OVER || !watch(l, b->far, b, &b->far_watched, b->far_wants) ||
	    (b->near >= 0 && !watch(l, b->near, b, &b->near_watched, b->near_wants)))
		end(l, b);
	else if (next != b->state)
		move(l, b, next);
}

/* A peer that connects and closes in a loop would get a handshake, and a line in the log, as often
 * as the machine can. */
static bool fails_fast(const struct sw_tls_loop *l, int64_t now_us)
{
	return l->failed_n >= FAILED_MOST && now_us - l->failed_us < YOUNG_US;
}

/* May one more come in? Beyond SHAKING_MOST the oldest handshake makes room, once it has had the
 * time that an honest one takes: those that never end hold nobody up for long. */
static bool has_room(const struct sw_tls_loop *l, int64_t now_us)
{
	return l->stop_us == 0 && now_us >= l->accept_us &&
	       l->n[SW_BRIDGE_SHAKING] + l->n[SW_BRIDGE_OPEN] + l->n[SW_BRIDGE_ENDING] +
			       l->n[SW_BRIDGE_OVER] <
		       SW_TLS_CONNECTIONS &&
	       !fails_fast(l, now_us) &&
	       (l->n[SW_BRIDGE_SHAKING] < SHAKING_MOST ||
		now_us - first(l, SW_BRIDGE_SHAKING)->since_us >= YOUNG_US);
}

static void take_in(struct sw_tls_loop *l, int fd)
{
	struct sw_bridge *b;

	if (l->n[SW_BRIDGE_SHAKING] >= SHAKING_MOST)
		fail(l, first(l, SW_BRIDGE_SHAKING),
		     "its handshake was not over, and others waited");
	b = l->role->come(l->user, fd);
	if (!b) {
		l->accept_us = sw_clock_mono_us() + NO_ROOM_US;
		return;
	}
	b->loop = l;
	b->since_us = sw_clock_mono_us();
	pthread_mutex_lock(&l->lock);
	TAILQ_INSERT_TAIL(&l->lists[SW_BRIDGE_SHAKING], b, link);
	l->n[SW_BRIDGE_SHAKING]++;
	pthread_mutex_unlock(&l->lock);
	go_on(l, b);
}

static void accept_all(struct sw_tls_loop *l)
{
	/* As many a round as may shake hands: those that fail keep their sockets to its end. */
	for (int i = 0; i < SHAKING_MOST && has_room(l, sw_clock_mono_us()); i++) {
		const int fd = accept4(l->door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			take_in(l, fd);
		} else {
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			    errno == ENOMEM)
				l->accept_us = sw_clock_mono_us() + NO_ROOM_US;
			return; /* one that has gone again (ECONNABORTED): the door wakes us anew */
		}
	}
}

/* Ends those whose time is over. */
static void expire(struct sw_tls_loop *l, int64_t now_us)
{
	struct sw_bridge *b;

	while ((b = first(l, SW_BRIDGE_SHAKING)) && now_us - b->since_us >= LIMIT_US)
		fail(l, b, "no handshake within 10 s");
	while ((b = first(l, SW_BRIDGE_ENDING)) && now_us - b->since_us >= LIMIT_US)
		end(l, b);
	if (!atomic_load(&l->stopping) || l->stop_us != 0)
		return;
	l->stop_us = now_us + l->last_us;
	while ((b = first(l, SW_BRIDGE_SHAKING)))
		end(l, b);
}

static void bury(struct sw_tls_loop *l)
{
	struct sw_bridge *b;

	pthread_mutex_lock(&l->lock);
	while ((b = first(l, SW_BRIDGE_OVER))) {
		TAILQ_REMOVE(&l->lists[SW_BRIDGE_OVER], b, link);
		l->n[SW_BRIDGE_OVER]--;
		/* Under the lock: sw_tls_cut() goes over these lists on another thread. */
		sw_bridge_destroy(b);
	}
	pthread_mutex_unlock(&l->lock);
}

/* Milliseconds until something is due; -1: nothing is. */
static int next_due(const struct sw_tls_loop *l, int64_t now_us)
{
	const struct sw_bridge *shaking = first(l, SW_BRIDGE_SHAKING);
	const struct sw_bridge *ending = first(l, SW_BRIDGE_ENDING);
	const int64_t due[] = {
		l->stop_us ? l->stop_us : INT64_MAX,
		l->accept_us > now_us ? l->accept_us : INT64_MAX,
		fails_fast(l, now_us) ? l->failed_us + YOUNG_US : INT64_MAX,
		ending ? ending->since_us + LIMIT_US : INT64_MAX,
		!shaking ? INT64_MAX
		: l->n[SW_BRIDGE_SHAKING] >= SHAKING_MOST && !l->door_open
			? shaking->since_us + YOUNG_US
			: shaking->since_us + LIMIT_US,
	};
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < sizeof due / sizeof *due; i++)
		least = due[i] < least ? due[i] : least;
	if (least == INT64_MAX)
		return -1;
	return least <= now_us ? 0 : (int)((least - now_us) / 1000 + 1);
}

static void *loop_main(void *arg)
{
	struct sw_tls_loop *l = arg;
	struct epoll_event events[EVENTS];
	uint32_t door = 0;

	for (;;) {
		int64_t now_us = sw_clock_mono_us();

		expire(l, now_us);
		bury(l);
		/* Open ones end by themselves: the workers' last words are still on their way. */
		if (l->stop_us != 0 &&
		    (now_us >= l->stop_us || l->n[SW_BRIDGE_OPEN] + l->n[SW_BRIDGE_ENDING] == 0))
			break;
		l->door_open = has_room(l, now_us);
		(void)watch(l, l->door, l, &door, l->door_open ? EPOLLIN : 0);
		const int n = epoll_wait(l->epoll, events, EVENTS, next_due(l, now_us));

		for (int i = 0; i < n; i++) {
			/* NULL is the wake-up's: it only ends the wait. */
			struct sw_bridge *b = events[i].data.ptr;

			if (events[i].data.ptr == l)
				accept_all(l);
			else if (b && b->state != SW_BRIDGE_OVER)
				go_on(l, b);
		}
	}
	for (int state = 0; state < SW_BRIDGE_OVER; state++)
		while (first(l, (enum sw_bridge_state)state))
			end(l, first(l, (enum sw_bridge_state)state));
	bury(l);
	return NULL;
}

static void loop_fini(struct sw_tls_loop *l)
{
	close(l->door);
	if (l->epoll >= 0)
		close(l->epoll);
	if (l->wake >= 0)
		close(l->wake);
	pthread_mutex_destroy(&l->lock);
}

/* The thread takes no signal of the process: its handlers run elsewhere, and a write to a socket
 * that has closed (OpenSSL's knows no MSG_NOSIGNAL) is an error and no SIGPIPE. */
static int start_thread(struct sw_tls_loop *l)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	const int rc = pthread_create(&l->thread, NULL, loop_main, l);

	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

sw_status sw_tls_loop_start(struct sw_tls_loop *l, int door, const struct sw_tls_role *role,
			    void *user, int64_t last_us, struct sw_err *err)
{
	struct epoll_event woken = {.events = EPOLLIN};
	int rc;

	*l = (struct sw_tls_loop){.role = role,
				  .user = user,
				  .last_us = last_us,
				  .door = door,
				  .lock = PTHREAD_MUTEX_INITIALIZER};
	for (int state = 0; state < SW_BRIDGE_STATE_N; state++)
		TAILQ_INIT(&l->lists[state]);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->epoll < 0 || l->wake < 0 || epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->wake, &woken) != 0)
		rc = errno;
	else
		rc = start_thread(l);
	if (rc == 0)
		return SW_OK;
	loop_fini(l);
	return sw_err_set(err, SW_IO, "no thread for TLS connections: %s", strerror(rc));
}

void sw_tls_loop_stop(struct sw_tls_loop *l)
{
	/* Before the wake-up, which would else find nothing to do and wait again. */
	atomic_store(&l->stopping, true);
	(void)eventfd_write(l->wake, 1); /* is never read: nothing else wakes the loop by it */
	pthread_join(l->thread, NULL);
	loop_fini(l);
}
