/*
 * web/routes.h — what the page may ask for.
 *
 *   GET  /, /sweep/1, /sweep/1/trial/7, /compare, /new   the page, which reads its view off the URL
 *   GET  /app.js, ...                                    its files (web/files.h)
 *   GET  /about                                          what it may do here, as JSON
 *   GET  /events?sweeps=1,2&list=1                       what changes (web/events.h)
 *   GET  /sweep/1/plot/curves.svg?ask={"filter":...}     sweep.plot as a bare drawing, or .csv;
 *                                                        with &whole=1 as a file of its own
 *   GET  /sweep/1/trial/7/checkpoint                     the file, from the daemon's own machine
 *   POST /call/METHOD                                    params as JSON: see cli/allowed.c
 *   POST /spec/validate, /spec/submit                    a spec as text, JSON or YAML
 */
#ifndef SW_WEB_ROUTES_H
#define SW_WEB_ROUTES_H

#include "web/events.h"
#include "web/http.h"

struct sw_web {
	struct sw_http http;
	/* Few rows by their keys; and what takes a second. One connection to another machine serves
	 * both: ssh may ask for a password. */
	struct sw_link quick, slow;
	struct sw_link *plots;
	struct sw_events events;
	/* How a command says which daemon it is: */
	const char *host;   /* of another machine; NULL: this one */
	const char *socket; /* NULL: without a word it finds this one */
	bool read_only;
};

/* sw_http.route; arg: the struct sw_web. */
enum MHD_Result sw_web_route(struct sw_request *r, void *arg);

#endif
