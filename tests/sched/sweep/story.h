/* tests/sched/sweep/story.h — a sweep as a story: an event a line, and what it causes. */
#ifndef SW_TESTS_SCHED_SWEEP_STORY_H
#define SW_TESTS_SCHED_SWEEP_STORY_H

#include "tests/sched/sweep/script.h"

enum space_kind { FREE, GRID3 };

static inline struct sw_space *story_space(enum space_kind kind)
{
	const struct sw_param line = {.dist = SW_DIST_UNIFORM, .min = 0, .max = 1};
	const struct sw_param three = {.dist = SW_DIST_CATEGORICAL, .n_choices = 3};
	struct sw_space *s;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	ck_assert_int_eq(sw_space_add(s, kind == FREE ? &line : &three, NULL), SW_OK);
	return s;
}

struct story {
	const char *name;
	struct sw_sweep_config c;
	enum space_kind space;
	const char *line[64]; /* event, outcome, event, outcome, ... */
};

static inline void run_story(const struct story *story)
{
	struct sw_sweep *s;
	struct sw_actions actions = {0};

	ck_assert_int_eq(sw_sweep_create(&s, &story->c, story_space(story->space), NULL), SW_OK);
	sweep_invariant(s);
	for (size_t i = 0; i < ROWS(story->line) && story->line[i] != NULL; i += 2) {
		ck_assert_ptr_nonnull(story->line[i + 1]);
		const char *got = play(s, &actions, story->line[i]);
		ck_assert_msg(strcmp(got, story->line[i + 1]) == 0,
			      "%s, line %zu: %s\n got: %s\nwant: %s", story->name, i / 2,
			      story->line[i], got, story->line[i + 1]);
	}
	sw_actions_fini(&actions);
	sw_sweep_destroy(s);
}

#endif
