"""`/_control/…`, for tests and for the drawer of the page."""

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bot.workspace.fault_acts import ACTS
from bot.workspace.refusal import CannotDo
from bot.workspace.requests import FaultRequest
from bot.workspace.rules import Rules
from bot.workspace.world import World

_NEWEST = 200


def control_routes(world: World) -> list[Route]:
    """Faults, rules and the wire log."""

    async def fault(request: Request) -> Response:
        act = ACTS.get(request.path_params["name"])
        if act is None:
            return JSONResponse({"code": "unknown_fault", "message": f"Known: {', '.join(ACTS)}."}, 404)
        if not request.headers.get("content-type", "").startswith("application/json"):
            return JSONResponse({"code": "not_json", "message": "Send JSON, as application/json."}, 415)
        try:
            asked = FaultRequest.model_validate_json(await request.body() or b"{}")
            done = await act(world, asked)
        except ValidationError as error:
            return JSONResponse({"code": "invalid", "message": str(error)}, 400)
        except CannotDo as refused:
            return JSONResponse({"code": refused.code, "message": str(refused)}, 409)
        name = request.path_params["name"]
        world.wire.add("fault", name, sent=asked.model_dump(exclude_defaults=True), answered=done)
        return JSONResponse(done)

    async def rules(request: Request) -> Response:
        if request.method == "POST":
            given = Rules.model_validate({**world.rules.model_dump(), **(await request.json())})
            world.set_rules(given)
        return JSONResponse(world.rules.model_dump())

    async def wire(_request: Request) -> Response:
        newest = world.wire.entries()[-_NEWEST:]
        return JSONResponse({"entries": [entry.model_dump(mode="json") for entry in newest]})

    async def wire_lines(_request: Request) -> Response:
        return PlainTextResponse(world.wire.jsonl(), media_type="application/x-ndjson")

    return [
        Route("/_control/faults/{name}", fault, methods=["POST"]),
        Route("/_control/rules", rules, methods=["GET", "POST"]),
        Route("/_control/wire", wire),
        Route("/_control/wire.jsonl", wire_lines),
    ]
