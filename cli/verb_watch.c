#include "cli/verb.h"
#include "cli/watch.h"

int sw_verb_watch(struct sw_cli *c)
{
	uint64_t sweeps[SW_ARGS_MAX] = {c->sweep}, trial;
	size_t n = 1;

	for (size_t i = 1; i < c->args.n_words; i++) {
		const int status = sw_cli_ref(c, c->args.word[i], &sweeps[n], &trial);
		bool twice = false;

		if (status != SW_EXIT_DONE)
			return status;
		if (trial != 0)
			return sw_cli_usage(c, "watch: expected a sweep such as 1, not '%s'",
					    c->args.word[i]);
		for (size_t k = 0; k < n; k++)
			twice = twice || sweeps[k] == sweeps[n];
		n += twice ? 0 : 1;
	}
	return sw_watch_run(c, sweeps, n);
}
