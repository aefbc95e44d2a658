/* A metric without "goal" is minimized. If its name says that more is better the goal was likely
 * forgotten, and the sweep would look for the worst trial without any error. */
#include "proto/json.h"
#include "spec/keys.h"
#include "spec/warn/warn.h"
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

static const char *const more_is_better[] = {
	"acc", "accuracy", "ap",     "auc",    "auprc", "auroc", "bleu",  "dice",
	"f1",  "iou",      "map",    "mcc",    "miou",  "mrr",   "ndcg",  "precision",
	"r2",  "recall",   "reward", "return", "roc",   "rouge", "score", "top",
};
/* With one of these beside it the name says the contrary: "f1_loss", "brier_score". */
static const char *const less_is_better[] = {"brier", "cost", "err",    "error",
					     "fid",   "loss", "regret", "time"};

static bool is_listed(const char *word, size_t len, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncasecmp(word, list[i], len) == 0 && list[i][len] == '\0')
			return true;
	return false;
}

/* Digits at the end do not count: "acc1" is "acc". But "f1" is a word with its digit. */
static bool is_word_of(const char *word, size_t len, const char *const *list, size_t n)
{
	if (is_listed(word, len, list, n))
		return true;
	while (len > 0 && isdigit((unsigned char)word[len - 1]))
		len--;
	return len > 0 && is_listed(word, len, list, n);
}

/* Splits a name into words at other characters ("val/f1") and at capitals ("valAccuracy"). The
 * whole between other characters is tried too, for "mAP". */
static bool has_word_of(const char *name, const char *const *list, size_t n)
{
	const char *token = name, *word = name;

	for (const char *p = name;; p++) {
		const unsigned char c = (unsigned char)*p;
		const bool hump = p > word && isupper(c) && islower((unsigned char)p[-1]);

		if (isalnum(c) && !hump)
			continue;
		if (p > word && is_word_of(word, (size_t)(p - word), list, n))
			return true;
		word = hump ? p : p + 1;
		/* Inside a token: only a character that is no letter and no digit ends one. */
		if (hump)
			continue;
		if (p > token && is_word_of(token, (size_t)(p - token), list, n))
			return true;
		token = word;
		if (c == '\0')
			return false;
	}
}

void sw_spec_warn_goal(struct sw_spec *s)
{
	const cJSON *metrics = sw_json_get(s->tree, "metrics"),
		    *at = sw_json_get(s->tree, "metric");
	char ptr[32] = "/metric";

	for (size_t i = 0; i < s->n_metrics; i++) {
		const char *name = s->metrics[i].name;

		if (metrics != NULL) {
			at = cJSON_GetArrayItem(metrics, (int)i);
			(void)snprintf(ptr, sizeof ptr, "/metrics/%zu", i);
		}
		if (sw_json_get(at, "goal") == NULL &&
		    has_word_of(name, more_is_better, SW_SPEC_N(more_is_better)) &&
		    !has_word_of(name, less_is_better, SW_SPEC_N(less_is_better)))
			sw_spec_warn(
				s, ptr,
				"\"%s\" is minimized, because it has no \"goal\"; did you mean "
				"\"goal\": \"maximize\"?",
				name);
	}
}
