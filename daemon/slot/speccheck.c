#include "daemon/slot/speccheck.h"
#include "base/buf.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/slot/slot.h"
#include "daemon/slot/worker_env.h"
#include "proto/json.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT_MAX ((size_t)64 * 1024)

struct sw_check {
	struct sw_check *next; /* of those that run_check, or of those that wait */
	struct sw_daemon *d;
	uv_process_t process;
	uv_pipe_t in, out;
	uv_timer_t limit;
	uv_write_t write;
	unsigned n_open; /* handles not yet closed */
	char *spec;
	struct sw_buf output;
	struct sw_speccheck facts;
	bool exited, eof, in_closed, closing;
	sw_speccheck_cb *done; /* NULL once it was called */
	void *user;
};

static void start_waiting(struct sw_daemon *d);

static void on_closed(uv_handle_t *h)
{
	struct sw_check *c = h->data;

	if (--c->n_open > 0)
		return;
	sw_buf_fini(&c->output);
	free(c->spec);
	free(c);
}

static void close_handles(struct sw_check *c)
{
	/* Its end comes from several sides. */
	if (c->closing)
		return;
	c->closing = true;
	uv_close((uv_handle_t *)&c->process, on_closed);
	if (!c->in_closed)
		uv_close((uv_handle_t *)&c->in, on_closed);
	uv_close((uv_handle_t *)&c->out, on_closed);
	uv_close((uv_handle_t *)&c->limit, on_closed);
}

static bool read_count(const cJSON *verdict, const char *key, int64_t *out)
{
	uint64_t n;

	if (!sw_json_u64(sw_json_get(verdict, key), &n))
		return false;
	*out = (int64_t)n;
	return true;
}

/* A worker of an earlier version says less; what it leaves out stays 0. */
static void read_work(const cJSON *verdict, struct sw_speccheck *out)
{
	const cJSON *flops = sw_json_get(verdict, "flops"),
		    *stage = sw_json_get(verdict, "stage_flops");

	if (cJSON_IsNumber(flops))
		out->flops = flops->valuedouble;
	if (cJSON_IsNumber(stage) && read_count(verdict, "parts", &out->parts))
		out->stage_flops = stage->valuedouble;
}

/* {"ok": true, ...} or {"ok": false, "pointer": P, "message": M} */
static void read_verdict(struct sw_check *c, struct sw_err *err)
{
	struct sw_err bad = SW_ERR_INIT;
	cJSON *v = NULL;

	if (c->output.data == NULL ||
	    sw_json_parse(&v, c->output.data, c->output.len, &bad) != SW_OK) {
		(void)sw_err_at(err, SW_INTERNAL, "/trainer",
				"sweep-worker could not check the model and the data%s%s",
				c->output.len == 0 ? " (it printed nothing)" : ": ", bad.msg);
		return;
	}
	/* Refused by the worker, in its own words. */
	if (!cJSON_IsTrue(sw_json_get(v, "ok")))
		(void)sw_err_at(err, SW_INVALID, sw_json_text(v, "pointer", "/trainer"), "%s",
				sw_json_text(v, "message", "refused"));
	if (!read_count(v, "parameters", &c->facts.parameters) ||
	    !read_count(v, "bytes", &c->facts.bytes) ||
	    !read_count(v, "data_bytes", &c->facts.data_bytes) ||
	    !read_count(v, "data_sum", &c->facts.data_sum))
		c->facts = (struct sw_speccheck){.parameters = 0};
	else
		read_work(v, &c->facts);
	cJSON_Delete(v);
}

static void answer_check(struct sw_check *c, const struct sw_err *err)
{
	sw_speccheck_cb *done = c->done;

	c->done = NULL;
	if (done != NULL)
		done(c->user, err, &c->facts);
}

static void unlink_check(struct sw_check *c)
{
	struct sw_daemon *d = c->d;

	for (struct sw_check **p = &d->slot.checks; *p != NULL; p = &(*p)->next)
		if (*p == c) {
			*p = c->next;
			d->slot.check_n--;
			return;
		}
}

/* Its process has ended, and its output too unless nobody waits for that any more. */
static void finish_when_over(struct sw_check *c)
{
	struct sw_daemon *d = c->d;
	struct sw_err err = SW_ERR_INIT;

	/* Something that it started may hold its output open for ever: after an answer by the limit
	 * its own end is enough. */
	if (!c->exited || (!c->eof && c->done != NULL) || c->closing)
		return;
	if (c->done != NULL)
		read_verdict(c, &err);
	/* First out of the list and closed: the answer may start another check, or stop the
	 * daemon. */
	unlink_check(c);
	close_handles(c);
	answer_check(c, &err);
	start_waiting(d);
}

static void on_child_exit(uv_process_t *p, int64_t status, int sig)
{
	struct sw_check *c = p->data;

	(void)status;
	(void)sig;
	c->exited = true;
	finish_when_over(c);
}

static void on_limit(uv_timer_t *t)
{
	struct sw_check *c = t->data;
	struct sw_err err = SW_ERR_INIT;

	(void)sw_err_at(&err, SW_BUSY, "/trainer", "checking the model and the data took over %d s",
			SW_SPECCHECK_LIMIT_MS / 1000);
	answer_check(c, &err);
	if (c->exited)
		finish_when_over(c);
	else
		(void)uv_process_kill(&c->process, SIGKILL); /* its end comes to on_child_exit() */
}

static void on_written(uv_write_t *req, int status)
{
	struct sw_check *c = req->data;

	(void)status; /* a program that ends without reading says why on its output, or by its
			 status */
	if (c->closing || c->in_closed)
		return;
	c->in_closed = true; /* the end of its input */
	uv_close((uv_handle_t *)&c->in, on_closed);
}

