"""A sweep in worker processes of this machine; a thread for each process hands it chunks and receives the rows.

Messages are lines of JSON (see `worker`): nothing is pickled, and the caller's main module is not run again. On a
platform without processes (a browser) `NoProcesses` is raised, and the sweep runs in the caller's own process.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from kitlib.api.convert import decoder
from kitlib.api.errors import KitError, shortened
from kitlib.study.line_process import close, exchange
from kitlib.study.sweeps.chunks import Chunk, Chunks, NoProcesses, Numbered
from kitlib.study.sweeps.row import SweepRow
from kitlib.study.sweeps.task import Work
from kitlib.study.sweeps.worker import Hello

CHUNK_S, POLL_S = 0.1, 0.1
WORTH_S = 0.5
"""Seconds of remaining work above which more processes are started, if the caller did not choose their number."""
_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from kitlib.study.sweeps.worker import main; main()"
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def processors() -> int:
    """Return the number of processors that this process may use, by its CPU affinity and its cgroup's quota."""
    bound = getattr(os, "sched_getaffinity", None)
    count = len(bound(0)) if bound is not None else os.cpu_count() or 1
    for quota, period in (_quota_v2(), _quota_v1()):
        if quota > 0 and period > 0:
            count = min(count, max(1, round(quota / period)))
    return count


def _quota_v2() -> tuple[int, int]:
    return _two_numbers("/sys/fs/cgroup/cpu.max")


def _quota_v1() -> tuple[int, int]:
    folder = "/sys/fs/cgroup/cpu/cpu.cfs_"
    return _two_numbers(f"{folder}quota_us", f"{folder}period_us")


def _two_numbers(*paths: str) -> tuple[int, int]:
    try:
        quota, period = " ".join(Path(path).read_text(encoding="ascii") for path in paths).split()
        return int(quota), int(period)
    except (OSError, ValueError):  # "max", or no such file
        return 0, 0


class Worker:
    """One worker process.

    Attributes:
        deadline: monotonic time in seconds at which its chunk is late; 0 = it computes no chunk.
        late: whether the process was killed for a late chunk.

    Raises:
        NoProcesses: the process cannot be started.
    """

    def __init__(self) -> None:
        self.deadline = 0.0
        self.late = False
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `close`)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _START, json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                start_new_session=True,  # its process group, so that `kill` also ends its children
                env={**os.environ, **_ONE_THREAD},
            )
        except OSError as error:
            self._said.close()
            raise NoProcesses(f"a worker process cannot be started: {error}") from None
        self.pid = self._process.pid

    def begin(self, work: bytes) -> None:
        """Send the work to the process.

        Raises:
            KitError: the process cannot do the work.
        """
        answer = exchange(self._process, work)
        hello = decoder(Hello).decode(answer) if answer else Hello(error=f"a worker process {self.how()}")
        if hello.error:
            raise KitError(hello.error)

    def compute(self, chunk: Chunk, timeout: float | None) -> list[SweepRow] | None:
        """Return the rows of a chunk; None = the process has ended."""
        if timeout is not None:
            # A chunk of several points may take longer than one point: its points are retried alone, each with its own
            # timeout, so this deadline needs no precision.
            whole = timeout if len(chunk.points) == 1 else timeout + 10 * CHUNK_S
            self.deadline = time.monotonic() + whole
        answer = exchange(self._process, msgspec.json.encode([point for _, point in chunk.points]))
        self.deadline = 0.0
        return decoder(list[SweepRow]).decode(answer) if answer else None

    def kill(self) -> None:
        """Kill the process and its group at once."""
        with suppress(OSError):
            if self._process.poll() is None and hasattr(os, "killpg"):
                os.killpg(self.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def how(self) -> str:
        """Return a description of the process's end."""
        code = self._process.wait()
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - 2000))
        last = self._said.read().decode(errors="replace").strip().splitlines()[-1:]
        words = f": {shortened(last[0], 200)}" if last and code > 0 else ""
        return f"ended with signal {-code}" if code < 0 else f"ended with code {code}{words}"

    def close(self) -> None:
        """Kill the process and wait for its end."""
        self.kill()
        self._process.wait()
        close(self._process.stdin, self._process.stdout, self._said)


