"""The tree as rows and columns: shares among siblings, names before UIDs, values as they are read, reasons below."""

import random
import re

import pytest

from kitlib.cluster import Cluster
from kitlib.lab import pod
from kitlib.views.cgroup_html import columns_of, lines_of, shares, tree_body, tree_html, value_words
from kitlib.views.cgroup_tree import TreeView


@pytest.fixture(params=[1, 2])
def node(request):
    rng = random.Random(request.param)
    with Cluster.simulated(1, cpus=16, memory="64Gi", cgroup_version=request.param) as cluster:
        for i in range(5):
            cpu, memory = rng.randrange(1, 20) * 100, rng.randrange(1, 30) * 32
            cluster.apply(
                pod(f"p{i}", cpu=f"{cpu}m", cpu_limit=f"{2 * cpu}m", memory=f"{memory}Mi", memory_limit="2Gi")
            )
        yield cluster.node()


def test_bars_are_the_weights_that_the_library_desires_among_siblings(node):
    tree = node.desired()
    file = "cpu.shares" if tree.version == 1 else "cpu.weight"
    found = shares(lines_of(TreeView(tree, node.tree()).rows()), file, observed=False)
    assert len(found) >= 15
    for path, share in found.items():
        if path != "/":
            siblings = [int(one.files[file].shown) for one in tree.children(path.rpartition("/")[0] or "/")]
            assert share == pytest.approx(int(tree[path].files[file].shown) / sum(siblings))


def test_there_is_one_row_a_cgroup_under_one_header_and_names_stand_before_uids(node):
    tree = node.desired()
    html = tree_html("tree", TreeView(tree, node.tree()).rows(), compared=True)
    assert html.count('<summary class="r">') == len([path for path in tree if path != "/" or tree[path].files])
    assert html.count('class="r h"') == 1 and " open>" not in html.replace("[open]", "")
    names = re.findall(r'<span class="n"[^>]*>([^<]+)', html)
    assert {"p0", "p4", "main", "pause", "burstable"} <= set(names)
    assert not [name for name in names if re.search(r"[0-9a-f]{8}", name)]


def test_values_are_read_in_mi_and_cpus(node):
    rows = TreeView(node.desired()).rows()
    lines = lines_of(rows)
    container = next(line for line in lines if line.head.label == "main")
    for file in columns_of(lines):
        words = value_words(container, file, container.file(file).desired)
        assert {"memory": "2Gi", "cpu": words}[file.partition(".")[0]] == words
        assert not re.search(r"\d{6}", words)
    quota = next(file for file in columns_of(lines) if file in ("cpu.max", "cpu.cfs_quota_us"))
    assert value_words(container, quota, container.file(quota).desired).endswith(" CPU")


def test_only_the_row_that_differs_is_open_with_its_reason(node):
    file = "cpu.shares" if node.desired().version == 1 else "cpu.weight"
    node.write("/kubepods/burstable", file, "77")
    html = tree_html("tree", TreeView(node.desired(), node.tree()).rows(), compared=True)
    opened = re.findall(r'<details class="(\w*)" data-path="([^"]+)" style="[^"]+" open>', html)
    assert opened == [("d", "/kubepods/burstable")]
    assert "≠ 77, desired" in html and "≠ 1 value differs" in html


def test_a_saved_tree_has_no_id_of_more_than_twelve_digits_and_a_page_knows_its_rows_apart(node):
    rows = TreeView(node.desired(), node.tree()).rows()
    assert not re.search(
        r"(?<![0-9a-zA-Z])(?=[0-9]*[a-f])[0-9a-f]{13,}(?![0-9a-zA-Z])", tree_html("t", rows, compared=True)
    )
    paths = re.findall(r'data-path="([^"]+)"', tree_body(rows, compared=True, whole=True))
    assert len(set(paths)) == len(paths) and set(paths) <= {*node.desired(), "/"}
