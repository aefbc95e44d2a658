/* The list of actions that an event leads to, and the cause that many of them carry. */
#include "base/memory.h"
#include "sched/sweep/sweep.h"
#include "sched/sweep/sweep_internal.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

void sw_actions_fini(struct sw_actions *a)
{
	free(a->v);
	*a = (struct sw_actions){.v = NULL};
}

const struct sw_action *sw_actions_find(const struct sw_actions *a, enum sw_action_kind kind)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->v[i].kind == kind)
			return &a->v[i];
	return NULL;
}

sw_status sw_actions_reserve(struct sw_actions *a, size_t n, struct sw_err *err)
{
	if (sw_array_reserve(&a->v, &a->cap, a->n + n, sizeof *a->v))
		return SW_OK;
	return sw_err_set(err, SW_NOMEM, "no memory for the scheduler's actions");
}

struct sw_action *sw_actions_add(struct sw_actions *a, enum sw_action_kind kind)
{
	assert(a->n < a->cap);
	struct sw_action *action = &a->v[a->n++];
	memset(action, 0, sizeof *action);
	action->kind = kind;
	return action;
}

void sw_cause_set(char to[SW_CAUSE_MAX], const char *cause, const char *fallback)
{
	if (cause == NULL || cause[0] == '\0')
		cause = fallback;
	size_t n = strnlen(cause, SW_CAUSE_MAX);
	/* A cause that is too long is cut before a UTF-8 sequence, never inside one. */
	if (n == SW_CAUSE_MAX)
		for (n--; n > 0 && ((unsigned char)cause[n] & 0xC0) == 0x80;)
			n--;
	memmove(to, cause, n);
	to[n] = '\0';
}