static void on_alloc(uv_handle_t *h, size_t hint, uv_buf_t *buf)
{
	struct sw_check *c = h->data;

	(void)hint;
	if (sw_buf_reserve(&c->output, 4096) != SW_OK) { /* over OUTPUT_MAX, too: the read ends */
		*buf = uv_buf_init(NULL, 0);
		return;
	}
	*buf = uv_buf_init(c->output.data + c->output.len, 4096);
}

/* Its output and its status come in either order; the verdict is read when both are there. */
static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct sw_check *c = s->data;

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

static struct sw_check *create_check(struct sw_daemon *d, const char *spec, sw_speccheck_cb *done,
				     void *user)
{
	struct sw_check *c = sw_calloc(1, sizeof *c);

	if (c == NULL || (c->spec = sw_strdup(spec)) == NULL) {
		free(c);
		return NULL;
	}
	sw_buf_init(&c->output, OUTPUT_MAX);
	c->d = d;
	c->done = done;
	c->user = user;
	c->process.data = c->in.data = c->out.data = c->limit.data = c->write.data = c;
	return c;
}

static bool has_gpus(const struct sw_daemon *d)
{
	for (size_t i = 0; i < d->slot.slot_n; i++)
		if (d->slot.slots[i].device.gpu)
			return true;
	return false;
}

static int spawn_check(struct sw_check *c)
{
	struct sw_daemon *d = c->d;
	char *argv[] = {d->config.worker, "check", has_gpus(d) ? "gpu" : NULL, NULL};
	char *none[] = {NULL};
	char *env[SW_WORKER_ENV_MAX + 1];
	uv_stdio_container_t stdio[3] = {
		{.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&c->in},
		{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&c->out},
		{.flags = UV_INHERIT_FD, .data.fd = 2},
	};
	const uv_process_options_t options = {.exit_cb = on_child_exit,
					      .file = argv[0],
					      .args = argv,
					      .env = env,
					      .stdio = stdio,
					      .stdio_count = 3};
	const uv_buf_t in = uv_buf_init(c->spec, (unsigned)strlen(c->spec));
	sw_worker_env_fill(env, none);
	int rc = uv_spawn(d->loop, &c->process, &options);

	if (rc == 0)
		rc = uv_read_start((uv_stream_t *)&c->out, on_alloc, on_read);
	if (rc == 0)
		rc = uv_write(&c->write, (uv_stream_t *)&c->in, &in, 1, on_written);
	if (rc == 0)
		rc = uv_timer_start(&c->limit, on_limit, SW_SPECCHECK_LIMIT_MS, 0);
	if (rc != 0 && c->process.pid > 0)
		(void)uv_process_kill(&c->process, SIGKILL);
	return rc;
}

/* Into the list of those that run. */
static void run_check(struct sw_check *c)
{
	struct sw_daemon *d = c->d;
	struct sw_err err = SW_ERR_INIT;

	/* These three are documented never to fail for a unix pipe and a timer. */
	(void)uv_pipe_init(d->loop, &c->in, 0);
	(void)uv_pipe_init(d->loop, &c->out, 0);
	(void)uv_timer_init(d->loop, &c->limit);
	c->n_open = 4;
	/* Counted before it is started: the one that fails leaves like one that has ended. */
	c->next = d->slot.checks;
	d->slot.checks = c;
	d->slot.check_n++;
	const int rc = spawn_check(c);
	c->process.data = c; /* uv_spawn() sets the handle anew, also when it fails */
	/* It runs: on_child_exit() and on_read() go on. */
	if (rc == 0)
		return;
	(void)sw_err_at(&err, SW_INTERNAL, "/trainer", "cannot run %s: %s", d->config.worker,
			uv_strerror(rc));
	unlink_check(c);
	close_handles(c);
	answer_check(c, &err);
}

static void start_waiting(struct sw_daemon *d)
{
	while (d->slot.checks_waiting != NULL && d->slot.check_n < SW_SPECCHECK_AT_ONCE) {
		struct sw_check *c = d->slot.checks_waiting;

		d->slot.checks_waiting = c->next;
		d->slot.check_waiting_n--;
		run_check(c);
	}
}

sw_status sw_speccheck_start(struct sw_daemon *d, const char *spec, sw_speccheck_cb *done,
			     void *user, struct sw_err *err)
{
	struct sw_check **last = &d->slot.checks_waiting, *c;

	if (d->phase != SW_UP)
		return sw_err_set(err, SW_BUSY, "the daemon is stopping");
	if (d->slot.check_waiting_n >= SW_SPECCHECK_WAITING)
		return sw_err_set(err, SW_BUSY, "%d specs wait to be checked; try again",
				  SW_SPECCHECK_WAITING);
	c = create_check(d, spec, done, user);
	if (c == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	while (*last != NULL)
		last = &(*last)->next;
	*last = c;
	d->slot.check_waiting_n++;
	start_waiting(d);
	return SW_OK;
}

void sw_speccheck_stop_all(struct sw_daemon *d)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_check *c;

	(void)sw_err_set(&err, SW_BUSY, "the daemon is stopping");
	while ((c = d->slot.checks_waiting) != NULL) {
		d->slot.checks_waiting = c->next;
		d->slot.check_waiting_n--;
		answer_check(c, &err);
		sw_buf_fini(&c->output);
		free(c->spec);
		free(c);
	}
	for (struct sw_check *next = d->slot.checks; (c = next) != NULL;) {
		next = c->next;
		answer_check(c, &err);
		if (c->exited) /* and something else holds its output open */
			finish_when_over(c);
		else
			(void)uv_process_kill(&c->process, SIGKILL);
	}
}
