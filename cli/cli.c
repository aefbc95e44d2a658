#include "cli/cli.h"
#include "base/term.h"
#include "cli/host.h"
#include "cli/pager.h"
#include "cli/screen.h"
#include "proto/json.h"
#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The number locale stays "C": numbers on the wire and in CSV have a point. */
static void find_look(struct sw_look *look)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	const bool tty = isatty(STDOUT_FILENO) == 1;
	struct winsize size;

	(void)setlocale(LC_CTYPE, "");
	look->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	look->color = tty && (no_color == NULL || no_color[0] == '\0') && term != NULL &&
		      strcmp(term, "dumb") != 0;
	look->width = look->height = 0;
	/* A file has no width: rows are whole there, however wide the terminal of the reader is. */
	if (!tty)
		return;
	const bool told = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
	look->width = told && size.ws_col > 0 ? size.ws_col : 80;
	look->height = told && size.ws_row > 0 ? size.ws_row : 24;
}

sw_status sw_cli_init(struct sw_cli *c, const struct sw_args *args, struct sw_err *err)
{
	const char *path = args->socket != NULL ? args->socket : getenv("SWEEPD_SOCKET");

	*c = (struct sw_cli){.args = *args, .reply_ms = SW_CLIENT_REPLY_MS};
	/* `dial` is the far end of that way: it goes no further by itself. */
	const char *host = getenv("SWEEPD_HOST");
	if (host != NULL && host[0] != '\0' && args->host == NULL && args->socket == NULL &&
	    (args->verb == NULL || strcmp(args->verb, "dial") != 0))
		c->args.host = host;
	/* Before anything can fail: sw_cli_fini() frees both, whatever came of the rest. */
	sw_buf_init(&c->source.text, SW_CLIENT_MAX_LINE);
	sw_buf_init(&c->out, (size_t)1 << 28);
	find_look(&c->look);
	if (c->args.host != NULL && !sw_host_is_name(c->args.host))
		return sw_err_set(err, SW_INVALID,
				  "--host or SWEEPD_HOST: '%.200s' is no host for ssh",
				  c->args.host);
	if (c->args.host != NULL && args->socket != NULL)
		return sw_err_set(err, SW_INVALID,
				  "--host and --socket exclude each other: there `sweep dial` "
				  "finds the daemon, or SWEEPD_SOCKET says where");
	c->socket_given = path != NULL && path[0] != '\0';
	if (c->socket_given) {
		if (strlen(path) >= sizeof c->socket)
			return sw_err_set(err, SW_TOO_BIG, "a socket's path has at most %zu bytes",
					  sizeof c->socket - 1);
		memcpy(c->socket, path, strlen(path) + 1);
	} else if (sw_socket_path_default(c->socket, sizeof c->socket) != SW_OK) {
		return sw_err_set(err, SW_TOO_BIG,
				  "the default socket's path is too long; "
				  "give one with --socket");
	}
	return SW_OK;
}

void sw_cli_fini(struct sw_cli *c)
{
	sw_client_close(c->client);
	sw_buf_fini(&c->source.text);
	sw_buf_fini(&c->out);
}

void sw_cli_say(const struct sw_cli *c, const char *fmt, ...)
{
	char line[1024];
	struct sw_buf b;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	sw_buf_init(&b, 8192);
	/* The line may hold a name or a message from elsewhere, which a terminal would obey. */
	sw_term_add(&b, line, c->look.utf8, 0);
	sw_screen_close(); /* what is said on a live screen would go with it */
	(void)fprintf(stderr, "sweep: %s\n", b.data != NULL ? b.data : "out of memory");
	sw_buf_fini(&b);
}

int sw_cli_usage(const struct sw_cli *c, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	sw_cli_say(c, "%s (see: sweep help%s%s)", line, c->args.verb != NULL ? " " : "",
		   c->args.verb != NULL ? c->args.verb : "");
	return SW_EXIT_USAGE;
}

