#include "sched/sampler/suggestion.h"
#include <stdlib.h>

void sw_suggestion_fini(struct sw_suggestion *s)
{
	free(s->state);
	s->state = NULL;
	s->state_n = 0;
}
