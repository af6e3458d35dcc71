"""The page itself, avatars, and the files that the app uploaded."""

from importlib.resources import files
from xml.sax.saxutils import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from bot.workspace.world import World

_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; "
    "connect-src 'self' ws:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def static_routes(world: World) -> list[BaseRoute]:
    """`/`, `/page/…`, `/avatar/…`, `/files/…` and the socket of Socket Mode."""

    async def page(_request: Request) -> Response:
        return HTMLResponse(_page_file("index.html"), headers={"Content-Security-Policy": _POLICY})

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        kind = name.rpartition(".")[2]
        source = files("bot.workspace") / "page" / name
        if kind not in _TYPES or not source.is_file():
            return PlainTextResponse("not found", status_code=404)
        headers = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
        return Response(source.read_text("utf-8"), media_type=_TYPES[kind], headers=headers)

    async def avatar(request: Request) -> Response:
        person = world.directory.people.get(request.path_params["user"])
        initials, color = (person.initials, person.color) if person else ("?", world.cast.app.color)
        svg = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="192" height="192">'
            f'<rect width="192" height="192" rx="36" fill="{escape(color)}"/>'
            '<text x="96" y="120" font-family="sans-serif" font-size="76" fill="#fff" text-anchor="middle">'
            f"{escape(initials)}</text></svg>"
        )
        return Response(svg, media_type=_TYPES["svg"])

    async def uploaded(request: Request) -> Response:
        file = world.files.find(request.path_params["file_id"])
        if file is None or file.content is None:
            return PlainTextResponse("not found", status_code=404)
        headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
        return Response(file.content, media_type=file.mimetype, headers=headers)

    async def socket_mode(socket: WebSocket) -> None:
        await world.sockets.serve(socket)

    return [
        Route("/", page),
        Route("/archives/{channel}/{ts}", page),
        Route("/page/{name}", asset),
        Route("/avatar/{user}.svg", avatar),
        Route("/files/{file_id}/{name}", uploaded),
        WebSocketRoute("/link/", socket_mode),
    ]


def _page_file(name: str) -> str:
    return (files("bot.workspace") / "page" / name).read_text("utf-8")
