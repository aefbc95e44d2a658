#include "daemon/slot/errand.h"
#include "base/buf.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/text.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_MS 60000
#define REST_MS  2000 /* after its end: what it has left running may hold its output open */
#define OUT_MAX  ((size_t)1024 * 1024)
#define WHY_MAX  ((size_t)16 * 1024)

enum { OUT, WHY, STREAMS };

struct sw_errand {
	uv_process_t process;
	uv_timer_t limit;
	struct program_stream {
		uv_pipe_t pipe;
		struct sw_buf text;
		bool open;
	} stream[STREAMS];
	unsigned n_open; /* handles that are not closed yet */
	bool runs, closing;
	int64_t status;
	int signal;
	const char *cut; /* why it was killed; NULL: it was not */
	bool late;
	int error; /* of its start; 0: it was started */
	sw_errand_cb *done;
	void *user;
};

static void tell(struct sw_errand *p)
{
	struct sw_errand_end run = {.out = p->stream[OUT].text.data};
	const char *said = p->stream[WHY].text.data;

	run.late = p->late;
	run.ok = p->error == 0 && p->cut == NULL && p->signal == 0 && p->status == 0;
	if (run.out == NULL)
		run.out = "";
	if (p->error != 0)
		(void)snprintf(run.why, sizeof run.why, "cannot be started: %s",
			       uv_strerror(p->error));
	else if (p->cut != NULL)
		(void)snprintf(run.why, sizeof run.why, "%s", p->cut);
	else if (said != NULL && *said != '\0')
		sw_errand_first_line(said, run.why, sizeof run.why);
	else if (!run.ok)
		(void)snprintf(run.why, sizeof run.why, "ended with %s %d",
			       p->signal != 0 ? "signal" : "status",
			       p->signal != 0 ? p->signal : (int)p->status);
	p->done(p->user, &run);
}

static void on_closed(uv_handle_t *h)
{
	struct sw_errand *p = h->data;

	/* The last of its handles: only now nothing of libuv's points into it. The owner is told
	 * here as well, so that it may start the next at once. */
	if (--p->n_open > 0)
		return;
	tell(p);
	for (int i = 0; i < STREAMS; i++)
		sw_buf_fini(&p->stream[i].text);
	free(p);
}

static void close_all(struct sw_errand *p)
{
	if (p->closing)
		return;
	p->closing = true;
	uv_close((uv_handle_t *)&p->process, on_closed);
	uv_close((uv_handle_t *)&p->limit, on_closed);
	for (int i = 0; i < STREAMS; i++)
		uv_close((uv_handle_t *)&p->stream[i].pipe, on_closed);
}

/* Its end and that of its output come in either order. */
static void close_when_over(struct sw_errand *p)
{
	if (!p->runs && (p->cut != NULL || (!p->stream[OUT].open && !p->stream[WHY].open)))
		close_all(p);
}

static void cut_short(struct sw_errand *p, const char *why)
{
	if (p->cut != NULL)
		return;
	p->cut = why;
	if (p->runs)
		/* libuv reaps it in the turn of the loop that calls on_exit_(): until then the
		 * number is its own. */
		(void)kill(-p->process.pid, SIGKILL); /* it leads a group of its own */
	close_when_over(p);
}

static void on_limit(uv_timer_t *t)
{
	struct sw_errand *p = t->data;

	/* After its end this timer waits for its output alone, which a child of it may hold open:
	 * then what was read is all. */
	p->late = p->runs;
	if (p->runs)
		cut_short(p, "took too long");
	else
		close_all(p);
}

static void on_exit_(uv_process_t *process, int64_t status, int sig)
{
	struct sw_errand *p = process->data;

	p->runs = false;
	p->status = status;
	p->signal = sig;
	(void)uv_timer_start(&p->limit, on_limit, REST_MS, 0);
	close_when_over(p);
}

static struct program_stream *stream_of(struct sw_errand *p, const void *pipe)
{
	return &p->stream[pipe == (const void *)&p->stream[WHY].pipe ? WHY : OUT];
}

static char lost[4096]; /* of what is complained at length: nobody reads it */

