#include "daemon/sweep/prepared.h"
#include "base/buf.h"
#include "base/fault.h"
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include "daemon/plan/plan.h"
#include "daemon/sweep/host.h"
#include "daemon/sweep/suggest.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WHY_MAX   ((size_t)64 * 1024)
#define STATE_MAX ((size_t)16 * 1024 * 1024)

/* --- as text --- */

static char *take(struct sw_buf *b)
{
	if (b->failed == SW_OK)
		(void)sw_buf_adds(b, ""); /* never NULL */
	if (b->failed != SW_OK)
		sw_daemon_die("record a suggestion", SW_NOMEM);
	return sw_buf_take(b, NULL);
}

static void write_state(const struct sw_suggestion *s, struct sw_buf *out)
{
	static const char digits[] = "0123456789abcdef";

	(void)sw_buf_reserve(out, 2 * s->state_n + 1);
	for (size_t i = 0; i < s->state_n; i++) {
		const char pair[2] = {digits[s->state[i] >> 4], digits[s->state[i] & 15]};

		(void)sw_buf_add(out, pair, 2);
	}
}

void sw_prepared_write(const struct sw_host *h, const struct sw_suggestion *s, uint64_t seen,
		       struct sw_prepared_text *out)
{
	struct sw_buf params, why, state;

	sw_buf_init(&params, SW_REPLY_MAX);
	sw_buf_init(&why, WHY_MAX);
	sw_buf_init(&state, STATE_MAX);
	sw_plan_params(h->spec, sw_sweep_space(h->sched), s->values, &params);
	sw_suggest_why(s, seen, h->spec, &why);
	write_state(s, &state);
	*out = (struct sw_prepared_text){
		.params = take(&params), .why = take(&why), .state = take(&state)};
}

void sw_prepared_text_fini(struct sw_prepared_text *text)
{
	free(text->params);
	free(text->why);
	free(text->state);
	*text = (struct sw_prepared_text){.params = NULL};
}

static int nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

sw_status sw_prepared_state(const char *text, unsigned char **state, size_t *n)
{
	const size_t len = strlen(text);

	*state = NULL;
	*n = 0;
	if (len % 2 != 0)
		return SW_INVALID;
	if (len == 0)
		return SW_OK;
	unsigned char *bytes = sw_malloc(len / 2);
	if (bytes == NULL)
		return SW_NOMEM;
	for (size_t i = 0; i < len / 2; i++) {
		const int high = nibble(text[2 * i]), low = nibble(text[2 * i + 1]);

		if (high < 0 || low < 0) {
			free(bytes);
			return SW_INVALID;
		}
		bytes[i] = (unsigned char)(high << 4 | low);
	}
	*state = bytes;
	*n = len / 2;
	return SW_OK;
}

/* --- the queue --- */

void sw_prepared_free(struct sw_prepared_one *one)
{
	if (one != NULL) {
		sw_suggestion_fini(&one->suggestion);
		sw_prepared_text_fini(&one->text);
	}
	free(one);
}

void sw_prepared_drop(struct sw_prepared *q)
{
	for (size_t i = 0; i < q->n; i++)
		sw_prepared_free(q->v[i]);
	q->n = 0;
}

void sw_prepared_fini(struct sw_prepared *q)
{
	sw_prepared_drop(q);
	free(q->v);
	*q = (struct sw_prepared){.v = NULL};
}

sw_status sw_prepared_push(struct sw_prepared *q, struct sw_prepared_one *one, uint64_t trial,
			   uint64_t made)
{
	if (q->n == q->cap) {
		const size_t cap = q->cap == 0 ? 8 : 2 * q->cap;
		struct sw_prepared_one **grown =
			sw_realloc(q->v, cap * sizeof(struct sw_prepared_one *));

		if (grown == NULL)
			return SW_NOMEM;
		q->v = grown;
		q->cap = cap;
	}
	if (q->n == 0) {
		q->first = trial;
		q->first_made = made;
	}
	q->v[q->n++] = one;
	return SW_OK;
}

bool sw_prepared_trim(struct sw_prepared *q, uint64_t trial, uint64_t made)
{
	const uint64_t gone = trial - q->first;

	if (q->n == 0 || gone == 0)
		return true;
	if (made - q->first_made != gone) {
		sw_prepared_drop(q);
		return false;
	}
	assert(gone <= q->n);
	for (size_t i = 0; i < gone; i++)
		sw_prepared_free(q->v[i]);
	memmove(q->v, q->v + gone, (q->n - gone) * sizeof(struct sw_prepared_one *));
	q->n -= gone;
	q->first += gone;
	q->first_made += gone;
	return true;
}
