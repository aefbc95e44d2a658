#include "cli/verb.h"
#include "base/commit.h"
#include "cli/help.h"
#include "cli/pager.h"
#include "proto/nearest.h"
#include <stdio.h>
#include <string.h>

static int verb_help(struct sw_cli *c);

const struct sw_verb sw_verbs[] = {
	{"init", sw_verb_init, SW_REF_NONE, 1, SW_ARGS_MAX, SW_OPT_TARGET, false,
	 "FILE --target NAME [KEY=VALUE ...]", "writes a spec for a CSV file",
	 "Says on stderr what it found in each column and what becomes of it. The spec that it\n"
	 "prints has a list of layers and a search space, to be read and changed. KEY=VALUE is a\n"
	 "key of the spec's dataset, such as encoding=latin-1.\n"},
	{"submit", sw_verb_submit, SW_REF_NONE, 1, 1, SW_OPT_WATCH | SW_OPT_CLEAN_ENV, false,
	 "FILE", "starts a sweep from a spec (JSON or YAML; \"-\" reads stdin)",
	 "A name that ends in .yaml or .yml is YAML, as W&B has it.\nPrints the sweep's number; "
	 "with --watch shows the live table.\n"},
	{"clone", sw_verb_clone, SW_REF_SWEEP, 1, 1, SW_OPT_WATCH | SW_OPT_CLEAN_ENV, false,
	 "SWEEP", "starts a sweep by the spec of another one",
	 "The spec is as it was submitted: edits of the other sweep are not in it. If it has a\n"
	 "seed, the search is the same.\n"},
	{"validate", sw_verb_validate, SW_REF_NONE, 1, 1, SW_OPT_CLEAN_ENV, false, "FILE",
	 "checks a spec as submit does, and starts nothing",
	 "Prints the rungs, the memory of the largest trial, and the layers of a preset, with\n"
	 "the names of the parameters that set a number.\n"},
	{"schema", sw_verb_schema, SW_REF_NONE, 0, 0, 0, false, "",
	 "prints the JSON Schema of a spec, for editors",
	 "With \"$schema\": \"./sweep.schema.json\" in a spec, editors complete its keys and\n"
	 "mark mistakes. No daemon is needed.\n"},
	{"ls", sw_verb_ls, SW_REF_NONE, 0, 0, SW_OPT_N | SW_OPT_STATE | SW_OPT_ALL, false, "",
	 "lists the sweeps, the newest last",
	 "A terminal gets the newest that fit it, so that none of them scrolls away; a file or a\n"
	 "pipe gets all, without -n. --json has the newest first, a line a page.\n"
	 "STATE: RUNNING PAUSED COMPLETED CANCELLED FAILED.\n"
	 "With several metrics no single trial is the best: \"3 on the front\" counts the trials\n"
	 "that no other beats.\n"},
	{"show", sw_verb_show, SW_REF_EITHER, 1, 1, SW_OPT_SPEC, true, "SWEEP[/TRIAL]",
	 "shows a sweep, or a trial with its reports", ""},
	{"trials", sw_verb_trials, SW_REF_SWEEP, 1, 1,
	 SW_OPT_STATE | SW_OPT_FILTER | SW_OPT_SORT | SW_OPT_CSV, true, "SWEEP",
	 "lists the trials of a sweep",
	 "EXPR: NAME = VALUE, != < <= > >=, NAME ~ TEXT, NAME in (A, B), with and, or, not, ().\n"
	 "NAME: a parameter, the metric or value (the best), state, cause, step, seconds, trial,\n"
	 "attempt, parent; VALUE: a number, a word, a text in quotes, null.\n"
	 "STATE: PENDING RUNNING PAUSED COMPLETED PRUNED FAILED INFEASIBLE CANCELLED.\n"
	 "--csv has the columns trial, attempt, state, cause, step, value, best_step, best_value,\n"
	 "then the parameters, the metrics, and times last: with the same seed and one slot all\n"
	 "columns before the times are the same, byte for byte. --json prints one line per "
	 "page.\n"},
	{"export", sw_verb_export, SW_REF_SWEEP, 1, 1, SW_OPT_TO | SW_OPT_OUT, false,
	 "SWEEP --to FORMAT --out FILE", "writes a sweep as files for other programs",
	 "csv: in the folder FILE trials.csv, as `sweep trials --csv` has it, and curves.csv\n"
	 "(trial, step, metric, value, time_ms). json: one document. Files that are there are\n"
	 "written anew. TensorBoard's come from `python3 -m sweepd.tensorboard SWEEP --out "
	 "DIR`.\n"},
	{"watch", sw_verb_watch, SW_REF_SWEEP, 1, 8, 0, false, "SWEEP ...",
	 "shows the live table until the sweeps end",
	 "Keys order its trials by a column, take those in one state, scroll, and show a trial's\n"
	 "curve as it grows; ? says which. q or Ctrl-C leaves; the sweeps go on. Without a\n"
	 "terminal it prints a block every 5 s.\n"
	 "--json prints the snapshot and each update on a line. `sweep web` is for browsers.\n"},
	{"web", sw_verb_web, SW_REF_NONE, 0, 0, SW_OPT_PORT | SW_OPT_READ_ONLY | SW_OPT_NO_OPEN,
	 false, "", "shows all sweeps in a browser, live, until Ctrl-C",
	 "Prints the address, which is good for whoever has it until this ends. With --host it is\n"
	 "the daemon of that machine, through ssh.\n"},
	{"best", sw_verb_best, SW_REF_SWEEP, 1, 1, SW_OPT_SCOPE | SW_OPT_N, false, "SWEEP",
	 "shows the best trial, or with -n a table of the best",
	 "What is shown is of the report that counts, of its step.\n"},
	{"plot", sw_verb_plot, SW_REF_SWEEP, 1, SW_ARGS_MAX,
	 SW_OPT_STATE | SW_OPT_FILTER | SW_OPT_N | SW_OPT_LOG | SW_OPT_OUT | SW_OPT_CSV, true,
	 "SWEEP [PLOT [PARAMETER ...]]",
	 "draws a sweep; without a name its history and its learning curves",
	 "  history      did it converge?\n"
	 "  curves       was pruning right? the best and others, and the pruner's rungs\n"
	 "  slice        where are the good values? [PARAMETER ...]\n"
	 "  contour      do two depend on each other? [X Y]\n"
	 "  parallel     what have the good ones in common? [PARAMETER ...]\n"
	 "  importance   which parameter matters?\n"
	 "  pareto       what does one metric cost in the other?\n"
	 "  edf          how many trials are that good?\n"
	 "  timeline     was a slot idle? what ran where, and how it ended\n"
	 "  expected     does the sampler's model know? what it foretold, and what came\n"
	 "  saved        what did pruning save?\n"
	 "--out x.svg writes a drawing, --csv the numbers; of the history where no PLOT is named.\n"
	 "--state, --filter and -n leave other trials out, of every plot: -n 50 is the 50 best.\n"
	 "`sweep help trials` says what a filter is.\n"},
	{"importance", sw_verb_importance, SW_REF_SWEEP, 1, 1,
	 SW_OPT_STATE | SW_OPT_FILTER | SW_OPT_N | SW_OPT_OUT | SW_OPT_CSV, false, "SWEEP",
	 "shows which parameters matter", "As `sweep plot SWEEP importance`.\n"},
	{"compare", sw_verb_compare, SW_REF_SWEEP, 1, SW_ARGS_MAX,
	 SW_OPT_BY | SW_OPT_LOG | SW_OPT_OUT | SW_OPT_CSV, true, "SWEEP SWEEP ...",
	 "shows several sweeps beside each other, and draws their best so far", ""},
	{"why", sw_verb_why, SW_REF_TRIAL, 1, 1, 0, false, "SWEEP/TRIAL",
	 "explains where a trial came from and what was decided about it",
	 "If a model chose the point, it says what the model knew and expected.\n"},
	{"pause", sw_verb_pause, SW_REF_SWEEP, 1, 1, 0, false, "SWEEP",
	 "stops handing out trials; running ones go on", ""},
	{"resume", sw_verb_resume, SW_REF_SWEEP, 1, 1, 0, false, "SWEEP", "resumes a paused sweep",
	 ""},
	{"cancel", sw_verb_cancel, SW_REF_EITHER, 1, 1, 0, false, "SWEEP[/TRIAL]",
	 "ends a sweep or one trial", "sweep stop is the same.\n"},
	{"extend", sw_verb_extend, SW_REF_SWEEP, 1, 1, SW_OPT_RUN_CAP, false, "SWEEP --run-cap N",
	 "raises the run cap; a completed sweep goes on", ""},
	{"rm", sw_verb_rm, SW_REF_SWEEP, 1, SW_ARGS_MAX, SW_OPT_KEEP_BEST, false, "SWEEP ...",
	 "deletes sweeps that have ended, with all their files",
	 "Trials, reports, checkpoints, logs, and what a Python script keeps under tune/ are gone\n"
	 "for good. The number is not given again. What other sweeps learned from it stays.\n"},
	{"edit", sw_verb_edit, SW_REF_SWEEP, 1, 1, SW_OPT_EDIT, false, "SWEEP",
	 "changes limits and ranges of a running sweep",
	 "Prints what changed. `sweep show SWEEP --spec` lists all edits.\n"},
	{"tag", sw_verb_tag, SW_REF_SWEEP, 2, SW_ARGS_MAX, 0, false, "SWEEP TAG ...",
	 "gives a sweep these tags",
	 "They stand in `sweep ls` and `sweep show`, instead of those it had. '' takes them "
	 "away.\n"},
	{"note", sw_verb_note, SW_REF_SWEEP, 2, SW_ARGS_MAX, 0, false, "SWEEP TEXT",
	 "writes a note on a sweep",
	 "It stands in `sweep ls` and `sweep show`, instead of the one it had. '' takes it "
	 "away.\n"},
	{"enqueue", sw_verb_enqueue, SW_REF_SWEEP, 2, SW_ARGS_MAX, 0, false, "SWEEP NAME=VALUE ...",
	 "adds a trial of your own, to be tried next",
	 "Parameters that you do not name are drawn at random. A JSON object works too.\n"},
	{"retry", sw_verb_retry, SW_REF_TRIAL, 1, 1, 0, false, "SWEEP/TRIAL",
	 "runs a trial that FAILED, was INFEASIBLE or CANCELLED again",
	 "It is a new trial with the same parameters, by the program as it is now, and comes on\n"
	 "top of the run cap. A sweep that has ended goes on for it, unless it was cancelled.\n"},
	{"simulate", sw_verb_simulate, SW_REF_SWEEP, 1, 1, SW_OPT_EARLY_TERMINATE | SW_OPT_WORKERS,
	 false, "SWEEP --early-terminate FILE",
	 "shows what another pruner would have done with a sweep",
	 "Runs the stored curves of an ended sweep again on virtual time, the same trials in\n"
	 "the same order, under the early_terminate in FILE.\n"},
	{"log", sw_verb_log, SW_REF_TRIAL, 1, 1, SW_OPT_FOLLOW, true, "SWEEP/TRIAL",
	 "shows the log of a trial, and what its program wrote",
	 "The last 256 to 512 KiB of a program's output are kept. --json prints one line per\n"
	 "page.\n"},
	{"checkpoint", sw_verb_checkpoint, SW_REF_EITHER, 1, 1, SW_OPT_OUT, false,
	 "SWEEP[/TRIAL] --out FILE", "exports a trial's weights as safetensors",
	 "For a SWEEP it exports the best trial. The weights are those of the trial's best\n"
	 "epoch, by the sweep's metric. FILE has the names of the state_dict of a\n"
	 "PyTorch nn.Sequential with the same list. The spec's \"checkpoint\" says which trials\n"
	 "have a checkpoint: by default the best and the last one. Of a program it is a folder,\n"
	 "of its best step if that was kept: without --out its path is printed.\n"},
	{"fit", sw_verb_fit, SW_REF_EITHER, 1, 1, SW_OPT_OUT | SW_OPT_EPOCHS, false,
	 "SWEEP[/TRIAL] --out FILE", "trains a configuration again, on all rows, and exports it",
	 "For a SWEEP it takes the best trial's configuration. It trains on training and\n"
	 "validation rows, in this process, on all cores. FILE is like that of\n"
	 "`sweep checkpoint`.\n"},
	{"predict", sw_verb_predict, SW_REF_NONE, 2, 2, SW_OPT_FORMAT | SW_OPT_PROBA, false,
	 "MODEL DATA", "runs a model on new rows, prints CSV",
	 "MODEL is a sweep, whose best trial it is, or a trial; or a file of `sweep checkpoint`\n"
	 "or `sweep fit`, for which no daemon is needed. DATA is a file like the training data:\n"
	 "CSV with the same columns, in any order, with or without the target (\"-\" reads "
	 "stdin);\n"
	 ".npy; IDX; CIFAR; ids. Of a folder of CIFAR or IDX files the test part is read.\n"
	 "Prints one column, prediction: a class or a number. --proba adds its probability, and\n"
	 "p_CLASS for each class.\n"},
	{"drain", sw_verb_drain, SW_REF_NONE, 0, 0, SW_OPT_STOP | SW_OPT_OFF, false, "",
	 "hands out no more trials, and waits until none runs",
	 "Trials on slots run to their ends; those that clients hold may report, and are not "
	 "waited\n"
	 "for. Ctrl-C leaves the daemon draining; --off or a restart of it ends that.\n"},
	{"devices", sw_verb_devices, SW_REF_NONE, 0, 0, SW_OPT_WATCH | SW_OPT_CANCEL, false, "",
	 "shows the GPUs and the slots, and what they do",
	 "GPUs as NVML reports them, the processes that have memory there, and the slots.\n"
	 "Without a terminal --watch prints a block every 5 s, with --json a line every second.\n"
	 "With --executor, jobs of your other state folders have a line each. Another sweepd of\n"
	 "yours may have asked for them; if it is gone, --cancel PREFIX has them cancelled.\n"},
	{"info", sw_verb_info, SW_REF_NONE, 0, 0, 0, false, "",
	 "shows version, paths and state of the daemon", ""},
	{"rpc", sw_verb_rpc, SW_REF_NONE, 1, 2, 0, false, "METHOD [JSON]",
	 "makes one JSON-RPC call and prints the result",
	 "The method rpc.discover prints all methods as an OpenRPC document.\n"},
	{"mcp", sw_verb_mcp, SW_REF_NONE, 0, 0, SW_OPT_WRITE, false, "",
	 "serves sweeps to a language model as tools (Model Context Protocol)",
	 "A host starts it and talks on its stdin and stdout: {\"command\": \"sweep\", \"args\":\n"
	 "[\"mcp\"]} in its configuration.\n"},
	{"dial", sw_verb_dial, SW_REF_NONE, 0, 0, 0, false, "",
	 "joins stdin and stdout with the daemon, for `sweep --host`",
	 "`sweep --host box ls` runs `ssh box sweep dial` and talks JSON-RPC with it. It ends "
	 "when\n"
	 "the daemon, or what reads its output, does.\n"},
	{"help", verb_help, SW_REF_NONE, 0, 1, 0, true, "[VERB]",
	 "prints this, or help on one verb", ""},
};
#define N_VERBS (sizeof sw_verbs / sizeof sw_verbs[0])
const size_t sw_verbs_n = N_VERBS;

