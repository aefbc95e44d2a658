/* tests/trainer/test_check.c — what `sweep-worker check` says of whole specs. */
#include "kernels/ops.h"
#include "tests/spec/spec_text.h"
#include "tests/walk.h"
#include "trainer/check.h"

#define SPEC(params, trainer)                                                                      \
	"{'name':'t','method':'random','metric':{'name':'val_loss'},"                              \
	"'parameters':{'lr':{'min':0.1,'max':0.2}" params "},'run_cap':4,'trainer':{" trainer "}}"
#define BOUND(constraint, params, trainer)                                                         \
	"{'constraints':['" constraint "'],'method':'random','metric':{'name':'val_loss'},"        \
	"'parameters':{'lr':{'min':0.1,'max':0.2}" params "},'run_cap':4,'trainer':{" trainer "}}"
#define STAGED(n, params, trainer)                                                                 \
	"{'method':'random','metric':{'name':'val_loss'},'parameters':{'lr':{'value':0.1}" params  \
	"},'run_cap':4,'resources':{'cpu_slots':" #n "},'parallel':{'pipeline':" #n                \
	"},'trainer':{" trainer "}}"
#define WINE "'dataset':{'name':'wine'}"

static const struct {
	const char *spec, *says;
} specs[] = {
	{SPEC(",'l1':{'values':[4,16,8]}", WINE ",'model':[{'linear':'l1'},'relu',{'linear':3}]"),
	 "{'ok':true,'parameters':275,'bytes':"},
	{SPEC("", "'dataset':{'name':'diabetes'},'loss':'mse','model':[{'linear':1}]"),
	 "{'ok':true,'parameters':11,'bytes':"},
	{SPEC("", WINE ",'model':[{'linear':4}]"),
	 "{'ok':false,'faults':[{'pointer':'/trainer/model/0/linear','message':'the last layer is "
	 "4 wide, but the data has 3 classes'}]}"},
	/* right for the largest value alone */
	{SPEC(",'l1':{'values':[2,3]}", WINE ",'model':[{'linear':'l1'}]"),
	 "{'ok':false,'faults':[{'pointer':'/trainer/model/0/linear','message':'the last layer is "
	 "2 wide, but the data has 3 classes'}]}"},
	{SPEC("", "'dataset':{'format':'csv',"
		  "'path':'/nowhere/x.csv','label':'y'},'model':[{'linear':4}]"),
	 "{'ok':false,'faults':[{'pointer':'/trainer/dataset/path','message':'/nowhere/x.csv: No "
	 "such file or directory'}]}"},
	{SPEC("", "'dataset':{'format':'csv',"
		  "'path':'data/wine.csv','label':'clas'},'model':[{'linear':3}]"),
	 "{'ok':false,'faults':[{'pointer':'/trainer/dataset/label','message':'data/wine.csv has "
	 "no column \\'clas\\': did you mean \\'class\\'?'}]}"},
	{SPEC("", "'dataset':{'format':'synthetic','image':[3,32,32],'rows':500},"
		  "'model':{'preset':'lenet-cifar'}"),
	 "{'ok':true,'parameters':62006,'bytes':"},
	{SPEC("", "'dataset':{'name':'digits','image':[1,8,8]},'model':[{'conv2d':{'out':4,"
		  "'kernel':3,'stride':1,'padding':1}},'flatten',{'linear':10}]"),
	 "{'ok':true,'parameters':2610,"},
	{SPEC("", "'dataset':{'name':'digits','image':[1,8,8]},'model':{'preset':'mlp',"
		  "'outputs':10,'depth':1,'width':32}"),
	 "{'ok':true,'parameters':2410,"},
	{SPEC("", "'dataset':{'name':'digits','image':[3,8,8]},'model':[{'linear':10}]"),
	 "{'ok':false,'faults':[{'pointer':'/trainer/dataset/image','message':'"},
	{SPEC("",
	      "'dataset':{'format':'cifar10','path':'/nowhere'},'model':{'preset':'lenet-cifar'}"),
	 "{'ok':false,'faults':[{'pointer':'/trainer/dataset/path',"
	 "'message':'/nowhere/data_batch_1.bin: No such file or directory'}]}"},
	{SPEC("", "'dataset':{'format':'synthetic','tokens':8,'vocab':20},"
		  "'model':[{'embedding':{'vocab':19,'dim':4}},'mean_tokens',{'linear':10}]"),
	 "{'ok':false,'faults':[{'pointer':'/trainer/model/0"},
	{"{", "{'ok':false,'faults':[{'pointer':'','message':"},
	{"[]", "{'ok':false,'faults':[{'pointer':'','message':"},
};

