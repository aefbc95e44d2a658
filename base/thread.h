/*
 * base/thread.h — what the kernel's scheduler is told about a thread. A hint: nothing depends on
 * it. Linux 6.12 and later; others ignore it.
 */
#ifndef SW_BASE_THREAD_H
#define SW_BASE_THREAD_H

/* The calling thread answers people and computes little at a time: with slices of 0.1 ms it is not
 * pushed aside by the threads that it wakes. Its share of the cores stays the same. */
void sw_thread_prompt(void);

#endif
