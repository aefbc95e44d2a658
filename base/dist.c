#include "base/dist.h"

#define NAME(id, name) [id] = (name),

static const char *const names[] = {SW_DIST_MAP(NAME)};

const char *sw_dist_name(enum sw_dist dist)
{
	return names[dist];
}

bool sw_dist_is_continuous(enum sw_dist dist)
{
	switch (dist) {
	case SW_DIST_UNIFORM:
	case SW_DIST_LOG_UNIFORM:
	case SW_DIST_INV_LOG_UNIFORM:
	case SW_DIST_NORMAL:
	case SW_DIST_LOG_NORMAL:
		return true;
	default:
		return false;
	}
}
