/* A trial in C: reports a loss that falls, keeps its step in its folder, goes on from there. */
#define SWEEPD_IMPLEMENTATION
#include "sweepd.h"

static long kept(void)
{
	const char *dir = sweepd_resume_dir();
	char path[4096];
	long step = 0;
	FILE *file;

	if (!dir)
		return 0;
	snprintf(path, sizeof path, "%s/step", dir);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%ld", &step) != 1)
		exit(9);
	fclose(file);
	return step;
}

static void keep(long step)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof path, "%s/step", sweepd_checkpoint_dir());
	file = fopen(path, "w");
	if (!file || fprintf(file, "%ld\n", step) < 0 || fclose(file) != 0)
		exit(8);
}

int main(int argc, char **argv)
{
	const double x = sweepd_number("x", 0.5);
	char kind[64];

	if (argc > 1) { /* the value of a name, as it is read */
		if (sweepd_string(argv[1], kind, sizeof kind) == 0)
			printf("%s\n", kind);
		else
			printf("%g\n", sweepd_number(argv[1], -1));
		return 0;
	}
	if (sweepd_resume_step() != kept())
		return 7;
	for (long step = kept() + 1; step <= 9; step++) {
		enum sweepd_decision decision;
		char metrics[64];

		if (sweepd_checkpoint_dir())
			keep(step);
		snprintf(metrics, sizeof metrics, "\"loss\": %.17g", x + 1.0 / (double)step);
		decision = sweepd_report(step, metrics, step % 2 == 0 && sweepd_checkpoint_dir());
		if (decision != SWEEPD_CONTINUE)
			return decision == SWEEPD_ERROR;
	}
	return 0;
}
