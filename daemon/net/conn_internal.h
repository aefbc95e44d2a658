/* daemon/net/conn_internal.h — what the three files of a connection share. */
#ifndef SW_DAEMON_NET_CONN_INTERNAL_H
#define SW_DAEMON_NET_CONN_INTERNAL_H

#include "daemon/net/conn.h"

/* conn.c */
void sw_conn_read_lines(struct sw_conn *c);
bool sw_conn_can_read(const struct sw_conn *c);
void sw_conn_free_when_done(struct sw_conn *c);

/* conn_out.c */
struct sw_message *sw_conn_push_message(struct sw_conn *c); /* NULL: no memory */
void sw_conn_free_messages(struct sw_conn *c);

/* conn_limit.c */
void sw_conn_charge(struct sw_conn *c); /* its memory has changed */
void sw_conn_shed(struct sw_daemon *d); /* cuts connections while all of them take too much */

#endif
