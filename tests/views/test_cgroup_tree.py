"""The cgroup tree in a terminal, in a notebook and as a frame; what differs is marked in each."""

from __future__ import annotations

import io
from html.parser import HTMLParser

import pytest
from rich.console import Console

from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupFile, CgroupTree, Reason
from kitlib.views import TreeView, cgroup_frame
from kitlib.views.frames import mark_differences
from kitlib.views.units import meaning, size


def desired() -> CgroupTree:
    half = Reason("{}m × 1024 / 1000", 500)
    pod = "/kubepods.slice/kubepods-pod1.slice"
    return CgroupTree(
        1,
        "systemd",
        [
            Cgroup("/", "root", files={"cpu.shares": CgroupFile("cpu.shares", "1024", written=False)}),
            Cgroup(
                "/kubepods.slice",
                "kubepods",
                "all pods",
                files={
                    "cpu.shares": CgroupFile("cpu.shares", "7168", Reason("7 CPUs")),
                    "memory.limit_in_bytes": CgroupFile("memory.limit_in_bytes", "-1"),
                },
            ),
            Cgroup(
                pod,
                "pod",
                "Guaranteed pod default/web",
                qos="Guaranteed",
                files={
                    "cpu.shares": CgroupFile("cpu.shares", "512", half),
                    "cpu.cfs_period_us": CgroupFile("cpu.cfs_period_us", "100000"),
                    "cpu.cfs_quota_us": CgroupFile("cpu.cfs_quota_us", "50000", Reason("<500m>")),
                    "memory.limit_in_bytes": CgroupFile("memory.limit_in_bytes", "134217728"),
                },
            ),
        ],
    )


def observed(shares: str = "512") -> CgroupTree:
    values = desired().to_values()
    values["/kubepods.slice/kubepods-pod1.slice"]["cpu.shares"] = shares
    return CgroupTree.observed(1, "systemd", values)


def test_a_tree_is_drawn_with_names_values_and_reasons() -> None:
    assert str(TreeView(desired(), controller="cpu")).splitlines() == [
        "/sys/fs/cgroup/cpu",
        "├── cpu.shares  1024  // kernel default",
        "└── kubepods.slice  // all pods",
        "    ├── cpu.shares  7168  // 7 CPUs",
        "    └── kubepods-pod1.slice  // Guaranteed pod default/web",
        "        ├── cpu.shares  512  // 500m × 1024 / 1000",
        "        ├── cpu.cfs_period_us  100000  // 100 ms",
        "        └── cpu.cfs_quota_us  50000  // 0.5 CPU: <500m>",
    ]


def test_unlimited_memory_is_written_as_the_kernel_shows_it() -> None:
    text = str(TreeView(desired(), controller="memory"))
    assert "memory.limit_in_bytes  9223372036854771712  // no limit" in text
    assert "memory.limit_in_bytes  134217728  // 128Mi" in text


def test_equal_trees_have_no_marks() -> None:
    view = TreeView(desired(), observed())
    assert view.differences == 0 and "≠" not in str(view)
    assert "Desired and observed are the same" in view._repr_html_()


def test_a_value_that_differs_is_marked_with_both() -> None:
    view = TreeView(desired(), observed("1024"))
    assert view.differences == 1
    assert "cpu.shares  1024 (desired 512)  ≠" in str(view)
    html = view._repr_html_()
    assert "≠ 1 value differs" in html and "≠ 1024" in html


def test_a_cgroup_that_is_missing_or_not_wanted_is_marked() -> None:
    fewer = observed().to_values()
    pod = fewer.pop("/kubepods.slice/kubepods-pod1.slice")
    fewer["/other"] = pod
    text = str(TreeView(desired(), CgroupTree.observed(1, "systemd", fewer)))
    assert "kubepods-pod1.slice  ≠" in text and "other  ≠" in text and "missing (desired 512)" in text


def test_a_narrow_terminal_wraps_reasons_and_keeps_every_line_within_its_width() -> None:
    out = io.StringIO()
    Console(file=out, width=60, force_terminal=False).print(TreeView(desired(), controller="cpu"))
    assert max(map(len, out.getvalue().splitlines())) <= 60
    assert "512" in out.getvalue()


class _Balance(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_well_formed_and_escaped_and_every_table_has_headings() -> None:
    html = TreeView(desired(), observed("7"))._repr_html_()
    parser = _Balance()
    parser.feed(html)
    assert parser.open == [] and "<500m>" in parser.text
    assert html.count('<div class="r h"') == 1  # one header for the whole tree
    assert html.count("<summary class=") == 3  # a row for each cgroup


def test_a_frame_has_a_row_a_file_and_says_what_is_the_same() -> None:
    pytest.importorskip("pandas")
    frame = cgroup_frame(desired(), observed("8"))
    assert list(frame["same"]).count(False) == 1
    wrong = frame[~frame["same"]].iloc[0]
    assert (wrong["desired"], wrong["observed"], wrong["why"]) == ("512", "8", "500m × 1024 / 1000")
    pytest.importorskip("jinja2")
    assert mark_differences(frame).to_html().count("color-mix") >= 1
    assert list(cgroup_frame(desired())["value"])[:2] == ["1024", "7168"]


@pytest.mark.parametrize(
    ("file", "value", "words"),
    [
        ("memory.max", "max", "no limit"),
        ("memory.max", "209715200", "200Mi"),
        ("cpu.max", "max 100000", "no limit"),
        ("cpu.max", "25000 100000", "0.25 CPU"),
        ("pids.max", "100", "100 processes and threads"),
        ("cpu.weight", "1", "the minimum"),
    ],
)
def test_values_are_put_into_words(file: str, value: str, words: str) -> None:
    assert meaning(Cgroup("/a", "pod", files={file: CgroupFile(file, value)}), file) == words


def test_sizes_are_exact_or_say_that_they_are_rounded() -> None:
    assert (size(134217728), size(2946347008), size(100)) == ("128Mi", "~2.7Gi", "100 bytes")


def test_a_notebook_learns_to_show_trees() -> None:
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell

    from kitlib.views import register

    shell = InteractiveShell()
    shell.display_formatter.active_types = ["text/plain", "text/html"]
    assert register(shell)
    data, _ = shell.display_formatter.format(desired())
    assert "kit-tree" in data["text/html"] and "├── cpu.shares  7168" in data["text/plain"]
