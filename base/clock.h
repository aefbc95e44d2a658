/* base/clock.h — the two clocks. Durations use the first, what is stored or shown the second. */
#ifndef SW_BASE_CLOCK_H
#define SW_BASE_CLOCK_H

#include <stdint.h>

int64_t sw_clock_mono_us(void); /* CLOCK_MONOTONIC, microseconds; never steps back */
int64_t sw_clock_wall_ms(void); /* milliseconds since the epoch (UTC); may step */

#endif