static struct sw_buf out; /* the last answer */

static void setup(void)
{
	sw_buf_init(&out, 65536);
}

static void teardown(void)
{
	sw_buf_fini(&out);
}

static const char *answer(const char *spec, bool form, const struct sw_ops *gpu)
{
	const char *text = quoted(spec);

	sw_buf_clear(&out);
	sw_check_spec(text, strlen(text), form, gpu, &out);
	ck_assert_int_eq(out.failed, SW_OK);
	return out.data;
}

static void begins_with(const char *got, const char *says)
{
	ck_assert_msg(strncmp(got, quoted(says), strlen(says)) == 0, "%s\nis not\n%s", got, says);
}

static void has(const char *got, const char *says)
{
	ck_assert_msg(strstr(got, quoted(says)) != NULL, "%s\nhas not\n%s", got, says);
}

TEST_ROWS(check_answers_one_object, specs)
{
	begins_with(answer(specs[_i].spec, false, NULL), specs[_i].says);
	ck_assert_int_eq(out.data[out.len - 1], '}');
}

#define EDIT(spec, ranges) "{'spec':" spec ",'ranges':{" ranges "}}"
#define FAULT(ptr, msg)    "{'pointer':'" ptr "','message':'" msg "'}"
#define FAULTS(list)       "{'ok':false,'faults':[" list "]}"
#define L1_FEEDS                                                                                   \
	"\\'l1\\' feeds \\'linear\\', which must be an integer, at least 1 and at most 1000000"
#define UNKNOWN  "unknown layer \\'relux\\'; did you mean \\'relu\\'?"
#define MISSPELT WINE ",'model':[{'linear':'l1'},'relux',{'linear':3}],'epochs':0"
#define EPOCHS   "\\'epochs\\' must be an integer, at least 1 and at most 1000000000"
#define L1       ",'l1':{'min':4,'max':16}"
#define NET      WINE ",'model':[{'linear':'l1'},'relu',{'linear':3}]"
#define GROUP    ",'g':{'parameters':{'l1':{'min':4,'max':16}}}"
#define NOWHERE                                                                                    \
	"'dataset':{'format':'csv','path':'/nowhere/x.csv','label':'y'},'model':[{'linear':4}]"
#define NO_FILE FAULT("/trainer/dataset/path", "/nowhere/x.csv: No such file or directory")

