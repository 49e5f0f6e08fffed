"""The picture of rooms in docs/architecture.md: ``python -m tests.architecture.picture`` writes it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.architecture.source import ROOT, imports_of, name_of, python_files
from tests.architecture.test_order import ONLY_TYPES, ORDER

PAGE = ROOT / "docs" / "architecture.md"
BLOCK = re.compile(r"(?:<!-- picture -->|```mermaid\n.*?```)", re.DOTALL)
NO_ROOMS = {"contributions", "enums", "call_enums", "hashes", "refusals", "models", "apps", "urls"}
NO_ROOMS |= {"forms", "templatetags", "management", "views", "api"}


def needed_by(app: str) -> dict[str, set[str]]:
    """The rooms that each room of an app imports."""
    rooms = [room for room in ORDER[app] if room not in NO_ROOMS]
    needed: dict[str, set[str]] = {room: set() for room in rooms}
    for path in python_files(app):
        room = path.relative_to(ROOT / app).parts[0]
        if room in needed and name_of(path) not in ONLY_TYPES:
            parts = (module.split(".") for module in imports_of(path) if module.startswith(f"{app}."))
            needed[room] |= {names[1] for names in parts if names[1] in needed} - {room}
    return needed


def direct(needed: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The arrows that do not follow from others."""

    def all_below(room: str) -> set[str]:
        return needed[room].union(*(all_below(other) for other in needed[room]))

    return [
        (room, other)
        for room, others in needed.items()
        for other in sorted(others)
        if not any(other in all_below(between) for between in others - {other})
    ]


def picture() -> str:
    lines = ["```mermaid", "flowchart BT"]
    for app in ORDER:
        needed = needed_by(app)
        lines.append(f"  subgraph {app}")
        lines += [f"    {app}.{room}[{room}]" for room in needed]
        lines += [f"    {app}.{room} --> {app}.{other}" for room, other in direct(needed)]
        lines.append("  end")
    return "\n".join([*lines, "  readerstudy --> annotation", "```"])


def written(page: str) -> str:
    return BLOCK.sub(lambda _: picture(), page, count=1)


def main(page: Path = PAGE) -> None:
    page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
