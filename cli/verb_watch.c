#include "cli/verb.h"
#include "cli/watch.h"

int sw_verb_watch(struct sw_cli *c)
{
	uint64_t sweeps[SW_ARGS_MAX], trial;
	size_t n = 0;

	for (size_t i = 0; i < c->args.n_words; i++) {
		bool twice = false;

		if (sw_args_ref(c->args.word[i], &sweeps[n], &trial) != SW_OK || trial != 0)
			return sw_cli_usage(c, "watch: expected a sweep such as 1, not '%s'",
					    c->args.word[i]);
		for (size_t k = 0; k < n; k++)
			twice = twice || sweeps[k] == sweeps[n];
		n += twice ? 0 : 1;
	}
	return sw_watch_run(c, sweeps, n);
}
