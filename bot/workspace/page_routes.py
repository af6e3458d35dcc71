"""What the page and the actors call: reading as a person, acting as a person, and the live connection."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar
from urllib.parse import urlsplit

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from bot.workspace.people import Act, CannotDo, Payload, Person
from bot.workspace.persons import clicks, messages, modals
from bot.workspace.persons.clicks import Chosen, Click
from bot.workspace.persons.messages import Looked, Said
from bot.workspace.persons.modals import Closed, Outcome, Submitted
from bot.workspace.world import World


def overview(world: World, person: Person, _request: Request) -> Payload:
    """The frame of the page: people, channels, groups, the app and its commands."""
    app = world.cast.app
    return {
        "team": {"id": world.cast.team_id, "name": world.cast.team_name},
        "me": person.id,
        "people": [{**p.model_dump(), "initials": p.initials} for p in world.directory.people.values()],
        "app": {
            **app.model_dump(include={"user_id", "app_id", "bot_id", "name", "display_name", "color"}),
            "commands": [command.model_dump() for command in app.commands],
            "shortcuts": [shortcut.model_dump() for shortcut in app.shortcuts],
        },
        "groups": [group.model_dump() for group in world.directory.groups.values()],
        "channels": [
            {
                "id": channel.id,
                "name": channel.name,
                "topic": channel.topic,
                "is_im": channel.is_im,
                "is_archived": channel.is_archived,
                "is_member": person.id in channel.members,
                "member_count": len(channel.members),
                "unread": world.conversations.unread(channel.id, person.id) if person.id in channel.members else 0,
            }
            for channel in world.directory.visible_to(person.id)
        ],
    }


def channel_messages(world: World, person: Person, request: Request) -> Payload:
    """The messages of a channel that this person sees, oldest first: of a thread with `thread_ts`, all with `all`."""
    channel = world.directory.channel(request.query_params.get("channel", ""))
    if channel not in world.directory.visible_to(person.id):
        raise CannotDo("channel_not_found", f"{person.display_name} cannot see {channel.name}. Ask as a member.")
    thread_ts = request.query_params.get("thread_ts")
    seen = [m for m in world.conversations.in_channel(channel.id) if m.seen_by(person.id)]
    if thread_ts:
        seen = [m for m in seen if m.ts == thread_ts or m.thread_ts == thread_ts]
    elif "all" not in request.query_params:
        seen = [m for m in seen if not m.in_thread]
    return {"channel": channel.id, "messages": [world.conversations.as_shown(m, person.id) for m in seen]}


def modals_of(world: World, person: Person, _request: Request) -> Payload:
    """The modals that this person has open, the visible one last."""
    return {"views": [view.on_the_wire(world.cast) for view in world.views.stack(person.id)]}


def home_of(world: World, person: Person, _request: Request) -> Payload:
    """The app's Home for this person; none when nothing was published yet."""
    home = world.views.home(person.id)
    return {"view": home.on_the_wire(world.cast) if home else None}


Asked = TypeVar("Asked", bound=Act)
LONGEST_WAIT_S = 20.0


def page_routes(world: World) -> list[BaseRoute]:
    """`/_page/…`: everything that a person can see and do."""
    return [
        Route("/_page/overview", _reading(world, overview)),
        Route("/_page/messages", _reading(world, channel_messages)),
        Route("/_page/modals", _reading(world, modals_of)),
        Route("/_page/home", _reading(world, home_of)),
        Route("/_page/changes", _changes(world)),
        Route("/_page/say", _acting(world, Said, messages.say), methods=["POST"]),
        Route("/_page/click", _acting(world, Click, clicks.click), methods=["POST"]),
        Route("/_page/shortcut", _acting(world, Chosen, clicks.choose_shortcut), methods=["POST"]),
        Route("/_page/submit", _acting(world, Submitted, modals.submit), methods=["POST"]),
        Route("/_page/close", _acting(world, Closed, modals.close), methods=["POST"]),
        Route("/_page/look", _acting(world, Looked, messages.look), methods=["POST"]),
        WebSocketRoute("/_page/live", _live(world)),
    ]


def _acting(
    world: World, model: type[Asked], act: Callable[[World, Person, Asked], Awaitable[Outcome]]
) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that reads `model` from JSON and answers what came of it; 409 for what the client would not do."""

    async def endpoint(request: Request) -> Response:
        if not request.headers.get("content-type", "").startswith("application/json"):
            return JSONResponse({"code": "not_json", "message": "Send JSON, as application/json."}, 415)
        try:
            asked = model.model_validate_json(await request.body())
            outcome = await act(world, world.directory.person(asked.person), asked)
        except ValidationError as error:
            return JSONResponse({"code": "invalid", "message": str(error)}, 400)
        except CannotDo as refused:
            return JSONResponse({"code": refused.code, "message": str(refused)}, 409)
        return JSONResponse(outcome.model_dump(mode="json"))

    return endpoint


def _reading(
    world: World, read: Callable[[World, Person, Request], dict[str, object]]
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            person = world.directory.person(request.query_params.get("as", ""))
            return JSONResponse({"version": world.live.version, **read(world, person, request)})
        except CannotDo as refused:
            return JSONResponse({"code": refused.code, "message": str(refused)}, 409)

    return endpoint


def _changes(world: World) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        since = int(request.query_params.get("since", "0"))
        wait_s = min(float(request.query_params.get("wait", "1")), LONGEST_WAIT_S)
        return JSONResponse({"version": await world.live.wait_past(since, wait_s)})

    return endpoint


def _live(world: World) -> Callable[[WebSocket], Awaitable[None]]:
    async def endpoint(socket: WebSocket) -> None:
        if not _from_the_page(socket):
            await socket.close(4003, "only the page of this workspace may listen")
            return
        person = world.directory.person(socket.query_params.get("as", "")).id
        await socket.accept()
        queue = world.live.open_page(person)
        gone = asyncio.ensure_future(_until_gone(socket))
        try:
            while not gone.done():
                change = asyncio.ensure_future(queue.get())
                await asyncio.wait({gone, change}, return_when=asyncio.FIRST_COMPLETED)
                if change.done():
                    await socket.send_json(change.result())
                else:
                    change.cancel()
        except (WebSocketDisconnect, RuntimeError):
            return
        finally:
            gone.cancel()
            world.live.close_page(queue)

    return endpoint


def _from_the_page(socket: WebSocket) -> bool:
    """False for a script of another site: browsers send its origin, and let it connect to this machine."""
    origin = socket.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == socket.headers.get("host")


async def _until_gone(socket: WebSocket) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):
        while True:
            await socket.receive_text()
