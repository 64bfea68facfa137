"""A repeated action of a widget: reading files, letting time pass.

It runs in the notebook kernel's event loop and not in a thread, because widgets may be updated from there only. A late
tick is skipped, so a slow page or a busy kernel never builds up a queue.

Source: ipykernel issue 1450, ipywidgets issue 4001 (widgets updated from other threads).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kitlib.api.errors import KitError


class Ticker:
    """Calls `action` every `seconds` after `start`.

    Args:
        action: the function to call; an exception ends the ticker and is passed to `failed`.
        seconds: seconds between two ticks.
        failed: called with the exception.

    Attributes:
        beats: number of ticks.
        missed: number of ticks that were skipped because they were late.
    """

    def __init__(self, action: Callable[[], None], seconds: float, failed: Callable[[Exception], None]) -> None:
        self.action, self.seconds, self._failed = action, seconds, failed
        self.beats = self.missed = 0
        self._task: asyncio.Task[None] | None = None
        self._wanted = False
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None

    @property
    def running(self) -> bool:
        """Whether the ticker is running."""
        return self._wanted

    def start(self) -> None:
        """Start; no effect if it is running.

        Raises:
            KitError: there is no event loop (outside a notebook).
        """
        if self._wanted:
            return
        if self._loop is None or self._loop.is_closed():
            try:
                self._loop = asyncio.get_running_loop()
            except RuntimeError:
                raise KitError("the widget cannot run here, because it requires the event loop of a notebook") from None
        self._wanted = True
        # A control's message may be processed in a subshell's thread, which must not create tasks in this loop.
        self._loop.call_soon_threadsafe(self._begin)

    def stop(self) -> None:
        """Stop after the current tick."""
        self._wanted = False

    def _begin(self) -> None:
        if self._wanted and self._loop is not None and (self._task is None or self._task.done()):
            self._task = self._loop.create_task(self._run())

    async def _run(self) -> None:
        assert self._loop is not None
        due = self._loop.time()
        while self._wanted:
            try:
                self.action()
            except Exception as error:
                self._wanted = False
                self._failed(error)
                return
            self.beats += 1
            # Counted from the last due time, not from the end of the action: the rate does not depend on the action's
            # time.
            due += self.seconds
            late = self._loop.time() - due
            if late > 0:
                skipped = int(late / self.seconds) + 1
                self.missed += skipped
                due += skipped * self.seconds
            await asyncio.sleep(max(0.0, due - self._loop.time()))
