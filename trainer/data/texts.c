#include "trainer/data/texts.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static size_t slot_find(const struct sw_texts *w, const struct sw_csv_cell *cell, uint64_t hash)
{
	size_t at = hash & (w->slots - 1);

	for (; w->slot[at]; at = (at + 1) & (w->slots - 1)) {
		const struct sw_texts_one *one = &w->one[w->slot[at] - 1];

		if (one->hash == hash && strcmp(w->text + one->at, cell->text) == 0)
			break;
	}
	return at;
}

static sw_status slots_grow(struct sw_texts *w)
{
	const size_t slots = w->slots ? 2 * w->slots : 64;
	uint32_t *slot = sw_calloc(slots, sizeof *slot);

	if (!slot)
		return SW_NOMEM;
	for (size_t i = 0; i < w->n; i++) {
		size_t at = w->one[i].hash & (slots - 1);

		if (w->one[i].count == 0)
			continue;
		while (slot[at])
			at = (at + 1) & (slots - 1);
		slot[at] = (uint32_t)i + 1;
	}
	free(w->slot);
	w->slot = slot;
	w->slots = slots;
	return SW_OK;
}

sw_status sw_texts_add(struct sw_texts *w, const struct sw_csv_cell *cell, size_t *id)
{
	const uint64_t hash = XXH3_64bits(cell->text, cell->len);

	if (2 * w->n >= w->slots && slots_grow(w) != SW_OK)
		return SW_NOMEM;
	const size_t at = slot_find(w, cell, hash);
	const bool again = w->slot[at] != 0;

	if (again && !w->names) {
		*id = w->slot[at] - 1;
		w->one[*id].count++;
		return SW_OK;
	}
	*id = w->most;
	w->others += w->n == w->most;
	if (w->n == w->most)
		return SW_OK;
	if (!sw_array_reserve(&w->one, &w->cap, w->n + 1, sizeof *w->one) ||
	    !sw_array_reserve(&w->text, &w->room, w->bytes + cell->len + 1, 1))
		return SW_NOMEM;
	*id = w->n++;
	w->one[*id] = (struct sw_texts_one){.at = w->bytes, .hash = hash, .count = !again};
	memcpy(w->text + w->bytes, cell->text, cell->len + 1);
	w->bytes += cell->len + 1;
	if (!again)
		w->slot[at] = (uint32_t)*id + 1;
	return SW_OK;
}

size_t sw_texts_find(const struct sw_texts *w, const struct sw_csv_cell *cell)
{
	if (!w->slots)
		return w->n;
	const size_t at = slot_find(w, cell, XXH3_64bits(cell->text, cell->len));

	return w->slot[at] ? w->slot[at] - 1 : w->n;
}

void sw_texts_fini(struct sw_texts *w)
{
	free(w->one);
	free(w->text);
	free(w->slot);
	memset(w, 0, sizeof *w);
}

/* --- classes --- */

struct ref {
	const char *text;
	double number;
	size_t id;
};

static int by_number(const void *a, const void *b)
{
	const struct ref *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id); /* the first one's text names the class */
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct ref *)a)->text, ((const struct ref *)b)->text);
}

size_t sw_texts_sort(const struct sw_texts *w, enum sw_decimal how, int32_t *rank,
		     struct sw_jw *list)
{
	struct ref *ref = sw_calloc(w->n + 1, sizeof *ref);
	bool numbers = true;
	size_t classes = 0;

	if (!ref)
		return 0;
	for (size_t i = 0; i < w->n; i++) {
		ref[i] = (struct ref){.text = sw_texts_text(w, i), .id = i};
		const struct sw_csv_cell cell = {.text = sw_texts_text(w, i),
						 .len = strlen(ref[i].text)};

		numbers = numbers && sw_cell_number(&cell, how, &ref[i].number);
	}
	/* One text among numbers makes all of them texts: "10" is then before "9". */
	qsort(ref, w->n, sizeof *ref, numbers ? by_number : by_text);
	sw_jw_arr(list);
	for (size_t i = 0; i < w->n; i++) {
		if (i == 0 || !numbers || ref[i].number != ref[i - 1].number) {
			sw_jw_str(list, ref[i].text);
			classes++;
		}
		if (rank)
			rank[ref[i].id] = (int32_t)classes - 1;
	}
	sw_jw_arr_end(list);
	free(ref);
	return classes;
}