class Processes:
    """The worker processes of a sweep.

    Args:
        work: the scenario and metrics.
        points: (number, point).
        workers: maximum number of processes.
        at_once: whether all processes start at once; otherwise more than one start only if enough work remains.
        timeout: maximum seconds for a point; None = no limit.
    """

    def __init__(
        self, work: Work, points: Sequence[Numbered], workers: int, *, at_once: bool, timeout: float | None
    ) -> None:
        self._work, self._timeout = msgspec.json.encode(work), timeout
        self._count, self._at_once = max(1, min(workers, len(points))), at_once
        self._chunks = Chunks(points, self._count, CHUNK_S)
        self._changed = threading.Condition()
        self._found: queue.SimpleQueue[list[tuple[int, SweepRow]] | KitError] = queue.SimpleQueue()
        self._workers: list[Worker] = []
        self._threads: list[threading.Thread] = []
        self._stopping = False

    def __iter__(self) -> Iterator[list[tuple[int, SweepRow]]]:
        """Yield rows as they arrive, and an empty list after each `POLL_S` without any.

        The empty lists let the caller check for cancellation.

        Raises:
            NoProcesses: a process or thread cannot be started.
            KitError: a worker cannot do the work.
        """
        try:
            self._start_threads(self._count if self._at_once else 1)
            while True:
                try:
                    found = self._found.get(timeout=POLL_S)
                except queue.Empty:
                    found = []
                if isinstance(found, KitError):
                    raise found
                yield found
                with self._changed:
                    if self._chunks.finished and self._found.empty():
                        return
                    enough = self._chunks.seconds_left > WORTH_S
                self._kill_late()
                if enough:
                    self._start_threads(self._count)
        finally:
            self._stop()

    def pids(self) -> list[int]:
        """Return the process ids of the running workers."""
        with self._changed:
            return [worker.pid for worker in self._workers]

    def _start_threads(self, wanted: int) -> None:
        while len(self._threads) < wanted:
            thread = threading.Thread(target=self._serve, name="kitlib-sweep", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                raise NoProcesses(f"no thread can be started: {error}") from None
            self._threads.append(thread)

    def _serve(self) -> None:
        worker: Worker | None = None
        try:
            while (chunk := self._next()) is not None:
                if worker is None:
                    worker = self._new_worker()
                    worker.begin(self._work)
                began = time.monotonic()
                rows = worker.compute(chunk, self._timeout)
                if rows is None:
                    self._ended(worker, chunk)
                    worker = None
                    continue
                with self._changed:
                    # Under one lock: `__iter__` ends once the chunks are finished and the queue is empty, so a chunk
                    # must not count as done before its rows are in the queue.
                    self._chunks.done(chunk, time.monotonic() - began)
                    self._found.put(chunk.rows(rows))
                    self._changed.notify_all()
        except KitError as error:
            self._found.put(error)
        except Exception as error:
            self._found.put(KitError(f"a worker's thread failed: {type(error).__name__}: {error}"))
        finally:
            if worker is not None:
                self._forget(worker)

    def _next(self) -> Chunk | None:
        """Return the next chunk; waits while failed chunks of other workers may come back."""
        with self._changed:
            while not self._stopping:
                chunk = self._chunks.take()
                if chunk is not None:
                    return chunk
                if self._chunks.finished:
                    break
                self._changed.wait()
            return None

    def _new_worker(self) -> Worker:
        # The process starts outside the lock. `_stop` may have run meanwhile, and it kills only the workers that it
        # finds in the list.
        worker = Worker()
        with self._changed:
            self._workers.append(worker)
            stopping = self._stopping
        if stopping:
            worker.kill()
        return worker

    def _ended(self, worker: Worker, chunk: Chunk) -> None:
        worker.kill()
        how = f"Timeout: longer than {self._timeout:g} s" if worker.late else f"WorkerEnded: its process {worker.how()}"
        self._forget(worker)
        with self._changed:
            if not self._stopping:
                given_up = self._chunks.failed(chunk, how, late=worker.late)
                if given_up:
                    self._found.put(given_up)
            self._changed.notify_all()

    def _forget(self, worker: Worker) -> None:
        worker.close()
        with self._changed:
            if worker in self._workers:
                self._workers.remove(worker)

    def _kill_late(self) -> None:
        if self._timeout is None:
            return
        now = time.monotonic()
        with self._changed:
            for worker in self._workers:
                if worker.deadline and now > worker.deadline:
                    worker.late = True
                    worker.kill()

    def _stop(self) -> None:
        with self._changed:
            self._stopping = True
            for worker in self._workers:
                worker.kill()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
