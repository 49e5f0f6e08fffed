"""The site of the browser tests: answers in one piece, and knows when every browser has left."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Condition
from typing import Any

import pytest
from django.core.servers.basehttp import ThreadedWSGIServer
from django.test.testcases import QuietWSGIRequestHandler
from playwright.sync_api import BrowserContext
from pytest_django.live_server_helper import LiveServer

PATIENCE = 20  # seconds


class Handler(QuietWSGIRequestHandler):
    """Head and body together: in pieces, an answer waits up to 40 ms for the browser to acknowledge its first piece."""

    wbufsize = -1
    disable_nagle_algorithm = True

    def handle_one_request(self) -> None:
        super().handle_one_request()
        self.wfile.flush()  # an answer without a body


class Server(ThreadedWSGIServer):
    """Knows who is connected."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.callers: dict[Any, socket.socket] = {}
        self.changed = Condition()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self.changed:
            self.callers[client_address] = request
            self.changed.notify_all()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self.changed:
                del self.callers[client_address]
                self.changed.notify_all()

    def wait_until_left(self) -> None:
        """Answer what has been asked, hear nothing more, and return when that is done.

        Connections are accepted in their order, the one that is made here last. Firefox would keep its own open.
        """
        with socket.create_connection(("127.0.0.1", self.server_port)) as last, self.changed:
            own = last.getsockname()
            assert self.changed.wait_for(lambda: own in self.callers, PATIENCE)
            for address, connection in self.callers.items():
                if address != own:
                    with suppress(OSError):  # it is closed already
                        connection.shutdown(socket.SHUT_RD)
            is_alone = self.changed.wait_for(lambda: self.callers.keys() == {own}, PATIENCE)
        assert is_alone, "a request is not answered"


@contextmanager
def served_in_one_piece() -> Iterator[None]:
    """Every live server that starts meanwhile is one of these."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.test.testcases.QuietWSGIRequestHandler", Handler)
        patch.setattr("django.test.testcases.LiveServerThread.server_class", Server)
        yield


def leave(context: BrowserContext, live_server: LiveServer) -> None:
    """Close the browser. When this returns nothing of it is under way, and the tables can be emptied."""
    context.close()
    wait_until_left(live_server)


def wait_until_left(live_server: LiveServer) -> None:
    """For browsers that are closed already."""
    server = live_server.thread.httpd
    assert isinstance(server, Server)
    server.wait_until_left()
