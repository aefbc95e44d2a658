/* store/columns.h — what the lists of store/tables.h become: SQL, and a row's values on their way
 * into an operation and out of a statement. For the files of store/. */
#ifndef SW_STORE_COLUMNS_H
#define SW_STORE_COLUMNS_H

#include "store/internal.h"

/* "sweep, trial, state" */
#define SW_NAMES(TABLE)         TABLE(SW_NAME_F, SW_NAME_X)
#define SW_NAME_F(kind, column) #column
#define SW_NAME_X(kind, column) ", " #column
/* "t.sweep, t.trial, t.state" */
#define SW_NAMES_T(TABLE)         TABLE(SW_NAME_T_F, SW_NAME_T_X)
#define SW_NAME_T_F(kind, column) "t." #column
#define SW_NAME_T_X(kind, column) ", t." #column
/* "r.sweep, r.trial, r.attempt" */
#define SW_NAMES_R(TABLE)         TABLE(SW_NAME_R_F, SW_NAME_R_X)
#define SW_NAME_R_F(kind, column) "r." #column
#define SW_NAME_R_X(kind, column) ", r." #column
/* "?, ?, ?": ?1 to the number of columns */
#define SW_MARKS(TABLE)         TABLE(SW_MARK_F, SW_MARK_X)
#define SW_MARK_F(kind, column) "?"
#define SW_MARK_X(kind, column) ", ?"

#define SW_INSERT(name, TABLE)                                                                     \
	"INSERT INTO " name " (" SW_NAMES(TABLE) ") VALUES (" SW_MARKS(TABLE) ")"

/* STRICT: a column holds its type or NULL, nothing else. keys: what follows the columns. */
#define SW_CREATE(name, TABLE, keys)                                                               \
	"CREATE TABLE " name " (" TABLE(SW_TYPED_F, SW_TYPED_X) ", " keys ") STRICT"
#define SW_TYPED_F(kind, column) #column " " SW_TYPE_##kind
#define SW_TYPED_X(kind, column) ", " #column " " SW_TYPE_##kind
#define SW_TYPE_INT              "INTEGER NOT NULL"
#define SW_TYPE_INT_OPT          "INTEGER"
#define SW_TYPE_BOOL             "INTEGER NOT NULL"
#define SW_TYPE_GONE             "INTEGER NOT NULL"
#define SW_TYPE_REAL             "REAL NOT NULL"
#define SW_TYPE_REAL_OPT         "REAL"
#define SW_TYPE_TEXT             "TEXT NOT NULL"
#define SW_TYPE_TEXT_OPT         "TEXT"

/* All values of *row, into tx. */
#define SW_PUT_ROW(TABLE)       TABLE(SW_PUT, SW_PUT)
#define SW_PUT(kind, column)    SW_PUT_##kind(column);
#define SW_PUT_INT(column)      sw_tx_int(tx, row->column)
#define SW_PUT_INT_OPT(column)  sw_tx_int_opt(tx, row->column)
#define SW_PUT_BOOL(column)     sw_tx_int(tx, row->column)
#define SW_PUT_GONE(column)     sw_tx_int(tx, row->column)
#define SW_PUT_REAL(column)     sw_tx_real(tx, row->column)
#define SW_PUT_REAL_OPT(column) sw_tx_real_opt(tx, row->has_##column, row->column)
#define SW_PUT_TEXT(column)     sw_tx_text(tx, row->column)
#define SW_PUT_TEXT_OPT(column) sw_tx_text_opt(tx, row->column)

/* All values of row, from the columns of c; i is the next one's number, 0 at first. */
#define SW_GET_ROW(TABLE)       TABLE(SW_GET, SW_GET)
#define SW_GET(kind, column)    SW_GET_##kind(column);
#define SW_GET_INT(column)      row.column = sw_col_int(c, i++)
#define SW_GET_INT_OPT(column)  row.column = sw_col_int_opt(c, i++)
#define SW_GET_BOOL(column)     row.column = sw_col_int(c, i++) != 0
#define SW_GET_GONE(column)     row.column = (enum sw_gone)sw_col_int(c, i++)
#define SW_GET_REAL(column)     row.column = sw_col_real(c, i++)
#define SW_GET_REAL_OPT(column) row.column = sw_col_real_opt(c, i++, &row.has_##column)
#define SW_GET_TEXT(column)     row.column = sw_col_text(c, i++)
#define SW_GET_TEXT_OPT(column) row.column = sw_col_text_opt(c, i++)

#endif
