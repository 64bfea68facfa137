"""A pod's requests and limits as the answer to a question about its QoS class."""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.charts.answers.frame import Answer, table_figure
from kitlib.charts.base import Chart, Row
from kitlib.charts.pod_box import pod_box


def pod_chart(name: str, containers: Sequence[Row], qos: str, *, guess: Answer = None) -> Chart:
    """Return a pod as boxes under their limits; the outline shows the class.

    Args:
        name: the pod's name.
        containers: rows of `pod_box`.
        qos: the pod's QoS class.
        guess: the learner's answer, if it is a class.
    """
    sentence = f"The pod {name} is {qos}." + (f" Your guess: {guess}." if guess is not None else "")
    columns = {key: [row[key] for row in containers] for key in containers[0]}
    return Chart(
        name,
        sentence,
        columns,
        lambda: table_figure(columns),
        fitted=lambda width: pod_box(containers, qos=qos, sentence=sentence, width=width, still=True),
    )
