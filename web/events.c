#include "web/events.h"
#include "base/memory.h"
#include "proto/json.h"
#include "proto/rpc.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define PING_TICKS 20  /* of silence, after which a comment shows whether the reader is there */
#define LIST_TICKS 2   /* between two looks at the list of sweeps */
#define LISTED     100 /* sweeps in it, the newest */

struct watched {
	uint64_t sweep, since;
	bool gone; /* it was refused: deleted, or never there */
};

struct listed {
	uint64_t sweep;
	XXH64_hash_t hash; /* of what was sent of it last */
};

struct sw_stream {
	struct sw_stream *next;
	struct sw_events *events;
	struct MHD_Connection *conn;
	struct sw_buf out;
	bool asleep, ended, lost; /* lost: it knows that the daemon is away */
	bool busy;                /* the link's thread works on it, and frees it if it ended */
	size_t n;
	struct watched sweeps[SW_EVENTS_SWEEPS];
	bool list, listing; /* it wants the list; it has been told one */
	size_t n_listed;
	struct listed listed[LISTED];
	unsigned quiet; /* ticks since it was sent something */
};

/* --- to the reader --- */

static ssize_t take_bytes(void *arg, uint64_t pos, char *out, size_t max)
{
	struct sw_stream *s = arg;
	ssize_t n = 0;

	(void)pos;
	(void)pthread_mutex_lock(&s->events->lock);
	if (s->out.failed != SW_OK) {
		n = MHD_CONTENT_READER_END_WITH_ERROR;
	} else if (s->out.len == 0) {
		s->asleep = true;
		MHD_suspend_connection(s->conn);
	} else {
		n = (ssize_t)(s->out.len < max ? s->out.len : max);
		memcpy(out, s->out.data, (size_t)n);
		sw_buf_drop(&s->out, (size_t)n);
	}
	(void)pthread_mutex_unlock(&s->events->lock);
	return n;
}

static void free_stream(struct sw_stream *s)
{
	sw_buf_fini(&s->out);
	free(s);
}

static void end_stream(void *arg)
{
	struct sw_stream *s = arg, **at = &s->events->first;
	struct sw_events *e = s->events;

	(void)pthread_mutex_lock(&e->lock);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	e->n--;
	s->ended = true;
	const bool busy = s->busy;
	(void)pthread_mutex_unlock(&e->lock);
	if (!busy)
		free_stream(s);
}

/* One event, or a comment (event NULL): data is one line. */
static void send_event(struct sw_stream *s, const char *event, const char *data)
{
	(void)pthread_mutex_lock(&s->events->lock);
	if (!s->ended) {
		if (event == NULL)
			(void)sw_buf_adds(&s->out, ":\n\n");
		else
			(void)sw_buf_addf(&s->out, "event: %s\ndata: ", event);
		if (event != NULL && sw_buf_adds(&s->out, data) == SW_OK)
			(void)sw_buf_adds(&s->out, "\n\n");
		s->quiet = 0;
		if (s->asleep) {
			s->asleep = false;
			MHD_resume_connection(s->conn);
		}
	}
	(void)pthread_mutex_unlock(&s->events->lock);
}

/* --- from the daemon --- */

/* Is the answer the same whenever it is asked for? A daemon that is busy gives another later. */
static bool is_final(const struct sw_reply *r)
{
	const double code =
		cJSON_GetNumberValue(sw_json_get(sw_json_get(r->tree, "error"), "code"));

	return code == SW_RPC_NOT_FOUND || code == SW_RPC_INVALID_PARAMS;
}

/* False: the daemon is away, or as good as that. */
static bool look_at(struct sw_stream *s, struct watched *w, struct sw_link *link)
{
	struct sw_reply r = SW_REPLY_INIT;
	struct sw_err err = SW_ERR_INIT;
	char params[96];

	(void)snprintf(params, sizeof params, "{\"sweep\":%" PRIu64 ",\"since\":%" PRIu64 "}",
		       w->sweep, w->since);
	const sw_status rc = sw_link_call(link, "sweep.watch", params, false, &r, &err);
	if (rc == SW_INVALID && is_final(&r)) {
		w->gone = true;
		send_event(s, "refused", r.line);
	} else if (rc == SW_OK) {
		const uint64_t next = sw_json_uint(r.result, "next");
		if (next != w->since || cJSON_IsTrue(sw_json_get(r.result, "reset")))
			send_event(s, "sweep", r.line);
		w->since = next;
	}
	sw_client_reply_fini(&r);
	return rc == SW_OK || w->gone;
}

/* Is this row another than the one that was sent? It is noted as sent. rows: what stood in the list
 * before. */
static bool is_new(const struct sw_stream *s, const char *text, struct listed *out)
{
	out->hash = XXH64(text, strlen(text), 0);
	for (size_t i = 0; i < s->n_listed; i++)
		if (s->listed[i].sweep == out->sweep)
			return s->listed[i].hash != out->hash;
	return true;
}

/* The newest sweeps whose rows have changed, and the numbers of all of them: one that is missing
 * was deleted. */
