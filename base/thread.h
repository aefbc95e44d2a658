/* base/thread.h — what the kernel's scheduler is told about a thread. A hint: nothing depends on
 * it. */
#ifndef SW_BASE_THREAD_H
#define SW_BASE_THREAD_H

/* The calling thread answers people and computes little at a time: a slice of 0.1 ms lets it in
 * soon where threads with longer ones hold every core. Linux 6.12 and later; others ignore it. */
void sw_thread_prompt(void);

#endif