/* All faults of a spec, and of a form. */
static const struct {
	bool form;
	const char *text, *says;
} answers[] = {
	{false, SPEC(L1, MISSPELT),
	 FAULTS(FAULT("/trainer/epochs", EPOCHS) "," FAULT("/trainer/model/1", UNKNOWN))},
	{false, SPEC("", NOWHERE ",'epochs':0"),
	 FAULTS(FAULT("/trainer/epochs", EPOCHS) "," NO_FILE)},
	{false, SPEC(",'zz':{'min':'a','max':1}", NOWHERE),
	 FAULTS(FAULT("/parameters/zz/min",
		      "\\'min\\' must be a number, not a string") "," NO_FILE)},
	/* a key that is misspelt is read as the one that was meant */
	{false,
	 "{'metric':{'name':'val_loss'},'parameters':{'lr':{'value':1}},'trainr':{" WINE
	 ",'model':[]}}",
	 FAULTS(FAULT("/trainr", "unknown key \\'trainr\\'; did you mean \\'trainer\\'?") "," FAULT(
		 "/trainer/model", "model is empty"))},
	{false, "{'metric':{'name':'m'},'parameters':{'x':{'value':1}}}",
	 FAULTS(FAULT("/trainer", "there is no trainer to check"))},
	{true, EDIT(SPEC(L1, NET), "'l1':{'min':2,'max':2000000}"),
	 FAULTS(FAULT("/ranges/l1", L1_FEEDS))},
	{true, EDIT(SPEC(L1, NET), "'l1':{'min':0,'max':16}"),
	 FAULTS(FAULT("/ranges/l1", L1_FEEDS))},
	{true,
	 EDIT(SPEC(GROUP, WINE ",'model':[{'linear':'g.l1'},{'linear':3}]"),
	      "'g.l1':{'min':0,'max':16}"),
	 FAULTS(FAULT("/ranges/g.l1", "\\'g.l1\\' feeds \\'linear\\', which must be an integer, at "
				      "least 1 and at most 1000000"))},
	/* no data is read: the file of another machine is there, maybe */
	{true, EDIT(SPEC(L1, NET), "'l1':{'min':4,'max':8}"), "{'ok':true,'warnings':[]}"},
	{true, "{'spec':" SPEC("", WINE ",'model':[{'linear':4}]") "}",
	 "{'ok':true,'warnings':[]}"},
};

TEST_ROWS(check_answer_is_that_of_its_question, answers)
{
	begins_with(answer(answers[_i].text, answers[_i].form, NULL), answers[_i].says);
}

/* The spec's own warnings are the daemon's to say: weight_decay has one. */
TEST(check_warns_of_the_trainers_part_alone)
{
	static const char *const good = SPEC(",'weight_decay':{'min':0,'max':1}",
					     WINE ",'model':[{'linear':3}],'gamma':0.5");

	has(answer(good, false, NULL), ",'warnings':['/trainer/gamma: \\'gamma\\' has no effect: "
				       "the schedule is not \\'step\\'']}");
}

#define IMAGES "'dataset':{'format':'synthetic','image':[1,8,8],'rows':50,'classes':4}"
static double bytes_on(const struct sw_ops *gpu, const char *spec)
{
	const char *at = strstr(answer(spec, false, gpu), "\"bytes\":");

	ck_assert_msg(at != NULL, "%s\n%s", spec, out.data);
	return atof(at + 8);
}

static double bytes_of(const char *spec)
{
	return bytes_on(NULL, spec);
}

#define THREE WINE ",'model':[{'linear':'l1'},'relu',{'linear':3}]"
#define DEEP                                                                                       \
	"'dataset':{'name':'digits'},'model':{'preset':'mlp','outputs':10,'depth':'d',"            \
	"'width':512},'optimizer':'adam'"
#define NO_CUT                                                                                     \
	"{'ok':false,'faults':[{'pointer':'/parallel/pipeline','message':'the model cannot be "    \
	"cut into "

/* What is in the answer. */
static const struct {
	const char *spec, *says;
} staged[] = {
	/* 13 to 16, no gradient for the rows, times 32 rows; 16 floats of each row cross */
	{STAGED(2, ",'l1':{'values':[4,16,8]}", THREE), "'stage_flops':26624,'parts':8,"},
	{STAGED(2, ",'l1':{'value':4},'batch_size':{'value':8}", THREE),
	 "'stage_flops':1664,'parts':8,"},
	/* no more than rows */
	{STAGED(2, ",'l1':{'value':4},'batch_size':{'value':3}", THREE), "'parts':3,"},
	{STAGED(3, ",'l1':{'value':4}", THREE), NO_CUT "3 stages"},
	{STAGED(2, "", WINE ",'model':[{'linear':3}]"), NO_CUT "2 stages"},
	/* one corner is enough */
	{STAGED(4, ",'d':{'values':[1,3]}", DEEP), NO_CUT "4 stages"},
	{STAGED(4, ",'d':{'values':[4,3]}", DEEP), "{'ok':true,"},
};

