/*
 * worker/comm/comm_tcp.c — ranks that share no memory: each has a connection to every other, and
 * sends its chunks on those of the ranks that they are for. Sockets never block; what moves them is a wait
 * (tcp_idle), a chunk that is published or looked for, and each beat, so that they go on while this
 * rank computes.
 *
 * A peer that is not read from, as TCP_READ chunks of it wait here, cannot be heard: its silence
 * does not count.
 *
 * What one rank has sent comes to the others at different times. So a rank that has all and closes
 * says bye: others may still wait for what a third has sent to both, and it is not lost. For the
 * same reason a rank that ends because it was told to passes the word on.
 */
#include "worker/comm/comm_tcp.h"
#include "base/beat.h"
#include "base/clock.h"
#include "base/memory.h"
#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define BEAT_US     ((int64_t)50000)   /* between two beats that are sent */
#define FAREWELL_US ((int64_t)1000000) /* of a rank that has failed: the others are perhaps lost */

/* --- a connection --- */

static bool is_mid_chunk(const struct tcp_peer *p)
{
	return p->sent_bytes > 0;
}

static void say(struct tcp_peer *p, uint32_t kind, const void *body, size_t n)
{
	const struct tcp_head head = {.kind = kind, .bytes = (uint32_t)n};

	if (p->words_sent == p->words_n)
		p->words_n = p->words_sent = 0;
	if (p->words_n + sizeof head + n > sizeof p->words)
		return;
	memcpy(p->words + p->words_n, &head, sizeof head);
	if (n > 0)
		memcpy(p->words + p->words_n + sizeof head, body, n);
	p->words_n += sizeof head + n;
}

static bool has_to_send(const struct tcp_peer *p)
{
	return p->fd >= 0 && !p->deaf && !p->ended &&
	       (p->sent < p->published || p->words_sent < p->words_n);
}

/* What the connection takes of words and chunks. */
static void send_to(struct tcp *t, struct tcp_peer *p)
{
	while (has_to_send(p)) {
		const bool word = p->words_sent < p->words_n && !is_mid_chunk(p);
		struct iovec part[2];
		struct msghdr m = {.msg_iov = part, .msg_iovlen = 1};

		if (word) {
			part[0] = (struct iovec){p->words + p->words_sent,
						 p->words_n - p->words_sent};
		} else {
			const struct tcp_out *out = &p->out[p->sent % COMM_SLOTS];
			const struct tcp_head *head = &out->head;
			const size_t at = p->sent_bytes, h = sizeof *head;

			part[0] = (struct iovec){(char *)head + (at < h ? at : h),
						 at < h ? h - at : 0};
			part[1] = (struct iovec){t->slot + out->slot * COMM_CHUNK +
							 (at < h ? 0 : at - h),
						 head->bytes - (at < h ? 0 : at - h)};
			m.msg_iovlen = 2;
		}
		const ssize_t n = sendmsg(p->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) { /* if it has ended, what it said before is still to be read */
			p->deaf = errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM;
			return;
		}
		if (word) {
			p->words_sent += (size_t)n;
			continue;
		}
		p->sent_bytes += (size_t)n;
		const struct tcp_out *out = &p->out[p->sent % COMM_SLOTS];
		if (p->sent_bytes == sizeof out->head + out->head.bytes) {
			p->sent_bytes = 0;
			p->sent++;
			if (--t->left[out->slot] == 0)
				t->free |= UINT64_C(1) << out->slot;
		}
	}
}

static bool is_full(const struct tcp_peer *p)
{
	return p->got - p->read == TCP_READ;
}

/* A whole frame is there. */
static void take_frame(struct tcp *t, struct tcp_peer *p)
{
	if (p->head.kind < TCP_BEAT) {
		p->ticket[p->got % TCP_READ] = p->head;
		p->got++;
	} else if (p->head.kind == TCP_BYE) {
		p->bye = true;
	} else if (p->head.kind == TCP_ABORT) {
		uint32_t why;

		memcpy(&why, p->word, sizeof why);
		p->word[p->head.bytes] = '\0';
		(void)comm_fail(&t->comm, why != SW_OK && why <= SW_INTERNAL ? why : SW_INTERNAL,
				p->word + sizeof why);
	}
	p->head_n = p->body_n = 0;
}

/* Of what comes on a connection the head is all that can be wrong: who shows the secret is believed
 * the rest. */
static bool is_head(const struct tcp_head *h)
{
	if (h->kind < TCP_BEAT)
		return h->bytes <= COMM_CHUNK;
	if (h->kind == TCP_BEAT || h->kind == TCP_BYE)
		return h->bytes == 0;
	return h->kind == TCP_ABORT && h->bytes >= sizeof(uint32_t) && h->bytes < TCP_WORDS;
}

