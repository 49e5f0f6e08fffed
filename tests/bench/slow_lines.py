"""Lines to a site that is far away: a port for each, behind which bytes take their time in both directions.

The kernels of test machines seldom have ``netem``. Each line has a delay (there and back) and a bandwidth that all of
its connections share; a new connection costs one delay, as TCP's greeting does. Nothing is lost on the way, and nothing
starts slowly. Takes its orders as JSON on standard input, prints the ports, and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from contextlib import suppress
from typing import Any

BURST = 0.02  # seconds that a timer may be late without loss of bandwidth
QUEUED = 64  # pieces under way; each is what the line carries in 10 ms
RECEIVED = 1 << 17  # bytes that wait for the line, as in the device in front of a slow one


class Direction:
    """One way of a line, which whoever has something to send takes piece by piece."""

    def __init__(self, ms: float, mbit: float) -> None:
        self.delay, self.rate = ms / 2000, mbit * 1e6 / 8
        self.piece = int(min(65536, max(4096, self.rate / 100)))
        self.free_at = 0.0

    async def carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        """Until the source ends, or either is cut."""
        clock = asyncio.get_running_loop().time
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(QUEUED)
        arriving = asyncio.ensure_future(self._arrive(under_way, target))
        with suppress(ConnectionError):
            while part := await source.read(self.piece):
                now = clock()
                self.free_at = max(now - BURST, self.free_at) + len(part) / self.rate
                await asyncio.sleep(self.free_at - now)
                await under_way.put((clock() + self.delay, part))
        await under_way.put((clock() + self.delay, b""))
        await arriving

    async def _arrive(self, under_way: asyncio.Queue[tuple[float, bytes]], target: asyncio.StreamWriter) -> None:
        clock, is_cut = asyncio.get_running_loop().time, False
        while True:
            due, part = await under_way.get()
            await asyncio.sleep(due - clock())
            if not part:
                break
            if not is_cut:
                target.write(part)
                try:
                    await target.drain()
                except ConnectionError:
                    is_cut = True  # what is still under way goes nowhere
        target.close()


async def open_line(number: int, port: int, ms: float, mbit: float) -> int:
    """The port at which the far end of the line is; the site sees an address for each line."""
    up, down = Direction(ms, mbit), Direction(ms, mbit)

    async def join(near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        await asyncio.sleep(ms / 1000)
        with socket.socket() as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED)
            line.setblocking(False)
            line.bind((f"127.0.9.{1 + number}", 0))
            await asyncio.get_running_loop().sock_connect(line, ("127.0.0.1", port))
            far, forth = await asyncio.open_connection(sock=line)
            await asyncio.gather(up.carry(near, forth), down.carry(far, back))

    server = await asyncio.start_server(join, "127.0.0.1", 0)
    opened: int = server.sockets[0].getsockname()[1]
    SERVERS.append(server)
    return opened


SERVERS: list[asyncio.Server] = []


async def main() -> None:
    orders: dict[str, Any] = json.loads(sys.stdin.readline())
    ports = [await open_line(n, orders["port"], *line) for n, line in enumerate(orders["lines"])]
    print(json.dumps(ports), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
