/* tests/worker/data/test_data_tokens.c — raw ids: rows with a label, the next token, padding,
 * damage. */
#include "tests/run.h"
#include "tests/worker/data/data_set.h"

#define LABELLED                                                                                   \
	"{\"format\":\"tokens\",\"path\":\"@/x.bin\",\"label_path\":\"@/y.bin\",\"length\":3,"     \
	"\"pad\":0"
#define TEXT "{\"format\":\"tokens\",\"path\":\"@/x.bin\",\"length\":3"

static unsigned char x[4 * 12], y[4 * 4];
static const uint32_t ids[] = {10, 11, 12, 20, 21, 0, 30, 0, 0, 40, 0, 42};
static const uint32_t labels[] = {0, 1, 2, 1};

static size_t write_ids(unsigned char *to, const uint32_t *from, size_t n, size_t item)
{
	for (size_t i = 0; i < n; i++)
		for (size_t b = 0; b < item; b++)
			to[i * item + b] = (unsigned char)(from[i] >> 8 * b);
	return n * item;
}

static void set_put(size_t item)
{
	put("x.bin", x, write_ids(x, ids, 12, item));
	put("y.bin", y, write_ids(y, labels, 4, item));
}

TEST(rows_have_one_label_and_end_before_their_padding)
{
	static const int32_t length[] = {3, 2, 1, 3};
	struct sw_data data;
	unsigned seen = 0;

	for (size_t item = 2; item <= 4; item += 2) {
		set_put(item);
		load_ok(&data,
			item == 2 ? LABELLED "}" : LABELLED ",\"dtype\":\"uint32\",\"vocab\":50}",
			as_classes);
		ck_assert_int_eq(data.input.kind, SW_SHAPE_TOKENS);
		ck_assert_uint_eq(data.input.t, 3);
		ck_assert_uint_eq(data.classes, 3);
		ck_assert_uint_eq(data.labels, 1);
		ck_assert_uint_eq(data.vocab, item == 2 ? 43 : 50);
		for (size_t i = 0; i < 4; i++) {
			const struct sw_data_part *part = i < 2 ? &data.train : &data.val;
			const int32_t *token = part->token + i % 2 * 3;
			const size_t row = (size_t)token[0] / 10 - 1;

			seen |= 1u << row;
			for (size_t k = 0; k < 3; k++)
				ck_assert_int_eq(token[k], (int32_t)ids[row * 3 + k]);
			ck_assert_int_eq(part->label[i % 2], (int32_t)labels[row]);
			ck_assert_int_eq(part->length[i % 2], length[row]);
		}
		ck_assert_uint_eq(seen, 15);
		sw_data_fini(&data);
	}
}

TEST(text_is_cut_into_rows_whose_labels_are_the_next_ids)
{
	struct sw_data data;

	set_put(2);
	put("v.bin", x, 14); /* seven ids: two rows, the last of the seven being a label */
	load_ok(&data, TEXT ",\"val_path\":\"@/v.bin\"}", as_classes);
	ck_assert_uint_eq(data.labels, 3);
	/* the two ids behind the last row are none of the data */
	ck_assert_uint_eq(data.classes, 41);
	ck_assert_uint_eq(data.vocab, 41);
	ck_assert_uint_eq(data.train.rows, 3);
	ck_assert_uint_eq(data.val.rows, 2);
	ck_assert_ptr_null(data.train.length);
	for (size_t i = 0; i < 9; i++) {
		ck_assert_int_eq(data.train.token[i], (int32_t)ids[i]);
		ck_assert_int_eq(data.train.label[i], (int32_t)ids[i + 1]);
	}
	for (size_t i = 0; i < 6; i++) {
		ck_assert_int_eq(data.val.token[i], (int32_t)ids[i]);
		ck_assert_int_eq(data.val.label[i], (int32_t)ids[i + 1]);
	}
	sw_data_fini(&data);
}

static const struct {
	struct damage d;
	const char *spec;
} broken[] = {
	{{"x.bin", GONE, 0, 0, "/path", "@/x.bin: No such file or directory"}, LABELLED "}"},
	{{"y.bin", GONE, 0, 0, "/label_path", "@/y.bin: No such file or directory"}, LABELLED "}"},
	{{"x.bin", CUT, 0, 0, "/path", "@/x.bin is empty"}, LABELLED "}"},
	{{"x.bin", CUT, 23, 0, "/path",
	  "@/x.bin has 23 bytes, expected a multiple of 2 (uint16): the id at byte 22 is cut "
	  "short"},
	 LABELLED "}"},
	{{"x.bin", CUT, 1, 0, "/path",
	  "@/x.bin has 1 bytes, expected a multiple of 2 (uint16): the id at byte 0 is cut short"},
	 LABELLED "}"},
	{{"x.bin", CUT, 22, 0, "/path",
	  "@/x.bin has 11 ids, expected a multiple of the length 3: the row at byte 18 has 2"},
	 LABELLED "}"},
	{{"x.bin", CUT, 4, 0, "/path", "@/x.bin has 2 ids, a row needs 3"}, LABELLED "}"},
	{{"x.bin", CUT, 18, 0, "/label_path", "@/y.bin has 4 labels, expected 3, one for each row"},
	 LABELLED "}"},
	{{"y.bin", CUT, 6, 0, "/label_path", "@/y.bin has 3 labels, expected 4, one for each row"},
	 LABELLED "}"},
	{{"x.bin", SET, 9, 1, "/path",
	  "@/x.bin: byte 8 (row 1) is the id 277, expected an integer from 0 to 42"},
	 LABELLED ",\"vocab\":43}"},
	{{"x.bin", CUT, 6, 0, "/path", "@/x.bin has 3 ids, a row needs 4"}, TEXT "}"},
	{{"x.bin", CUT, 22, 0, "/path",
	  "@/x.bin has 22 bytes, expected a multiple of 4 (uint32): the id at byte 20 is cut "
	  "short"},
	 TEXT ",\"dtype\":\"uint32\"}"},
};

TEST_ROWS(tokens_damaged_get_their_line, broken)
{
	const struct damage *d = &broken[_i].d;
	const bool of_labels = strcmp(d->file, "y.bin") == 0;

	set_put(2);
	damage_put(d, of_labels ? y : x, of_labels ? 8 : 24);
	refused(broken[_i].spec, as_classes, d->ptr, d->says);
}

TEST(ids_and_labels_out_of_range_get_their_line)
{
	static const uint32_t big[] = {0, 1, 65536, 1}, same[] = {7, 7, 7, 7};

	set_put(4);
	put("y.bin", y, write_ids(y, big, 4, 4));
	refused(LABELLED ",\"dtype\":\"uint32\"}", as_classes, "/label_path",
		"@/y.bin: byte 8 (row 2) is the label 65536, expected an integer from 0 to 65535");
	put("y.bin", y, write_ids(y, same, 4, 4));
	refused(LABELLED ",\"dtype\":\"uint32\"}", as_classes, "/label_path",
		"@/y.bin: all 4 rows have the label 7");
	x[35] = 255;
	put("x.bin", x, 48);
	refused(TEXT ",\"dtype\":\"uint32\"}", as_classes, "/path",
		"@/x.bin: byte 32 (row 2) is the id 4278190080, expected an integer from 0 to "
		"2147483646");
}

TEST(tokens_without_memory_or_disk_fail_cleanly_at_each_call)
{
	set_put(2);
	walk_faults(LABELLED "}", as_classes);
	walk_faults(TEXT ",\"val_path\":\"@/x.bin\"}", as_classes);
}

RUN_TESTS(folder_make, folder_remove)
