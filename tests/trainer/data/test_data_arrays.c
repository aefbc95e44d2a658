/* tests/trainer/data/test_data_arrays.c — data sets of arrays of numbers: .npy pairs, IDX folders
 * (MNIST) and raw ids of tokens. Whole ones with the rows that they become, and each damage with
 * its line. CIFAR's: test_data_cifar.c; headers of .npy: test_data_npy.c. */
#include "tests/trainer/data/data_set.h"

#define NPY_SPEC(more)                                                                             \
	"{\"format\":\"npy\",\"path\":\"@/x.npy\",\"label_path\":\"@/y.npy\"" more "}"
#define NPY        NPY_SPEC("")
#define NPY_TESTED NPY_SPEC(",\"val_path\":\"@/vx.npy\",\"val_label_path\":\"@/vy.npy\"")
#define X          "x.npy: <f4(4, 2)1 0 1 10 11 20 21 30 31\n"
#define Y          "y.npy: <i8(4,)1 0 2 0 1\n"
#define VX         "vx.npy: <f4(4, 2)1 5 5 6 6 7 7 8 8\n"
#define VY         "vy.npy: <i8(4,)1 0 2 0 1\n"
#define ROWS4      ": 0 1=0, 10 11=2, 20 21=0, 30 31=1"

#define IMG        "t10k-images-idx3-ubyte"
#define LAB        "t10k-labels-idx1-ubyte"
#define IDX        "{\"format\":\"idx\",\"path\":\"@\"}"
#define IDX_TESTED "{\"format\":\"idx\",\"path\":\"@\",\"validation\":\"test\"}"
#define IDX_PAIR                                                                                   \
	"{\"format\":\"idx\",\"path\":\"@/train-images-idx3-ubyte\","                              \
	"\"label_path\":\"@/train-labels-idx1-ubyte\",\"val_path\":\"@/" IMG "\","                 \
	"\"val_label_path\":\"@/" LAB "\"}"
#define LABELS6 ": |u1 0 0 8 1 0 0 0 6 0 1 2 0 1 2\n"
#define TRAIN                                                                                      \
	"train-images-idx3-ubyte: |u1 0 0 8 3 0 0 0 6 0 0 0 3 0 0 0 2 0-35\n"                      \
	"train-labels-idx1-ubyte" LABELS6
#define TEST10K IMG ": |u1 0 0 8 3 0 0 0 6 0 0 0 3 0 0 0 2 100-135\n" LAB LABELS6
#define IDX_TRAIN                                                                                  \
	"0 1 2 3 4 5=0, 12 13 14 15 16 17=2, 18 19 20 21 22 23=0, "                                \
	"24 25 26 27 28 29=1, 30 31 32 33 34 35=2, 6 7 8 9 10 11=1"
#define IDX_TEST                                                                                   \
	"100 101 102 103 104 105=0, 106 107 108 109 110 111=1, 112 113 114 115 116 117=2, "        \
	"118 119 120 121 122 123=0, 124 125 126 127 128 129=1, 130 131 132 133 134 135=2"

#define LABELLED(more)                                                                             \
	"{\"format\":\"tokens\",\"path\":\"@/x.bin\",\"label_path\":\"@/y.bin\",\"length\":3,"     \
	"\"pad\":0" more "}"
#define TEXT(more) "{\"format\":\"tokens\",\"path\":\"@/x.bin\",\"length\":3" more "}"
#define U4         ",\"dtype\":\"uint32\""
#define IDS        " 10 11 12 20 21 0 30 0 0 40 0 42\n"
#define TOKENS     "x.bin: <u2" IDS "y.bin: <u2 0 1 2 1\n"
#define TOKENS4    "x.bin: <u4" IDS "y.bin: <u4 0 1 2 1\n"
#define TOKEN_ROWS ": 10 11 12=0#3, 20 21 0=1#2, 30 0 0=2#1, 40 0 42=1#3"

