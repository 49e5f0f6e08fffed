"""Starts Firefox for Playwright, between the two where they speak of different things.

Playwright drives Debian's Firefox over WebDriver BiDi. It asks every new context for a colour scheme, with a command
that Firefox 153 does not know; here that one command is answered in place of Firefox. Everything else passes unchanged.
Run as the executable that Playwright starts; REXVQA_FIREFOX names the real one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from threading import Thread

from websockets.sync.client import ClientConnection, connect
from websockets.sync.server import ServerConnection, serve

ANSWERED_HERE = "emulation.setMediaFeaturesOverride"
LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")


class Between:
    """One socket for Playwright, one to Firefox."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.server = serve(self.pass_on, "127.0.0.1", 0, max_size=None, compression=None, ping_interval=None)
        Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def own_address(self) -> str:
        return f"ws://127.0.0.1:{self.server.socket.getsockname()[1]}"

    def pass_on(self, playwright: ServerConnection) -> None:
        path = playwright.request.path if playwright.request else ""
        with connect(self.address + path, max_size=None, compression=None, ping_interval=None) as firefox:
            Thread(target=self.pass_back, args=(firefox, playwright), daemon=True).start()
            for message in playwright:
                command = json.loads(message)
                if command["method"] == ANSWERED_HERE:
                    playwright.send(json.dumps({"type": "success", "id": command["id"], "result": {}}))
                else:
                    firefox.send(message)

    def pass_back(self, firefox: ClientConnection, playwright: ServerConnection) -> None:
        for message in firefox:
            playwright.send(message)
        playwright.close()


def main(arguments: list[str]) -> int:
    firefox = subprocess.Popen([os.environ["REXVQA_FIREFOX"], *arguments], stderr=subprocess.PIPE, text=True)
    assert firefox.stderr
    for line in firefox.stderr:
        if found := LISTENING.search(line):
            line = line.replace(found[1], Between(found[1]).own_address)
        print(line, end="", file=sys.stderr, flush=True)
    return firefox.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
