#include "trainer/data/look.h"
#include "base/memory.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* --- different values --- */

static bool set_grow(struct sw_look_set *s)
{
	const size_t cap = s->cap ? 2 * s->cap : 64;
	uint64_t *both = sw_calloc(2 * cap, sizeof *both);

	if (!both)
		return false;
	for (size_t i = 0; i < s->cap; i++) {
		size_t at = s->key[i] & (cap - 1);

		if (s->key[i] == 0)
			continue;
		while (both[at])
			at = (at + 1) & (cap - 1);
		both[at] = s->key[i];
		both[cap + at] = s->with[i];
	}
	free(s->key);
	s->key = both;
	s->with = both + cap;
	s->cap = cap;
	return true;
}

/* *same: it is new, or was met with this target before; *is_new. false: no memory. */
static bool set_add(struct sw_look_set *s, uint64_t key, uint64_t with, size_t most, bool *same,
		    bool *is_new)
{
	size_t at;

	key += key == 0;
	if (s->n * 2 >= s->cap && !set_grow(s))
		return false;
	for (at = key & (s->cap - 1); s->key[at] && s->key[at] != key;)
		at = (at + 1) & (s->cap - 1);
	*is_new = s->key[at] == 0;
	*same = *is_new || ((s->with[at] ^ with) & ~(uint64_t)1) == 0;
	if (s->key[at]) {
		s->once -= !(s->with[at] & 1);
		s->with[at] |= 1;
		return true;
	}
	if (s->n == most) {
		s->full = true;
		return true;
	}
	s->key[at] = key;
	s->with[at] = with & ~(uint64_t)1;
	s->n++;
	s->once++;
	return true;
}

/* --- a cell --- */

/* A number that is written with more than digits and a point: which readings does it allow? */
static bool marked_number(struct sw_look_column *k, const struct sw_csv_cell *cell, double *v)
{
	double comma;
	const bool point = sw_cell_number(cell, SW_DECIMAL_POINT, v);
	const bool other = sw_cell_number(cell, SW_DECIMAL_COMMA, &comma);

	k->only_point += point && !other;
	k->only_comma += other && !point;
	k->marked += point && other;
	if (!point)
		*v = comma;
	return point || other;
}

static void number_look(struct sw_look_column *k, double v, const double *target, size_t line)
{
	if (k->numbers == 0) {
		k->min = k->max = v;
		k->whole = true;
		k->v0 = v;
	} else {
		k->min = v < k->min ? v : k->min;
		k->max = v > k->max ? v : k->max;
	}
	k->numbers++;
	k->odd_line = k->odd_line ? k->odd_line : line;
	k->whole = k->whole && v == floor(v) && fabs(v) < 9e15;
	if (k->whole) {
		const uint64_t i = (uint64_t)(int64_t)v;

		k->sum += i;
		k->square += i * i;
	}
	if (target) {
		const double x = v - k->v0, y = *target - k->t0;

		k->n++;
		k->v += x;
		k->t += y;
		k->vv += x * x;
		k->tt += y * y;
		k->vt += x * y;
	}
}

/* Bits of the forms that a date may have. */
static unsigned forms_of(const struct sw_csv_cell *cell, unsigned among)
{
	struct sw_date date;
	unsigned forms = 0;

	for (unsigned f = 0; f < SW_DATE_FORMS; f++)
		if (among & 1u << f && sw_cell_date(cell, (enum sw_date_form)f, &date))
			forms |= 1u << f;
	return forms;
}

static void text_look(struct sw_look_column *k, const struct sw_csv_cell *cell, size_t line)
{
	if (k->texts++ == 0) {
		k->text_line = line;
		sw_text_show(cell->text, k->text);
		k->sign = sw_cell_has_sign(cell);
		k->forms = (1u << SW_DATE_FORMS) - 1;
	}
	k->bytes += cell->len;
	const size_t others = k->texts - 1 - k->dates;

	if (others > SW_LOOK_SLIPS && k->dates < 9 * others)
		return; /* texts, of which some are dates */
	/* mostly one that all have had so far */
	unsigned forms = forms_of(cell, k->forms);

	forms = forms ? forms : forms_of(cell, ~k->forms);
	k->dates += forms != 0;
	k->odd_line = k->odd_line || forms ? k->odd_line : line;
	k->forms &= forms ? forms : k->forms;
}

/* The bits of a number, mixed: the last step of a hash (Stafford's variant 13). */
static uint64_t number_hash(double v)
{
	uint64_t x;

	memcpy(&x, &v, sizeof x);
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Boyer and Moore, "MJRTY: a fast majority vote algorithm", 1991. */
static void vote(struct sw_look_column *k, uint64_t value)
{
	if (k->lead == 0)
		k->usual = value;
	k->lead += value == k->usual ? 1 : (size_t)-1;
	k->votes++;
}

/* false: no memory. */
static bool cell_look(struct sw_look_column *k, const struct sw_csv_cell *cell,
		      const struct sw_look_row *row)
{
	const bool target = k == row->target_look;
	bool same = true, is_new = true;
	const bool may = sw_cell_may_be_number(cell);
	double v;
	bool number = may && sw_cell_plain(cell, &v);

	if (number && !k->only_point && memchr(cell->text, '.', cell->len))
		(void)marked_number(k, cell, &v);
	if (!number && !target && sw_cell_is_hole(cell)) {
		k->holes++;
		return true;
	}
	number = number ||
		 (may && memchr(cell->text, ',', cell->len) && marked_number(k, cell, &v));
	if (number)
		number_look(k, v, row->number, row->line);
	else
		text_look(k, cell, row->line);
	/* of numbers a few are enough, until the first text, but not of classes */
	if (k->seen.full ||
	    (k->texts == 0 && k->seen.n >= SW_LOOK_NUMBERS && !(target && row->classes))) {
		k->pure = false;
		/* not one value, no index, and it is known how it writes its numbers */
		k->settled = k->texts == 0 && k->min < k->max &&
			     (k->whole ? !k->fresh : k->only_point > 0) && !row->number;
		return true;
	}
	/* 1 and 1.0 may be two classes, but not two numbers */
	const uint64_t key = number && !target ? number_hash(v)
					       : XXH3_64bits(cell->text, cell->len);

	if (!set_add(&k->seen, key, row->with, target ? SW_DATASET_MAX_CLASSES : row->most, &same,
		     &is_new))
		return false;
	vote(k, key);
	k->fresh = k->fresh && is_new;
	k->pure = k->pure && same;
	return true;
}

bool sw_look_row(struct sw_look_column *look, const struct sw_csv_cell *cell, size_t n,
		 const struct sw_look_row *row)
{
	for (size_t i = 0; i < n; i++) {
		struct sw_look_column *k = &look[i];

		if (k->settled && (cell[i].plain || cell[i].len == 0)) {
			k->holes += cell[i].len == 0;
			k->numbers += cell[i].plain;
		} else if (!cell_look(k, &cell[i], row)) {
			return false;
		}
	}
	return true;
}

bool sw_look_number(const struct sw_csv_cell *cell, double *v, uint64_t *hash)
{
	const bool is = sw_cell_number(cell, SW_DECIMAL_POINT, v) ||
			sw_cell_number(cell, SW_DECIMAL_COMMA, v);

	*hash = is ? number_hash(*v) : XXH3_64bits(cell->text, cell->len);
	return is;
}
