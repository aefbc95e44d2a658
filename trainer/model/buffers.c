/* trainer/model/buffers.c — the buffers of a plan: made, and needed for longer. */
#include "trainer/model/internal.h"

uint16_t sw_plan_buffer(struct sw_plan *p, size_t row, size_t fixed, uint16_t from)
{
	p->buffer[p->buffers_n] =
		(struct sw_buffer){.row = row, .fixed = fixed, .from = from, .to = from};
	return (uint16_t)p->buffers_n++;
}

void sw_plan_touch(struct sw_plan *p, uint16_t buffer, uint16_t when)
{
	if (buffer != SW_NO_BUFFER && p->buffer[buffer].to < when)
		p->buffer[buffer].to = when;
}
