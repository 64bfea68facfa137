"""Other programs, as the agent runs them."""

from __future__ import annotations

import fcntl
import os
import signal

import pytest

from kitlib.node.real import spawn

SHELL = "/bin/sh"


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", -signal.SIGKILL)])
def test_a_program_is_waited_for_and_says_how_it_ended(script: str, code: int) -> None:
    assert spawn.run([SHELL, "-c", script]) == code


def test_what_it_says_goes_where_it_should_and_it_reads_nothing() -> None:
    reads, writes = os.pipe()
    assert spawn.run([SHELL, "-c", "cat; echo out; echo err >&2"], writes) == 0
    os.close(writes)
    assert os.read(reads, 100) == b"out\nerr\n"
    os.close(reads)


def test_it_holds_no_descriptor_of_ours_and_ignores_no_signal() -> None:
    reads, writes = os.pipe()
    held = fcntl.fcntl(reads, fcntl.F_DUPFD_CLOEXEC, 300)
    assert spawn.run([SHELL, "-c", "ls /proc/$$/fd; grep SigIgn /proc/$$/status"], writes) == 0
    os.close(writes)
    *descriptors, _, ignored = os.read(reads, 1000).split()
    assert {b"0", b"1", b"2"} <= set(descriptors) and str(held).encode() not in descriptors
    assert not int(ignored, 16) & (1 << (signal.SIGPIPE - 1))
    os.close(reads)
    os.close(held)


def test_a_program_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        spawn.run(["/nowhere/crun"])


def test_who_waits_is_called_by_and_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawn, "EVERY", 0.02)
    calls: list[None] = []
    assert spawn.run([SHELL, "-c", "sleep 0.3; exit 4"], waits=lambda: calls.append(None)) == 4
    assert len(calls) >= 2


def test_a_program_that_takes_too_long_is_killed_and_reaped(monkeypatch: pytest.MonkeyPatch) -> None:
    pids, waits_for = [], os.pidfd_open
    monkeypatch.setattr(os, "pidfd_open", lambda pid: pids.append(pid) or waits_for(pid))
    with pytest.raises(TimeoutError, match=r"/bin/sh was killed after 0\.1 s"):
        spawn.run([SHELL, "-c", "exec sleep 60"], timeout=0.1)
    with pytest.raises(ChildProcessError):
        os.waitpid(pids[0], os.WNOHANG)


def test_without_process_descriptors_it_is_waited_for_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(pid: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", refuses)
    assert spawn.run([SHELL, "-c", "exit 5"], timeout=0.0) == 5
