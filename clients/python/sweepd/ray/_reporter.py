"""The table that a run prints."""
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._results import Text, Trial, best_of

Columns = Union[Sequence[str], Mapping[str, str], None]
ORDER = ("RUNNING", "PAUSED", "PENDING", "TERMINATED", "ERROR")


class CLIReporter:
    """Prints the trials every max_report_frequency seconds, and at the end."""

    def __init__(self, *, metric_columns: Columns = None, parameter_columns: Columns = None,
                 max_progress_rows: int = 20, max_column_length: int = 20, max_report_frequency: float = 5,
                 metric: Text = None, mode: Text = None, **_: Any) -> None:
        self.metric_columns, self.parameter_columns = _named(metric_columns), _named(parameter_columns)
        self.rows, self.length, self.every = max_progress_rows, max_column_length, max_report_frequency
        self.metric, self.mode = metric, mode
        self._started = self._said = time.monotonic()

    def due(self) -> bool:
        return time.monotonic() - self._said >= self.every

    def report(self, trials: List[Trial], planned: Optional[int], sweep: int) -> None:
        self._said = time.monotonic()
        counts = {status: sum(trial.status == status for trial in trials) for status in ORDER}
        said = ", ".join(f"{n} {status}" for status, n in counts.items() if n)
        print(f"== Status of sweep {sweep} after {self._said - self._started:.0f} s ==")
        best = best_of(trials, self.metric, self.mode, "last") if self.metric and self.mode in ("min", "max") else None
        if best is not None and self.metric is not None:
            print(f"Current best trial: {best.trial_id} with {self.metric}={best.last_result[self.metric]} and "
                  f"parameters={best.config}")
        print(f"Number of trials: {len(trials)}/{planned if planned is not None else 'infinite'} ({said})")
        shown = sorted(trials, key=lambda trial: (ORDER.index(trial.status), trial.number))[:self.rows]
        for line in self._table(shown):
            print(line)
        if len(trials) > len(shown):
            print(f"... {len(trials) - len(shown)} more trials not shown: sweep show {sweep}")
        for trial in trials:
            if trial.error_msg:
                print(f"{trial.trial_id}: {trial.error_msg}")
        print(flush=True)

    def _table(self, trials: List[Trial]) -> List[str]:
        reported = sorted({name for trial in trials for name, value in trial.last_result.items()
                           if isinstance(value, (int, float))})
        metrics = self.metric_columns or {name: name for name in reported
                                          if name not in ("timestamp", "pid", "time_this_iter_s")}
        parameters = self.parameter_columns or {name: name for name in sorted({n for t in trials for n in t.config})}
        table = [["Trial name", "status", *parameters.values(), *metrics.values()]]
        for trial in trials:
            table.append([trial.trial_id, trial.status,
                          *(self._cell(trial.config.get(name)) for name in parameters),
                          *(self._cell(trial.last_result.get(name)) for name in metrics)])
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        return ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in table]

    def _cell(self, value: Any) -> str:
        text = "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
        return text if len(text) <= self.length else "..." + text[len(text) - self.length + 3:]


def _named(columns: Columns) -> Dict[str, str]:
    return dict(columns) if isinstance(columns, Mapping) else {name: name for name in columns or ()}