const struct sw_verb *sw_verb_find(const char *name)
{
	if (strcmp(name, "stop") == 0)
		name = "cancel";
	for (size_t i = 0; i < N_VERBS; i++)
		if (strcmp(sw_verbs[i].name, name) == 0)
			return &sw_verbs[i];
	return NULL;
}

static int check_ref(struct sw_cli *c, const struct sw_verb *v)
{
	static const char *const wanted[] = {
		[SW_REF_NONE] = "",
		[SW_REF_SWEEP] = "a sweep such as 1, or its name",
		[SW_REF_TRIAL] = "a trial such as 1/7 or NAME/7",
		[SW_REF_EITHER] = "a sweep such as 1, or its name, or a trial such as 1/7",
	};
	size_t name;
	const char *word = c->args.word[0];

	if (v->ref == SW_REF_NONE)
		return SW_EXIT_DONE;
	if (sw_args_ref(word, &c->sweep, &c->trial, &name) != SW_OK ||
	    (v->ref == SW_REF_SWEEP && c->trial != 0) || (v->ref == SW_REF_TRIAL && c->trial == 0))
		return sw_cli_usage(c, "%s: expected %s, not '%s'", v->name, wanted[v->ref], word);
	return SW_EXIT_DONE;
}

int sw_verb_check(struct sw_cli *c, const struct sw_verb *v)
{
	const sw_opts odd = c->args.given & ~(v->options | SW_OPT_ALWAYS);

	char name[32];

	if (odd != 0)
		return sw_cli_usage(c, "%s takes no %s", v->name, sw_args_option(odd, name));
	if (c->args.n_words < v->least)
		return sw_cli_usage(c, "%s: usage: sweep %s %s", v->name, v->name, v->usage);
	if (c->args.n_words > v->most)
		return sw_cli_usage(c, "%s: one word too many: '%s'", v->name,
				    c->args.word[v->most]);
	return check_ref(c, v);
}