int sw_cli_flush(struct sw_cli *c)
{
	const sw_status failed = c->out.failed;
	FILE *to = c->to != NULL ? c->to : stdout;
	bool written = true;

	/* Not earlier: a line on stderr about what went wrong needs no pager. */
	if (c->paged && c->out.len > 0)
		sw_pager_start();
	if (failed == SW_OK && c->out.len > 0)
		written = fwrite(c->out.data, 1, c->out.len, to) == c->out.len && fflush(to) == 0;
	sw_buf_clear(&c->out);
	if (failed != SW_OK)
		sw_cli_say(c, "output: %s", sw_status_str(failed));
	else if (!written)
		sw_cli_say(c, "cannot write %s: %s", c->to != NULL ? c->args.out : "the output",
			   strerror(errno));
	return failed == SW_OK && written ? SW_EXIT_DONE : SW_EXIT_REFUSED;
}

void sw_cli_say_at(const struct sw_cli *c, const char *head, const char *ptr, const char *message)
{
	char place[256];

	sw_place_write(&c->source, ptr, place, sizeof place);
	sw_cli_say(c, "%s%s%s%s", head, place, place[0] != '\0' ? ": " : "", message);
}

int sw_cli_failed(const struct sw_cli *c, sw_status rc, const struct sw_err *err)
{
	char told[SW_SOCKET_PATH_MAX];
	long pid;

	if (rc == SW_OK)
		return SW_EXIT_DONE;
	/* It runs though its socket is gone, so "start one" would be wrong advice. */
	if (rc == SW_NOT_FOUND && c->args.host == NULL &&
	    sw_socket_path_told(told, sizeof told, &pid) == SW_OK && pid != 0 &&
	    (!c->socket_given || strcmp(told, c->socket) == 0))
		sw_cli_say(c,
			   "sweepd (pid %ld) runs without its socket %s: it makes it again within "
			   "seconds, or its log says why not",
			   pid, told);
	else if (rc == SW_NOT_FOUND)
		sw_cli_say(c, "no daemon at %s (start one with: sweepd)", c->socket);
	else
		sw_cli_say_at(c, "", err->ptr, err->msg[0] != '\0' ? err->msg : sw_status_str(rc));
	return rc == SW_INVALID || rc == SW_NOMEM ? SW_EXIT_REFUSED : SW_EXIT_NO_DAEMON;
}

sw_status sw_cli_connect(struct sw_cli *c, struct sw_client **out, struct sw_err *err)
{
	struct sw_err first = SW_ERR_INIT, second = SW_ERR_INIT;
	char told[SW_SOCKET_PATH_MAX];
	long pid;

	if (c->args.host != NULL)
		return sw_client_dial(out, c->args.host, c->quiet, err);
	const sw_status rc = sw_client_open(out, c->socket, SW_CLIENT_CONNECT_MS, &first);

	if (rc == SW_OK)
		return SW_OK;
	if (!c->socket_given && (rc == SW_NOT_FOUND || rc == SW_DENIED) &&
	    sw_socket_path_told(told, sizeof told, &pid) == SW_OK &&
	    sw_client_open(out, told, SW_CLIENT_CONNECT_MS, &second) == SW_OK) {
		memcpy(c->socket, told, sizeof told);
		return SW_OK;
	}
	/* The first failure is about the place that the user expects; the second was only a try. */
	return sw_err_at(err, rc, first.ptr, "%s", first.msg);
}

/* A pointer of the daemon without the "/spec" that is an artefact of the request. */
static const char *in_spec(const char *ptr)
{
	return strncmp(ptr, "/spec/", 6) == 0 ? ptr + 5 : ptr;
}

/* Of a refusal that names several faults: each. False: there is one, which `err` has. */
static bool say_faults(const struct sw_cli *c, const struct sw_reply *r)
{
	const cJSON *data = sw_json_get(sw_json_get(r->tree, "error"), "data"), *fault;
	const double more = sw_json_number(data, "more", 0);
	bool any = false;

	cJSON_ArrayForEach (fault, sw_json_get(data, "faults")) {
		sw_cli_say_at(c, "", in_spec(sw_json_text(fault, "pointer", "")),
			      sw_json_text(fault, "message", "refused"));
		any = true;
	}
	if (more > 0)
		sw_cli_say(c, "and %.0f more", more);
	return any;
}

sw_status sw_cli_ask(struct sw_cli *c, const char *method, const char *params, struct sw_reply *r,
		     struct sw_err *err)
{
	const sw_status rc = c->client != NULL ? SW_OK : sw_cli_connect(c, &c->client, err);

	return rc == SW_OK ? sw_client_call(c->client, method, params, c->reply_ms, r, err) : rc;
}

