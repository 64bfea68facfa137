"""The answers for assistants: plain data, with numbers and gaps, and no name of a redacted cluster."""

from __future__ import annotations

import inspect
import json
import re

import pytest

from kitlib.advisor.assistant import ROW_LIMIT, TOOLS, Assistant
from kitlib.advisor.dump import Dump
from kitlib.api.errors import KitError
from tests.advisor.dumps import dump, node, pod

MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: applied}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
"""


def cluster() -> Dump:
    return dump(node("machine"), node("other"), pod("runner", on="machine"), pod("waiter", cpu="9"))


def helper(*, redact: bool = False) -> Assistant:
    return Assistant(cluster, redact=redact)


def test_each_question_has_an_answer_of_plain_data() -> None:
    one = helper()
    answers = {
        "overview": one.overview(),
        "explain": one.explain("waiter"),
        "what_if": one.what_if(["drain machine"], force=True),
        "report": one.report(),
        "node": one.node("machine"),
        "how_many": one.how_many("runner"),
        "read_message": one.read_message("0/2 nodes are available: 2 Insufficient cpu."),
        "changes_of_release": one.changes_of_release("1.36"),
    }
    assert tuple(answers) == TOOLS
    for name, answer in answers.items():
        assert json.loads(json.dumps(answer)) == answer, name
    assert answers["overview"]["waiting"][0]["owner"] == "Pod default/waiter"
    assert (answers["explain"]["stage"], answers["explain"]["exitCode"]) == ("filters", 1)
    assert answers["what_if"]["effects"][0]["kind"] == "gone"
    assert answers["node"]["requested"]["cpu"] == 1000
    assert answers["how_many"]["fit"] == 7


def test_every_tool_describes_itself_and_its_parameters() -> None:
    for name in TOOLS:
        method = getattr(Assistant, name)
        said = inspect.getdoc(method) or ""
        for parameter in list(inspect.signature(method).parameters)[1:]:
            assert f"{parameter}:" in said, f"{name} {parameter}"


def test_names_are_hidden_and_come_back_as_the_same_words() -> None:
    one = helper(redact=True)
    owner = one.overview()["waiting"][0]["owner"]
    assert re.fullmatch(r"Pod default/pod-\d+", owner)
    answer = one.explain(owner.removeprefix("Pod "))
    assert answer["stage"] == "filters"
    machine = next(iter(answer["nodes"]))
    for found in (answer, one.node(machine), one.what_if([f"lose {machine}"]), one.report()):
        assert not re.search("machine|other|runner|waiter", json.dumps(found))


def test_a_manifest_is_given_as_text_and_no_file_is_read() -> None:
    answer = helper().what_if(["apply manifest"], manifest=MANIFEST)
    assert ("default/applied", "new") in {(one["pod"], one["kind"]) for one in answer["effects"]}
    with pytest.raises(KitError, match="questions cannot name a file"):
        helper().what_if(["apply /etc/hostname"])


def test_long_lists_are_cut_and_say_so() -> None:
    many = Assistant(lambda: dump(*(node(f"n{i}") for i in range(ROW_LIMIT + 9)), pod("p", cpu="9")))
    nodes = many.explain("p")["nodes"]
    assert len(nodes) == ROW_LIMIT + 1 and "9 more are left out" in nodes.values()


def test_the_cluster_is_read_once_until_it_is_asked_for_again() -> None:
    reads: list[int] = []

    def read() -> Dump:
        reads.append(1)
        return cluster()

    one = Assistant(read)
    one.overview()
    one.explain("waiter")
    assert len(reads) == 1
    one.overview(read_again=True)
    assert len(reads) == 2
