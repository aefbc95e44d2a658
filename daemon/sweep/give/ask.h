/*
 * daemon/sweep/give/ask.h — handing out trials: to clients that run their own loop (trial.ask) and
 * to the slots of the own workers (worker.next).
 */
#ifndef SW_DAEMON_SWEEP_GIVE_ASK_H
#define SW_DAEMON_SWEEP_GIVE_ASK_H

#include <stdbool.h>
#include <stdint.h>

struct sw_call;
struct sw_daemon;
struct sw_running;
struct sw_slot;
struct sw_room_need;

#define SW_ASKS_MAX 8192 /* of a sweep that wait; more are answered as if they wished no wait */

/* Gives the slot a trial of the sweep, which takes that much room (there is as much), as the
 * answer of its worker.next. False: it had no trial, and the call is still open. */
bool sw_ask_hand_out(struct sw_running *live, struct sw_slot *s, const struct sw_room_need *need,
		     struct sw_call *call);

/* Gives the slot the job that was deferred (sw_slot_defer_job()). */
void sw_ask_give_deferred(struct sw_slot *s);

/* Answers trial.ask: at once, or when there is a suggestion, or a trial, for it. */
void sw_ask_answer(struct sw_running *live, struct sw_call *call);
/* The same, for a trial that is enqueued already: hands out what waits before it, then it. */
void sw_ask_answer_given(struct sw_running *live, struct sw_call *call, uint64_t trial);
/* The same with the suggestions that there are. */
void sw_ask_answer_now(struct sw_running *live, struct sw_call *call);

/* A trial.ask with wait_s that found nothing waits until the sweep has a trial for it, has
 * ended, or its time is over. They are served in the order in which they came, when their sweep
 * is due. Asks that wait for a suggestion are daemon/sweep/search/suggest.h's meanwhile. */
void sw_ask_serve(struct sw_running *live);
void sw_ask_tick(struct sw_daemon *d, int64_t now_us); /* those whose time is over */

/* The daemon stops: asks that want many are answered with what they have. */
void sw_ask_end_all(struct sw_daemon *d);

#endif
