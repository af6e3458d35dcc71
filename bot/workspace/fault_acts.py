"""The faults by name: what `/_control/faults/NAME` and `Workspace.faults` do to the world."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from bot.workspace.faults import ApiFault, ApiFaultKind, Spoiled
from bot.workspace.page_routes import FaultRequest
from bot.workspace.people import CannotDo, Payload
from bot.workspace.world import StoredMessage, World

Act = Callable[[World, FaultRequest], Awaitable[Payload]]


def _on_api(kind: ApiFaultKind) -> Act:
    async def act(world: World, asked: FaultRequest) -> Payload:
        world.faults.arm(
            ApiFault(kind=kind, method=asked.method, times=asked.times, error=asked.error, seconds=asked.seconds)
        )
        return {"armed": asked.times}

    return act


def _once(what: Spoiled) -> Act:
    async def act(world: World, asked: FaultRequest) -> Payload:
        world.faults.armed[what] += asked.times
        return {"armed": world.faults.armed[what]}

    return act


async def _let_through(world: World, _asked: FaultRequest) -> Payload:
    return {"delivered": await world.deliveries.let_through()}


async def _redeliver(world: World, _asked: FaultRequest) -> Payload:
    ack = await world.deliveries.redeliver_last()
    return {"outcome": ack.outcome if ack else "nothing was delivered yet"}


async def _drop_sockets(world: World, _asked: FaultRequest) -> Payload:
    return {"cut": world.sockets.drop()}


async def _disconnect(world: World, asked: FaultRequest) -> Payload:
    return {"told": await world.sockets.announce_disconnect(asked.reason)}


async def _refuse_connections(world: World, _asked: FaultRequest) -> Payload:
    world.faults.refuse_connections = True
    return {"refusing": True}


async def _archive(world: World, asked: FaultRequest) -> Payload:
    world.directory.change(world.directory.channel(asked.channel).id, is_archived=True)
    world.live.tell("channels", {})
    return {"archived": asked.channel}


async def _limit(world: World, asked: FaultRequest) -> Payload:
    world.directory.change(world.directory.channel(asked.channel).id, limit=asked.limit)
    return {"limit": asked.limit}


async def _of_another_team(world: World, asked: FaultRequest) -> Payload:
    world.directory.change_person(world.directory.person(asked.member).id, team_id="T0PARTNER1")
    world.directory.change(world.directory.channel(asked.channel).id, is_ext_shared=True)
    return {"shared": asked.channel}


async def _deactivate(world: World, asked: FaultRequest) -> Payload:
    world.directory.change_person(world.directory.person(asked.member).id, is_deactivated=True)
    return {"deactivated": asked.member}


def _member(*, joins: bool) -> Act:
    async def act(world: World, asked: FaultRequest) -> Payload:
        member = world.cast.app.user_id if asked.member in ("", "bot") else world.directory.person(asked.member).id
        change = world.directory.join if joins else world.directory.leave
        change(world.directory.channel(asked.channel).id, member)
        world.live.tell("channels", {})
        return {"member": member}

    return act


async def _revoke_token(world: World, _asked: FaultRequest) -> Payload:
    world.faults.revoked.add(world.bot_token)
    return {"revoked": True}


async def _delete_message(world: World, asked: FaultRequest) -> Payload:
    world.conversations.remove(_message(world, asked))
    return {"deleted": asked.ts}


async def _edit_message(world: World, asked: FaultRequest) -> Payload:
    edited_ts = world.conversations.next_ts()
    world.conversations.change(_message(world, asked), text=asked.text, blocks=(), edited_ts=edited_ts)
    return {"edited": asked.ts}


async def _time_passes(world: World, asked: FaultRequest) -> Payload:
    world.clock.advance(timedelta(seconds=asked.seconds))
    return {"now": world.clock.now().isoformat()}


async def _disarm(world: World, _asked: FaultRequest) -> Payload:
    world.faults.disarm()
    return {"disarmed": True}


def _message(world: World, asked: FaultRequest) -> StoredMessage:
    channel = world.directory.channel(asked.channel)
    message = world.conversations.find(channel.id, asked.ts)
    if message is None:
        raise CannotDo("message_not_found", f"No message {asked.ts} in #{channel.name}. Name one that is there.")
    return message


ACTS: dict[str, Act] = {
    "ratelimited": _on_api("ratelimited"),
    "error": _on_api("error"),
    "error-after-effect": _on_api("error-after-effect"),
    "hold": _on_api("hold"),
    "double-click": _once("double-click"),
    "double-delivery": _once("double-delivery"),
    "hold-delivery": _once("hold-delivery"),
    "let-through": _let_through,
    "redeliver": _redeliver,
    "drop-sockets": _drop_sockets,
    "disconnect": _disconnect,
    "refuse-connections": _refuse_connections,
    "archive": _archive,
    "limit": _limit,
    "share": _of_another_team,
    "deactivate": _deactivate,
    "remove-member": _member(joins=False),
    "add-member": _member(joins=True),
    "revoke-token": _revoke_token,
    "delete-message": _delete_message,
    "edit-message": _edit_message,
    "time-passes": _time_passes,
    "disarm": _disarm,
}
