/* cli/verb.h — the verbs: one function and one file each (files hold a family where the verbs are
 * alike). Each returns an exit status (cli/cli.h). */
#ifndef SW_CLI_VERB_H
#define SW_CLI_VERB_H

#include "cli/cli.h"

int sw_verb_dial(struct sw_cli *c);
int sw_verb_init(struct sw_cli *c);
int sw_verb_submit(struct sw_cli *c);
int sw_verb_clone(struct sw_cli *c);
int sw_verb_validate(struct sw_cli *c);
int sw_verb_ls(struct sw_cli *c);
int sw_verb_show(struct sw_cli *c);
int sw_verb_trials(struct sw_cli *c);
int sw_verb_export(struct sw_cli *c);
int sw_verb_watch(struct sw_cli *c);
int sw_verb_web(struct sw_cli *c);
int sw_verb_mcp(struct sw_cli *c);
int sw_verb_best(struct sw_cli *c);
int sw_verb_plot(struct sw_cli *c);
int sw_verb_importance(struct sw_cli *c);
int sw_verb_compare(struct sw_cli *c);
int sw_verb_why(struct sw_cli *c);
int sw_verb_pause(struct sw_cli *c);
int sw_verb_resume(struct sw_cli *c);
int sw_verb_cancel(struct sw_cli *c);
int sw_verb_rm(struct sw_cli *c);
int sw_verb_extend(struct sw_cli *c);
int sw_verb_edit(struct sw_cli *c);
int sw_verb_tag(struct sw_cli *c);
int sw_verb_note(struct sw_cli *c);
int sw_verb_enqueue(struct sw_cli *c);
int sw_verb_retry(struct sw_cli *c);
int sw_verb_simulate(struct sw_cli *c);
int sw_verb_log(struct sw_cli *c);
int sw_verb_checkpoint(struct sw_cli *c);
int sw_verb_fit(struct sw_cli *c);
int sw_verb_predict(struct sw_cli *c);
int sw_verb_drain(struct sw_cli *c);
int sw_verb_devices(struct sw_cli *c);
int sw_verb_info(struct sw_cli *c);
int sw_verb_schema(struct sw_cli *c);
int sw_verb_rpc(struct sw_cli *c);

/* The changes of an edit, one a line: "run_cap: 40 -> 80". */
void sw_verb_edit_text(struct sw_cli *c, const cJSON *changes, const char *indent);

/* Adds a word NAME=VALUE to the object: `lr=0.1` is a number, `optimizer=sgd` a string, `name="1"`
 * the string 1. False: it is none, or there is such a name. */
bool sw_verb_add_word(cJSON *object, const char *word);

struct sw_csv;
/* The header and a row for each trial. csv knows the columns. An exit status. */
int sw_verb_trials_csv(struct sw_cli *c, struct sw_csv *csv);

/* The first word of a verb: what it must name. */
enum sw_ref_kind { SW_REF_NONE, SW_REF_SWEEP, SW_REF_TRIAL, SW_REF_EITHER };

struct sw_verb {
	const char *name;
	int (*run)(struct sw_cli *c);
	enum sw_ref_kind ref;
	size_t least, most;  /* words after the verb */
	sw_opts options;     /* rows of sw_options, besides SW_OPT_ALWAYS */
	bool paged;          /* its text may be long: on a terminal it goes through the pager */
	const char *usage;   /* the words, and options that must be there: "SWEEP --run-cap N" */
	const char *summary; /* one line */
	const char
		*more; /* further lines for `sweep help VERB`, of what no option's row says; "" */
};

/* The help, the man page and the completions are made from these rows and those of sw_options. */
extern const struct sw_verb sw_verbs[];
extern const size_t sw_verbs_n;

/* "stop" is cancel. NULL: no verb has this name. */
const struct sw_verb *sw_verb_find(const char *name);
/* Checks words, options and the reference; fills c->sweep and c->trial (a sweep that is named is 0
 * still). An exit status. */
int sw_verb_check(struct sw_cli *c, const struct sw_verb *v);
/* The whole command: options, help, the verb. An exit status. */
int sw_verb_main(int argc, char *const *argv);

#endif
