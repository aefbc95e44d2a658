/* A run ends at the first invariant that breaks: by a jump, so that checks read as checks. */
#include "tests/sim/sim.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_failure sim_failure;
static sigjmp_buf *open_try;

static _Noreturn void leave(void)
{
	sim_failure.failed = true;
	if (open_try == NULL) {
		(void)fprintf(stderr, "sim: %s: %s\n", sim_failure.which, sim_failure.text);
		abort();
	}
	siglongjmp(*open_try, 1);
}

_Noreturn void sim_fail(const char *which, const char *fmt, ...)
{
	va_list ap;

	(void)snprintf(sim_failure.which, sizeof sim_failure.which, "%s", which);
	va_start(ap, fmt);
	(void)vsnprintf(sim_failure.text, sizeof sim_failure.text, fmt, ap);
	va_end(ap);
	leave();
}

/* What the C library calls for an assert that does not hold: here it ends the run alone, so that a
 * list of events that breaks an assertion of sched can be shrunk as any other. */
_Noreturn void __assert_fail(const char *expr, const char *file, unsigned line, const char *func);
_Noreturn void __assert_fail(const char *expr, const char *file, unsigned line, const char *func)
{
	const char *const base = strrchr(file, '/');

	(void)snprintf(sim_failure.which, sizeof sim_failure.which, "assert in %s: %s", func, expr);
	(void)snprintf(sim_failure.text, sizeof sim_failure.text, "%s:%u: %s",
		       base != NULL ? base + 1 : file, line, expr);
	leave();
}

bool sim_try(void (*fn)(void *), void *ctx)
{
	sigjmp_buf here, *const outer = open_try;

	sim_failure.failed = false;
	if (sigsetjmp(here, 0) == 0) {
		open_try = &here;
		fn(ctx);
	}
	open_try = outer;
	return !sim_failure.failed;
}

void *sim_realloc(void *p, size_t n, size_t size)
{
	void *const grown = realloc(p, n * size);

	if (grown == NULL) {
		(void)fprintf(stderr, "sim: no memory\n");
		exit(2);
	}
	return grown;
}

uint64_t sim_u64(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15u;

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

uint64_t sim_below(uint64_t *state, uint64_t n)
{
	return sim_u64(state) % n;
}

double sim_unit(uint64_t *state)
{
	return (double)(sim_u64(state) >> 11) * 0x1p-53;
}

bool sim_chance(uint64_t *state, unsigned per_mille)
{
	return per_mille != 0 && sim_below(state, 1000) < per_mille;
}

uint64_t sim_hash(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t state = a * 0x9E3779B97F4A7C15u + b;

	state = sim_u64(&state) + c;
	return sim_u64(&state);
}
