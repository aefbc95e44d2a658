/* tests/plot/built.h — a plot that was built, and what a test asks of it. */
#ifndef SW_TESTS_PLOT_BUILT_H
#define SW_TESTS_PLOT_BUILT_H

#include "plot/kinds.h"
#include "plot/write.h"
#include "tests/run.h"
#include "tests/walk.h"
#include <math.h>

static struct sw_plot built;

static inline void check_axis(const struct sw_plot_axis *a)
{
	ck_assert_double_lt(a->min, a->max);
	ck_assert(isfinite(a->max - a->min));
	ck_assert(a->scale != SW_PLOT_LOG || a->min > 0);
}

/* What holds of each: its marks are few enough, its axes have ranges, it says what is missing. */
static inline void build(const char *kind, const struct sw_plot_data *d, size_t n,
			 const size_t *named, size_t n_named)
{
	sw_plot_fini(&built);
	sw_plot_init(&built, kind, "");
	sw_plot_kind_find(kind)->build(&built, d, n, named, n_named);
	ck_assert_int_eq(built.failed, SW_OK);
	ck_assert_uint_ge(built.n_marks + built.n_notes, 1);
	for (size_t i = 0; i < built.n_panels; i++) {
		check_axis(&built.panels[i].x);
		check_axis(&built.panels[i].y);
	}
}

/* NULL: the panel has none of this name. */
static inline const struct sw_plot_series *series_of(size_t panel, const char *name)
{
	for (size_t i = 0; i < built.panels[panel].n; i++)
		if (strcmp(built.series[built.panels[panel].series + i].name, name) == 0)
			return &built.series[built.panels[panel].series + i];
	return NULL;
}

static inline const struct sw_plot_mark *mark_of(const struct sw_plot_series *s, size_t i)
{
	ck_assert_ptr_nonnull(s);
	ck_assert_uint_lt(i, s->n);
	return &built.marks[s->mark + i];
}

static inline void ck_assert_note(const char *text)
{
	for (size_t i = 0; i < built.n_notes; i++)
		if (strstr(built.notes[i], text) != NULL)
			return;
	ck_abort_msg("no note has \"%s\"; the first is \"%s\"", text,
		     built.n_notes > 0 ? built.notes[0] : "");
}

/* Each allocation of a writer fails once. */
static inline void ck_assert_says_no_memory(void (*write)(const struct sw_plot *p,
							  struct sw_buf *out))
{
	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_buf b;
		sw_buf_init(&b, (size_t)4 << 20);
		walk_arm();
		write(&built, &b);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(b.failed, fired ? SW_NOMEM : SW_OK);
		sw_buf_fini(&b);
	}
}

#endif
