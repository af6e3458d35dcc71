"""The MCP server, made at the first question to it: its library weighs as much as all the pages several times over."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from bot.service.trust import TrustDesk


class AgentsWhenAsked:
    """An ASGI application; nothing of MCP is imported before somebody asks."""

    def __init__(self, desk: TrustDesk) -> None:
        self._desk = desk
        self._asked = asyncio.Event()
        self._router: asyncio.Future[Router] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """For the lifetime of the pages. The server's own tasks begin and end in one task, as they must."""
        self._router = asyncio.get_running_loop().create_future()
        keeper = asyncio.create_task(self._serve(self._router))
        try:
            yield
        finally:
            keeper.cancel()
            await asyncio.wait([keeper])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers as the server does; the first question waits a second or two for it. Others are not held up."""
        assert self._router is not None
        await asyncio.to_thread(import_module, "bot.web.agents")
        self._asked.set()
        router = await asyncio.shield(self._router)
        await router(scope, receive, send)

    async def _serve(self, router: asyncio.Future[Router]) -> None:
        await self._asked.wait()
        from bot.web.agents import agents_app, agents_server

        app = agents_app(agents_server(self._desk))
        async with app.router.lifespan_context(app):
            router.set_result(app.router)
            await asyncio.Event().wait()