static const struct {
	const char *files, *spec, *text;
	bool values; /* to predict; else classes */
} whole[] = {
	/* every dtype and version */
	{X Y, NPY, "flat, 3 classes, 2+2" ROWS4, false},
	{"x.npy: <f8(4, 2)2 0 1 10 11 20 21 30 31\ny.npy: |u1(4, 1)2 0 2 0 1", NPY,
	 "flat, 3 classes, 2+2" ROWS4, false},
	{"x.npy: |u1(4, 2)3 0 1 10 11 20 21 30 31\ny.npy: <i4(4, 1)3 0 2 0 1", NPY,
	 "flat, 3 classes, 2+2" ROWS4, false},
	{"x.npy: <i4(4, 2)1 0 1 10 11 20 21 30 31\n" Y, NPY, "flat, 3 classes, 2+2" ROWS4, false},
	{"x.npy: <i8(4, 2)2 0 1 10 11 20 21 30 31\n" Y, NPY, "flat, 3 classes, 2+2" ROWS4, false},
	{X Y VX VY, NPY_TESTED, "flat, 3 classes, 4+4" ROWS4 " | 5 5=0, 6 6=2, 7 7=0, 8 8=1",
	 false},
	{X "y.npy: <f8(4,)1 0.5 -1 2.25 1e6", NPY,
	 "flat, 0 classes, 2+2: 0 1=0.5, 10 11=-1, 20 21=2.25, 30 31=1000000", true},
	/* images have their channels first, and bytes stay bytes */
	{"x.npy: |u1(2, 3, 1, 2)1 0-11\ny.npy: |u1(2,)1 0 1", NPY,
	 "image 3x1x2 of bytes, 2 classes, 1+1: 0 1 2 3 4 5=0, 6 7 8 9 10 11=1", false},
	{"x.npy: <f4(2, 3, 2)1 0-11\ny.npy: |u1(2,)1 0 1", NPY,
	 "image 1x3x2 of floats, 2 classes, 1+1: 0 1 2 3 4 5=0, 6 7 8 9 10 11=1", false},
	{"x.npy: |u1(2, 6)1 0-11\ny.npy: |u1(2,)1 0 1", NPY_SPEC(",\"image\":[2,1,3]"),
	 "image 2x1x3 of bytes, 2 classes, 1+1: 0 1 2 3 4 5=0, 6 7 8 9 10 11=1", false},
	{"x.npy: <f4(2, 3, 2)1 0-11\ny.npy: |u1(2,)1 0 1", NPY_SPEC(",\"image\":[6,1,1]"),
	 "image 6x1x1 of floats, 2 classes, 1+1: 0 1 2 3 4 5=0, 6 7 8 9 10 11=1", false},
	{TRAIN, IDX, "image 1x3x2 of bytes, 3 classes, 3+3: " IDX_TRAIN, false},
	{TRAIN TEST10K, IDX_TESTED,
	 "image 1x3x2 of bytes, 3 classes, 6+6: " IDX_TRAIN " | " IDX_TEST, false},
	{TRAIN TEST10K, IDX_PAIR, "image 1x3x2 of bytes, 3 classes, 6+6: " IDX_TRAIN " | " IDX_TEST,
	 false},
	{"train-images.idx3-ubyte: |u1 0 0 8 4 0 0 0 6 0 0 0 2 0 0 0 1 0 0 0 1 11-22\n"
	 "train-labels.idx1-ubyte" LABELS6,
	 IDX,
	 "image 2x1x1 of bytes, 3 classes, 3+3: 11 12=0, 13 14=1, 15 16=2, 17 18=0, 19 20=1, 21 "
	 "22=2",
	 false},
	/* rows end before their padding; text has the next id for a label */
	{TOKENS, LABELLED(""), "tokens, 3 classes, vocab 43, 2+2" TOKEN_ROWS, false},
	{TOKENS4, LABELLED(U4 ",\"vocab\":50"), "tokens, 3 classes, vocab 50, 2+2" TOKEN_ROWS,
	 false},
	/* the two ids behind the last row are none of the data */
	{TOKENS "v.bin: <u2 10 11 12 20 21 0 30", TEXT(",\"val_path\":\"@/v.bin\""),
	 "tokens, 41 classes, vocab 41, 3+2: 10 11 12=11 12 20, 20 21 0=21 0 30, 30 0 0=0 0 40"
	 " | 10 11 12=11 12 20, 20 21 0=21 0 30",
	 false},
};

