/* tests/trainer/spec/test_keys.c — each key of trainer/schema.json refuses what it says that it
 * refuses; one of each form stands word for word in test_refused.c. */
#include "tests/proto/form_check.h"
#include "trainer/spec/dataset.h"
#include "trainer/spec/options.h"

TEST(trainer_key_refuses_other_kinds_and_values_beyond_its_ends)
{
	check_form(&sw_form_trainer);
	ck_assert_uint_gt(keys_n, 70);
}

/* Lists that C has by other means. */
TEST(trainer_words_of_the_schema_are_those_of_the_tables)
{
	ck_assert_str_eq(sw_dataset_formats[SW_DATASET_TOKENS], "tokens");
	ck_assert_str_eq(sw_dataset_formats[SW_DATASET_SYNTHETIC], "synthetic");
	ck_assert_uint_le(sw_trainer_options.n, SW_TRAINER_OPTION_MAX);
}

TEST(trainer_option_is_found_by_its_name)
{
	for (size_t i = 0; i < sw_trainer_options.n; i++)
		ck_assert_ptr_eq(sw_trainer_option_find(sw_trainer_options.keys[i].name),
				 &sw_trainer_options.keys[i]);
	ck_assert_ptr_null(sw_trainer_option_find("none"));
}

RUN_TESTS(NULL, NULL)
