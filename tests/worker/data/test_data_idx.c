/* tests/worker/data/test_data_idx.c — IDX files (MNIST): folders and pairs, damaged ones with their
 * line. */
#include "tests/run.h"
#include "tests/worker/data/data_set.h"

#define ROW_N  6
#define H      3
#define W      2
#define FOLDER "{\"format\":\"idx\",\"path\":\"@\"}"
#define TESTED "{\"format\":\"idx\",\"path\":\"@\",\"validation\":\"test\"}"
#define PAIR                                                                                       \
	"{\"format\":\"idx\",\"path\":\"@/train-images-idx3-ubyte\","                              \
	"\"label_path\":\"@/train-labels-idx1-ubyte\","                                            \
	"\"val_path\":\"@/t10k-images-idx3-ubyte\",\"val_label_path\":\"@/"                        \
	"t10k-labels-idx1-ubyte\"}"

static unsigned char images[16 + ROW_N * H * W], labels[8 + ROW_N];

static void fill(size_t from)
{
	static const unsigned char head[] = {0, 0, 8, 3, 0, 0, 0, ROW_N, 0, 0, 0, H, 0, 0, 0, W};
	static const unsigned char short_head[] = {0, 0, 8, 1, 0, 0, 0, ROW_N};

	memcpy(images, head, sizeof head);
	memcpy(labels, short_head, sizeof short_head);
	for (size_t i = 0; i < ROW_N * H * W; i++)
		images[16 + i] = (unsigned char)(from + i);
	for (size_t i = 0; i < ROW_N; i++)
		labels[8 + i] = (unsigned char)(i % 3);
}

static void set_put(void)
{
	fill(100);
	put("t10k-images-idx3-ubyte", images, sizeof images);
	put("t10k-labels-idx1-ubyte", labels, sizeof labels);
	fill(0);
	put("train-images-idx3-ubyte", images, sizeof images);
	put("train-labels-idx1-ubyte", labels, sizeof labels);
}

static unsigned rows_check(const struct sw_data_part *part, unsigned from)
{
	unsigned seen = 0;

	for (size_t i = 0; i < part->rows; i++) {
		const uint8_t *x = part->u8 + i * H * W;
		const unsigned row = (x[0] - from) / (H * W);

		seen |= 1u << row;
		ck_assert_int_eq(part->label[i], (int)(row % 3));
		for (unsigned p = 0; p < H * W; p++)
			ck_assert_uint_eq(x[p], from + row * H * W + p);
	}
	return seen;
}

TEST(idx_folder_is_split_or_has_its_test_part)
{
	struct sw_data data;

	set_put();
	load_ok(&data, FOLDER, as_classes);
	ck_assert_uint_eq(data.input.c, 1);
	ck_assert_uint_eq(data.input.h, H);
	ck_assert_uint_eq(data.input.w, W);
	ck_assert_uint_eq(data.classes, 3);
	ck_assert_uint_eq(rows_check(&data.train, 0) | rows_check(&data.val, 0), 63);
	sw_data_fini(&data);
	for (int i = 0; i < 2; i++) {
		load_ok(&data, i ? TESTED : PAIR, as_classes);
		ck_assert_uint_eq(data.train.rows, ROW_N);
		ck_assert_uint_eq(rows_check(&data.train, 0), 63);
		ck_assert_uint_eq(rows_check(&data.val, 100), 63);
		sw_data_fini(&data);
	}
}

TEST(idx_of_four_dimensions_has_channels)
{
	static const unsigned char head[] = {0, 0, 8, 4, 0, 0, 0, ROW_N, 0,
					     0, 0, 2, 0, 0, 0, 1, 0,     0};
	unsigned char four[20 + 2 * ROW_N] = {0};
	struct sw_data data;

	memcpy(four, head, sizeof head);
	four[19] = 1;
	fill(0);
	put("train-images.idx3-ubyte", four, sizeof four);
	put("train-labels.idx1-ubyte", labels, sizeof labels);
	load_ok(&data, FOLDER, as_classes);
	ck_assert_uint_eq(data.input.c, 2);
	ck_assert_uint_eq(data.features, 2);
	sw_data_fini(&data);
}

