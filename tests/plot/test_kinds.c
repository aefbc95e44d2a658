/* tests/plot/test_kinds.c — what holds of every plot: of no data, of odd data, without memory. */
#include "base/philox.h"
#include "tests/plot/built.h"

#define TRIALS  6000
#define PARAMS  20
#define METRICS 8
#define SLOTS   300

static struct sw_plot_param params[PARAMS];
static struct sw_plot_trial trials[TRIALS];
static struct sw_plot_report reports[TRIALS];
static struct sw_plot_run runs[TRIALS];
static double values[TRIALS][PARAMS], metrics[TRIALS][METRICS], rungs[100];
static const char *names[100], *slots[SLOTS];
static bool maximize[METRICS];
static uint32_t drawn;

/* Of 0 to n - 1. */
static uint32_t draw(uint32_t n)
{
	const struct sw_philox_words c = {{++drawn, 0, 0, 0}};

	return sw_philox_raw(c, 34, 0).v[0] % n;
}

static double some_number(void)
{
	static const double odd[] = {NAN, 0, -0., 1, -1, 1e308, -1e308, 5e-324, 1e-9, 27};

	return draw(3) == 0 ? odd[draw(sizeof odd / sizeof odd[0])] : draw(1000) / 7.;
}

static void draw_runs(size_t n)
{
	double at = 0;

	for (size_t i = 0; i < n; i++) {
		const size_t slot = i * SLOTS / n;
		at = i > 0 && slot == runs[i - 1].slot ? at + draw(50) : draw(90);
		runs[i] = (struct sw_plot_run){(int64_t)i + 1,
					       slot,
					       at,
					       draw(9) == 0 ? NAN : at + draw(99) - 9.,
					       (enum sw_plot_state)draw(4),
					       draw(2) == 0 ? "" : "exit:1",
					       draw(5) == 0};
	}
}

static struct sw_plot_data odd_data(size_t n)
{
	for (size_t i = 0; i < 100; i++) {
		names[i] = "\"<\xff\n";
		rungs[i] = (double)i;
	}
	for (size_t i = 0; i < SLOTS; i++)
		slots[i] = "gpu";
	for (size_t i = 0; i < METRICS; i++)
		maximize[i] = i % 2 != 0;
	for (size_t k = 0; k < PARAMS; k++)
		params[k] = (struct sw_plot_param){"p", (enum sw_plot_scale)(k % 2), k % 5 != 0, 0,
						   NULL};
	params[3] = (struct sw_plot_param){"c", SW_PLOT_CATEGORY, true, 100, names};
	params[4] = (struct sw_plot_param){"none", SW_PLOT_CATEGORY, true, 0, NULL};
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < PARAMS; k++)
			values[i][k] = k == 3 ? (double)draw(100) : k == 4 ? NAN : some_number();
		for (size_t k = 0; k < METRICS; k++)
			metrics[i][k] = some_number();
		trials[i] = (struct sw_plot_trial){(int64_t)i + 1, (enum sw_plot_state)draw(4),
						   some_number(),  some_number(),
						   some_number(),  some_number(),
						   values[i],      draw(9) == 0 ? NULL : metrics[i],
						   draw(3) == 0};
		reports[i] = (struct sw_plot_report){(int64_t)(i / 20) + 1, (double)(i % 20),
						     some_number()};
	}
	draw_runs(n);
	return (struct sw_plot_data){
		1,      "s",    "loss", false, true,  METRICS,      names,       maximize, params,
		PARAMS, trials, n,      n,     rungs, 100,          27,          reports,  n,
		runs,   n,      slots,  SLOTS, 1e6,   draw(4) == 0, draw(4) == 0};
}

TEST(each_plot_of_odd_data_keeps_its_bounds)
{
	struct sw_plot_data d[SW_PLOT_SWEEPS];
	static const size_t sizes[] = {1, 2, 3, 50, TRIALS};

	for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
		for (int sense = 0; sense < 2; sense++) {
			d[0] = odd_data(sizes[s]);
			d[0].maximize = sense == 1;
			for (size_t i = 1; i < SW_PLOT_SWEEPS; i++)
				d[i] = d[0];
			for (size_t k = 0; k < sw_plot_kinds_n; k++) {
				const struct sw_plot_kind *kind = &sw_plot_kinds[k];
				const size_t named[2] = {3, 4};
				build(kind->name, d, 1, NULL, 0);
				build(kind->name, d, kind->sweeps, NULL, 0);
				if (kind->params > 0) {
					build(kind->name, d, 1, named, 1);
					build(kind->name, d, 1, named, 2);
				}
			}
		}
	}
}

/* In the order of sw_plot_kinds. */
static const char *const of_nothing[] = {
	"No trial has a value yet.",
	"No trial has reported a value yet.",
	"No parameter has two values yet.",
	"A contour needs two parameters that vary.",
	"No trial has a value yet.",
	"No parameter has two values yet.",
	"No trial has its metrics yet.",
	"No trial has a value yet.",
	"No trial has run on a slot yet.",
	"No trial has both an expectation and a value yet.",
	"No trial has completed or was pruned yet.",
};

TEST(each_plot_of_nothing_says_so)
{
	const struct sw_plot_data d = {.name = "", .metric = "loss", .max_t = NAN};

	ck_assert_uint_eq(sw_plot_kinds_n, ROWS(of_nothing));
	for (size_t k = 0; k < sw_plot_kinds_n; k++) {
		build(sw_plot_kinds[k].name, &d, 1, NULL, 0);
		ck_assert_note(of_nothing[k]);
	}
}

/* Where it makes many allocations not each one fails once. */
TEST(each_plot_without_memory_fails_as_a_whole)
{
	struct sw_plot_data d = odd_data(50);

	for (size_t k = 0; k < sw_plot_kinds_n; k++) {
		WALK (SW_FAULT_MALLOC, 1) {
			struct sw_plot p;
			walk.nth += walk.nth / 20;
			walk_arm();
			sw_plot_init(&p, sw_plot_kinds[k].name, "");
			sw_plot_kinds[k].build(&p, &d, 1, NULL, 0);
			const unsigned fired = walk_disarm();
			ck_assert_int_eq(p.failed, fired ? SW_NOMEM : SW_OK);
			sw_plot_fini(&p);
		}
	}
}

RUN_TESTS(NULL, NULL)
