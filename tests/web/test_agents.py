"""The MCP server as an agent uses it, through the official client over real HTTP."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from bot.settings import WebSettings
from bot.web.access import Access
from tests.tables import ORDERS
from tests.web.scene import Scene

T = TypeVar("T")
TOKEN = "wl-read-5f1c"


@pytest.fixture
def access() -> Access:
    """Agents have a token, too."""
    return Access(WebSettings(), TOKEN)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_agent_finds_three_tools_and_none_that_acts(address: str, mode: str) -> None:
    """Whatever is listed only reads, says so, and the server tells when to ask; old and new clients alike."""

    async def look(client: Client) -> tuple[str | None, dict[str, bool]]:
        tools = (await client.list_tools()).tools
        return client.instructions, {
            tool.name: bool(tool.annotations and tool.annotations.read_only_hint and tool.output_schema)
            for tool in tools
        }

    instructions, tools = _as_agent(address, look, mode=mode)

    assert {"list_tables": True, "table_trust": True, "incident": True} == tools
    assert "Go on only if `state` is `trusted`" in (instructions or "")


@pytest.mark.smoke
def test_an_agent_is_told_what_the_api_tells(scene: Scene, address: str) -> None:
    """The same words and ids, as data."""
    scene.opens().diagnoses()

    async def ask(client: Client) -> tuple[CallToolResult, CallToolResult, CallToolResult]:
        return (
            await client.call_tool("table_trust", {"table": ORDERS}),
            await client.call_tool("list_tables", {}),
            await client.call_tool("incident", {"id": "wl-1"}),
        )

    trust, tables, incident = (_data(each) for each in _as_agent(address, ask))

    assert ("under-review", str(scene.good)) == (trust["state"], trust["snapshot"])
    assert [ORDERS, "sales.refunds"] == [each["table"] for each in tables["tables"]]
    assert ("wl-1", "open") == (incident["id"], incident["state"])


def test_an_agent_that_mistypes_is_told_what_there_is(scene: Scene, address: str) -> None:
    """An unknown table, an unknown incident and a private one are errors that name the next step."""
    scene.opens(private=True)

    async def ask(client: Client) -> list[CallToolResult]:
        asked = (("table_trust", {"table": "sales.ordres"}), ("incident", {"id": "wl-1"}))
        return [await client.call_tool(name, arguments) for name, arguments in asked]

    unknown, hidden = _as_agent(address, ask)

    assert unknown.is_error
    assert "Configured are: sales.orders, sales.refunds." in _text(unknown)
    assert hidden.is_error
    assert "There is no such incident." in _text(hidden)


def test_no_agent_gets_in_without_the_token(address: str) -> None:
    """The same rule as for pages and API."""
    with httpx2.Client() as somebody:
        found = somebody.post(f"{address}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})

    assert found.status_code == 401


def _as_agent(address: str, do: Callable[[Client], Awaitable[T]], *, mode: str = "auto") -> T:
    async def session() -> T:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http,
            Client(streamable_http_client(f"{address}/mcp", http_client=http), mode=mode) as client,
        ):
            return await do(client)

    return asyncio.run(session())


def _data(result: CallToolResult) -> dict[str, object]:
    assert not result.is_error
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def _text(result: CallToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, TextContent))
