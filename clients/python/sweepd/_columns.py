"""Columns of a table as the inputs of a net, by the metadata of its model (docs/predict.md): what sweepd reads in the
text of a cell, and what pandas has made of it."""
import datetime
import math
import re
import statistics
import warnings

from ._errors import SweepdError

HOLES = {"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "?", "-"}
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
DATE = re.compile(r"(?=.{8,40}$)(\d{1,4})[-/.](\d{1,4})[-/.](\d{1,4})"
                  r"(?:[ T](2[0-4]|[01]?\d):([0-5]?\d)(?::((?:[0-5]\d|60)(?:\.\d*)?))?"
                  r"(?:Z|([+-])(\d{1,2})(?::(\d{1,2}))?)?)?", re.ASCII)
ORDERS = {"2024-01-31": (0, 1, 2), "31.01.2024": (2, 1, 0), "01/31/2024": (2, 0, 1)}
EPOCH = datetime.date(1970, 1, 1).toordinal()
LARGEST = 1e150


def check(column):
    """Refuses a column that no file of sweepd's has: a file may come from anywhere."""
    kind, points = column["kind"], column.get("pieces", column.get("quantiles", [0, 1]))
    if kind == "category":
        fine = len(set(column["values"])) == len(column["values"]) and all(isinstance(value, str) for value in column["values"])
    else:
        width, clip = column.get("width", 1), column.get("clip", 1)
        fine = (kind == "number" or kind == "date" and column["form"] in ORDERS and column["part"] in (0, 1, 2)) and (
            all(map(math.isfinite, (column["fill"], column.get("center", 0), width, clip, *points))) and min(width, clip) > 0
            and len(points) > 1 and all(a < b or a == b and "pieces" not in column for a, b in zip(points, points[1:])))
    if not fine:
        raise ValueError(f"column {column.get('name', column['column'])!r} makes no sense")


def inputs(numpy, column, cells):
    """float32 [rows, inputs] of one of the table's "columns": a number, or a category."""
    cells = list(cells.tolist() if hasattr(cells, "tolist") else cells)
    hole = numpy.array([_is_hole(cell) for cell in cells], bool)
    part = (_category(numpy, column, cells, hole) if column["kind"] == "category" else
            _scaled(numpy, column, _numbers(numpy, column, cells, hole)))
    return numpy.concatenate([part] + [hole[:, None]] * column.get("hole", False), axis=1).astype(numpy.float32)


def _is_hole(cell):
    if isinstance(cell, str):
        return cell.strip().lower() in HOLES
    return cell is None or str(cell) in ("<NA>", "NaT") or cell != cell  # pandas.NA has no truth


def _category(numpy, column, cells, hole):
    places = {value: i for i, value in enumerate(column["values"])}
    numbers = {}  # pandas reads 01234 as 1234; where two values are one number, neither is meant
    for value, i in places.items():
        if NUMBER.fullmatch(value):
            numbers[float(value)] = None if float(value) in numbers else i
    out, unseen = numpy.zeros((len(cells), len(places)), numpy.float32), []
    for row, cell in enumerate(cells):
        if hole[row]:
            continue
        at = next((places[text] for text in _texts(cell) if text in places), None)
        if at is None and isinstance(cell, (int, float)) and not isinstance(cell, bool):
            at = numbers.get(float(cell))
        if at is None:
            unseen.append(cell)
        else:
            out[row, at] = 1
    if unseen:  # as `sweep predict` says it
        warnings.warn(f"column {column.get('name', column['column'])}: {len(unseen)} cells have a value that was not in "
                      f"the training rows, or was rare there ({unseen[0]!r}): they count as none", stacklevel=6)
    return out


def _texts(cell):
    """How a file may have written the cell: pandas makes True of true."""
    text = str(cell)
    yield from (text, text.strip())  # spaces within quotes are the value's, others are not, and pandas keeps both
    if isinstance(cell, bool):
        yield from (text.lower(), text.upper())


def _numbers(numpy, column, cells, hole):
    """Holes are filled."""
    read = _date if column["kind"] == "date" else _number
    out = numpy.empty(len(cells))
    for row, cell in enumerate(cells):
        try:
            out[row] = column["fill"] if hole[row] else read(column, cell)
        except ValueError:
            raise SweepdError(f"row {row + 1}, column {column.get('name', column['column'])!r}: {cell!r} is not a {column['kind']}") from None
    return out


def _number(column, cell):
    if isinstance(cell, str):
        text = cell.strip()
        if column.get("decimal") == ",":
            text = text.translate({ord("."): ",", ord(","): "."})
        if GROUPED.fullmatch(text):
            text = text.replace(",", "")
        if not NUMBER.fullmatch(text):
            raise ValueError
        cell = text
    return min(max(float(cell), -LARGEST), LARGEST)


def _date(column, cell):
    """Days since 1970-01-01, the month, or the day of the week."""
    if not isinstance(cell, datetime.date):
        found = DATE.fullmatch(str(cell).strip())
        year, month, day = (int(found[1 + i]) if found else 0 for i in ORDERS[column["form"]])
        if year < 1000:  # of two digits, any of the three could be it
            raise ValueError
        at, part = datetime.date(year, month, day), 0.0
        if found[4]:
            part = (int(found[4]) * 3600 + int(found[5]) * 60 + float(found[6] or 0)) / 86400
        if found[7]:
            part -= (-1 if found[7] == "-" else 1) * (int(found[8]) * 60 + int(found[9] or 0)) / 1440
        return (at.toordinal() - EPOCH + part, at.month, at.weekday())[column["part"]]
    part = 0.0
    if isinstance(cell, datetime.datetime):
        part = (cell.hour * 3600 + cell.minute * 60 + cell.second + cell.microsecond / 1e6) / 86400
        part -= (cell.utcoffset() or datetime.timedelta()).total_seconds() / 86400
    return (cell.toordinal() - EPOCH + part, cell.month, cell.weekday())[column["part"]]


def _scaled(numpy, scale, values):
    """[rows, inputs]"""
    values = values[:, None]
    if "pieces" in scale:
        known = numpy.array(scale["pieces"])
        with numpy.errstate(over="ignore"):  # far from a short piece
            return ((values - known[:-1]) / numpy.diff(known)).clip(0, 1)
    if "quantiles" in scale:
        known = numpy.array(scale["quantiles"])
        first, behind = (numpy.searchsorted(known, values, side) for side in ("left", "right"))
        low, high = (numpy.clip(at, 0, len(known) - 1) for at in (first - 1, first))
        with numpy.errstate(divide="ignore", invalid="ignore"):  # where both are one point it counts for nothing
            part = (values - known[low]) / (known[high] - known[low])
        # of several equal ones the middle, else between its neighbours
        rank = numpy.where(behind > first, (first + behind - 1) / 2, low + numpy.where(low < high, part, 0))
        normal = statistics.NormalDist().inv_cdf
        return numpy.array([[normal(min(max(r, .001), .999))] for [r] in rank / (len(known) - 1)])
    with numpy.errstate(over="ignore", invalid="ignore"):  # a short width; far out the square has no double
        z = (values - scale.get("center", 0)) / scale.get("width", 1)
        if "clip" not in scale:
            most = float(numpy.finfo(numpy.float32).max)
            return z.clip(-most, most)
        clip = scale["clip"]
        return numpy.where(abs(z) > 1e100, numpy.copysign(clip, z), z / numpy.sqrt(1 + (z / clip) ** 2))