static void write_listed(struct sw_stream *s, const cJSON *result)
{
	struct listed now[LISTED];
	const cJSON *row;
	struct sw_buf b;
	struct sw_jw w;
	bool any = false;
	size_t n = 0;

	sw_buf_init(&b, SW_EVENTS_BYTES);
	sw_jw_init_obj(&w, &b);
	sw_jw_karr(&w, "sweeps");
	cJSON_ArrayForEach (row, sw_json_get(result, "sweeps")) {
		char *text = n < LISTED ? cJSON_PrintUnformatted(row) : NULL;
		if (text == NULL)
			break;
		now[n].sweep = sw_json_uint(row, "sweep");
		if (is_new(s, text, &now[n++])) {
			sw_jw_raw(&w, text);
			any = true;
		}
		free(text);
	}
	sw_jw_arr_end(&w);
	sw_jw_karr(&w, "numbers");
	for (size_t i = 0; i < n; i++)
		sw_jw_int(&w, (int64_t)now[i].sweep);
	sw_jw_arr_end(&w);
	sw_jw_obj_end(&w);
	if ((any || n != s->n_listed || !s->listing) && b.failed == SW_OK)
		send_event(s, "sweeps", b.data);
	memcpy(s->listed, now, n * sizeof *now);
	s->n_listed = n;
	s->listing = true;
	sw_buf_fini(&b);
}

static bool look_at_list(struct sw_stream *s, struct sw_link *link)
{
	static const char params[] = "{\"limit\":100}";
	struct sw_reply r = SW_REPLY_INIT;
	struct sw_err err = SW_ERR_INIT;
	const sw_status rc = sw_link_call(link, "sweep.list", params, false, &r, &err);

	_Static_assert(LISTED == 100, "params asks for as many");
	if (rc == SW_OK)
		write_listed(s, r.result);
	sw_client_reply_fini(&r);
	return rc == SW_OK;
}

static void look(struct sw_stream *s, struct sw_link *link, unsigned tick)
{
	bool up = true;

	for (size_t i = 0; i < s->n && up; i++)
		if (!s->sweeps[i].gone)
			up = look_at(s, &s->sweeps[i], link);
	/* The first look is at once. */
	if (s->list && up && (!s->listing || tick % LIST_TICKS == 0))
		up = look_at_list(s, link);
	if (up == s->lost)
		send_event(s, up ? "back" : "away", "{}");
	s->lost = !up;
	if (++s->quiet >= PING_TICKS)
		send_event(s, NULL, NULL);
}

void sw_events_tick(struct sw_link *link, void *arg)
{
	struct sw_events *e = arg;
	struct sw_stream *at[SW_EVENTS_STREAMS];
	size_t n = 0;

	/* Streams may begin and end while the daemon is asked: those of now are held. */
	(void)pthread_mutex_lock(&e->lock);
	e->ticks++;
	for (struct sw_stream *s = e->first; s != NULL; s = s->next) {
		s->busy = true;
		at[n++] = s;
	}
	(void)pthread_mutex_unlock(&e->lock);
	for (size_t i = 0; i < n; i++) {
		look(at[i], link, e->ticks);
		(void)pthread_mutex_lock(&e->lock);
		at[i]->busy = false;
		const bool ended = at[i]->ended;
		(void)pthread_mutex_unlock(&e->lock);
		if (ended)
			free_stream(at[i]);
	}
}

/* --- a new one --- */

static void read_sweeps(struct sw_stream *s, const char *list)
{
	while (list != NULL && *list != '\0' && s->n < SW_EVENTS_SWEEPS) {
		s->sweeps[s->n].sweep = strtoull(list, NULL, 10);
		if (s->sweeps[s->n].sweep != 0)
			s->n++;
		list += strcspn(list, ",");
		list += *list == ',';
	}
}

enum MHD_Result sw_events_open(struct sw_events *e, struct sw_request *r)
{
	struct sw_stream *s = sw_calloc(1, sizeof *s);
	struct MHD_Response *response = NULL;

	if (s == NULL)
		return MHD_NO;
	s->events = e;
	s->conn = r->conn;
	s->list = sw_http_query(r, "list") != NULL;
	sw_buf_init(&s->out, SW_EVENTS_BYTES);
	read_sweeps(s, sw_http_query(r, "sweeps"));
	(void)pthread_mutex_lock(&e->lock);
	const bool room = e->n < SW_EVENTS_STREAMS;
	if (room)
		response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, take_bytes, s,
							     end_stream);
	if (response != NULL) {
		s->next = e->first;
		e->first = s;
		e->n++;
	}
	(void)pthread_mutex_unlock(&e->lock);
	if (response == NULL) {
		free_stream(s);
		return room ? MHD_NO
			    : sw_http_refuse(r, 503,
					     "too many pages look at this daemon: close some");
	}
	(void)MHD_add_response_header(response, "Content-Type", "text/event-stream");
	(void)MHD_add_response_header(response, "Cache-Control", "no-store");
	return sw_http_send(r, 200, response);
}
