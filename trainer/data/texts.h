/*
 * trainer/data/texts.h — different texts, numbered in the order in which they come, and how often
 * each came: the classes of a target, the values of a category.
 *
 * Memory  The texts, and 32 bytes for each; at most `most` of them, others are counted together.
 * Cost    O(1) a text.
 */
#ifndef SW_TRAINER_DATA_TEXTS_H
#define SW_TRAINER_DATA_TEXTS_H

#include "proto/json.h"
#include "trainer/data/cell.h"

struct sw_texts_one {
	size_t at; /* in text */
	uint64_t hash;
	size_t count; /* 0: added again */
};

struct sw_texts {
	struct sw_texts_one *one; /* [n] */
	size_t n, cap, most;
	bool names; /* one that comes again has a number, too; the first is found */
	char *text; /* each ends with a NUL */
	size_t bytes, room;
	uint32_t *slot; /* [slots]: a text's number and 1; 0: free */
	size_t slots, others;
};

/* Zeroed but for `most`, `names`. *id: its number, or `most` for one that has no room. SW_NOMEM. */
SW_NODISCARD sw_status sw_texts_add(struct sw_texts *w, const struct sw_csv_cell *cell, size_t *id);
/* Its number, or w->n. */
size_t sw_texts_find(const struct sw_texts *w, const struct sw_csv_cell *cell);
static inline char *sw_texts_text(const struct sw_texts *w, size_t id)
{
	return w->text + w->one[id].at;
}
void sw_texts_fini(struct sw_texts *w);

/* The order of classes: by number if all texts are numbers (then 1 and 1.0 are one class), else by
 * text. rank: int32[w->n], the class of each, or NULL; list: gets the first text of each class.
 * Returns how many classes there are, 0: no memory. */
size_t sw_texts_sort(const struct sw_texts *w, enum sw_decimal how, int32_t *rank,
		     struct sw_jw *list);

#endif
