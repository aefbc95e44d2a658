#include "base/dist.h"

#define NAME(id, name) [id] = (name),

static const char *const names[] = {SW_DIST_MAP(NAME)};

const char *sw_dist_name(enum sw_dist dist)
{
	return names[dist];
}