TEST_ROWS(arrays_become_their_rows, whole)
{
	const bool apart = strstr(whole[_i].text, " | ") != NULL;
	struct sw_data_want want = as_classes;
	struct sw_data data;

	want.classes = !whole[_i].values;
	files_put(whole[_i].files);
	load_ok(&data, whole[_i].spec, want);
	ck_assert_str_eq(data_text(&data, apart), whole[_i].text);
	if (data.input.kind == SW_SHAPE_IMAGE)
		ck_assert_float_eq(data.scale[0], data.train.u8 ? (float)(1.0 / 255) : 1);
	sw_data_fini(&data);
}

#define NUMPYS   "@/x.npy: the header is not NumPy's: "
#define NO_LABEL ", expected an integer from 0 to 65535"

/* Damaged files, and such as do not fit one another. */
static const struct {
	const char *files, *spec, *ptr, *says;
} broken[] = {
	{X Y "gone x.npy", NPY, "/path", "@/x.npy: No such file or directory"},
	{X Y "cut x.npy 0", NPY, "/path", "@/x.npy is empty"},
	{X Y "cut x.npy 7", NPY, "/path",
	 "@/x.npy ends at byte 7, the header needs it up to byte 8"},
	{X Y "cut x.npy 9", NPY, "/path",
	 "@/x.npy ends at byte 9, the header needs it up to byte 10"},
	{X Y "cut x.npy 100", NPY, "/path",
	 "@/x.npy ends at byte 100, the header needs it up to byte 128"},
	{X Y "cut x.npy 128", NPY, "/path", "@/x.npy has 128 bytes, its header says 160"},
	{X Y "cut x.npy 159", NPY, "/path", "@/x.npy has 159 bytes, its header says 160"},
	{X Y "add x.npy 4", NPY, "/path", "@/x.npy has 164 bytes, its header says 160"},
	{X Y "set x.npy 0 80", NPY, "/path",
	 "@/x.npy is not a .npy file: it does not begin with \\x93NUMPY"},
	{X Y "set x.npy 6 4", NPY, "/path",
	 "@/x.npy: byte 6 is version 4.0, expected 1.0, 2.0 or 3.0"},
	{X Y "set x.npy 7 1", NPY, "/path",
	 "@/x.npy: byte 6 is version 1.1, expected 1.0, 2.0 or 3.0"},
	{X Y "set x.npy 9 255", NPY, "/path",
	 "@/x.npy ends at byte 160, the header needs it up to byte 65408"},
	{X Y "set x.npy 10 91", NPY, "/path",
	 NUMPYS "it is no dictionary of descr, fortran_order and shape"},
	{X Y "set x.npy 20 62", NPY, "/path",
	 NUMPYS "it is no dictionary of descr, fortran_order and shape"},
	{X Y "set x.npy 11 62", NPY, "/path",
	 NUMPYS "it is no dictionary of descr, fortran_order and shape"},
	{TRAIN TEST10K "gone " IMG, IDX_TESTED, "/path", "@/" IMG ": No such file or directory"},
	{TRAIN TEST10K "gone " LAB, IDX_TESTED, "/path", "@/" LAB ": No such file or directory"},
	{TRAIN TEST10K "cut " IMG " 0", IDX_TESTED, "/path", "@/" IMG " is empty"},
	{TRAIN TEST10K "cut " IMG " 3", IDX_TESTED, "/path",
	 "@/" IMG " ends at byte 3, the header needs it up to byte 4"},
	{TRAIN TEST10K "cut " IMG " 13", IDX_TESTED, "/path",
	 "@/" IMG " ends at byte 13, the header needs it up to byte 16"},
	{TRAIN TEST10K "cut " IMG " 51", IDX_TESTED, "/path",
	 "@/" IMG " has 51 bytes, its header says 52"},
	{TRAIN TEST10K "add " IMG " 1", IDX_TESTED, "/path",
	 "@/" IMG " has 53 bytes, its header says 52"},
	{TRAIN TEST10K "set " IMG " 6 1", IDX_TESTED, "/path",
	 "@/" IMG " has 52 bytes, its header says 1588"},
	{TRAIN TEST10K "set " IMG " 1 8", IDX_TESTED, "/path",
	 "@/" IMG ": byte 0 is 0x0008, an IDX file begins with 0x0000"},
	{TRAIN TEST10K "set " IMG " 2 13", IDX_TESTED, "/path",
	 "@/" IMG ": byte 2 is the type 0x0d, expected 0x08 (unsigned bytes)"},
	{TRAIN TEST10K "set " IMG " 3 2", IDX_TESTED, "/path",
	 "@/" IMG ": byte 3 says 2 dimensions, images have 3 or 4"},
	{TRAIN TEST10K "set " IMG " 3 255", IDX_TESTED, "/path",
	 "@/" IMG ": byte 3 says 255 dimensions, images have 3 or 4"},
	{TRAIN TEST10K "set " IMG " 4 255", IDX_TESTED, "/path",
	 "@/" IMG ": byte 4 says that dimension 0 is 4278190086, expected 1 to 2147483647"},
	{TRAIN TEST10K "set " IMG " 11 0", IDX_TESTED, "/path",
	 "@/" IMG ": byte 8 says that dimension 1 is 0, expected 1 to 65536"},
	{TRAIN TEST10K "set " IMG " 8 1", IDX_TESTED, "/path",
	 "@/" IMG ": byte 8 says that dimension 1 is 16777219, expected 1 to 65536"},
	{TRAIN TEST10K "set " IMG " 4 127", IDX_TESTED, "/path",
	 "@/" IMG " has 52 bytes, its header says 12784238644"},
	{TRAIN TEST10K "set " LAB " 3 3", IDX_TESTED, "/path",
	 "@/" LAB ": byte 3 says 3 dimensions, labels have 1"},
	{TRAIN TEST10K "set " LAB " 7 5", IDX_TESTED, "/path",
	 "@/" LAB " has 14 bytes, its header says 13"},
	{TRAIN TEST10K "cut " LAB " 13", IDX_TESTED, "/path",
	 "@/" LAB " has 13 bytes, its header says 14"},
	{TOKENS "gone x.bin", LABELLED(""), "/path", "@/x.bin: No such file or directory"},
	{TOKENS "gone y.bin", LABELLED(""), "/label_path", "@/y.bin: No such file or directory"},
	{TOKENS "cut x.bin 0", LABELLED(""), "/path", "@/x.bin is empty"},
	{TOKENS "cut x.bin 23", LABELLED(""), "/path",
	 "@/x.bin has 23 bytes, expected a multiple of 2 (uint16): the id at byte 22 is cut short"},
	{TOKENS "cut x.bin 1", LABELLED(""), "/path",
	 "@/x.bin has 1 bytes, expected a multiple of 2 (uint16): the id at byte 0 is cut short"},
	{TOKENS "cut x.bin 22", LABELLED(""), "/path",
	 "@/x.bin has 11 ids, expected a multiple of the length 3: the row at byte 18 has 2"},
	{TOKENS "cut x.bin 4", LABELLED(""), "/path", "@/x.bin has 2 ids, a row needs 3"},
	{TOKENS "cut x.bin 18", LABELLED(""), "/label_path",
	 "@/y.bin has 4 labels, expected 3, one for each row"},
	{TOKENS "cut y.bin 6", LABELLED(""), "/label_path",
	 "@/y.bin has 3 labels, expected 4, one for each row"},
	{TOKENS "set x.bin 9 1", LABELLED(",\"vocab\":43"), "/path",
	 "@/x.bin: byte 8 (row 1) is the id 277, expected an integer from 0 to 42"},
	{TOKENS "cut x.bin 6", TEXT(""), "/path", "@/x.bin has 3 ids, a row needs 4"},
	{TOKENS "cut x.bin 22", TEXT(",\"dtype\":\"uint32\""), "/path",
	 "@/x.bin has 22 bytes, expected a multiple of 4 (uint32): the id at byte 20 is cut short"},
	/* infinity, and no number */
	{X Y "set x.npy 134 128\nset x.npy 135 127", NPY, "/path",
	 "@/x.npy: byte 132 (row 0, column 1) is inf: not a finite float"},
	{X Y "set x.npy 146 192\nset x.npy 147 127", NPY, "/path",
	 "@/x.npy: byte 144 (row 2, column 0) is nan: not a finite float"},
	{X "y.npy: <f8(4,)1 0.5 -1 2.25 1e6", NPY, "/label_path",
	 "@/y.npy: byte 128 (row 0) is the label 0.5" NO_LABEL},
	{"x.npy: |u1(4, 3, 2)1 0-23\n" Y, NPY_SPEC(",\"image\":[1,2,2]"), "/image",
	 "@/x.npy has rows of 6 numbers, an image of 1 x 2 x 2 needs 4"},
	{X "y.npy: <i8(3,)1 0 2 0", NPY, "/label_path",
	 "@/y.npy has 3 labels, expected 4, one for each row"},
	{X "y.npy: <i8(2, 2)1 0 2 0 1", NPY, "/label_path",
	 "@/y.npy has 2 numbers a row, a label is one"},
	{X "y.npy: <i8(4,)1 0 -1 1 0", NPY, "/label_path",
	 "@/y.npy: byte 136 (row 1) is the label -1" NO_LABEL},
	{X "y.npy: <i8(4,)1 0 65536 1 0", NPY, "/label_path",
	 "@/y.npy: byte 136 (row 1) is the label 65536" NO_LABEL},
	{X "y.npy: <i8(4,)1 3 3 3 3", NPY, "/label_path", "@/y.npy: all 4 rows have the label 3"},
	{X Y VY "vx.npy: <f4(4, 1, 2)1 0-7", NPY_TESTED, "/val_path",
	 "@/vx.npy has images of 1 x 1 x 2 floats, those to train on are rows of 2 numbers"},
	{Y "x.npy: <f4(2147483647, 2147483647, 2147483647)1 0-7", NPY, "/path",
	 "@/x.npy: the header says over 1 TiB of data"},
	{TRAIN TEST10K LAB ": |u1 0 0 8 1 0 0 0 5 0 1 2 0 1", IDX_PAIR, "/val_label_path",
	 "@/" LAB " has 5 labels, expected 6, one for each row"},
	{TRAIN TEST10K IMG ": |u1 0 0 8 3 0 0 0 6 0 0 0 2 0 0 0 3 100-135", IDX_PAIR, "/val_path",
	 "@/" IMG
	 " has images of 1 x 2 x 3 bytes, those to train on are images of 1 x 3 x 2 bytes"},
	{TRAIN "train-labels-idx1-ubyte: |u1 0 0 8 1 0 0 0 6 4 4 4 4 4 4", IDX, "/path",
	 "@/train-labels-idx1-ubyte: all 6 rows have the label 4"},
	{TRAIN "train-labels-idx1-ubyte: |u1 31 139 8 0", IDX, "/path",
	 "@/train-labels-idx1-ubyte is compressed: gunzip it first"},
	{TOKENS4 "y.bin: <u4 0 1 65536 1", LABELLED(U4), "/label_path",
	 "@/y.bin: byte 8 (row 2) is the label 65536" NO_LABEL},
	{TOKENS4 "y.bin: <u4 7 7 7 7", LABELLED(U4), "/label_path",
	 "@/y.bin: all 4 rows have the label 7"},
	{TOKENS4 "set x.bin 35 255", TEXT(U4), "/path",
	 "@/x.bin: byte 32 (row 2) is the id 4278190080, expected an integer from 0 to 2147483646"},
};

TEST_ROWS(arrays_that_are_broken_get_their_line, broken)
{
	files_put(broken[_i].files);
	refused(broken[_i].spec, as_classes, broken[_i].ptr, broken[_i].says);
}

static const struct {
	const char *files, *spec;
} walked[] = {
	{X Y VX VY, NPY_TESTED},
	{TRAIN TEST10K, IDX_PAIR},
	{TOKENS, LABELLED("")},
	{TOKENS, TEXT(",\"val_path\":\"@/x.bin\"")},
};

TEST_ROWS(arrays_without_memory_or_disk_fail_cleanly_at_each_call, walked)
{
	files_put(walked[_i].files);
	walk_faults(walked[_i].spec, as_classes);
}

RUN_TESTS(folder_make, folder_remove)