/* What has come, but for chunks for which there is no slot. */
static void read_from(struct tcp *t, struct tcp_peer *p)
{
	while (p->fd >= 0 && !p->ended && !is_full(p)) {
		const bool head = p->head_n < sizeof p->head;
		char *to = (char *)&p->head + p->head_n;
		size_t left = sizeof p->head - p->head_n;

		if (!head) {
			to = p->head.kind >= TCP_BEAT ? p->word
						      : p->slot + (p->got % TCP_READ) * COMM_CHUNK;
			to += p->body_n;
			left = p->head.bytes - p->body_n;
		}
		const ssize_t n = recv(p->fd, to, left, MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == ENOMEM))
			return;
		if (n <= 0) {
			p->ended = true;
			return;
		}
		p->heard_us = sw_clock_mono_us();
		*(head ? &p->head_n : &p->body_n) += (size_t)n;
		if (head && p->head_n == sizeof p->head && !is_head(&p->head)) {
			sw_comm_abort(&t->comm, SW_INTERNAL, "a rank sends what none sends");
			p->ended = true;
			return;
		}
		if (p->head_n == sizeof p->head && p->body_n == p->head.bytes)
			take_frame(t, p);
	}
}

/* --- the table --- */

static void *tcp_room(struct sw_comm *c)
{
	struct tcp *t = (struct tcp *)c;

	if (t->room == COMM_SLOTS) {
		if (t->free == 0)
			return NULL;
		t->room = (unsigned)__builtin_ctzll(t->free);
	}
	return t->slot + t->room * COMM_CHUNK;
}

static void tcp_publish(struct sw_comm *c, enum comm_kind kind, size_t bytes, uint64_t to)
{
	struct tcp *t = (struct tcp *)c;
	const unsigned slot = t->room;
	const struct tcp_out out = {.head = {.kind = (uint32_t)kind, .bytes = (uint32_t)bytes},
				    .slot = slot};

	assert(slot < COMM_SLOTS && bytes <= COMM_CHUNK);
	t->room = COMM_SLOTS;
	to &= comm_all(c) & ~(UINT64_C(1) << c->rank);
	t->left[slot] = (unsigned)__builtin_popcountll(to);
	if (to != 0)
		t->free &= ~(UINT64_C(1) << slot);
	for (unsigned r = 0; r < c->world; r++) {
		struct tcp_peer *p = &t->peer[r];

		if (!(to >> r & 1))
			continue;
		p->out[p->published++ % COMM_SLOTS] = out;
		send_to(t, p);
	}
}

static bool tcp_peek(struct sw_comm *c, unsigned from, struct comm_chunk *out)
{
	struct tcp *t = (struct tcp *)c;
	struct tcp_peer *p = &t->peer[from];

	if (p->got == p->read)
		read_from(t, p);
	if (p->got == p->read)
		return false;
	const struct tcp_head *head = &p->ticket[p->read % TCP_READ];
	*out = (struct comm_chunk){.kind = head->kind,
				   .bytes = head->bytes,
				   .data = p->slot + (p->read % TCP_READ) * COMM_CHUNK};
	return true;
}

static void tcp_release(struct sw_comm *c, unsigned from)
{
	((struct tcp *)c)->peer[from].read++;
}

static void move_all(struct tcp *t)
{
	for (unsigned r = 0; r < t->comm.world; r++) {
		send_to(t, &t->peer[r]);
		read_from(t, &t->peer[r]);
	}
}

static void tcp_beat(struct sw_comm *c)
{
	struct tcp *t = (struct tcp *)c;

	if (c->beaten_us < t->beat_us)
		return;
	t->beat_us = c->beaten_us + BEAT_US;
	for (unsigned r = 0; r < c->world; r++) /* words that wait show life as well */
		if (t->peer[r].words_n == t->peer[r].words_sent)
			say(&t->peer[r], TCP_BEAT, NULL, 0);
	move_all(t);
}

static void tcp_abort(struct sw_comm *c)
{
	struct tcp *t = (struct tcp *)c;
	char word[sizeof(uint32_t) + sizeof c->why];
	const uint32_t why = (uint32_t)c->failed;

	memcpy(word, &why, sizeof why);
	memcpy(word + sizeof why, c->why, sizeof c->why);
	for (unsigned r = 0; r < c->world; r++) {
		say(&t->peer[r], TCP_ABORT, word, sizeof why + strlen(c->why));
		send_to(t, &t->peer[r]);
	}
}

/* Of all others the first that is lost. */
static void look(struct tcp *t, int64_t now_us, unsigned *lost)
{
	struct sw_comm *c = &t->comm;

	t->look_us = now_us + COMM_LOOK_US;
	sw_comm_beat(c);
	sw_beat();
	for (unsigned r = 0; r < c->world && c->failed == SW_OK; r++) {
		struct tcp_peer *p = &t->peer[r];

		if (r == c->rank)
			continue;
		if (p->ended && !p->bye) {
			*lost = r;
			return;
		}
		if (is_full(p))
			p->heard_us = now_us;
		if (!comm_is_silent(c, p->heard_us, now_us, p->process.pid))
			continue;
		(void)comm_lose(c, r, !p->bye);
		if (p->process.pid != 0 && !p->bye)
			(void)sw_process_signal(&p->process, SIGKILL);
	}
}

