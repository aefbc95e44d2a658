/* spec/dist_keys.h — what each distribution takes, as a spec says it. The build makes the tables
 * from schema.json. Internal to spec/. */
#ifndef SW_SPEC_DIST_KEYS_H
#define SW_SPEC_DIST_KEYS_H

#include "base/dist.h"

/* The keys that a distribution takes, a bit each. */
enum {
	VALUE = 1,
	VALUES = 2,
	PROBABILITIES = 4,
	MIN = 8,
	MAX = 16,
	RANGE = MIN | MAX,
	Q = 32,
	MU = 64,
	SIGMA = 128
};

struct sw_spec_dist_field {
	const char *key;
	unsigned bit;
};

/* Ray's name for an argument of ours. */
struct sw_spec_dist_alias {
	const char *key, *ray;
};

enum {
	EXPONENTS = 1, /* W&B's log_uniform and its kin: min and max are exponents of e */
	RAYS = 2,      /* Ray's, and takes Ray's names for its arguments too */
	INTEGERS = 4,  /* min, max and q are integers */
	OPEN = 8       /* max itself is left out */
};

/* A name that a spec may give, the distribution that it means, and the keys that go with it. */
struct sw_spec_dist {
	const char *name;
	enum sw_dist is;
	unsigned needs, may; /* bits of what is needed, and of what is allowed beside it */
	unsigned flags;
};

#define SW_SPEC_DIST_FIELD_N 8
#define SW_SPEC_DIST_ALIAS_N 6
#define SW_SPEC_DIST_N       29

extern const struct sw_spec_dist_field sw_spec_dist_fields[SW_SPEC_DIST_FIELD_N];
extern const struct sw_spec_dist_alias sw_spec_dist_aliases[SW_SPEC_DIST_ALIAS_N];
extern const struct sw_spec_dist sw_spec_dists[SW_SPEC_DIST_N];

#endif
