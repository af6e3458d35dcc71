"""The HTTP side of the Web API: reads a call, meets the faults that are armed, logs it, answers."""

import time

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bot.workspace.api import METHODS
from bot.workspace.api.call import Call, for_the_log, read_call
from bot.workspace.faults import ApiFault
from bot.workspace.people import Payload, SlackRefusal
from bot.workspace.world import World


def web_api_routes(world: World) -> list[Route]:
    """`/api/{method}`, and the URLs that files are sent to."""

    async def call_method(request: Request) -> Response:
        started = time.perf_counter()
        name = request.path_params["method"]
        call = Call(name, None, {})
        fault: ApiFault | None = None
        try:
            call = read_call(
                name,
                request.headers.get("content-type", ""),
                request.headers.get("authorization", ""),
                request.url.query,
                await request.body(),
            )
            fault = world.faults.next_for(name)
            answer, status, headers = _answer(world, call, fault), 200, {}
        except SlackRefusal as refusal:
            answer, status, headers = refusal.body(), refusal.status, refusal.headers
        took_ms = round((time.perf_counter() - started) * 1000, 1)
        shown = {key: value for key, value in answer.items() if key != "url"}
        world.wire.add("api", name, error=answer.get("error"), took_ms=took_ms, sent=for_the_log(call), answered=shown)
        if fault is not None and fault.kind == "hold":
            await world.faults.hold(fault.seconds)
        granted = ",".join(sorted(world.scopes or ()))
        return JSONResponse(answer, status_code=status, headers={"X-OAuth-Scopes": granted, **headers})

    async def receive_file(request: Request) -> Response:
        file = world.files.receive(request.path_params["token"], await request.body())
        if file is None:
            return PlainTextResponse("invalid upload", status_code=400)
        return PlainTextResponse(f"OK - {file.length}")

    return [
        Route("/api/{method}", call_method, methods=["GET", "POST"]),
        Route("/upload/v1/{token}", receive_file, methods=["POST"]),
    ]


def _answer(world: World, call: Call, fault: ApiFault | None) -> Payload:
    if fault is not None and fault.kind == "ratelimited":
        raise SlackRefusal("ratelimited", status=429, headers={"Retry-After": str(max(1, round(fault.seconds)))})
    if fault is not None and fault.kind == "error":
        raise SlackRefusal(fault.error)
    method = METHODS.get(call.method)
    if method is None:
        raise SlackRefusal("unknown_method", req_method=call.method)
    _check_token(world, call, method.bearer)
    if method.bearer != "app" and world.scopes is not None and method.scope and method.scope not in world.scopes:
        raise SlackRefusal("missing_scope", needed=method.scope, provided=",".join(sorted(world.scopes)))
    answer = {"ok": True, **method.answer(world, call)}
    if fault is not None and fault.kind == "error-after-effect":
        raise SlackRefusal(fault.error)
    return answer


def _check_token(world: World, call: Call, bearer: str) -> None:
    if not call.token:
        raise SlackRefusal("not_authed")
    if call.token in world.faults.revoked:
        raise SlackRefusal("token_revoked")
    if call.token not in (world.bot_token, world.app_token):
        raise SlackRefusal("invalid_auth")
    is_app_token = call.token == world.app_token
    if (bearer == "bot" and is_app_token) or (bearer == "app" and not is_app_token):
        raise SlackRefusal("not_allowed_token_type")
