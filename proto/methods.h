/*
 * proto/methods.h — the method table, made from methods.json (embedded at build time).
 *
 * methods.json is the one source: this table and the checking of parameters are read from it when
 * the daemon starts; rpc.discover's answer and docs/protocol.md are made from it by
 * scripts/gen-protocol.
 */
#ifndef SW_PROTO_METHODS_H
#define SW_PROTO_METHODS_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <stddef.h>

struct sw_methods; /* opaque; immutable once loaded, so any thread may read it */

/* Parses the embedded table. SW_NOMEM. */
SW_NODISCARD sw_status sw_methods_load(struct sw_methods **out, struct sw_err *err);
void sw_methods_destroy(struct sw_methods *m);

size_t sw_methods_size(const struct sw_methods *m);
const char *sw_methods_name(const struct sw_methods *m, size_t i);

/* Index of a method by name, or -1. */
int sw_methods_find(const struct sw_methods *m, const char *name);

/* Checks params (an object; NULL counts as {}) against method i: by name only, no unknown name (the
 * nearest known one is suggested), required ones present, types, ranges, enums. SW_INVALID with the
 * pointer of the parameter ("/run_cap"). */
SW_NODISCARD sw_status sw_methods_check(const struct sw_methods *m, size_t i, const cJSON *params,
					struct sw_err *err);

/* The OpenRPC 1.2.6 document (https://spec.open-rpc.org), as JSON text of *n bytes and a NUL. */
const char *sw_methods_openrpc(size_t *n);

#endif
