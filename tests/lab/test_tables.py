"""Tables stand left, ids are short, and the files of both versions have one name."""

import pytest

from kitlib.cluster import Cluster
from kitlib.lab.manifests import pod
from kitlib.lab.tables import file_names, pod_cgroup, quota_of, short, table


def test_rows_mappings_and_frames_become_tables():
    import pandas as pd

    rows = [{"a": 1, "b": None}, {"a": 0.25, "b": True}]
    assert str(table(rows)) == "a     b\n1\n0.25  yes"
    assert (
        str(table({"x": 1, "y": (2, 3)}, "name", "first", "second")) == "name  first  second\nx     1\ny     2      3"
    )
    assert str(table({"x": {"q": 1}}, "name")) == "name  q\nx     1"
    assert str(table(pd.DataFrame(rows))).splitlines()[2] == "0.25  yes"
    assert "text-align:left" in table(rows)._repr_html_() and "&lt;" in table({"<": 1})._repr_html_()


def test_a_container_id_has_twelve_digits():
    assert short("cri-" + "ab12" * 16) == "cri-ab12ab12ab12…"
    assert short("de4983ac-ff0c-40be-8472-8b6674593aa3") == "de4983ac-ff0c-40be-8472-8b6674593aa3"


@pytest.mark.parametrize("version", [1, 2])
def test_a_pods_files_are_read_by_one_name_on_both_versions(version):
    with Cluster.simulated(1, cgroup_version=version) as cluster:
        cluster.apply([pod("a", "1", "64Mi", guaranteed=True), pod("b")])
        cluster.advance(1)
        names = file_names(cluster.node())
        assert names == file_names(version)
        assert pod_cgroup(cluster, "a")[names.memory_limit].value == str(64 * 2**20)
        assert pod_cgroup(cluster, "a", "main").container == "main"
        assert quota_of(pod_cgroup(cluster, "a")) == 100000 and quota_of(pod_cgroup(cluster, "b")) is None