TEST_ROWS(check_of_a_pipeline_says_what_its_stages_have, staged)
{
	has(answer(staged[_i].spec, false, NULL), staged[_i].says);
}

/* Each stage has its own weights, gradients and rows: that of the largest counts. */
TEST(check_of_a_pipeline_takes_less_memory_than_one_slot)
{
	const double one = bytes_of(STAGED(1, ",'d':{'value':8}", DEEP));
	const double two = bytes_of(STAGED(2, ",'d':{'value':8}", DEEP));
	const double four = bytes_of(STAGED(4, ",'d':{'value':8}", DEEP));

	ck_assert_double_lt(two, .8 * one);
	ck_assert_double_lt(four, .7 * two);
	ck_assert_double_gt(four, .1 * one);
}

/* Two spaces whose largest trials are one: that of the right. */
static const struct {
	const char *space, *largest;
} spaces[] = {
	{SPEC(",'optimizer':{'values':['sgd','adam']}", WINE ",'model':[{'linear':3}]"),
	 SPEC(",'optimizer':{'value':'adam'}", WINE ",'model':[{'linear':3}]")},
	{SPEC(",'s':{'values':[1,2]}", IMAGES
	      ",'model':[{'conv2d':{'out':4,'kernel':3,'stride':'s'}},'flatten',{'linear':4}]"),
	 SPEC("", IMAGES ",'model':[{'conv2d':{'out':4,'kernel':3}},'flatten',{'linear':4}]")},
	{SPEC(",'b':{'values':[false,true]}",
	      WINE ",'model':[{'linear':{'out':64,'bias':'b'}},{'linear':3}]"),
	 SPEC("", WINE ",'model':[{'linear':64},{'linear':3}]")},
};

TEST_ROWS(check_finds_the_trial_that_takes_most_memory, spaces)
{
	ck_assert_double_eq(bytes_of(spaces[_i].space), bytes_of(spaces[_i].largest));
}

#define TWO_KERNELS                                                                                \
	IMAGES ",'model':[{'conv2d':{'out':2,'kernel':'k'}},{'conv2d':{'out':2,'kernel':'j'}},"    \
	       "'flatten',{'linear':4}]"
#define KERNELS ",'k':{'values':[3,7]},'j':{'values':[1,6]}"
#define WIDE    IMAGES ",'model':['flatten',{'linear':'a'},{'linear':'b'},{'linear':4}]"
#define WIDTHS                                                                                     \
	",'a':{'distribution':'pow2','min':16,'max':65536},'b':{'distribution':'pow2','min':16,"   \
	"'max':65536}"

/* What the constraints leave out is no reason to refuse, and is no trial's memory. */
TEST(check_looks_at_what_the_constraints_leave)
{
	has(answer(SPEC(KERNELS, TWO_KERNELS), false, NULL), "'ok':false");
	ck_assert_double_gt(bytes_of(BOUND("k + j <= 9", KERNELS, TWO_KERNELS)), 0);
	/* 64 a + a b weights at most, with a gradient each; 2^32 without the constraint */
	ck_assert_double_lt(bytes_of(BOUND("a * b <= 65536", WIDTHS, WIDE)), 5e7);
	ck_assert_double_gt(bytes_of(BOUND("a * b <= 65536", WIDTHS, WIDE)), 2e6);
}

#define STRIDES                                                                                    \
	"'dataset':{'format':'synthetic','image':[1,32,32],'rows':50,'classes':4},"                \
	"'model':[{'conv2d':{'out':'a','kernel':3,'stride':'s'}},{'conv2d':{'out':'b','kernel':3," \
	"'stride':'t'}},'flatten',{'linear':4}]"