int sw_cli_fetch(struct sw_cli *c, const char *method, const char *params, struct sw_reply *r)
{
	struct sw_err err = SW_ERR_INIT;
	const sw_status rc = sw_cli_ask(c, method, params, r, &err);

	return rc == SW_INVALID && say_faults(c, r) ? SW_EXIT_REFUSED : sw_cli_failed(c, rc, &err);
}

static int with_json(struct sw_cli *c, int status, const struct sw_reply *r)
{
	if (status == SW_EXIT_DONE && (c->args.given & SW_OPT_JSON))
		sw_cli_json(c, r->result);
	return status;
}

int sw_cli_fetch_ref(struct sw_cli *c, const char *method, uint64_t trial, struct sw_reply *r)
{
	char params[96] = "{}";

	if (c->sweep != 0 && trial == 0)
		(void)snprintf(params, sizeof params, "{\"sweep\":%llu}",
			       (unsigned long long)c->sweep);
	else if (c->sweep != 0)
		(void)snprintf(params, sizeof params, "{\"sweep\":%llu,\"trial\":%llu}",
			       (unsigned long long)c->sweep, (unsigned long long)trial);
	return sw_cli_fetch(c, method, params, r);
}

int sw_cli_call_ref(struct sw_cli *c, const char *method, struct sw_reply *r)
{
	return with_json(c, sw_cli_fetch_ref(c, method, c->trial, r), r);
}

void sw_cli_begin(const struct sw_cli *c, struct sw_buf *params, struct sw_jw *w)
{
	sw_buf_init(params, (size_t)1 << 20);
	sw_jw_init_obj(w, params);
	if (c->sweep != 0)
		sw_jw_kint(w, "sweep", (int64_t)c->sweep);
}

int sw_cli_call_written(struct sw_cli *c, const char *method, struct sw_buf *params,
			struct sw_reply *r)
{
	int status = SW_EXIT_REFUSED;

	if (params->failed != SW_OK)
		sw_cli_say(c, "%s", sw_status_str(params->failed));
	else
		status = with_json(c, sw_cli_fetch(c, method, params->data, r), r);
	sw_buf_fini(params);
	return status;
}

int sw_cli_answer(struct sw_cli *c, const char *method, struct sw_buf *params,
		  void (*print)(struct sw_cli *c, const cJSON *result))
{
	struct sw_reply r = SW_REPLY_INIT;
	const int status = params != NULL ? sw_cli_call_written(c, method, params, &r)
					  : sw_cli_call_ref(c, method, &r);

	if (status == SW_EXIT_DONE && !(c->args.given & SW_OPT_JSON))
		print(c, r.result);
	sw_client_reply_fini(&r);
	return status;
}

void sw_cli_json(struct sw_cli *c, const cJSON *result)
{
	struct sw_buf text;
	struct sw_jw w;

	sw_buf_init(&text, c->out.max);
	sw_jw_init(&w, &text);
	sw_jw_cjson(&w, result);
	if (text.failed != SW_OK)
		c->out.failed = text.failed;
	else if (c->look.width > 0)
		sw_term_add_json(&c->out, text.data, c->look.utf8);
	else
		(void)sw_buf_add(&c->out, text.data, text.len);
	(void)sw_buf_adds(&c->out, "\n");
	sw_buf_fini(&text);
}

/* Asks who has the name that the word begins with, or is a number: *r has nothing then. */
static int find_name(struct sw_cli *c, const char *word, uint64_t *sweep, uint64_t *trial,
		     char name[512], struct sw_reply *r)
{
	struct sw_buf b;
	struct sw_jw w;
	size_t n;

	if (sw_args_ref(word, sweep, trial, &n) != SW_OK || n >= 512)
		return sw_cli_usage(c, "expected a sweep such as 1, or its name, not '%s'", word);
	if (n == 0)
		return SW_EXIT_DONE;
	(void)snprintf(name, 512, "%.*s", (int)n, word);
	sw_buf_init(&b, 4096);
	sw_jw_init_obj(&w, &b);
	sw_jw_kstr(&w, "name", name);
	sw_jw_obj_end(&w);
	const int status = b.failed == SW_OK ? sw_cli_fetch(c, "sweep.find", b.data, r)
					     : sw_cli_usage(c, "'%s' is no name", name);
	*sweep = sw_json_uint(r->result, "sweep");
	sw_buf_fini(&b);
	return status;
}

