"""Who is there: people, user groups, and the app by its tokens."""

from bot.workspace.api.call import Call, Method
from bot.workspace.people import Payload, Person, SlackRefusal
from bot.workspace.world import World


def info(world: World, call: Call) -> Payload:
    user = call.required("user", "user_not_found")
    if user == world.cast.app.user_id:
        return {"user": _bot(world)}
    if user not in world.directory.people:
        raise SlackRefusal("user_not_found")
    return {"user": _shown(world, world.directory.people[user])}


def group_members(world: World, call: Call) -> Payload:
    group = world.directory.groups.get(call.required("usergroup", "no_such_subteam"))
    if group is None:
        raise SlackRefusal("no_such_subteam")
    if world.cast.enterprise_id and not call.text("team_id"):
        raise SlackRefusal("missing_argument")
    if call.text("team_id") not in ("", world.cast.team_id):
        raise SlackRefusal("team_access_not_granted")
    return {"users": [user for user in group.members if not world.directory.people[user].is_deactivated]}


def _shown(world: World, person: Person) -> Payload:
    avatar = f"{world.url}/avatar/{person.id}.svg"
    return {
        "id": person.id,
        "team_id": world.team_of(person.id),
        "name": person.name,
        "real_name": person.display_name,
        "deleted": person.is_deactivated,
        "is_bot": False,
        "is_app_user": False,
        **_grid(world, person),
        "tz": "UTC",
        "tz_label": "Coordinated Universal Time",
        "tz_offset": 0,
        "profile": {
            "display_name": person.display_name,
            "real_name": person.display_name,
            "title": person.title,
            "email": f"{person.name}@example.com",
            "image_48": avatar,
            "image_192": avatar,
        },
    }


def _grid(world: World, person: Person) -> Payload:
    """What Slack adds of the members of an organisation's workspaces."""
    enterprise = world.cast.enterprise_id
    return {"enterprise_user": {"enterprise_id": enterprise}} if enterprise and not person.team_id else {}


def _bot(world: World) -> Payload:
    app = world.cast.app
    return {
        "id": app.user_id,
        "team_id": world.cast.team_id,
        "name": app.name,
        "real_name": app.display_name,
        "deleted": False,
        "is_bot": True,
        "is_app_user": False,
        "tz": "UTC",
        "profile": {"display_name": app.display_name, "real_name": app.display_name, "bot_id": app.bot_id},
    }


USERS = {
    "users.info": Method(info, scope="users:read"),
    "usergroups.users.list": Method(group_members, scope="usergroups:read"),
}


def test(world: World, call: Call) -> Payload:
    app = world.cast.app
    if call.token == world.app_token:
        return {"app_name": app.display_name, "app_id": app.app_id}
    return {
        "url": world.url + "/",
        "team": world.cast.team_name,
        "team_id": world.cast.enterprise_id or world.cast.team_id,
        "enterprise_id": world.cast.enterprise_id or None,
        "user": app.name,
        "user_id": app.user_id,
        "bot_id": app.bot_id,
        "is_enterprise_install": bool(world.cast.enterprise_id),
    }


def open_connection(world: World, _call: Call) -> Payload:
    if world.cast.app.transport != "socket":
        raise SlackRefusal("forbidden_team")
    base = world.url.replace("http://", "ws://", 1)
    return {"url": f"{base}/link/?ticket={world.sockets.new_ticket()}&app_id={world.cast.app.app_id}"}


AUTH = {
    "auth.test": Method(test, bearer="any"),
    "apps.connections.open": Method(open_connection, scope="connections:write", bearer="app"),
}