/* "submitt: no such verb; did you mean submit?" */
static int no_such_verb(struct sw_cli *c, const char *word)
{
	/* What other programs call it, as no slip of the fingers. */
	static const char *const others[][2] = {{"delete", "rm"}, {"remove", "rm"},
						{"ui", "web"},    {"dashboard", "web"},
						{"page", "web"},  {"status", "ls"}};
	const char *names[N_VERBS];
	const char *near = NULL;

	for (size_t i = 0; i < N_VERBS; i++)
		names[i] = sw_verbs[i].name;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(word, others[i][0]) == 0)
			near = others[i][1];
	if (near == NULL)
		near = sw_nearest(word, names, N_VERBS);
	c->args.verb = NULL; /* the hint is at `sweep help` */
	if (near != NULL)
		return sw_cli_usage(c, "no verb '%s'; did you mean %s?", word, near);
	return sw_cli_usage(c, "no verb '%s'", word);
}

/* `help VERB` and `VERB --help` are the same; so are `help`, `help help` and `--help`. */
static int verb_help(struct sw_cli *c)
{
	const bool help = c->args.verb != NULL && strcmp(c->args.verb, "help") == 0;
	const char *topic = help ? c->args.word[0] : c->args.verb;
	const struct sw_verb *v = topic != NULL ? sw_verb_find(topic) : NULL;

	if (topic != NULL && v == NULL)
		return no_such_verb(c, topic);
	c->paged = true;
	sw_help_print(&c->out, v != NULL && v->run != verb_help ? v : NULL);
	return SW_EXIT_DONE;
}

