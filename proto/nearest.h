/* proto/nearest.h — the known word nearest to a misspelt one, for "did you mean". */
#ifndef SW_PROTO_NEAREST_H
#define SW_PROTO_NEAREST_H

#include <stddef.h>

/* The candidate with the smallest optimal-string-alignment distance to word (case is ignored), when
 * that is at most 1 + strlen(word) / 3; else NULL. Words over 64 bytes are not compared. */
const char *sw_nearest(const char *word, const char *const *candidates, size_t n);

/* "; did you mean "NEAR"?", the end of a message; "" where near is NULL. Returns out. */
#define SW_DID_YOU_MEAN 160
const char *sw_did_you_mean(const char *near, char out[SW_DID_YOU_MEAN]);

#endif
