"""auth.test and apps.connections.open."""

from bot.workspace.api.call import Call, Method
from bot.workspace.refusal import Payload, SlackRefusal
from bot.workspace.world import World


def test(world: World, call: Call) -> Payload:
    """Who the token belongs to."""
    app = world.cast.app
    if call.token == world.app_token:
        return {"app_name": app.display_name, "app_id": app.app_id}
    return {
        "url": world.url + "/",
        "team": world.cast.team_name,
        "team_id": world.cast.team_id,
        "user": app.name,
        "user_id": app.user_id,
        "bot_id": app.bot_id,
        "is_enterprise_install": False,
    }


def open_connection(world: World, _call: Call) -> Payload:
    """A WebSocket URL for one connection."""
    if world.cast.app.transport != "socket":
        raise SlackRefusal("forbidden_team")
    if world.faults.refuse_connections:
        raise SlackRefusal("internal_error")
    if world.sockets.count >= world.rules.sockets:
        raise SlackRefusal("too_many_websockets")
    base = world.url.replace("http://", "ws://", 1)
    return {"url": f"{base}/link/?ticket={world.sockets.new_ticket()}&app_id={world.cast.app.app_id}"}


METHODS = {
    "auth.test": Method(test, bearer="any"),
    "apps.connections.open": Method(open_connection, scope="connections:write", bearer="app"),
}
