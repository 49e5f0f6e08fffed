"""The endpoint of a demonstration: its server runs the stand-in, on whatever port is free, and notes it in the home.

``python -m annotation.endpoints.simulated_endpoint FILE`` is the process that does it, without the rest of the program,
which would keep the start of the site waiting.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from annotation.call_enums import EndpointPlace
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.endpoints.kernels.simulated_models import OBEYS_SCHEMA
from annotation.endpoints.stand_in import HOST, StandIn

SIMULATED = "simulated"
SEED = 1


def port_file() -> Path:
    """Holds the port as long as the stand-in of this home runs."""
    return Path(settings.HOME) / "stand_in_port"


@contextmanager
def served_stand_in(path: Path) -> Iterator[StandIn]:
    """It is served until the block ends, and the file holds its port, whole, as long."""
    with StandIn(seed=SEED) as server:
        draft = path.with_name(f"{path.name}.draft")
        draft.write_text(str(server.server_port))
        draft.replace(path)
        try:
            yield server
        finally:
            path.unlink(missing_ok=True)


def simulated_endpoint() -> Endpoint | None:
    """On this machine, whatever the file says. None where no demonstration lives, or its stand-in does not run."""
    if not settings.DEMO:
        return None
    try:
        port = int(port_file().read_text())
    except (OSError, ValueError):
        return None
    return Endpoint(SIMULATED, f"http://{HOST}:{port}/v1", EndpointPlace.MACHINE, model=OBEYS_SCHEMA)


def serve_until_ended(path: Path) -> None:
    """The process of its own; SIGTERM or SIGINT end it."""
    with served_stand_in(path) as server:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: server.is_closing.set())
        server.is_closing.wait()


if __name__ == "__main__":
    serve_until_ended(Path(sys.argv[1]))
