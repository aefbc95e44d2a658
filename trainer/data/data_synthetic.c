/*
 * trainer/data/data_synthetic.c — data sets made from a seed, for benchmarks, examples and tests:
 * classes that can be learned, and that take some learning. A row is a function of (seed, row)
 * alone, in integers, so it is the same on every machine; noise n is 0 to 256, in 1/256.
 *
 * Images    Each class has a grid of 4 x 4 bytes in each channel, drawn large (bilinear). A row is
 *           the picture of its class, shifted by up to an eighth of the side, mixed with that of
 *           another class (1/256 to one half) and with noise in each pixel. Bytes.
 * Features  Each class has a centre; a row is it with noise around. Multiples of 1/64.
 * Values    (mse) Features are noise alone, the target a fixed linear form of them, and noise.
 * Tokens    Two classes share eight ids that come round in a cycle, forwards in the one and
 * backwards in the other: which ids there are tells the pair, their order the class. By noise a
 *           place has any id. Rows fill half to all of their places, the rest is token 0 and
 *           counted out by their length.
 * Next      Each token is the one before it and a fixed stride, or, by noise, any id; full rows.
 * The label is the token that follows.
 */
#include "base/beat.h"
#include "base/memory.h"
#include "kernels/philox.h"
#include "trainer/data/data_raw.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define GRID      4
#define MAX_GRIDS ((size_t)1 << 28) /* bytes */

/* The use of a Philox block's numbers is its layer. */
enum { CENTRE = 1, ROW, NOISE, WEIGHT };

static uint32_t word(const struct sw_dataset *set, uint32_t what, uint64_t step, uint64_t index)
{
	return sw_philox_block(set->seed, SW_PHILOX_SYNTHETIC, what, step, index / 4).v[index % 4];
}

/* -510..510, near a normal of deviation 148: four bytes of a word. */
static int32_t bell(uint32_t w)
{
	return (int32_t)((w & 255) + (w >> 8 & 255) + (w >> 16 & 255) + (w >> 24)) - 510;
}

static int32_t label_of(const struct sw_dataset *set, size_t row)
{
	return (int32_t)(word(set, ROW, row, 0) % set->classes);
}

/* --- images --- */

/* The grids of all classes: uint8[classes][C][GRID][GRID]. */
static void grids_make(const struct sw_dataset *set, uint8_t *grid)
{
	const size_t n = set->image[0] * GRID * GRID;

	assert(grid != NULL);
	for (size_t c = 0; c < set->classes; c++)
		for (size_t i = 0; i < n; i++)
			grid[c * n + i] = (uint8_t)(word(set, CENTRE, c, i) >> 24);
}

/* A place in a grid: the cell's index, and the part, in 1/256, of the next. */
struct place {
	uint32_t cell, part;
};

/* A picture's value at i of n places, its grid drawn large. A picture that is shifted repeats its
 * edge. */
static struct place place_of(int64_t i, size_t n)
{
	const int64_t last = n > 1 ? (int64_t)n - 1 : 1;
	const int64_t at = i < 0 ? 0 : i > last ? last : i;
	/* Whole numbers in 1/256, so that each machine makes the same bytes. */
	const int64_t fixed = at * (GRID - 1) * 256 / last;

	if (fixed >> 8 == GRID - 1)
		return (struct place){.cell = GRID - 2, .part = 256};
	return (struct place){.cell = (uint32_t)(fixed >> 8), .part = (uint32_t)(fixed & 255)};
}

/* All rows share these. Images: the grids and a row of places; the next token: int32[t + 1]. */
struct scratch {
	uint8_t *grid;
	struct place *column;
	int32_t *text;
};

static int32_t sample(const uint8_t *g, struct place y, struct place x)
{
	const uint8_t *a = g + y.cell * GRID + x.cell, *b = a + GRID;
	const uint32_t top = a[0] * (256 - x.part) + a[1] * x.part;
	const uint32_t low = b[0] * (256 - x.part) + b[1] * x.part;

	return (int32_t)((top * (256 - y.part) + low * y.part) >> 16);
}

