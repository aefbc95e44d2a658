"""The faults that tests/planted plants in the filter of trials, which the daemon and the page hand on as it is typed:
(what it is, file in store/, the suite that must see it, the code, what it becomes).

The code is matched with any white space between its words, and must be there once.
"""

FOLDER = "store"
TARGET = "sw_store"
PREFIX = "test_store_"
ENV = {}

FAULTS = [
    # --- tokens ---
    ("a backslash does not hide a quote", "filter.c", "filter", "if (*p->at == '\\\\' && p->at[1] != '\\0')", "if (false)"),
    ("a quote may have no end", "filter.c", "filter", "if (*p->at == '\\0') return wrong(p, \"this quote",
     "if (false) return wrong(p, \"this quote"),
    ("a sign of two is read as two", "filter.c", "filter", "? 2 : 1;", "? 1 : 1;"),
    ("a name ends at a dot", "filter.c", "filter", "c == '_' || c == '.' ||", "c == '_' ||"),
    ("a number with a minus in its power is none", "filter.c", "filter", "c == '-' || c == '+' ||", "c == '+' ||"),
    ("a fault is said a place too late", "filter.c", "filter", "c < p->from; c++)", "c < p->at; c++)"),
    # --- names ---
    ("a name in quotes is a column's", "filter.c", "filter", "p->kind != QUOTED && sw_filter_columns[i]", "sw_filter_columns[i]"),
    ("the value of a trial is its last", "filter.c", "filter", "strcmp(name, \"value\") == 0 ? \"best_value\" : name", "name"),
    ("the metric is no name", "filter.c", "filter", "p->names->metric != NULL &&", "false &&"),
    ("a name that is unknown is not told", "filter.c", "filter", "(void)snprintf(p->unknown, 128, \"%s\", name);", ""),
    # --- clauses ---
    ("a number is compared as a text", "filter.c", "filter", "v->kind = kind == NUMBER ? SW_FILTER_NUMBER : SW_FILTER_TEXT;",
     "v->kind = SW_FILTER_TEXT; if (v->text == NULL) v->text = sw_strdup(text);"),
    ("true is a word", "filter.c", "filter", "if (is_keyword(p, \"true\") || is_keyword(p, \"false\"))", "if (false)"),
    ("false is true", "filter.c", "filter", "is_keyword(p, \"true\") ? \"1\" : \"0\"", "\"1\""),
    ("null is a text", "filter.c", "filter", "*null = is_keyword(p, \"null\");", "*null = false;"),
    ("not null is null", "filter.c", "filter", "strcmp(sign, \"!=\") == 0 ? \" IS NOT NULL\" : \" IS NULL\"", "\" IS NULL\""),
    ("null stands in a list", "filter.c", "filter", "if (rc == SW_OK && is_keyword(p, \"null\"))", "if (false)"),
    ("a list minds the case", "filter.c", "filter", "\" COLLATE NOCASE IN (\"", "\" IN (\""),
    ("a comparison minds the case", "filter.c", "filter", "\" %s ?%zu COLLATE NOCASE\"", "\" %s ?%zu\""),
    ("a list of one", "filter.c", "filter", "while (rc == SW_OK && is_sign(p, \",\"));", "while (false);"),
    ("a part's % stands for anything", "filter.c", "filter", "'%%',\" \" '!%%')", "'%%',\" \" '%%')"),
    ("a part's _ stands for any letter", "filter.c", "filter", "'_', '!_')", "'_', '_')"),
    # --- what binds them ---
    ("or binds as and", "filter.c", "filter", "is_keyword(p, \"and\") ? \" AND \" : \" OR \"", "\" AND \""),
    ("parentheses are dropped", "filter.c", "filter", "(void)sw_buf_adds(&p->f->where, \"(\"); rc = next(p);", "rc = next(p);"),
    ("not is dropped", "filter.c", "filter", "(void)sw_buf_adds(&p->f->where, \"NOT \");", ""),
    ("what follows is not read", "filter.c", "filter", "if (rc == SW_OK && p.kind != END)", "if (false)"),
    # --- bounds, order ---
    ("it is nested without an end", "filter.c", "filter", "if (++p->depth > SW_FILTER_DEPTH)", "if (false)"),
    ("a depth is not left again", "filter.c", "filter", "p->depth--;", ""),
    ("a filter has any length", "filter.c", "filter", "if (strlen(p.text) > SW_FILTER_MAX)", "if (false)"),
    ("the order is the other one", "filter.c", "filter", "p.text = p.at = p.from = sort + f->descending;",
     "p.text = p.at = p.from = sort + f->descending; f->descending = !f->descending;"),
    ("a sort's quotes are its name", "filter.c", "filter", "if (*p.at == '\"' || *p.at == '\\'') rc = next(&p);\n\t\tif (rc", "if (rc"),
]