static void tcp_idle(struct sw_comm *c, unsigned *lost)
{
	struct tcp *t = (struct tcp *)c;
	struct pollfd fds[SW_COMM_WORLD_MAX];
	bool ended = false;

	for (unsigned r = 0; r < c->world; r++) {
		struct tcp_peer *p = &t->peer[r];

		fds[r] = (struct pollfd){.fd = p->ended ? -1 : p->fd};
		fds[r].events = (short)((is_full(p) ? 0 : POLLIN) | (has_to_send(p) ? POLLOUT : 0));
		if (fds[r].events == 0)
			fds[r].fd = -1; /* its end would wake this rank again and again */
		ended |= p->ended && !p->bye;
	}
	(void)poll(fds, c->world, ended ? 0 : (int)(COMM_LOOK_US / 1000));
	move_all(t);
	for (unsigned r = 0; r < c->world; r++)
		ended |= t->peer[r].ended && !t->peer[r].bye;
	const int64_t now_us = sw_clock_mono_us();
	if (now_us >= t->look_us || ended)
		look(t, now_us, lost);
}

/* --- from open to close --- */

/* Until all have what was sent to them, in their kernels, or the limit is over. What they send is
 * thrown away: so who cannot send to this rank goes on, and reads. */
static void farewell(struct tcp *t, int64_t limit_us)
{
	const int64_t until_us = sw_clock_mono_us() + limit_us;
	unsigned left;

	do {
		struct pollfd fds[SW_COMM_WORLD_MAX];

		left = 0;
		for (unsigned r = 0; r < t->comm.world; r++) {
			struct tcp_peer *p = &t->peer[r];
			int queued = 0;
			ssize_t n = 1;

			fds[r] = (struct pollfd){.fd = -1};
			send_to(t, p);
			while (p->fd >= 0 && !p->ended && n > 0)
				n = recv(p->fd, p->slot, COMM_CHUNK, MSG_DONTWAIT);
			p->ended |= n == 0;
			if (p->fd < 0 || p->ended || p->deaf)
				continue;
			if (!has_to_send(p) &&
			    (ioctl(p->fd, SIOCOUTQ, &queued) != 0 || queued == 0))
				continue;
			fds[r] = (struct pollfd){.fd = p->fd, .events = POLLIN};
			left++;
		}
		sw_beat();
		if (left > 0) /* nothing tells that a queue is empty */
			(void)poll(fds, t->comm.world, 1);
	} while (left > 0 && sw_clock_mono_us() < until_us);
}

static void free_all(struct tcp *t)
{
	for (unsigned r = 0; r < t->comm.world; r++) {
		if (t->peer[r].fd >= 0)
			(void)close(t->peer[r].fd);
		free(t->peer[r].slot);
	}
	free(t->slot);
	free(t);
}

static void tcp_close(struct sw_comm *c)
{
	struct tcp *t = (struct tcp *)c;

	if (c->failed != SW_OK)
		tcp_abort(c);
	for (unsigned r = 0; r < c->world && c->failed == SW_OK; r++)
		say(&t->peer[r], TCP_BYE, NULL, 0);
	farewell(t, c->failed != SW_OK ? FAREWELL_US : c->silent_us);
	free_all(t);
}

static sw_status tcp_open(struct sw_comm **out, const struct sw_comm_place *at, int64_t silent_us,
			  struct sw_err *err)
{
	struct tcp *t = sw_calloc(1, sizeof *t);
	bool room = t != NULL;
	sw_status rc;

	if (t != NULL) {
		t->comm = (struct sw_comm){.table = &comm_tcp,
					   .rank = at->rank,
					   .world = at->world,
					   .silent_us = silent_us};
		t->free = UINT64_MAX;
		t->room = COMM_SLOTS;
		for (unsigned r = 0; r < at->world; r++)
			t->peer[r].fd = -1;
		for (unsigned r = 0; room && r < at->world; r++)
			if (r != at->rank)
				room = (t->peer[r].slot = sw_malloc(TCP_READ * COMM_CHUNK)) != NULL;
		room = room && (t->slot = sw_malloc(COMM_SLOTS * COMM_CHUNK)) != NULL;
	}
	rc = room ? tcp_connect(t, at, err)
		  : sw_err_set(err, SW_NOMEM, "no memory for what the ranks send each other");
	if (rc != SW_OK) {
		if (t != NULL)
			free_all(t);
		return rc;
	}
	*out = &t->comm;
	return SW_OK;
}

const struct comm_table comm_tcp = {
	.meet = tcp_meet,
	.open = tcp_open,
	.close = tcp_close,
	.room = tcp_room,
	.publish = tcp_publish,
	.peek = tcp_peek,
	.release = tcp_release,
	.idle = tcp_idle,
	.beat = tcp_beat,
	.abort = tcp_abort,
};
