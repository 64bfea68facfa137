"""Everything that comes from outside: mutated inputs raise nothing but the kit's own errors, in bounded time."""

from __future__ import annotations

import json
from typing import Any

import yaml

from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.api.yaml_reader import yaml_documents
from kitlib.apiserver.admission.manifests import read
from kitlib.cel import device_selectors
from kitlib.cluster.control_plane.scheduling import profiles
from kitlib.kubelet.app.read import read_settings
from kitlib.node.common.workload import declared_workload
from kitlib.node.simulated.commands import behaviour
from kitlib.scheduler.extender import Extender
from tests.fuzz import samples
from tests.fuzz.mutate import Mutator, fuzz, part, share, words

RELEASES = tuple(Release.of(name) for name in ("1.23", "1.26", None))
OBJECTS = (samples.POD, *samples.OTHERS)


def test_yaml_texts(note: Any) -> None:
    texts = [yaml.safe_dump(one).encode() for one in OBJECTS]
    texts += [
        b"a: &x {b: 1}\nc: {<<: *x}\nd: *x\n",
        b'---\na: |\n  b\n---\nc: "\\u00e9"\n',
        b"{a: [1, 2.5, null, yes]}",
    ]
    note(fuzz(lambda m: m.text(share(texts, m)), lambda text: list(yaml_documents(text)), KitError, part(2)))


def test_manifests_as_text(note: Any) -> None:
    texts = [dump(one).encode() for one in OBJECTS for dump in (yaml.safe_dump, json.dumps)]
    note(fuzz(lambda m: m.text(share(texts, m)), read, KitError, part(4)))


def test_manifests_as_data(note: Any) -> None:
    note(fuzz(lambda m: m.value(share(OBJECTS, m)), read, KitError))


def test_kubelet_settings(note: Any) -> None:
    def make(mutator: Mutator) -> Any:
        return mutator.value(samples.KUBELET), share(RELEASES, mutator)

    note(fuzz(make, lambda one: read_settings(one[0], release=one[1]), KitError))


def test_kubelet_flags(note: Any) -> None:
    note(fuzz(lambda m: [words(samples.FLAGS, m), words(samples.FLAGS, m)], read_settings, KitError))


def test_scheduler_configurations(note: Any) -> None:
    def make(mutator: Mutator) -> Any:
        return mutator.value(samples.SCHEDULER)

    def configured(data: Any) -> None:
        profiles(data, ())
        for extender in data.get("extenders") or ():
            Extender.from_configuration(extender)

    note(fuzz(make, configured, KitError))


def test_quantities(note: Any) -> None:
    texts = ("100m", "1.5Gi", "1e3", "-5", "0.1", "12E", "999999999999999999999n", "1e999999999", "9" * 4301)

    def run(text: str) -> None:
        one, two = Quantity(text), Quantity("1")
        assert str(one + two)
        assert one.value() is not None and (one - two).milli_value() is not None and (one < two) is not None

    note(fuzz(lambda m: words(texts, m), run, KitError))


def test_expressions(note: Any) -> None:
    note(
        fuzz(
            lambda m: words(samples.EXPRESSIONS, m),
            device_selectors.compile_selector,
            (KitError, device_selectors.CompileError),
        )
    )


def test_declared_workloads(note: Any) -> None:
    note(fuzz(lambda m: words(samples.WORKLOADS, m), lambda text: declared_workload(text, "x"), KitError))


def test_commands(note: Any) -> None:
    note(fuzz(lambda m: ("sh", "-c", words(samples.COMMANDS, m)), behaviour, (), part(2)))
    note(fuzz(lambda m: tuple(words(samples.COMMANDS, m).split(" ")), behaviour, (), part(2)))