#define IMG "t10k-images-idx3-ubyte"
#define LAB "t10k-labels-idx1-ubyte"

static const struct damage broken[] = {
	{IMG, GONE, 0, 0, "/path", "@/" IMG ": No such file or directory"},
	{LAB, GONE, 0, 0, "/path", "@/" LAB ": No such file or directory"},
	{IMG, CUT, 0, 0, "/path", "@/" IMG " is empty"},
	{IMG, CUT, 3, 0, "/path", "@/" IMG " ends at byte 3, the header needs it up to byte 4"},
	{IMG, CUT, 13, 0, "/path", "@/" IMG " ends at byte 13, the header needs it up to byte 16"},
	{IMG, CUT, 51, 0, "/path", "@/" IMG " has 51 bytes, its header says 52"},
	{IMG, ADD, 1, 0, "/path", "@/" IMG " has 53 bytes, its header says 52"},
	{IMG, SET, 1, 8, "/path", "@/" IMG ": byte 0 is 0x0008, an IDX file begins with 0x0000"},
	{IMG, SET, 2, 13, "/path",
	 "@/" IMG ": byte 2 is the type 0x0d, expected 0x08 (unsigned bytes)"},
	{IMG, SET, 3, 2, "/path", "@/" IMG ": byte 3 says 2 dimensions, images have 3 or 4"},
	{IMG, SET, 3, 255, "/path", "@/" IMG ": byte 3 says 255 dimensions, images have 3 or 4"},
	{IMG, SET, 4, 255, "/path",
	 "@/" IMG ": byte 4 says that dimension 0 is 4278190086, expected 1 to 2147483647"},
	{IMG, SET, 11, 0, "/path",
	 "@/" IMG ": byte 8 says that dimension 1 is 0, expected 1 to 65536"},
	{IMG, SET, 8, 1, "/path",
	 "@/" IMG ": byte 8 says that dimension 1 is 16777219, expected 1 to 65536"},
	{IMG, SET, 4, 127, "/path", "@/" IMG " has 52 bytes, its header says 12784238644"},
	{LAB, SET, 3, 3, "/path", "@/" LAB ": byte 3 says 3 dimensions, labels have 1"},
	{LAB, SET, 7, 5, "/path", "@/" LAB " has 14 bytes, its header says 13"},
	{LAB, CUT, 13, 0, "/path", "@/" LAB " has 13 bytes, its header says 14"},
};

TEST_ROWS(idx_damaged_gets_its_line, broken)
{
	const struct damage *d = &broken[_i];
	const bool of_labels = strcmp(d->file, LAB) == 0;

	set_put();
	damage_put(d, of_labels ? (void *)labels : (void *)images,
		   of_labels ? sizeof labels : sizeof images);
	refused(TESTED, as_classes, d->ptr, d->says);
}

TEST(idx_parts_that_do_not_fit_get_their_line)
{
	set_put();
	labels[7] = ROW_N - 1;
	put("t10k-labels-idx1-ubyte", labels, sizeof labels - 1);
	refused(PAIR, as_classes, "/val_label_path",
		"@/t10k-labels-idx1-ubyte has 5 labels, expected 6, one for each row");
	set_put();
	images[11] = W;
	images[15] = H;
	put("t10k-images-idx3-ubyte", images, sizeof images);
	refused(PAIR, as_classes, "/val_path",
		"@/t10k-images-idx3-ubyte has images of 1 x 2 x 3 bytes, those to train on are "
		"images of 1 x 3 x 2 bytes");
	memset(labels + 8, 4, ROW_N);
	put("train-labels-idx1-ubyte", labels, sizeof labels);
	refused(FOLDER, as_classes, "/path",
		"@/train-labels-idx1-ubyte: all 6 rows have the label 4");
	put("train-labels-idx1-ubyte", "\x1f\x8b\x08\x00", 4);
	refused(FOLDER, as_classes, "/path",
		"@/train-labels-idx1-ubyte is compressed: gunzip it first");
}

TEST(idx_without_memory_or_disk_fails_cleanly_at_each_call)
{
	set_put();
	walk_faults(PAIR, as_classes);
}

RUN_TESTS(folder_make, folder_remove)
