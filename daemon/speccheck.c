#include "daemon/speccheck.h"
#include "base/buf.h"
#include "base/fault.h"
#include "daemon/daemon.h"
#include "proto/json.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT_MAX ((size_t)64 * 1024)

struct check {
	uv_process_t process;
	uv_pipe_t in, out;
	uv_timer_t limit;
	uv_write_t write;
	unsigned n_open; /* handles not yet closed */
	char *spec;
	struct sw_buf output;
	bool exited, eof, timed_out, in_closed, closing;
	sw_speccheck_cb *done;
	void *user;
};

static void on_closed(uv_handle_t *h)
{
	struct check *c = h->data;

	if (--c->n_open > 0)
		return;
	sw_buf_fini(&c->output);
	free(c->spec);
	free(c);
}

static void close_all(struct check *c)
{
	if (c->closing)
		return;
	c->closing = true;
	uv_close((uv_handle_t *)&c->process, on_closed);
	if (!c->in_closed)
		uv_close((uv_handle_t *)&c->in, on_closed);
	uv_close((uv_handle_t *)&c->out, on_closed);
	uv_close((uv_handle_t *)&c->limit, on_closed);
}

/* {"ok": true, ...} or {"ok": false, "pointer": P, "message": M} */
static void read_verdict(struct check *c, struct sw_err *err)
{
	struct sw_err bad = SW_ERR_INIT;
	cJSON *v = NULL;

	if (c->timed_out) {
		(void)sw_err_at(err, SW_BUSY, "/trainer",
				"checking the model and the data took over %d s",
				SW_SPECCHECK_LIMIT_MS / 1000);
		return;
	}
	if (c->output.data == NULL ||
	    sw_json_parse(&v, c->output.data, c->output.len, &bad) != SW_OK) {
		(void)sw_err_at(err, SW_INTERNAL, "/trainer",
				"sweep-worker could not check the model and the data%s%s",
				c->output.len == 0 ? " (it printed nothing)" : ": ", bad.msg);
		return;
	}
	if (!cJSON_IsTrue(sw_json_get(v, "ok"))) {
		const cJSON *pointer = sw_json_get(v, "pointer"), *text = sw_json_get(v, "message");

		(void)sw_err_at(err, SW_INVALID,
				cJSON_IsString(pointer) ? pointer->valuestring : "/trainer", "%s",
				cJSON_IsString(text) ? text->valuestring : "refused");
	}
	cJSON_Delete(v);
}

static void finish_when_over(struct check *c)
{
	struct sw_err err = SW_ERR_INIT;

	if (!c->exited || !c->eof || c->closing)
		return;
	read_verdict(c, &err);
	c->done(c->user, &err);
	close_all(c);
}

static void on_child_exit(uv_process_t *p, int64_t status, int sig)
{
	struct check *c = p->data;

	(void)status;
	(void)sig;
	c->exited = true;
	finish_when_over(c);
}

static void on_limit(uv_timer_t *t)
{
	struct check *c = t->data;

	c->timed_out = true;
	(void)uv_process_kill(&c->process, SIGKILL);
}

static void on_written(uv_write_t *req, int status)
{
	struct check *c = req->data;

	(void)status; /* a program that ends without reading says why on its output, or by its
			 status */
	if (c->closing || c->in_closed)
		return;
	c->in_closed = true; /* the end of its input */
	uv_close((uv_handle_t *)&c->in, on_closed);
}

static void on_alloc(uv_handle_t *h, size_t hint, uv_buf_t *buf)
{
	struct check *c = h->data;

	(void)hint;
	if (sw_buf_reserve(&c->output, 4096) != SW_OK) {
		*buf = uv_buf_init(NULL, 0);
		return;
	}
	*buf = uv_buf_init(c->output.data + c->output.len, 4096);
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct check *c = s->data;

	(void)buf;
	if (n >= 0) {
		c->output.len += (size_t)n;
		c->output.data[c->output.len] = '\0';
		return;
	}
	(void)uv_read_stop(s);
	c->eof = true;
	finish_when_over(c);
}

static struct check *create(struct sw_daemon *d, const char *spec, sw_speccheck_cb *done,
			    void *user)
{
	struct check *c = sw_calloc(1, sizeof *c);

	if (c == NULL || (c->spec = sw_strdup(spec)) == NULL) {
		free(c);
		return NULL;
	}
	sw_buf_init(&c->output, OUTPUT_MAX);
	c->done = done;
	c->user = user;
	if (uv_pipe_init(d->loop, &c->in, 0) != 0 || uv_pipe_init(d->loop, &c->out, 0) != 0 ||
	    uv_timer_init(d->loop, &c->limit) != 0)
		return NULL; /* documented never to fail on Linux; nothing could be closed safely
				here */
	c->process.data = c->in.data = c->out.data = c->limit.data = c->write.data = c;
	c->n_open = 4;
	return c;
}

sw_status sw_speccheck_start(struct sw_daemon *d, const char *spec, sw_speccheck_cb *done,
			     void *user, struct sw_err *err)
{
	struct check *c = create(d, spec, done, user);
	char *argv[] = {d->config.worker, "check", NULL};

	if (c == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	uv_stdio_container_t stdio[3] = {
		{.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&c->in},
		{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&c->out},
		{.flags = UV_INHERIT_FD, .data.fd = 2},
	};
	const uv_process_options_t options = {.exit_cb = on_child_exit,
					      .file = argv[0],
					      .args = argv,
					      .stdio = stdio,
					      .stdio_count = 3};
	int rc = uv_spawn(d->loop, &c->process, &options);
	const uv_buf_t in = uv_buf_init(c->spec, (unsigned)strlen(c->spec));

	c->process.data = c;
	if (rc == 0)
		rc = uv_read_start((uv_stream_t *)&c->out, on_alloc, on_read);
	if (rc == 0)
		rc = uv_write(&c->write, (uv_stream_t *)&c->in, &in, 1, on_written);
	if (rc == 0)
		rc = uv_timer_start(&c->limit, on_limit, SW_SPECCHECK_LIMIT_MS, 0);
	if (rc == 0)
		return SW_OK;
	if (c->process.pid > 0)
		(void)uv_process_kill(&c->process, SIGKILL);
	close_all(c);
	return sw_err_at(err, SW_INTERNAL, "/trainer", "cannot run %s: %s", d->config.worker,
			 uv_strerror(rc));
}
