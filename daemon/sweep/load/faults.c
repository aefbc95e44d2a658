#include "daemon/sweep/load/faults.h"
#include "daemon/plan/plan.h"
#include "daemon/sweep/give/program_job.h"
#include "daemon/sweep/run/settle.h"
#include "proto/json.h"

/* Finds what the schema and the rules of a spec let pass, by building the sweep as a submission
 * does. */
static void check_space(struct sw_faults *f, const struct sw_spec *spec, uint64_t seed)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_sweep *sched = NULL;

	/* Not built if a mistake is known: it would be found again in other words. */
	if (sw_plan_ranges(spec, f) != SW_OK || f->n > 0)
		return;
	if (sw_plan_build(&sched, spec, seed, NULL, &err) == SW_INVALID)
		sw_fault_note(f, err.ptr, "%s", err.msg);
	sw_sweep_destroy(sched);
}

static void check_program(struct sw_faults *f, const struct sw_spec *spec, const cJSON *env)
{
	struct sw_err err = SW_ERR_INIT;

	if (spec->command == NULL || sw_fault_near(f, "/command") || sw_fault_near(f, "/program") ||
	    sw_fault_near(f, "/run/cwd"))
		return;
	if (sw_program_job_check(spec, env, &err) != SW_OK)
		sw_fault_note(f, err.ptr, "%s", err.msg);
}

bool sw_faults_find(struct sw_faults *f, const cJSON *spec, const cJSON *env, uint64_t seed)
{
	struct sw_spec *read = NULL;
	bool trains = false;

	f->n = 0;
	if (sw_spec_read_all(&read, spec, f) == SW_OK) {
		check_space(f, read, seed);
		check_program(f, read, env);
		trains = read->trainer != NULL;
	}
	sw_spec_destroy(read);
	return trains;
}

void sw_faults_add(struct sw_faults *f, const cJSON *said)
{
	const struct sw_faults own = *f;
	const cJSON *fault;

	cJSON_ArrayForEach (fault, said) {
		const char *ptr = sw_json_text(fault, "pointer", "/trainer");

		/* The check reads the whole spec, as the daemon has. */
		if (!sw_fault_near(&own, ptr))
			sw_fault_note(f, ptr, "%s", sw_json_text(fault, "message", "refused"));
	}
}
