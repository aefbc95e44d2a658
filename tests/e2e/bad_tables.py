"""CSV files as people have them when something is wrong, and what `sweep-worker table` must say of each: BAD has a line
for each file. Where: "error" if the file is refused, else the column whose line says it. Words: a pattern."""
import bz2
import gzip


def rows(line, n=40, head="a,b,y"):
    """A table whose line r is line(r)."""
    return "\n".join([head, *map(line, range(n))]) + "\n"


def plain(r):
    return f"{r * 7 % 11},{r * 3 % 5}.5,{'yes' if r % 2 else 'no'}"


GOOD = rows(plain)


def put(line, text, table=GOOD):
    """The table with this line (from 1) in the place of the one that is there."""
    lines = table.split("\n")
    lines[line - 1] = text
    return "\n".join(lines)


def million():
    return rows(lambda r: f"{r * 7 % 11},id{r * 7919 % 1000003}x,{r % 2}", 1000000)


# name: (the file, its options beside the label y, where, words)
BAD = {
    "nothing": ("", {}, "error", r"empty"),
    "spaces": ("\n\n  \n", {}, "error", r"empty|no row|has no|one column"),
    "header alone": ("a,b,y\n", {}, "error", r"0 rows|no rows"),
    "one row": ("a,b,y\n1,2,no\n", {}, "error", r"1 row\b|one row"),
    "one column": ("y\n1\n2\n", {}, "error", r"one column"),
    "short row": (put(7, "1,2"), {}, "error", r"line 7\b.*\b2\b.*\b3\b"),
    "long row": (put(7, "1,2,no,4"), {}, "error", r"line 7\b.*\b4\b.*\b3\b"),
    "separator at the end of a row": (put(9, "1,2,no,"), {}, "error", r"line 9\b.*\b4\b.*\b3\b"),
    "quote that stays open": (put(7, '"1,2,no'), {}, "error", r"line 7\b.*quote"),
    "quote closed lines later": (put(20, '4",2,no', put(7, '"1,2,no')), {}, "a", r"line 7\b"),
    "text behind a quote": (put(7, '"1"2,3,no'), {}, "error", r"line 7\b.*quote"),
    "header twice": ("a,b,y\n" + GOOD, {}, "error", r"line 2\b.*(header|names)"),
    "header again in the middle": (put(20, "a,b,y"), {}, "error", r"line 20\b.*(header|names)"),
    "units below the names": (put(2, "(cm),(kg),(text)"), {}, "a", r"line 2\b.*\(cm\)"),
    "a sum at the end": (GOOD + "Total,,\n", {}, "error", r"line 42\b"),
    "NUL": (put(7, "1,2\0,no"), {}, "error", r"line 7\b.*NUL|line 7\b.*byte 0"),
    "NUL behind a quote": (put(7, '1,2,"no"\0"1",2,"no"'), {}, "error", r"line 7\b.*quote"),
    "UTF-16": (GOOD.encode("utf-16"), {}, "error", r"UTF-16"),
    "Latin-1": (put(7, "1,2,n\xf6").encode("latin-1"), {}, "error", r"line 7\b.*UTF-8.*latin"),
    "100,000 columns": (",".join(f"c{i}" for i in range(100000)) + "\n" + "1," * 99999 + "1\n", {"label": "c0"}, "error",
                        r"65,?536 columns"),
    "kind that changes late": (put(9000, "many,2,no", rows(plain, 10000)), {}, "a", r"line 9000\b.*many"),
    "target that changes late": (put(9000, "1,2,low", rows(lambda r: f"{r},{r % 7},{r * 37 % 501}.25", 10000)), {}, "error",
                                 r"line 9000\b.*\"y\".*low"),
    "one class": (rows(lambda r: f"{r % 11},{r % 5},no"), {}, "error", r"all rows have the same label"),
    "class of one row": (put(7, "1,2,maybe"), {}, "y", r"one of its classes has one row"),
    "target without values": (rows(lambda r: f"{r % 11},{r % 5},"), {}, "error",
                              r"40 rows have no value.*\"y\".*line 2 \(an empty cell\): leave such rows out$"),
    "holes in the target": (put(9, "1,2,", put(7, "1,2,NA")), {}, "error",
                            r"2 rows have no value.*\"y\".*line 7 \(NA\): leave such rows out, or rename the class NA$"),
    "a hole in the target of a file without names": (put(9, "1,2,"), {"header": False, "label": -1}, "error",
                                                     r"1 row has no value.*column 2, .*line 9 .*leave such rows out$"),
    "column of holes": (rows(lambda r: f"{r % 11},,{r % 2}"), {}, "b", r"left out.*(hole|empty|no value)"),
    "constant column": (rows(lambda r: f"{r % 11},7,{r % 2}"), {}, "b", r"left out.*same value"),
    "nothing to learn from": (rows(lambda r: f"x,7,{r % 2}"), {}, "error", r"column"),
    "a million categories": (million, {}, "b", r"left out"),
    "index of pandas": (rows(lambda r: f"{r},{r * 3 % 5}.5,{r // 20}", head=",b,y"), {}, "", r"left out.*numbers the rows"),
    "a copy of the target": (rows(lambda r: f"{r * 3 % 7},{'j' if r % 3 else 'n'},{'yes' if r % 3 else 'no'}"), {}, "b",
                             r"target"),
    "dates of three forms": (rows(lambda r: f"{('2024-03-%02d', '%02d.03.2024', 'Mar %02d 2024')[r % 3] % (r % 28 + 1)},"
                                            f"{r % 7},{r % 2}"), {}, "a", r"left out|date"),
    "two columns of one name": (rows(plain, head="a,a,y"), {}, "error", r"both called \"a\""),
    "two targets": (rows(plain, head="a,y,y"), {}, "error", r"both called \"y\""),
    "target that is not there": (GOOD, {"label": "z"}, "error", r"no column \"z\""),
    "target almost there": (GOOD.replace("a,b,y", "a,b,price"), {"label": "prise"}, "error", r"\"price\""),
    "cut gzip": (gzip.compress(GOOD.encode())[:-20], {}, "error", r"gzip|compressed|ends"),
    "text behind gzip": (gzip.compress(GOOD.encode()) + b"1,2,3\n" * 9, {}, "error", r"is damaged"),
    "broken gzip": (gzip.compress(GOOD.encode())[:30] + b"\0" * 60, {}, "error", r"gzip|compressed"),
    "workbook": (b"PK\3\4" + bytes(200), {}, "error", r"packed.*zip.*workbook.*unpack"),
    "gzip in gzip": (gzip.compress(gzip.compress(GOOD.encode())), {}, "error", r"packed \(gzip\).*unpack"),
    "bzip2": (bz2.compress(GOOD.encode()), {}, "error", r"packed \(bzip2\).*unpack"),
    "Parquet": (b"PAR1" + bytes(200), {}, "error", r"packed \(Parquet\).*save it as a CSV"),
    "old workbook": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(200), {}, "error", r"packed \(an old workbook\).*save it as a CSV"),
    "quoted cells with spaces between them": ('"a" "b" "y"\n"1" 1 2 "no"\n', {}, "error", r"line 1\b.*the separator \(,\) is due"),
    "cells with spaces between them": ("a b y\n1 2 no\n", {}, "error", r"one column \(\"a b y\"\).*',', ';', '\|' or a tab between"),
    "R's row names": (rows(lambda r: f"{r + 1},{plain(r)}"), {}, "error", r"line 2\b.*\b4\b.*\b3: the first column.*lacks a name"),
    "money": (rows(lambda r: f"\"${r * 37 % 101 + 1},000\",{r % 7},{r % 2}"), {}, "a", r"line 2\b.*\"\$1,000\" is a number but for its sign"),
    "percent": (rows(lambda r: f"{r * 37 % 101} %,{r % 7},{r % 2}"), {}, "a", r"line 2\b.*\"0 %\".*its sign"),
    "codes of a letter and a digit": (rows(lambda r: f"Ä{r * 7 % 6},{r % 7},{r % 5 % 2}"), {}, "a", r"for each value: $"),
    "money that gives the target": (rows(lambda r: f"{r % 4} €,{r % 7},{r % 2}"), {}, "a", r"gives the target away"),
    "words that are said to be meant": (put(7, "n.v.,2,no"), {"columns": {"category": ["a"]}}, "a", r"for each value: $"),
    "words that are ignored": (put(7, "n.v.,2,no"), {"columns": {"ignore": ["a"]}}, "a", r"as asked: $"),
    "a target of money": (rows(lambda r: f"{r * 37 % 101},{r % 7},€{r // 2}.50"), {}, "y", r"line 2\b.*0\.50\".*its sign"),
    "a class for most rows": (rows(lambda r: f"{r * 37 % 101},{r % 7},n{r if r % 9 else 1}"), {}, "y", r"\d+ classes in 40 rows"),
    "70,000 classes": (rows(lambda r: f"{r},{r % 7},n{r // 2}", 140000), {}, "error", r"label has over 65536 classes"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), {}, "error", r"."),
    "page": ("<html>\n<body>\nNot found\n</body>\n</html>\n", {}, "error", r"one column"),
    "two separators": ("a,b,y\n" + rows(lambda r: f"{r};{r};{r % 2}", head="0;0;0"), {}, "error", r"line 2\b"),
    "numbers too large": (put(7, "1e400,2,no"), {}, "a", r"line 7\b.*1e400"),
    "infinity": (put(7, "inf,2,no"), {}, "a", r"line 7\b.*inf"),
    "word in a column that is said to be numbers": (put(7, "1,two,no"), {"columns": {"number": ["b"]}}, "error",
                                                   r"line 7\b.*\"b\".*two"),
    "column that is said to be dates": (GOOD, {"columns": {"date": ["a"]}}, "error", r"line 2\b.*\"a\".*date"),
    "ignored column that is not there": (GOOD, {"columns": {"ignore": ["c"]}}, "error", r"\"c\""),
    "row of 20 MB": (put(7, "1," + "2" * 20000000 + ",no"), {}, "error", r"line 7\b.*16777216 bytes"),
}
