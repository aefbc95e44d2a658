/* trainer/data/shape.h — the shape of one row, in a data set or between two layers. */
#ifndef SW_TRAINER_DATA_SHAPE_H
#define SW_TRAINER_DATA_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

enum sw_shape_kind {
	SW_SHAPE_FLAT,  /* float[c] */
	SW_SHAPE_IMAGE, /* float[c][h][w] */
	SW_SHAPE_TOKENS /* float[t][d]; of a data set int32[t], and d is 0 */
};

struct sw_shape {
	enum sw_shape_kind kind;
	size_t c, h, w; /* FLAT: h and w are 1 */
	size_t t, d;    /* TOKENS */
};

static inline struct sw_shape sw_shape_flat(size_t n)
{
	return (struct sw_shape){.kind = SW_SHAPE_FLAT, .c = n, .h = 1, .w = 1};
}

static inline struct sw_shape sw_shape_image(size_t channels, size_t height, size_t width)
{
	return (struct sw_shape){.kind = SW_SHAPE_IMAGE, .c = channels, .h = height, .w = width};
}

static inline struct sw_shape sw_shape_tokens(size_t tokens, size_t width)
{
	return (struct sw_shape){.kind = SW_SHAPE_TOKENS, .t = tokens, .d = width};
}

static inline bool sw_shape_same(const struct sw_shape *a, const struct sw_shape *b)
{
	return a->kind == b->kind && a->c == b->c && a->h == b->h && a->w == b->w && a->t == b->t &&
	       a->d == b->d;
}

/* Elements of four bytes in a row. */
static inline size_t sw_shape_count(const struct sw_shape *shape)
{
	if (shape->kind == SW_SHAPE_TOKENS)
		return shape->t * (shape->d ? shape->d : 1);
	return shape->c * shape->h * shape->w;
}

#endif
