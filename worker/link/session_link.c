/* worker/link/session_link.c — the socket: connecting, one poll at a time, bytes in and out. */
#include "base/clock.h"
#include "base/log.h"
#include "proto/json.h"
#include "proto/rpc.h"
#include "proto/socket_path.h"
#include "worker/link/session_internal.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define RETRY_MOST_MS 2000
#define LINES_A_ROUND 64 /* so that a flood of notifications does not hold up training */

/* Forgets the connection, and waits twice as long before the next attempt. */
static void session_disconnect(struct sw_session *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	if (s->greeted)
		s->lost_at = sw_clock_mono_us();
	s->greeted = false;
	/* Ids of the old connection: no answer to them will come. */
	s->hello_id = s->next_id = s->tell_id = 0;
	s->sent = 0;
	/* reports without an answer are sent again from the spool after the next hello */
	sw_buf_clear(&s->out);
	sw_frame_fini(&s->in);
	sw_frame_init(&s->in);
	s->retry_at = sw_clock_mono_us() + (int64_t)s->retry_ms * 1000;
	s->retry_ms = s->retry_ms * 2 < RETRY_MOST_MS ? s->retry_ms * 2 : RETRY_MOST_MS;
}

int64_t sw_session_request(struct sw_session *s, const char *method, const char *params)
{
	sw_rpc_write_request(&s->out, ++s->last_id, method, params);
	if (sw_buf_adds(&s->out, "\n") == SW_OK)
		return s->last_id;
	sw_session_quit(s, SW_SESSION_BROKEN, "no memory for a message to the daemon");
	return 0;
}

/* Says who this worker is, and which trial it still has. */
static void send_hello(struct sw_session *s)
{
	struct sw_buf params;
	struct sw_jw w;

	sw_buf_init(&params, 4096);
	sw_jw_init_obj(&w, &params);
	sw_jw_kstr(&w, "worker", s->config.worker);
	sw_jw_kint(&w, "slot", s->config.slot);
	sw_jw_kstr(&w, "version", SW_VERSION);
	if (s->config.node) {
		sw_jw_kstr(&w, "node", s->config.node);
		sw_jw_kbool(&w, "files", s->config.files);
		sw_jw_kint(&w, "process", s->config.process);
	}
	if (s->has_job && !*s->drop) {
		sw_jw_kint(&w, "sweep", (int64_t)s->job.sweep);
		sw_jw_kint(&w, "trial", (int64_t)s->job.trial);
		sw_jw_kint(&w, "attempt", (int64_t)s->job.attempt);
	}
	sw_jw_obj_end(&w);
	if (params.failed != SW_OK)
		sw_session_quit(s, SW_SESSION_BROKEN, "no memory for a message to the daemon");
	else
		s->hello_id = sw_session_request(s, "worker.hello", params.data);
	sw_buf_fini(&params);
}

/* Another user's daemon would have its jobs run as this user. It is told nothing, and the socket is
 * tried again as if none listened. */
static bool is_stranger(struct sw_session *s)
{
	struct sw_err err = SW_ERR_INIT;

	if (sw_socket_server_check(s->fd, s->config.socket, &err) == SW_OK)
		return false;
	if (!s->met_stranger)
		sw_log(SW_LOG_WARN, "session.stranger", "why=\"%s\"", err.msg);
	s->met_stranger = true;
	return true;
}

/* Connects and greets, if it is time for it. */
static void try_connect(struct sw_session *s)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	if (s->end != SW_SESSION_OPEN || sw_clock_mono_us() < s->retry_at)
		return; /* an ended session needs no daemon; else it is not time yet */
	strcpy(at.sun_path, s->config.socket); /* create checked its length */
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* a unix socket connects at once or not at all (EAGAIN: its backlog is full) */
	if (s->fd < 0 || connect(s->fd, (const struct sockaddr *)&at, sizeof at) != 0 ||
	    is_stranger(s)) {
		session_disconnect(s);
		return;
	}
	send_hello(s);
}

void sw_session_flush(struct sw_session *s)
{
	if (!s->greeted || s->end != SW_SESSION_OPEN)
		return; /* before its hello is answered the daemon refuses all else */
	if (s->logs.len > 0 && sw_buf_add(&s->out, s->logs.data, s->logs.len) == SW_OK)
		sw_buf_clear(&s->logs);
	if (*s->drop || sw_clock_mono_us() < s->resend_at)
		return; /* a dropped trial reports nothing more; a busy daemon is spared */
	while (s->sent < s->n && s->sent < SW_SESSION_OUTSTANDING) {
		struct report *r = sw_session_report_at(s, s->sent);

		r->id = sw_session_request(s, "worker.report", r->params);
		if (r->id == 0)
			return; /* the session has ended */
		s->sent++;
	}
	/* the end comes after the last report's answer, which may be another decision */
	if (s->tell && s->n == 0 && s->tell_id == 0 && !s->told)
		s->tell_id = sw_session_request(s, "worker.tell", s->tell);
}

