"""An MCP server over the same reads: an agent can ask before it acts, and cannot act here."""

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import Field
from starlette.applications import Starlette

from bot.incident.trust import Trust
from bot.observation.errors import CouldNotLook, UnknownIncident, UnknownTable
from bot.observation.ids import IncidentId, TableName
from bot.service.trust import TrustService
from bot.web.trust_api import IncidentView, Tables, incident_view

_BEFORE_YOU_ACT = (
    "Call `table_trust` before you read, write, copy or decide anything from a table that is listed here. "
    "Go on only if `state` is `trusted`. If it is `under-review`, read the named snapshot by one of the `pins`, "
    "or stop and say so to the person you work for. If it is `unknown`, stop: unknown is not trusted. "
    "This server only reads. People work on incidents."
)
_ONLY_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def agents_server(trusts: TrustService) -> MCPServer[None]:
    """Three tools, none of which changes anything."""
    server: MCPServer[None] = MCPServer(
        name="waterline", title="Waterline", instructions=_BEFORE_YOU_ACT, log_level="WARNING"
    )

    @server.tool(title="All tables and their trust", annotations=_ONLY_READS)
    def list_tables() -> Tables:
        """Every watched table: whether it can be relied on, which snapshot, and why."""
        return Tables(tables=trusts.all())

    @server.tool(title="Can this table be relied on?", annotations=_ONLY_READS)
    def table_trust(
        table: Annotated[str, Field(description="namespace.table, as list_tables names it.", max_length=500)],
    ) -> Trust:
        """Whether a table can be relied on now, which snapshot can, why, and how to read exactly that one."""
        try:
            return trusts.trust(TableName(table))
        except UnknownTable as error:
            raise ToolError(str(error)) from error

    @server.tool(title="What is known of an incident", annotations=_ONLY_READS)
    def incident(
        id: Annotated[str, Field(description="Such as wl-1, as table_trust names it.", max_length=100)],  # noqa: A002
    ) -> IncidentView:
        """How far an incident is: what happened, what was proposed, whether the table was proven after it. `table_now`
        says whether the table can be relied on now."""
        try:
            return incident_view(trusts, IncidentId(id))
        except (UnknownIncident, CouldNotLook) as error:
            raise ToolError(str(error)) from error

    return server


def agents_app(server: MCPServer[None]) -> Starlette:
    """The server over streamable HTTP, without sessions: every question stands alone.

    Who may ask is decided before, by the same rule as for everything else.
    """
    return server.streamable_http_app(
        streamable_http_path="/mcp",
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=64 * 1024,
    )
