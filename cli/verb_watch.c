#include "cli/verb.h"
#include "cli/watch.h"

int sw_verb_watch(struct sw_cli *c)
{
	uint64_t sweeps[SW_ARGS_MAX];
	size_t n;
	const int status = sw_cli_sweeps(c, sweeps, &n);

	return status == SW_EXIT_DONE ? sw_watch_run(c, sweeps, n) : status;
}