static void on_alloc(uv_handle_t *h, size_t hint, uv_buf_t *buf)
{
	struct sw_errand *p = h->data;
	struct program_stream *s = stream_of(p, h);

	(void)hint;
	/* Read into the text itself; one byte more is there for the NUL (base/buf.h). */
	if (sw_buf_reserve(&s->text, 4096) == SW_OK)
		*buf = uv_buf_init(s->text.data + s->text.len, 4096);
	else if (s == &p->stream[WHY])
		*buf = uv_buf_init(lost, sizeof lost);
	else
		*buf = uv_buf_init(NULL, 0); /* the read ends with UV_ENOBUFS */
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct sw_errand *p = stream->data;
	struct program_stream *s = stream_of(p, stream);

	if (n >= 0 && buf->base == lost)
		return;
	if (n >= 0) {
		s->text.len += (size_t)n;
		s->text.data[s->text.len] = '\0';
		return;
	}
	(void)uv_read_stop(stream);
	s->open = false;
	if (n == UV_ENOBUFS && s == &p->stream[OUT])
		cut_short(p, "printed more than 1 MiB");
	close_when_over(p);
}

/* Its handles, whose closing frees it. */
static struct sw_errand *create_errand(uv_loop_t *loop, uv_stdio_container_t stdio[3])
{
	static const size_t most[STREAMS] = {OUT_MAX, WHY_MAX};
	struct sw_errand *p = sw_calloc(1, sizeof *p);

	if (p == NULL)
		return NULL;
	/* Each is closed in any case: uv_spawn() initialises its handle even where it fails. */
	p->n_open = 2 + STREAMS;
	/* These are documented never to fail for a timer and a unix pipe. */
	(void)uv_timer_init(loop, &p->limit);
	for (int i = 0; i < STREAMS; i++) {
		(void)uv_pipe_init(loop, &p->stream[i].pipe, 0);
		sw_buf_init(&p->stream[i].text, most[i]);
		p->stream[i].pipe.data = p;
		stdio[1 + i] =
			(uv_stdio_container_t){.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
					       .data.stream = (uv_stream_t *)&p->stream[i].pipe};
	}
	p->limit.data = p;
	return p;
}

static void begin(struct sw_errand *p)
{
	p->runs = p->error == 0;
	for (int i = 0; i < STREAMS && p->runs; i++)
		p->stream[i].open =
			uv_read_start((uv_stream_t *)&p->stream[i].pipe, on_alloc, on_read) == 0;
	(void)uv_timer_start(&p->limit, on_limit, LIMIT_MS, 0);
	if (!p->runs)
		close_all(p);
}

struct sw_errand *sw_errand_start(uv_loop_t *loop, char *const argv[], char *const env[],
				  const char *input, sw_errand_cb *done, void *user)
{
	const int in = input != NULL ? sw_process_input(input, strlen(input)) : -1;
	uv_stdio_container_t stdio[3] = {{.flags = UV_IGNORE}};
	struct sw_errand *p = in >= 0 || input == NULL ? create_errand(loop, stdio) : NULL;
	const uv_process_options_t options = {.exit_cb = on_exit_,
					      .file = argv[0],
					      .args = (char **)argv,
					      .env = (char **)env,
					      .flags = UV_PROCESS_DETACHED,
					      .stdio = stdio,
					      .stdio_count = 3};

	if (in >= 0)
		stdio[0] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = in};
	if (p != NULL) {
		p->done = done;
		p->user = user;
		p->error = uv_spawn(loop, &p->process, &options);
		p->process.data = p; /* after it: it sets the handle anew */
		begin(p);
	}
	if (in >= 0)
		(void)close(in);
	return p;
}

void sw_errand_limit(struct sw_errand *p, unsigned ms)
{
	if (p->runs)
		(void)uv_timer_start(&p->limit, on_limit, ms, 0);
}

void sw_errand_kill(struct sw_errand *p)
{
	cut_short(p, "the daemon ends");
}

void sw_errand_first_line(const char *text, char *out, size_t cap)
{
	(void)snprintf(out, cap, "%.*s", (int)strcspn(text, "\r\n"), text);
	sw_text_plain(out);
}
