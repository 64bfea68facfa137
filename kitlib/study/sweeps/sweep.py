"""One scenario over a grid of parameters and seeds: in processes of this machine, on a Dask cluster, or in a browser.

    found = sweep("mymodule:pending_pods", {"max_skew": [1, 2, 5], "zones": [2, 3]}, seeds=20)
    found.frame()

The same points have the same rows wherever they are computed. Rows can be stored in a file, from which a sweep
continues after it was cancelled or killed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from kitlib import __version__
from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.study.sweeps import grid as grids
from kitlib.study.sweeps.chunks import NoProcesses, Numbered
from kitlib.study.sweeps.grid import RELEASE, Grid, Point
from kitlib.study.sweeps.record import Provenance, SweepRecord
from kitlib.study.sweeps.results import Results
from kitlib.study.sweeps.row import SweepProgress, SweepRow
from kitlib.study.sweeps.task import Metric, Scenario, Task

Found = Generator[list[tuple[int, SweepRow]]]


class Cancel(Protocol):
    """A request to end a sweep: a `threading.Event` or a similar object."""

    def is_set(self) -> bool:
        """Return whether to end now."""
        ...


def sweep(
    scenario: Scenario,
    grid: Grid | None = None,
    metric: Metric = None,
    *,
    seeds: int | Iterable[int] = (),
    workers: int | None = None,
    client: Any = None,
    file: str | Path | None = None,
    retry_errors: bool = False,
    timeout: float | None = None,
    progress: Callable[[SweepProgress], Any] | bool = False,
    cancel: Cancel | None = None,
) -> Results:
    """Compute a scenario at every point of a grid.

    An error at one point becomes a row with that error. A worker that ends is replaced and its points are computed
    again; a point at which three workers ended becomes a row with that error.

    Args:
        scenario: a function that can be imported (itself or `module:function`), called with the point's parameters by
            name; or data with parameters, see `kitlib.study.sweeps.template`.
        grid: list of values by parameter, or a list of points.
        metric: the measured values: a function of the scenario's result, or a name of
            `kitlib.study.sweeps.metrics.METRICS` (for data), several of them, or metric by column. None = the result
            itself (a mapping has a column for each key), or `pending` for data.
        seeds: number of seeds, for the seeds 0, 1, …, or the seeds themselves; each point is computed with each seed as
            its parameter `seed`.
        workers: number of processes; None = as many as processors and work allow, 0 = compute in this process.
        client: a `distributed.Client`, or a Dask scheduler's address, to use instead of processes.
        file: path of a results file for the rows; rows that it has already are not computed again.
        retry_errors: whether points whose row in the file is an error are computed again.
        timeout: maximum seconds for a point in a process; None = no limit.
        progress: function that is called with a `SweepProgress` as rows arrive; True prints a line.
        cancel: request to end the sweep; the rows that were computed are returned.

    Raises:
        KitError: the grid, the scenario, the metric or the file is invalid; nothing has been computed then.
        KeyboardInterrupt: all processes have ended; the file has the rows that were computed.
    """
    run = Sweep(scenario, grid, metric, seeds=seeds)
    return run.run(
        workers=workers,
        client=client,
        file=file,
        retry_errors=retry_errors,
        timeout=timeout,
        progress=progress,
        cancel=cancel,
    )


class Sweep:
    """A sweep that can be run, interrupted and run again: existing rows are not computed twice.

    Args:
        scenario, grid, metric, seeds: arguments of `sweep`.

    Attributes:
        points: the points, in order.
        provenance: provenance of the rows.

    Raises:
        KitError: the grid, the scenario or the metric is invalid.
    """

    def __init__(
        self, scenario: Scenario, grid: Grid | None = None, metric: Metric = None, *, seeds: int | Iterable[int] = ()
    ) -> None:
        self._task = Task(scenario, metric)
        self.points: list[Point] = grids.points({} if grid is None else grid, seeds)
        self._keys = [grids.key(point) for point in self.points]
        for shape in {tuple(point): point for point in self.points}.values():
            self._task.check(shape)
        self._rows: dict[int, SweepRow] = {}
        self._note = ""
        self.provenance = Provenance(
            kitlib=__version__,
            scenario=self._task.name,
            scenario_hash=self._task.digest(),
            metrics=self._task.metric_names(),
            release=_release(scenario, self.points),
            began=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def run(
        self,
        *,
        workers: int | None = None,
        client: Any = None,
        file: str | Path | None = None,
        retry_errors: bool = False,
        timeout: float | None = None,
        progress: Callable[[SweepProgress], Any] | bool = False,
        cancel: Cancel | None = None,
    ) -> Results:
        """Compute the points that have no row; arguments and errors are those of `sweep`."""
        _check(workers, client, timeout)
        record = SweepRecord(Path(file), self.provenance) if file is not None else None
        try:
            if record is not None:
                self.provenance = record.provenance
                self._rows |= {i: record.rows[one] for i, one in enumerate(self._keys) if one in record.rows}
            if retry_errors:
                self._rows = {i: row for i, row in self._rows.items() if not row.error}
            self._note = ""
            self._compute(workers, client, timeout, _shown(progress), record, cancel)
        finally:
            if record is not None:
                record.close()
        rows = [self._rows[i] for i in sorted(self._rows)]
        return Results(rows, len(self.points), self.provenance, self._note)

    def _compute(
        self,
        workers: int | None,
        client: Any,
        timeout: float | None,
        progress: Callable[[SweepProgress], Any] | None,
        record: SweepRecord | None,
        cancel: Cancel | None,
    ) -> None:
        left = [(i, point) for i, point in enumerate(self.points) if i not in self._rows]
        if record is not None:  # rows of this process that a file does not have yet
            record.append(row for i, row in sorted(self._rows.items()) if record.rows.get(self._keys[i]) != row)
        began, at_first = time.monotonic(), len(self._rows)
        errors = sum(1 for row in self._rows.values() if row.error)
        if progress is not None:
            progress(self._progress(began, at_first, errors))
        if not left or (cancel is not None and cancel.is_set()):
            return
        executor = self._executor(left, workers, client, timeout)
        try:
            for found in executor:
                fresh = [(i, row) for i, row in found if i not in self._rows]
                if fresh:
                    if record is not None:
                        record.append(row for _, row in fresh)
                    self._rows.update(fresh)
                    errors += sum(1 for _, row in fresh if row.error)
                if progress is not None:
                    progress(self._progress(began, at_first, errors))
                if cancel is not None and cancel.is_set():
                    break
        finally:
            executor.close()

    def _executor(self, left: Sequence[Numbered], workers: int | None, client: Any, timeout: float | None) -> Found:
        """Return the generator that computes the points; a note says why it is this process if others were possible."""
        if client is not None:
            return _on_dask(self._task, left, client)
        if workers == 0:
            return _here(self._task, left)
        why, asked = self._task.why_local, "timeout=" if timeout is not None else "workers="
        if why and (workers is not None or timeout is not None):
            raise KitError(f"{asked}: {why}: other processes cannot import it; put it into a module, or use workers=0")
        if not why and sys.platform == "emscripten":
            why = "a browser has no processes"
        if not why:
            return self._in_processes(left, workers, timeout)
        if timeout is not None:
            raise KitError(f"{asked}: {why}")
        self._note = f"computed in this process: {why}"
        return _here(self._task, left)

    def _in_processes(self, left: Sequence[Numbered], workers: int | None, timeout: float | None) -> Found:
        """Yield rows from processes, or from this process if none can be started and the caller requested none."""
        assert self._task.work is not None
        try:
            from kitlib.study.sweeps.processes import Processes, processors

            count = processors() if workers is None else workers
            yield from Processes(self._task.work, left, count, at_once=workers is not None, timeout=timeout)
        except (ImportError, NoProcesses) as error:
            if workers is not None or timeout is not None:
                raise KitError(
                    f"cannot start worker processes: {error}; use workers=0 to run the sweep in this process"
                ) from None
            self._note = f"computed in this process: {error}"
            yield from _here(self._task, [(i, point) for i, point in left if i not in self._rows])

    def _progress(self, began: float, at_first: int, errors: int) -> SweepProgress:
        done, seconds = len(self._rows), time.monotonic() - began
        fresh, left = done - at_first, len(self.points) - done
        return SweepProgress(done, len(self.points), errors, seconds, seconds / fresh * left if fresh else None)


def _here(task: Task, points: Sequence[Numbered]) -> Found:
    for number, point in points:
        yield [(number, task.evaluate(point))]


def _on_dask(task: Task, points: Sequence[Numbered], client: Any) -> Found:
    from kitlib.study.sweeps.dask_cluster import connected, rows

    found, made_here = connected(client)
    try:
        yield from rows(task, points, found)
    finally:
        if made_here:
            found.close()


def _release(scenario: Scenario, points: Sequence[Point]) -> str:
    """Return the release of points that name none.

    Raises:
        KitError: a point names an unknown release.
    """
    for name in {str(point[RELEASE]) for point in points if RELEASE in point}:
        Release(name)
    own = scenario.get(RELEASE) if isinstance(scenario, Mapping) else None
    return own if isinstance(own, str) and own else Release.followed().name


def _check(workers: int | None, client: Any, timeout: float | None) -> None:
    if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool) or workers < 0):
        raise KitError(f"workers: must be a non-negative number of processes, got {workers!r}")
    if workers is not None and workers > 1024:
        raise KitError(f"workers: must be at most 1024 processes, got {workers}")
    if client is not None and workers is not None:
        raise KitError("workers= and client= cannot be used together")
    if timeout is not None and (not isinstance(timeout, int | float) or isinstance(timeout, bool) or timeout <= 0):
        raise KitError(f"timeout: must be a positive number of seconds, got {timeout!r}")
    if timeout is not None and (workers == 0 or client is not None):
        raise KitError(
            "timeout= cannot be used with workers=0 or client=, because only local worker processes can be ended"
        )


def _shown(progress: Callable[[SweepProgress], Any] | bool) -> Callable[[SweepProgress], Any] | None:
    if not isinstance(progress, bool):
        return progress
    return _Line() if progress else None


class _Line:
    """A progress line that is overwritten as rows arrive: on standard error in a terminal, else on standard output."""

    def __init__(self) -> None:
        self._out = sys.stderr if sys.stderr is not None and sys.stderr.isatty() else sys.stdout
        self._next = 0.0

    def __call__(self, progress: SweepProgress) -> None:
        now, ended = time.monotonic(), progress.done == progress.total
        if now >= self._next or ended:
            self._next = now + 0.2
            print(f"\r{progress!s:<70}", end="\n" if ended else "", file=self._out, flush=True)
