"""A pod as a form and as YAML, always the same pod in both; a problem is shown beside its field.

Input on one side appears on the other at once. Invalid YAML, or a pod that the API server would reject, does not
change the last valid pod, `form.pod`.

Source: the fields and messages are those of `kitlib.api` (validation.ValidatePodCreate).
"""

from __future__ import annotations

import contextlib
import html
import io
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import ipywidgets as ipw

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.errors import KitError, ManifestError
from kitlib.api.serialize import deepcopy, from_dict, load, to_dict, to_yaml
from kitlib.apiserver.validation import validate_pod_create
from kitlib.widgets._parts.container_row import KINDS, ContainerRow
from kitlib.widgets._parts.field import Field

EXAMPLE = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: app
    image: registry.k8s.io/pause:3.10
    resources:
      requests:
        cpu: 250m
        memory: 128Mi
      limits:
        cpu: "1"
        memory: 256Mi
"""


class PodForm(ipw.VBox):
    """Form and YAML of a pod.

    Args:
        manifest: YAML, a path, or a Pod; None = a small example.
        on_change: called after every change of the valid pod.
        folded: whether the YAML is folded away below the form.

    Attributes:
        pod: the last pod that the API server would accept, defaulted, with a UID.
        problems: (field, text) of the current problems.
    """

    def __init__(
        self, manifest: Any = None, on_change: Callable[[], None] = lambda: None, *, folded: bool = False
    ) -> None:
        self.on_change, self._busy = on_change, False
        self._read: Pod | None = None  # the YAML side's pod; None = invalid YAML
        self.problems: list[tuple[str, str]] = []
        self.pod = Pod()
        self._name = Field(ipw.Text(layout={"width": "24em"}), "pod name", "metadata.name")
        self._name.control.observe(self._form_changed, "value")
        self._rows: list[ContainerRow] = []
        self._list = ipw.VBox()
        self._add = ipw.Button(description="Add a container", icon="plus", layout={"width": "max-content"})
        self._add.on_click(lambda _: self._add_container())
        self._yaml = ipw.Textarea(rows=17, layout={"width": "100%"}, continuous_update=True)
        self._yaml.add_class("kitlib-mono")
        self._yaml_field = Field(self._yaml, "", "the pod as YAML")
        self._yaml_field.add_class("kitlib-yaml")
        self._yaml.layout.flex = "1 1 20em"
        self._yaml.observe(self._yaml_changed, "value")
        self._rest = ipw.HTML()
        self._rest.add_class("kitlib-note")
        beside = {"flex": "3 1 34em"}, {"flex": "2 1 24em"}  # a basis is a width beside the form, a height below it
        form = ipw.VBox(
            [self._name, self._list, self._add], layout={**({} if folded else beside[0]), "min_width": "20em"}
        )
        yaml = ipw.Accordion(children=[self._yaml_field], titles=("as YAML",)) if folded else self._yaml_field
        text = ipw.VBox([yaml, self._rest], layout={**({} if folded else beside[1]), "min_width": "18em"})
        both = ipw.VBox([form, text]) if folded else ipw.HBox([form, text])
        if not folded:
            both.add_class("kitlib-row")
        super().__init__([both])
        self.yaml = self._text_of(manifest)

    @staticmethod
    def _text_of(manifest: Any) -> str:
        if manifest is None:
            return EXAMPLE
        if isinstance(manifest, Pod):
            return to_yaml(manifest)
        if isinstance(manifest, str) and "\n" in manifest:
            return manifest
        return to_yaml(load(manifest)[0])

    @property
    def yaml(self) -> str:
        """The text of the YAML side; setting it has the effect of typing it."""
        return str(self._yaml.value)

    @yaml.setter
    def yaml(self, text: str) -> None:
        self._yaml.value = text

    @property
    def rows(self) -> list[ContainerRow]:
        """The form's containers: init containers first, in the order of the pod."""
        return self._rows

    # ---- from YAML to the form

    def _yaml_changed(self, _change: Any) -> None:
        if self._busy:
            return
        self._read = None
        with self._quiet():
            try:
                objects = load(io.StringIO(self._yaml.value), strict=True)
                if len(objects) != 1 or not isinstance(objects[0], Pod):
                    kinds = ", ".join(o.kind for o in objects) or "nothing"
                    raise KitError(f"the manifest must contain one Pod, got {kinds}")
            except KitError as error:
                self._refuse(error)
                return
            self._fill(objects[0])
        self._read = objects[0]
        self._check(objects[0])

    def _fill(self, pod: Pod) -> None:
        """Show a pod in the form; rows are reused where possible, so that the focus is not lost."""
        self._name.control.value = pod.metadata.name
        wanted = [("initContainers", c) for c in pod.spec.init_containers]
        wanted += [("containers", c) for c in pod.spec.containers]
        while len(self._rows) > len(wanted):
            self._rows.pop()
        while len(self._rows) < len(wanted):
            self._rows.append(ContainerRow(self._form_changed, self._remove_container))
        if tuple(self._list.children) != tuple(self._rows):
            self._list.children = tuple(self._rows)
        for row, (where, container) in zip(self._rows, wanted, strict=True):
            row.fill(where, to_dict(container))

    # ---- from the form to YAML

    def _form_changed(self, _change: Any = None) -> None:
        if self._busy:
            return
        with self._quiet():
            data = self._data()
            try:
                pod = from_dict(data, Pod)
            except KitError as error:
                self._refuse(error)
                return
            self._yaml.value = to_yaml(pod)
        self._read = pod
        self._check(pod)

    def _data(self) -> dict[str, Any]:
        """Return the YAML side's pod with the form's values; if the YAML is invalid, based on the last valid pod."""
        base = to_dict(self._read if self._read is not None else self._plain())
        base.setdefault("metadata", {})["name"] = self._name.control.value.strip()
        spec = base.setdefault("spec", {})
        for where in ("initContainers", "containers"):
            spec.pop(where, None)
        for row in self._rows:
            spec.setdefault(row.place, []).append(row.data())
        return base

    def _plain(self) -> Pod:
        """Return the last valid pod without defaulted fields."""
        return Pod(metadata=self.pod.metadata, spec=self.pod.spec)

    def _add_container(self) -> None:
        names = {row.name.control.value for row in self._rows}
        number = next(i for i in range(1, 1000) if f"container-{i}" not in names)
        row = ContainerRow(self._form_changed, self._remove_container)
        row.fill("containers", {"name": f"container-{number}", "image": "registry.k8s.io/pause:3.10"})
        self._rows.append(row)
        self._list.children = tuple(self._rows)
        self._form_changed()

    def _remove_container(self, row: ContainerRow) -> None:
        self._rows.remove(row)
        self._list.children = tuple(self._rows)
        self._form_changed()

    # ---- what is wrong

    def _refuse(self, error: KitError) -> None:
        field = error.field if isinstance(error, ManifestError) else ""
        text = error.problem if isinstance(error, ManifestError) else str(error)
        self.problems = [(field, text)]
        self._say()

    def _check(self, pod: Pod) -> None:
        whole = set_defaults(deepcopy(pod))
        whole.metadata.namespace = whole.metadata.namespace or "default"
        # Derived from the name, not random: the cgroup paths contain it and would change with every key.
        whole.metadata.uid = whole.metadata.uid or str(uuid.uuid5(uuid.NAMESPACE_DNS, whole.key))
        errors = validate_pod_create(whole)
        self.problems = [(e.field, str(e).removeprefix(f"{e.field}: ")) for e in errors]
        self._say()
        if not errors:
            self.pod = whole
            self.on_change()

    def _say(self) -> None:
        """Show every problem beside its field, or below the YAML if it has no field."""
        beside: dict[Field, list[str]] = {}
        rest = []
        fields = self._fields()
        for path, text in self.problems:
            field = _nearest(fields, path, text)
            if field is None:
                rest.append(f"{path}: {text}" if path else text)
            else:
                beside.setdefault(field, []).append(text)
        for field in fields.values():
            field.say("; ".join(beside.get(field, [])))
        self._rest.value = "".join(f'<p role="alert">{html.escape(text)}</p>' for text in rest)
        self._yaml_field.remove_class("kitlib-wrong")
        if rest:
            self._yaml_field.add_class("kitlib-wrong")

    def advise(self, advice: Iterable[tuple[str, str]]) -> None:
        """Show advice beside the fields that have no problem."""
        said = dict(advice)
        for path, field in self._fields().items():
            if not field.problem:
                field.hint(said.get(path, ""))

    def _fields(self) -> dict[str, Field]:
        """Return path in the manifest -> field of the form."""
        found = {"metadata.name": self._name}
        numbers = {"initContainers": 0, "containers": 0}
        for row in self._rows:
            path = f"spec.{row.place}[{numbers[row.place]}]"
            numbers[row.place] += 1
            for name, field in row.fields().items():
                found[f"{path}.{name}"] = field
        return found

    @contextlib.contextmanager
    def _quiet(self) -> Iterator[None]:
        """Ignore changes of one side while it is being filled by the program."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False


def _nearest(fields: dict[str, Field], path: str, text: str) -> Field | None:
    """Return the field of a path; for a map such as `resources.requests`, the entry that the text names."""
    if path in fields:
        return fields[path]
    below = {name: field for name, field in fields.items() if path and name.startswith(path + "[")}
    for name, field in below.items():
        if name.rpartition("[")[2].rstrip("]") in text:
            return field
    return next(iter(below.values()), None)


__all__ = ["EXAMPLE", "KINDS", "PodForm"]
