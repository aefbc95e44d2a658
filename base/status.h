/* base/status.h — the one error vocabulary. Codes travel by return value; text travels in
 * sw_err. */
#ifndef SW_BASE_STATUS_H
#define SW_BASE_STATUS_H

#if defined(__GNUC__) || defined(__clang__)
#define SW_NODISCARD    __attribute__((warn_unused_result))
#define SW_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define SW_NODISCARD
#define SW_PRINTF(f, a)
#endif

#define SW_STATUS_MAP(X)                                                                           \
	X(SW_OK, "ok")                                                                             \
	X(SW_NOMEM, "out of memory")                                                               \
	X(SW_PARSE, "not valid JSON")                                                              \
	X(SW_INVALID, "invalid argument")                                                          \
	X(SW_NOT_FOUND, "no such thing")                                                           \
	X(SW_CONFLICT, "state does not allow this operation")                                      \
	X(SW_EXHAUSTED, "search space exhausted")                                                  \
	X(SW_BUSY, "peer reads too slowly, or resource is busy")                                   \
	X(SW_TOO_BIG, "over a limit")                                                              \
	X(SW_DENIED, "not permitted")                                                              \
	X(SW_FULL, "no space left on the device")                                                  \
	X(SW_IO, "input/output error")                                                             \
	X(SW_DAMAGED, "a file is not what it was")                                                 \
	X(SW_DEVICE_LOST, "device context is unusable")                                            \
	X(SW_PEER_LOST, "another rank of the trial is lost")                                       \
	X(SW_UNSUPPORTED, "not supported by this device")                                          \
	X(SW_INTERNAL, "internal error")

#define SW_STATUS_ENUM(code, text) code,
typedef enum { SW_STATUS_MAP(SW_STATUS_ENUM) } sw_status;
#undef SW_STATUS_ENUM

struct sw_err {
	sw_status code; /* SW_OK: no error recorded yet */
	char msg[320];  /* NUL-terminated, one line, no trailing newline */
	char ptr[160];  /* JSON pointer (RFC 6901) of the field at fault; "": none */
};

#define SW_ERR_INIT                                                                                \
	{                                                                                          \
		.code = SW_OK                                                                      \
	}

/* Records an error unless one stands already (the first error wins), and returns the code that
 * stands, so `return sw_err_set(...)` works. err may be NULL. Control characters in the text, and
 * those that turn its direction, become '?': a message is always one line (base/text.h). */
sw_status sw_err_set(struct sw_err *err, sw_status code, const char *fmt, ...) SW_PRINTF(3, 4);

/* The same with the JSON pointer of the field at fault. ptr is copied (and cut at its limit). */
sw_status sw_err_at(struct sw_err *err, sw_status code, const char *ptr, const char *fmt, ...)
	SW_PRINTF(4, 5);

/* Puts prefix in front of the pointer that err holds: callers add where they were, as the error
 * travels outwards. Nothing happens without an error. */
void sw_err_prefix(struct sw_err *err, const char *prefix);

const char *sw_status_str(sw_status code);

#endif
