"""The owners of a node's logical CPUs, as a grid of sockets, NUMA nodes, cores and threads.

Source: kubelet cpumanager (topology.CPUTopology, state.State: default set and assignments).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kitlib.charts.base import Chart
from kitlib.charts.style import BLUE, FAINT, GREY, series_color


def cpu_map(cpus: Sequence[tuple[int, int, int, int]], owners: Mapping[int, str]) -> Chart:
    """Return a chart with a cell per CPU: columns are physical cores by NUMA node, rows are the threads of a core.

    Args:
        cpus: (cpu, core, socket, NUMA node) of every logical CPU.
        owners: cpu -> its owner ("shared pool", "reserved", "pod/container"); a missing CPU belongs to the "shared
            pool".
    """
    order = sorted({(socket, numa, core) for _, core, socket, numa in cpus})
    column = {key: index for index, key in enumerate(order)}
    threads: dict[tuple[int, int, int], int] = {}
    rows = []
    for cpu, core, socket, numa in sorted(cpus):
        key = (socket, numa, core)
        thread = threads.get(key, 0)
        threads[key] = thread + 1
        rows.append((cpu, core, socket, numa, thread, owners.get(cpu, "shared pool"), column[key]))
    kinds = sorted({row[5] for row in rows}, key=lambda owner: (owner != "shared pool", owner != "reserved", owner))
    counts = ", ".join(f"{owner}: {sum(row[5] == owner for row in rows)}" for owner in kinds)

    def draw():
        import plotly.graph_objects as go

        figure = go.Figure()
        for index, owner in enumerate(kinds):
            mine = [row for row in rows if row[5] == owner]
            figure.add_scatter(
                x=[row[6] for row in mine],
                y=[row[4] for row in mine],
                mode="markers+text",
                text=[str(row[0]) for row in mine],
                textfont={"size": 11},
                marker={
                    "symbol": "square",
                    "size": 22,
                    "color": {"shared pool": FAINT, "reserved": GREY}.get(
                        owner, series_color(index) if len(kinds) > 3 else BLUE
                    ),
                    "line": {"width": 1, "color": GREY},
                },
                name=owner,
                hovertemplate="CPU %{text}, " + owner + "<extra></extra>",
            )
        figure.update_layout(height=170 + 46 * (1 + max((row[4] for row in rows), default=0)))
        numa_of = {column[key]: key for key in order}
        for index in range(1, len(order)):
            if numa_of[index][:2] != numa_of[index - 1][:2]:
                figure.add_vline(x=index - 0.5, line={"color": GREY, "dash": "dot"})
        figure.update_xaxes(
            tickvals=list(range(len(order))),
            ticktext=[f"{core}<br>n{numa}" for _, numa, core in order],
            title={"text": "core, and its NUMA node"},
            showgrid=False,
            zeroline=False,
        )
        figure.update_yaxes(
            tickvals=sorted({row[4] for row in rows}), title={"text": "thread"}, showgrid=False, zeroline=False
        )
        return figure

    names = ("cpu", "core", "socket", "numa", "thread", "owner")
    return Chart(
        title="Who owns which CPU",
        sentence=f"{len(rows)} CPUs; {counts}.",
        columns={name: [row[i] for row in rows] for i, name in enumerate(names)},
        draw=draw,
    )
