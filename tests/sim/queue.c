/* What is going to happen, by time: a binary heap. */
#include "tests/sim/world.h"

static bool before(const struct sim_at *a, const struct sim_at *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

void sim_world_push(struct sim_world *w, double in, struct sim_at m)
{
	size_t i = w->n++;

	if (w->n > w->cap) {
		w->cap = w->cap == 0 ? 64 : 2 * w->cap;
		w->heap = sim_realloc(w->heap, w->cap, sizeof *w->heap);
	}
	m.at = w->now + in;
	m.order = w->orders++;
	for (; i > 0 && before(&m, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = m;
}

bool sim_world_pop(struct sim_world *w, struct sim_at *out)
{
	size_t i = 0;

	if (w->n == 0)
		return false;
	*out = w->heap[0];
	const struct sim_at last = w->heap[--w->n];
	for (size_t child = 1; child < w->n; child = 2 * i + 1) {
		if (child + 1 < w->n && before(&w->heap[child + 1], &w->heap[child]))
			child++;
		if (!before(&w->heap[child], &last))
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = last;
	w->now = out->at;
	return true;
}
