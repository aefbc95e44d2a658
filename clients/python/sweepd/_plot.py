"""Draws the answer of sweep.plot as a matplotlib figure. The only module that needs matplotlib."""
from __future__ import annotations

import datetime
import math
from typing import Any, Dict, List

import matplotlib.pyplot as pyplot  # type: ignore
from matplotlib import colormaps, dates  # type: ignore

# Okabe and Ito's colours, which those who see fewer can tell apart.
ROLES = {"plain": "#0072B2", "best": "#D55E00", "pruned": "#999999", "failed": "#CC79A7", "running": "#009E73",
         "reference": "#666666"}
DISTINCT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000"]


def figure(plot: Dict[str, Any]) -> Any:
    """A Figure, the caller's; pyplot does not keep it, so a notebook shows it once."""
    panels = plot["panels"]
    columns = 1 if len(panels) == 1 else 2 if len(panels) < 5 else 3
    rows = max(1, math.ceil(len(panels) / columns))
    size = (8, 5) if len(panels) == 1 else (4 * columns, 3 * rows)
    drawing, grid = pyplot.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    pyplot.close(drawing)
    for axes, panel in zip(grid.flat, panels):
        _draw(axes, panel)
    for axes in list(grid.flat)[len(panels):]:
        axes.set_visible(False)
    drawing.suptitle(_plain(plot["title"]))
    if plot["notes"]:
        drawing.supxlabel(_plain("\n".join(plot["notes"])), fontsize="small")
    return drawing


def _plain(text: str) -> str:
    """A name is no mathematics."""
    return text.replace("$", r"\$")


def _draw(axes: Any, panel: Dict[str, Any]) -> None:
    for series in panel["series"]:
        _series(axes, series, panel)
    for which, axis in (("x", panel["x"]), ("y", panel["y"])):
        getattr(axes, f"set_{which}label")(_plain(axis["label"]))
        if axis["scale"] == "log":
            getattr(axes, f"set_{which}scale")("log")
        elif axis["scale"] == "category":
            getattr(axes, f"set_{which}ticks")(range(len(axis["names"])), [_plain(name) for name in axis["names"]])
        elif axis["scale"] == "time":
            getattr(axes, f"{which}axis").set_major_formatter(dates.AutoDateFormatter(dates.AutoDateLocator()))
        getattr(axes, f"set_{which}lim")(*_numbers([axis["min"], axis["max"]], axis))
    if any(series["name"] for series in panel["series"]):
        axes.legend(fontsize="small")


def _numbers(column: List[Any], axis: Dict[str, Any]) -> List[float]:
    values = [math.nan if value is None else float(value) for value in column]
    if axis["scale"] != "time":
        return values
    return [math.nan if math.isnan(value) else
            dates.date2num(datetime.datetime.fromtimestamp(value / 1000)) for value in values]


def _series(axes: Any, series: Dict[str, Any], panel: Dict[str, Any]) -> None:
    role, shape = series["role"], series["shape"]
    color = ROLES[role] if isinstance(role, str) else DISTINCT[role % len(DISTINCT)]
    look = {"color": color, "label": _plain(series["name"]) or None, "alpha": .4 if role == "pruned" else 1}
    x, y = _numbers(series["x"], panel["x"]), _numbers(series["y"], panel["y"])
    shades = [colormaps["viridis"](value) if value is not None else color for value in series.get("v", [])]
    if shape in ("line", "steps"):
        if shades:
            look["color"] = shades[0]
        axes.plot(x, y, drawstyle="steps-post" if shape == "steps" else "default", **look)
    elif shape == "dots":
        bars = _numbers(series["x2"], {"scale": "linear"}) if "x2" in series else None
        if bars:
            axes.errorbar(x, y, xerr=bars, fmt="none", ecolor=color, alpha=.3)
        axes.scatter(x, y, s=12, **{**look, "color": shades or color})
    elif shape in ("bars", "cells"):
        x2, y2 = _numbers(series["x2"], panel["x"]), _numbers(series["y2"], panel["y"])
        axes.bar(x, [b - a for a, b in zip(y, y2)], [b - a for a, b in zip(x, x2)], y, align="edge",
                 **{**look, "color": shades or color})
    for at, (a, b) in enumerate(zip(x, y)):
        text = series.get("text", [None] * len(x))[at]
        if shape == "rules":
            axes.axvline(a, linewidth=.7, **look)
            look["label"] = None
        if text and shape in ("rules", "texts"):
            axes.text(a, b if not math.isnan(b) else axes.get_ylim()[1], _plain(text), fontsize="x-small", clip_on=True)
