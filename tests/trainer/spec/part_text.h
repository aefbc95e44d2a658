/* tests/trainer/spec/part_text.h — whole specs, read as a worker's check reads them. */
#ifndef SW_TESTS_TRAINER_SPEC_PART_TEXT_H
#define SW_TESTS_TRAINER_SPEC_PART_TEXT_H

#include "tests/spec/spec_text.h"
#include "trainer/spec/spec.h"

/* The spec with its trainer's part, which is good; warnings of that part alone. */
static inline struct sw_spec *read_part(const char *text)
{
	struct sw_spec *s = read_spec(text);
	struct sw_err first = SW_ERR_INIT;
	struct sw_faults f = {&first, 1, 0};

	sw_trainer_spec_check(s, &f);
	ck_assert_msg(f.n == 0, "%s: %s", first.ptr, first.msg);
	s->n_warnings = 0;
	sw_trainer_spec_warn(s);
	return s;
}

/* Only the trainer's part is wrong: the first line, and its place. */
static inline void check_part_refused(const char *text, const char *ptr, const char *msg)
{
	struct sw_spec *s = read_spec(text);
	struct sw_err first = SW_ERR_INIT;
	struct sw_faults f = {&first, 1, 0};

	sw_trainer_spec_check(s, &f);
	ck_assert_uint_gt(f.n, 0);
	ck_assert_str_eq(first.msg, msg);
	ck_assert_str_eq(first.ptr, ptr);
	ck_assert_int_eq(first.code, SW_INVALID);
}

/* As check_warned() of the trainer's part. */
static inline void check_part_warned(const char *text, const char *const *want, size_t n)
{
	check_warnings(read_part(text), want, n);
}

#endif
