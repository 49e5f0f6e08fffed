"""Messages as files, each there as a whole or not at all.

kombu 5.7.0 opens a file by the name that readers look for and writes it afterwards, so that a worker may read an empty
message, and ends.
"""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    def _put(self, queue: str, payload: Any, **_more: Any) -> None:  # type: ignore[override]  # kombu has two names for it
        """Readers take the first by name: the highest priority, then the oldest. A dot in front belongs to no queue."""
        rank = 9 - int(payload["properties"].get("priority") or 0)
        name = f"{rank}_{time.time_ns()}_{uuid.uuid4().hex}.{queue}.msg"
        draft = Path(self.data_folder_out) / f".{name}"
        draft.write_text(dumps(payload))
        draft.rename(draft.with_name(name))


class Transport(filesystem.Transport):
    Channel = Channel


TRANSPORT_ALIASES["filesystem"] = f"{__name__}:Transport"