int sw_cli_ref(struct sw_cli *c, const char *word, uint64_t *sweep, uint64_t *trial)
{
	struct sw_reply r = SW_REPLY_INIT;
	char name[512] = "";
	int status = find_name(c, word, sweep, trial, name, &r);
	const unsigned long long same = sw_json_uint(r.result, "same");

	if (same > 1 && !(c->args.given & SW_OPT_BY)) {
		sw_cli_say(c, "%s is sweep %llu, the newest of %llu of that name%s", name,
			   (unsigned long long)*sweep, same, c->sure ? ": give its number" : "");
		if (c->sure)
			status = SW_EXIT_USAGE;
	}
	sw_client_reply_fini(&r);
	return status;
}

/* Unless it is there. False: there is no room. */
static bool add_sweep(uint64_t sweeps[SW_ARGS_MAX], size_t *n, uint64_t sweep)
{
	for (size_t i = 0; i < *n; i++)
		if (sweeps[i] == sweep)
			return true;
	if (*n == SW_ARGS_MAX)
		return false;
	sweeps[(*n)++] = sweep;
	return true;
}

int sw_cli_sweeps(struct sw_cli *c, uint64_t sweeps[SW_ARGS_MAX], size_t *n)
{
	const bool by_name = (c->args.given & SW_OPT_BY) != 0;
	int status = SW_EXIT_DONE;

	*n = 0;
	for (size_t i = 0; i < c->args.n_words && status == SW_EXIT_DONE; i++) {
		struct sw_reply r = SW_REPLY_INIT;
		uint64_t sweep = c->sweep, trial = 0;
		const cJSON *all;
		char name[512];
		bool room = true;

		if (by_name)
			status = find_name(c, c->args.word[i], &sweep, &trial, name, &r);
		else if (i > 0)
			status = sw_cli_ref(c, c->args.word[i], &sweep, &trial);
		cJSON_ArrayForEach (all, sw_json_get(r.result, "sweeps"))
			room = room && add_sweep(sweeps, n, (uint64_t)all->valuedouble);
		if (status == SW_EXIT_DONE && trial != 0)
			status = sw_cli_usage(c, "%s: expected a sweep such as 1, not '%s'",
					      c->args.verb, c->args.word[i]);
		else if (status == SW_EXIT_DONE && !(room && add_sweep(sweeps, n, sweep)))
			status = sw_cli_usage(c, "%s: more than %d sweeps", c->args.verb,
					      SW_ARGS_MAX);
		sw_client_reply_fini(&r);
	}
	return status;
}

void sw_cli_state(const struct sw_cli *c, struct sw_jw *w)
{
	char upper[32];
	size_t n = 0;

	if (c->args.given & SW_OPT_FILTER)
		sw_jw_kstr(w, "filter", c->args.filter);
	if (c->args.state == NULL)
		return;
	for (const char *s = c->args.state; *s != '\0' && n < sizeof upper - 1; s++)
		upper[n++] =
			(char)(*s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s); /* in any locale */
	upper[n] = '\0';
	sw_jw_kstr(w, "state", upper);
}

void sw_cli_rows(struct sw_cli *c, struct sw_buf *rows)
{
	if (rows->failed != SW_OK)
		c->out.failed = rows->failed;
	else if (rows->len > 0 && c->look.width > 0)
		sw_term_add_lines(&c->out, rows->data, c->look.utf8);
	else if (rows->len > 0)
		(void)sw_buf_add(&c->out, rows->data, rows->len);
	sw_buf_clear(rows);
}

void sw_cli_subject(struct sw_cli *c)
{
	(void)sw_buf_addf(&c->out, "%s %" PRIu64, c->trial != 0 ? "trial" : "sweep", c->sweep);
	if (c->trial != 0)
		(void)sw_buf_addf(&c->out, "/%" PRIu64, c->trial);
}

void sw_cli_text(struct sw_cli *c, const char *text)
{
	sw_term_add(&c->out, text, c->look.utf8, 0);
}

void sw_cli_put(struct sw_cli *c, const char *before, const cJSON *v, const char *after)
{
	(void)sw_buf_adds(&c->out, before);
	sw_fmt_value(&c->out, v, true, c->look.utf8);
	(void)sw_buf_adds(&c->out, after);
}