void sw_session_write(struct sw_session *s)
{
	size_t done = 0;

	while (s->fd >= 0 && done < s->out.len) {
		const ssize_t n = send(s->fd, s->out.data + done, s->out.len - done, MSG_NOSIGNAL);

		if (n > 0) {
			done += (size_t)n;
		} else if (n == 0 || errno != EINTR) {
			/* It is full for now; or the daemon is gone, and what it had said is read
			 * before its end is. */
			break;
		}
	}
	if (done) {
		s->sent_at = sw_clock_mono_us();
		sw_buf_drop(&s->out, done);
	}
}

/* Takes the whole lines that have come. */
static void take_lines(struct sw_session *s)
{
	for (int i = 0; i < LINES_A_ROUND && s->fd >= 0; i++) {
		char *line;
		size_t len;
		const sw_status rc = sw_frame_next(&s->in, &line, &len);

		if (rc != SW_OK) {
			sw_session_quit(s, SW_SESSION_BROKEN, "the daemon sent a line that is %s",
					sw_status_str(rc));
			return;
		}
		if (!line)
			return; /* the rest of it has not come yet */
		sw_session_line(s, line, len);
	}
}

/* Reads once. A peer that has closed is no error. */
static void read_socket(struct sw_session *s)
{
	char *at;
	size_t room;
	ssize_t n;

	if (sw_frame_room(&s->in, &at, &room) != SW_OK) {
		sw_session_quit(s, SW_SESSION_BROKEN, "no memory for what the daemon sends");
		return;
	}
	/* Once a round: poll(2) says at once if there is more. */
	n = recv(s->fd, at, room, 0);
	if (n > 0)
		sw_frame_fed(&s->in, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
		session_disconnect(s);
}

/* Told to end. A trial that could not report what it saves ends at once, and so does one whose time
 * is over. The daemon of a pilot may be away for the moment alone. */
static void take_leave(struct sw_session *s)
{
	if (!s->has_job || (!s->greeted && !s->config.leave) ||
	    sw_clock_mono_us() - s->leave_us >= s->leave_for_us)
		sw_session_quit(s, SW_SESSION_EXIT, "%s",
				s->leave_why ? s->leave_why : "told to end");
}

/* Sends an empty line if nothing else goes out, because the daemon ends a worker that is silent. */
static void send_beat(struct sw_session *s)
{
	if (s->greeted && s->out.len == 0 && sw_clock_mono_us() - s->sent_at >= s->beat_us)
		(void)sw_buf_adds(&s->out, "\n");
}

void sw_session_pump(struct sw_session *s, struct pollfd *more, size_t n, int timeout_ms)
{
	/* the byte stays in the pipe: it is looked at once */
	struct pollfd fds[2 + SW_SESSION_FDS] = {
		{.fd = s->leave_us ? -1 : s->config.wake_fd, .events = POLLIN}};

	if (s->fd < 0)
		try_connect(s);
	sw_session_flush(s);
	send_beat(s);
	sw_session_write(s);
	if (s->fd < 0 && timeout_ms > 0) {
		const int64_t wait = (s->retry_at - sw_clock_mono_us()) / 1000 + 1;

		timeout_ms = wait < 0 ? 0 : wait < timeout_ms ? (int)wait : timeout_ms;
	}
	if (s->end != SW_SESSION_OPEN || sw_frame_pending(&s->in))
		timeout_ms = 0;
	/* poll skips descriptors below 0 */
	fds[1] = (struct pollfd){.fd = s->fd,
				 .events = (short)(POLLIN | (s->out.len ? POLLOUT : 0))};
	if (n > 0)
		memcpy(fds + 2, more, n * sizeof *more);
	if (poll(fds, (nfds_t)(2 + n), timeout_ms) > 0) {
		if (fds[0].revents)
			sw_session_leave(s);
		if (fds[1].revents & (POLLIN | POLLHUP | POLLERR))
			read_socket(s);
	}
	if (n > 0)
		memcpy(more, fds + 2, n * sizeof *more);
	/* an answer may open the window for reports that wait: they go out in the same round */
	take_lines(s);
	if (s->leave_us != 0)
		take_leave(s);
	sw_session_flush(s);
	sw_session_write(s);
}
