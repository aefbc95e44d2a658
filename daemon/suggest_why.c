/* How a suggestion came about, as trial.why shows it. */
#include "daemon/suggest.h"
#include "proto/json.h"
#include <inttypes.h>
#include <string.h>

void sw_suggest_why(const struct sw_suggestion *s, uint64_t seen, bool maximize, struct sw_buf *out)
{
	struct sw_jw w;

	sw_jw_init(&w, out);
	sw_jw_obj(&w);
	sw_jw_kstr(&w, "source", s->source);
	sw_jw_kint(&w, "known", (int64_t)s->known);
	sw_jw_kint(&w, "unseen", (int64_t)(seen - s->known));
	if (s->has_model) {
		sw_jw_knum(&w, "mean", maximize ? -s->mean : s->mean);
		sw_jw_knum(&w, "sd", s->sd);
	}
	if (s->ei > 0)
		sw_jw_knum(&w, s->has_model ? "expected_improvement" : "density_ratio", s->ei);
	sw_jw_key(&w, "nearest");
	sw_jw_arr(&w);
	for (size_t i = 0; i < s->near_n; i++) {
		sw_jw_obj(&w);
		sw_jw_kint(&w, "trial", (int64_t)s->near[i]);
		sw_jw_knum(&w, "distance", s->near_distance[i]);
		sw_jw_obj_end(&w);
	}
	sw_jw_arr_end(&w);
	sw_jw_obj_end(&w);
}

void sw_suggest_why_again(const char *why, uint64_t unseen, struct sw_buf *out)
{
	static const char key[] = "\"unseen\":";
	const char *at = strstr(why, key);

	if (at == NULL) {
		(void)sw_buf_adds(out, why);
		return;
	}
	at += strlen(key);
	(void)sw_buf_add(out, why, (size_t)(at - why));
	(void)sw_buf_addf(out, "%" PRIu64, unseen);
	(void)sw_buf_adds(out, at + strspn(at, "0123456789"));
}
