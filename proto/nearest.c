#include "proto/nearest.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 64

static int lower(char c)
{
	return tolower((unsigned char)c);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment: insert, delete, replace, swap two neighbours; each costs one. Three
 * rows of the table are enough. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t rows[3][WORD_MAX + 1];

	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *row = rows[i % 3];
		const size_t *up = rows[(i - 1) % 3], *up2 = rows[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			const size_t cost = lower(a[i - 1]) != lower(b[j - 1]);
			row[j] = least(least(up[j] + 1, row[j - 1] + 1), up[j - 1] + cost);
			if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
			    lower(a[i - 2]) == lower(b[j - 1]))
				/* The row before the last: a swap goes back by two in both
				 * words. */
				row[j] = least(row[j], up2[j - 2] + 1);
		}
	}
	return rows[na % 3][nb];
}

const char *sw_nearest(const char *word, const char *const *candidates, size_t n)
{
	const size_t len = strlen(word);
	/* At most one change, and one more for each three letters: beyond that it is another
	 * word. */
	size_t best = 1 + len / 3 + 1;
	const char *found = NULL;

	/* Nobody meant one of ours by a word of that length. */
	if (len > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const size_t other = strlen(candidates[i]);
		if (other > WORD_MAX)
			continue;
		const size_t d = distance(word, len, candidates[i], other);
		if (d < best) {
			best = d;
			found = candidates[i];
		}
	}
	return found;
}

const char *sw_did_you_mean(const char *near, char out[SW_DID_YOU_MEAN])
{
	out[0] = '\0';
	if (near != NULL)
		(void)snprintf(out, SW_DID_YOU_MEAN, "; did you mean \"%s\"?", near);
	return out;
}