static uint8_t byte_of(int32_t v)
{
	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* scratch: the grids, and struct place[W]. */
static void image_make(const struct sw_dataset *set, const struct scratch *scratch, size_t row,
		       uint8_t *out)
{
	const size_t C = set->image[0], H = set->image[1], W = set->image[2], n = C * GRID * GRID;
	const size_t label = (size_t)label_of(set, row);
	const size_t other = word(set, ROW, row, 1) % set->classes;
	const uint8_t *own = scratch->grid + label * n, *mixed = scratch->grid + other * n;
	const int32_t weight = 128 + (int32_t)(word(set, ROW, row, 2) % 128); /* of 256 */
	const uint32_t shift = word(set, ROW, row, 3), ry = (uint32_t)(H / 8),
		       rx = (uint32_t)(W / 8);
	const int64_t dy = (int64_t)((shift & 0xffff) % (2 * ry + 1)) - ry;
	const int64_t dx = (int64_t)((shift >> 16) % (2 * rx + 1)) - rx;
	const int32_t noise = (int32_t)set->noise;
	struct sw_philox_words w = {{0}};
	size_t i = 0;

	assert(scratch->grid != NULL && scratch->column != NULL);
	for (size_t x = 0; x < W; x++)
		scratch->column[x] = place_of((int64_t)x + dx, W);
	for (size_t c = 0; c < C; c++) {
		for (size_t y = 0; y < H; y++) {
			const struct place gy = place_of((int64_t)y + dy, H);

			for (size_t x = 0; x < W; x++, i++) {
				const struct place gx = scratch->column[x];
				const int32_t a = sample(own + c * GRID * GRID, gy, gx);
				const int32_t b = sample(mixed + c * GRID * GRID, gy, gx);
				const int32_t v = (a * weight + b * (256 - weight)) / 256 - 128;

				/* sixteen pixels a block, a byte each */
				if (i % 16 == 0)
					w = sw_philox_block(set->seed, SW_PHILOX_SYNTHETIC, NOISE,
							    row, i / 16);
				const int32_t u =
					(int32_t)(w.v[i % 16 / 4] >> (i % 4 * 8) & 255) - 128;

				out[i] = byte_of(128 + (v * (256 - noise) + u * noise) / 256);
			}
		}
	}
}

/* --- features --- */

static void features_make(const struct sw_dataset *set, size_t row, size_t label, float *out)
{
	const int32_t noise = (int32_t)set->noise;

	for (size_t f = 0; f < set->features; f++) {
		const int32_t centre = (int32_t)(word(set, CENTRE, label, f) & 127) - 64;
		const int32_t e = bell(word(set, NOISE, row, f));

		const int32_t whole = (centre * 2 * (256 - noise) + e * noise) / 256;

		out[f] = (float)whole / 64.0f;
	}
}

/* Returns the target. */
static float values_make(const struct sw_dataset *set, size_t row, float *out)
{
	int64_t sum = 0;

	for (size_t f = 0; f < set->features; f++) {
		const int32_t e = bell(word(set, NOISE, row, f));

		sum += (int64_t)e * ((int64_t)(word(set, WEIGHT, 0, f) & 127) - 64);
		if (out)
			out[f] = (float)e / 128.0f;
	}
	/* weights of -1 to 1, values in units of 1/128; the noise has an eighth of a deviation for
	 * each feature at the most */
	sum += (int64_t)bell(word(set, ROW, row, 0)) * set->noise / 16;
	return (float)sum / 8192.0f;
}

/* --- tokens: ids 1..vocab - 1, 0 is padding --- */

#define CYCLE 8

/* The numbers that make place i of a row: whether it is noise, and which id then. */
static struct sw_philox_words place_words(const struct sw_dataset *set, size_t row, size_t i)
{
	return sw_philox_block(set->seed, SW_PHILOX_SYNTHETIC, NOISE, row, i);
}

/* Returns the row's length. */
static int32_t token_row(const struct sw_dataset *set, size_t row, size_t label, int32_t *out)
{
	const size_t t = set->tokens, n = t - word(set, ROW, row, 1) % (t / 2 + 1);
	const uint32_t ids = (uint32_t)set->vocab - 1;
	const size_t stride = label % 2 == 0 ? 1 : CYCLE - 1;
	size_t at = word(set, ROW, row, 2) % CYCLE;

	memset(out, 0, t * sizeof *out);
	for (size_t i = 0; i < n; i++, at = (at + stride) % CYCLE) {
		const struct sw_philox_words w = place_words(set, row, i);

		if (w.v[0] % 256 < set->noise)
			out[i] = (int32_t)(w.v[1] % ids) + 1;
		else
			out[i] = (int32_t)(word(set, CENTRE, label / 2, at) % ids) + 1;
	}
	return (int32_t)n;
}

/* text: int32[t + 1], scratch */
static void next_row(const struct sw_dataset *set, size_t row, int32_t *text, int32_t *token,
		     int32_t *label)
{
	const size_t t = set->tokens;
	const uint32_t ids = (uint32_t)set->vocab - 1;
	const uint64_t stride = ids > 1 ? 1 + word(set, CENTRE, 0, 0) % (ids - 1) : 0;
	uint64_t at = 0;

	for (size_t i = 0; i <= t; i++) {
		const struct sw_philox_words w = place_words(set, row, i);

		at = i == 0 || w.v[0] % 256 < set->noise ? w.v[1] % ids : (at + stride) % ids;
		text[i] = (int32_t)at + 1;
	}
	memcpy(label, text + 1, t * sizeof *label);
	if (token)
		memcpy(token, text, t * sizeof *token);
}

/* --- */

/* Sets the sizes of the set from its options. */
static sw_status shape_make(struct sw_raw *out, const struct sw_dataset *set,
			    const struct sw_data_want *want, struct sw_err *err)
{
	assert(set->classes > 0);
	if (!want->classes && !set->features)
		return sw_data_raw_wants_classes(want, "synthetic images and tokens", err);
	out->rows = set->rows;
	out->labels = set->next_token ? set->tokens : 1;
	out->classes = !want->classes ? 0 : set->next_token ? set->vocab : set->classes;
	if (set->image[0]) {
		out->kind = SW_RAW_U8;
		out->shape = sw_shape_image(set->image[0], set->image[1], set->image[2]);
	} else if (set->tokens) {
		out->kind = SW_RAW_TOKEN;
		out->shape = sw_shape_tokens(set->tokens, 0);
		out->vocab = set->vocab;
	} else {
		out->kind = SW_RAW_FLOAT;
		out->shape = sw_shape_flat(set->features);
	}
	return SW_OK;
}

/* Takes the memory that the making of rows needs. */
static sw_status scratch_make(struct scratch *s, const struct sw_dataset *set, struct sw_err *err)
{
	const size_t grids = set->classes * set->image[0] * GRID * GRID;

	if (grids > MAX_GRIDS)
		return sw_err_at(err, SW_TOO_BIG, "/classes",
				 "synthetic images of %zu classes and %zu channels: at most 2^24 "
				 "of both together are possible",
				 set->classes, set->image[0]);
	if (set->next_token)
		s->text = sw_malloc((set->tokens + 1) * sizeof *s->text);
	if (set->image[0]) {
		s->grid = sw_malloc(grids);
		s->column = sw_malloc(set->image[2] * sizeof *s->column);
	}
	if ((set->next_token && !s->text) || (set->image[0] && (!s->grid || !s->column)))
		return sw_err_set(err, SW_NOMEM, "no memory for synthetic rows");
	return SW_OK;
}

/* Makes a row and its label. Without memory for rows only the label is made. */
static void row_make(struct sw_raw *out, const struct sw_dataset *set, size_t row,
		     const struct scratch *scratch)
{
	const size_t count = sw_shape_count(&out->shape);

	if (out->value) {
		out->value[row] = values_make(set, row, out->x ? out->x + row * count : NULL);
		return;
	}
	if (set->next_token) {
		assert(out->label != NULL && scratch->text != NULL);
		next_row(set, row, scratch->text, out->token ? out->token + row * count : NULL,
			 out->label + row * count);
		return;
	}
	assert(out->label != NULL);
	out->label[row] = label_of(set, row);
	if (out->u8)
		image_make(set, scratch, row, out->u8 + row * count);
	else if (out->x)
		features_make(set, row, (size_t)out->label[row], out->x + row * count);
	else if (out->token && out->length)
		out->length[row] =
			token_row(set, row, (size_t)out->label[row], out->token + row * count);
}

sw_status sw_data_synthetic(struct sw_raw *out, const struct sw_data_source *source,
			    const struct sw_data_want *want, bool keep, struct sw_err *err)
{
	const struct sw_dataset *set = &source->set;
	struct scratch scratch = {0};
	sw_status rc = shape_make(out, set, want, err);

	if (rc == SW_OK)
		rc = sw_data_raw_alloc(out, keep, want->classes, err);
	if (rc == SW_OK && set->tokens && !set->next_token) {
		out->length = sw_malloc(out->rows * sizeof *out->length);
		if (!out->length)
			rc = sw_err_set(err, SW_NOMEM, "no memory for the rows' lengths");
	}
	if (rc == SW_OK)
		rc = scratch_make(&scratch, set, err);
	if (rc == SW_OK && keep && set->image[0])
		grids_make(set, scratch.grid);
	for (size_t row = 0; rc == SW_OK && keep && row < out->rows; row++) {
		sw_beat();
		row_make(out, set, row, &scratch);
	}
	free(scratch.grid);
	free(scratch.column);
	free(scratch.text);
	return rc;
}
