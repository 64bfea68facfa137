"""`kitlib mcp`: the official client speaks to the server, in this process and over standard input and output."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from kitlib.advisor.assistant import TOOLS, Assistant
from kitlib.cli import main
from kitlib.commands.mcp import server
from tests.advisor.dumps import dump, node, pod

anyio, mcp = pytest.importorskip("anyio"), pytest.importorskip("mcp")
ROOT = Path(__file__).parents[2]


def asked(name: str, arguments: dict[str, Any]) -> Any:
    helper = Assistant(lambda: dump(node("n1"), pod("waiter", cpu="9")))

    async def ask() -> Any:
        async with mcp.Client(server(helper)) as client:
            return await client.call_tool(name, arguments)

    return anyio.run(ask)


def test_tools_are_listed_with_their_parameters_and_as_read_only() -> None:
    async def ask() -> Any:
        async with mcp.Client(server(Assistant(lambda: dump(node("n1"))))) as client:
            return (await client.list_tools()).tools

    tools = anyio.run(ask)
    assert tuple(one.name for one in tools) == TOOLS
    assert all(one.annotations.read_only_hint and one.description for one in tools)
    (explain,) = [one for one in tools if one.name == "explain"]
    assert set(explain.input_schema["properties"]) == {"name", "namespace", "remedies"}


def test_an_answer_is_structured() -> None:
    result = asked("explain", {"name": "waiter"})
    assert not result.is_error and result.structured_content["stage"] == "filters"
    assert json.loads(result.content[0].text)["exitCode"] == 1


def test_a_refusal_is_the_kits_own_sentence() -> None:
    result = asked("explain", {"name": "nobody"})
    assert result.is_error and 'pods "nobody" not found' in result.content[0].text


def test_it_speaks_the_protocol_over_standard_input_and_output(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [node("n1"), pod("waiter", cpu="9")]}))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "kitlib", "mcp", "-f", str(file)], env=environment
    )

    async def ask() -> Any:
        async with mcp.Client(mcp.stdio_client(command)) as client:
            return await client.call_tool("overview", {})

    result = anyio.run(ask)
    assert result.structured_content["waiting"][0]["stage"] == "filters"


def test_without_a_cluster_it_says_what_is_expected(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp"]) == 2
    assert "-f FILE or --live" in capsys.readouterr().err


def test_the_skill_file_names_every_tool(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--skill"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("---\nname: ") and all(f"`{name}`" in said for name in TOOLS)
