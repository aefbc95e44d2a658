#include "base/commit.h"

const char *sw_commit = "unknown";
