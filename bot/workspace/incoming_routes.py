"""Incoming webhooks: how other systems write into a channel, as Alertmanager and Grafana do."""

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.workspace.message import StoredMessage
from bot.workspace.payload import Payload
from bot.workspace.refusal import CannotDo
from bot.workspace.world import World


class Posted(BaseModel):
    """What is sent to a webhook."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    text: str = ""
    username: str = "incoming-webhook"
    attachments: tuple[Payload, ...] = ()
    blocks: tuple[Payload, ...] = ()


def incoming_routes(world: World) -> list[Route]:
    """`/services/{channel}`; Slack's end with a secret, this one is on loopback."""

    async def post(request: Request) -> Response:
        try:
            posted = Posted.model_validate_json(await request.body())
            channel = world.directory.channel(request.path_params["channel"])
        except ValidationError:
            return PlainTextResponse("invalid_payload", 400)
        except CannotDo as refused:
            return PlainTextResponse(refused.code, 404)
        if not (posted.text or posted.attachments or posted.blocks):
            return PlainTextResponse("no_text", 400)
        world.conversations.add(
            StoredMessage(
                channel=channel.id,
                ts=world.conversations.next_ts(),
                user=posted.username,
                username=posted.username,
                bot_id="B0WEBH00K1",
                subtype="bot_message",
                text=posted.text,
                attachments=posted.attachments,
                blocks=posted.blocks,
            )
        )
        return PlainTextResponse("ok")

    return [Route("/services/{channel}", post, methods=["POST"])]
