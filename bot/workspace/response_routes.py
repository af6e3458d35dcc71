"""The response URLs that an app posts its answers to."""

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.workspace.persons.answers import answer
from bot.workspace.refusal import SlackRefusal, UnusableUrl
from bot.workspace.world import World


def response_routes(world: World) -> list[Route]:
    """`/response/{token}`."""

    async def respond(request: Request) -> Response:
        status, said, given = 200, "ok", {}
        try:
            given = await request.json()
            answer(world, world.handles.redeem_url(request.path_params["token"], world.rules), given)
        except UnusableUrl as unusable:
            status, said = 404, unusable.code
        except SlackRefusal as refusal:
            status, said = 400, str(refusal)
        except ValueError:
            status, said = 400, "invalid_payload"
        world.wire.add("response-url", "response_url", error=None if status == 200 else said, sent=given)
        return PlainTextResponse(said, status_code=status)

    return [Route("/response/{token}", respond, methods=["POST"])]