static int dispatch(struct sw_cli *c)
{
	const struct sw_verb *v;

	if (c->args.given & SW_OPT_VERSION) {
		(void)sw_buf_addf(&c->out, "sweep " SW_VERSION " (commit %s)\n", sw_commit);
		return SW_EXIT_DONE;
	}
	if (c->args.given & SW_OPT_HELP)
		return verb_help(c);
	if (c->args.verb == NULL)
		return sw_cli_usage(c, "which verb?");
	v = sw_verb_find(c->args.verb);
	if (v == NULL)
		return no_such_verb(c, c->args.verb);
	int status = sw_verb_check(c, v);
	/* Set before names are looked up, since it decides what a name with several sweeps
	 * means. */
	c->sure = v->run == sw_verb_rm || v->run == sw_verb_cancel;
	c->paged = v->paged && !(c->args.given & (SW_OPT_JSON | SW_OPT_CSV | SW_OPT_FOLLOW));
	if (status == SW_EXIT_DONE && v->ref != SW_REF_NONE && c->sweep == 0)
		status = sw_cli_ref(c, c->args.word[0], &c->sweep, &c->trial);
	return status == SW_EXIT_DONE ? v->run(c) : status;
}

int sw_verb_main(int argc, char *const *argv)
{
	struct sw_args args;
	struct sw_err err = SW_ERR_INIT;
	struct sw_cli c;
	const sw_status parsed = sw_args_read(&args, argc, argv, &err);
	const sw_status ready = sw_cli_init(&c, &args, &err); /* the first error stands */
	int status;

	if (parsed != SW_OK || ready != SW_OK) {
		status = sw_cli_usage(&c, "%s", err.msg);
	} else {
		status = dispatch(&c);
		const int written = sw_cli_flush(&c);
		/* A verb that failed has said why; a full disk must not hide behind one that did
		 * not. */
		if (status == SW_EXIT_DONE)
			status = written;
	}
	sw_cli_fini(&c);
	sw_pager_end();
	return status;
}