#define ONE_NET(a, s, t)                                                                           \
	SPEC(",'a':{'value':" #a "},'b':{'value':" #a "},'s':{'value':" #s "},'t':{'value':" #t    \
	     "}",                                                                                  \
	     STRIDES)

/* The constraint parts the corners: no step of one parameter leads from four channels to five. From
 * the largest corner each step but the last leads to a point below the best one of four. */
TEST(check_climbs_from_the_largest_corner_through_points_below_the_other_climb)
{
	static const char *const nets = BOUND("a == b",
					      ",'a':{'values':[4,5]},'b':{'values':[4,5]},"
					      "'s':{'values':[1,4]},'t':{'values':[1,4]}",
					      STRIDES);
	const double four = bytes_of(ONE_NET(4, 1, 1)), five = bytes_of(ONE_NET(5, 1, 1));

	ck_assert_double_lt(bytes_of(ONE_NET(5, 4, 4)), four);
	ck_assert_double_lt(bytes_of(ONE_NET(5, 1, 4)), four);
	ck_assert_double_lt(bytes_of(ONE_NET(5, 4, 1)), four);
	ck_assert_double_gt(five, four);
	ck_assert_double_eq(bytes_of(nets), five);
}

/* The largest kernels, 7 and 7, are left out; of 3 and 7 beside them the second is larger than what
 * it slides over. The smallest, 3 and 1, fit. */
TEST(check_refuses_what_fits_at_the_smallest_values_but_not_near_the_largest)
{
	static const char *const spec =
		BOUND("k + j <= 13", ",'k':{'values':[3,7]},'j':{'values':[1,7]}", TWO_KERNELS);

	has(answer(spec, false, NULL), "'pointer':'/trainer/model/1/conv2d'");
}

TEST(check_without_memory_answers_all_the_same)
{
	const char *const spec = quoted(BOUND("k + j <= 9", KERNELS, TWO_KERNELS));

	WALK (SW_FAULT_MALLOC, 1) {
		sw_buf_clear(&out);
		ck_assert_int_eq(sw_buf_adds(&out, " "), SW_OK); /* has its memory */
		walk_arm();
		sw_check_spec(spec, strlen(spec), false, NULL, &out);
		(void)walk_disarm();
		if (out.failed == SW_OK)
			ck_assert_msg(strncmp(out.data, " {\"ok\":", 7) == 0, "%s", out.data);
		teardown();
	}
}

/* Each core has scratch memory of its own in a convolution: a slot may have them all. */
TEST(check_counts_the_memory_of_as_many_cores_as_there_are)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	const struct sw_conv conv = {32, 3, 32, 32, 6, 5, 5, 1, 0};

	sw_ops_cpu_threads((unsigned)cores);
	const size_t most = sw_ops_cpu.conv2d_workspace(&conv);

	sw_ops_cpu_threads(1);
	ck_assert(cores == 1 || sw_ops_cpu.conv2d_workspace(&conv) < most);
	(void)answer(specs[0].spec, false, NULL);
	ck_assert_uint_eq(sw_ops_cpu.conv2d_workspace(&conv), most);
}

static size_t library_products(enum sw_precision p, size_t B, size_t from, size_t to)
{
	(void)p;
	(void)B;
	(void)from;
	(void)to;
	return (size_t)32 << 20;
}

/* Where trials may run on a GPU, what a library needs there counts: memory that it is lent, and its
 * own. */
TEST(check_counts_the_memory_of_products_on_a_gpu)
{
	struct sw_ops gpu = sw_ops_cpu;

	gpu.products_open_bytes = (size_t)1 << 24;
	ck_assert_double_eq(bytes_on(&gpu, specs[0].spec), bytes_of(specs[0].spec));
	gpu.linear_products = library_products;
	ck_assert_double_eq(bytes_on(&gpu, specs[0].spec),
			    bytes_of(specs[0].spec) + 0x1p25 + 0x1p24);
}

RUN_TESTS(setup, teardown)
