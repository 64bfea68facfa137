"""Sets of CPUs as squares: which CPUs a process may use."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kitlib.charts.answers.frame import LEFT, TOP, WIDTH, Answer, answer_chart, ring
from kitlib.charts.base import Chart
from kitlib.charts.svg import Drawing, fitted
from kitlib.kubelet.util.cpuset import parse_cpus

_ROW = 40


def cpu_sets_chart(
    title: str,
    sets: Mapping[str, str],
    count: int,
    *,
    split: int = 0,
    picked: Collection[str] = (),
    guess: Answer = None,
) -> Chart:
    """Return a row of squares for each set; a row without CPUs has its text instead, and a cross.

    Args:
        title: the subject in a few words.
        sets: name -> a list as in /proc/PID/status ("0,7-32"), or the reason why there is none.
        count: number of the machine's CPUs.
        split: CPUs between two gaps, such as those of a NUMA node; 0 = no gaps.
        picked: names of the rows that are the answer.
        guess: the learner's answer, if it is the name of a row or a set.
    """
    cell = min(24.0, (WIDTH - LEFT - 60) / count)
    found = {name: _cpus(text, count) for name, text in sets.items()}
    said = [f"{name}: {text}" for name, text in sets.items()]

    def draw(d: Drawing) -> None:
        for number, (name, text) in enumerate(sets.items()):
            y = TOP + _ROW * number
            d.text(0, y + 16, fitted(name, LEFT - 24), bold=name in picked)
            cpus = found[name]
            if cpus is None:
                d.cross(LEFT + 8, y + 12)
                d.text(LEFT + 22, y + 16, fitted(text, WIDTH - LEFT - 24), "red-text")
            else:
                for cpu in range(count):
                    left = LEFT + cpu * cell + (cpu // split * 6 if split else 0)
                    d.rect(left, y, cell - 1.5, 22, "raised", stroke="line")
                    if cpu in cpus:
                        d.rect(left, y, cell - 1.5, 22, "green" if name in picked else "blue", tint=60)
                        d.rect(left, y, cell - 1.5, 22, stroke="green" if name in picked else "blue")
                d.text(
                    LEFT + count * cell + 12 + (count // split * 6 if split else 0), y + 16, f"{len(cpus)}", bold=True
                )
            if guess is not None and guess in (name, text):
                ring(d, LEFT, y, count * cell + (count // split * 6 if split else 0), 22)
        floor = TOP + _ROW * len(sets) - 6
        for cpu in range(0, count, 8 if count > 16 else 1):
            left = LEFT + cpu * cell + (cpu // split * 6 if split else 0)
            d.text(left + cell / 2, floor, str(cpu), "soft", anchor="middle", size=11)
        d.height = floor + 6

    columns = {"who": list(sets), "CPUs": list(sets.values())}
    return answer_chart(title, "; ".join(said) + ".", columns, draw)


def _cpus(text: str, count: int) -> set[int] | None:
    """Return the CPUs of a list; None if the text is another one."""
    try:
        return {cpu for cpu in parse_cpus(text) if cpu < count}
    except ValueError:
        return None
