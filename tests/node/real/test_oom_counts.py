"""Whose the OOM killer's victims were, also where systemd has removed the cgroup with its counter."""

from __future__ import annotations

from kitlib.node.real.oom_counts import OomCounts


class Files:
    """Counters as the kernel keeps them: a pod's holds those of its containers, also of those that have gone."""

    def __init__(self) -> None:
        self.kills: dict[str, int] = {}

    def oom_kills(self, path: str) -> int:
        return self.kills.get(path, 0)

    def exists(self, path: str) -> bool:
        return path in self.kills

    def kill(self, path: str) -> None:
        for one in (path, path.rpartition("/")[0]):
            self.kills[one] = self.kills.get(one, 0) + 1


def test_a_cgroup_that_stands_is_asked_itself() -> None:
    files = Files()
    files.kills = {"/pod/a": 2, "/pod": 9}
    assert OomCounts(files).ended("/pod/a", []) == 2


def test_of_one_that_has_gone_the_pod_knows() -> None:
    files = Files()
    files.kills = {"/pod": 0, "/pod/a": 0, "/pod/b": 0}
    counts = OomCounts(files)
    files.kill("/pod/a")
    del files.kills["/pod/a"]
    assert counts.ended("/pod/a", ["/pod/a", "/pod/b", "/other/x"]) == 1


def test_kills_of_others_and_earlier_ones_are_not_counted_again() -> None:
    files = Files()
    files.kills = {"/pod": 0, "/pod/a": 0, "/pod/b": 0}
    counts = OomCounts(files)
    files.kill("/pod/b")
    del files.kills["/pod/b"]
    assert counts.ended("/pod/b", ["/pod/a"]) == 1
    files.kill("/pod/a")  # a child of a that still runs
    files.kills["/pod/b"] = 0  # started again, and ended by itself
    del files.kills["/pod/b"]
    assert counts.ended("/pod/b", ["/pod/a"]) == 0
    del files.kills["/pod/a"]
    assert counts.ended("/pod/a", []) == 1
