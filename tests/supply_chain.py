"""What runs this program and was made by others: the pinned libraries, and the files that the repository carries.

``python -m tests.supply_chain FILE`` (``make sbom``) writes both as CycloneDX JSON, and the page docs/licences.md.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "licences.md"
EXTRAS = ("parquet", "text-search", "embeddings", "object-storage", "telemetry")
RUN_TIME = ("requirements.txt", *(f"requirements-{part}.txt" for part in EXTRAS))
_PINNED = re.compile(r"^([a-z0-9][a-z0-9.-]*)==(\S+)", re.M)


class Carried(NamedTuple):
    """A file of somebody else in this repository."""

    path: str
    name: str
    version: str
    licence: str
    source: str
    sha256: str


FONTS = "https://github.com/liberationfonts/liberation-fonts"
CARRIED = (
    Carried(
        *("static/vendor/htmx.min.js", "htmx", "2.0.11", "0BSD", "https://github.com/bigskysoftware/htmx"),
        sha256="d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
    ),
    Carried(
        *("annotation/tables/fonts/LiberationSans-Regular.ttf", "Liberation Sans", "2.1.5", "OFL-1.1", FONTS),
        sha256="8d91388f1d3604b3b8ae0e3ee2d140e50cd6122f9214514f4aca772540a4076d",
    ),
    Carried(
        *("annotation/tables/fonts/LiberationSans-Bold.ttf", "Liberation Sans Bold", "2.1.5", "OFL-1.1", FONTS),
        sha256="ba0e0dc3f7aca5b0afbc31e800531ee43be3aa79ae35b2ef1f6470a9547765c4",
    ),
)


class Library(NamedTuple):
    name: str
    version: str
    licence: str
    list: str


def libraries() -> Iterator[Library]:
    """What the lists for running pin, with the licence that each package states itself."""
    seen = set()
    for name in RUN_TIME:
        for package, version in pinned(name):
            if package not in seen:
                yield Library(package, version, licence_of(package), name)
            seen.add(package)


def pinned(requirements: str) -> list[tuple[str, str]]:
    return _PINNED.findall((ROOT / requirements).read_text())


def licence_of(package: str) -> str:
    """The expression of a package; else its classifiers, which are clearer than the free text; else how its file of the
    licence begins.
    """
    told = metadata.metadata(package)
    classes = [one.rsplit(" :: ", 1)[1] for one in told.get_all("Classifier") or [] if one.startswith("License ::")]
    named = [one for one in classes if one != "OSI Approved"]
    expression, free = ("".join(told.get_all(field) or []) for field in ("License-Expression", "License"))
    files = [str(one.read_text()) for one in metadata.files(package) or [] if one.parent.name == "licenses"]
    return expression or ", ".join(named) or "".join((free or "".join(files)).strip().partition("\n")[:1])


def page() -> str:
    """docs/licences.md, made of the lists and of what the installed packages say."""
    lines = [
        "# Licences",
        "",
        "What runs this program and was made by others. `make sbom` makes this page.",
        "",
        "## Python packages",
        "",
        "| package | version | licence, as the package states it | list |",
        "| --- | --- | --- | --- |",
        *(f"| {one.name} | {one.version} | {one.licence} | `{one.list}` |" for one in libraries()),
        "",
        "## Files in this repository",
        "",
        "| file | version | licence | source | SHA-256 |",
        "| --- | --- | --- | --- | --- |",
        *(f"| `{one.path}` | {one.version} | {one.licence} | {one.source} | `{one.sha256}` |" for one in CARRIED),
        "",
    ]
    return "\n".join(lines)


def main(target: str) -> None:
    """Raises CalledProcessError where cyclonedx-py cannot read the environment."""
    tool = Path(sys.executable).with_name("cyclonedx-py")
    command = [str(tool), "environment", sys.executable, "--output-reproducible"]
    read = subprocess.run(command, capture_output=True, text=True, check=True)
    Path(target).write_text(json.dumps(of_run_time(json.loads(read.stdout)), indent=2, sort_keys=True) + "\n")
    PAGE.write_text(page())


def of_run_time(bill: dict[str, Any]) -> dict[str, Any]:
    """A bill of materials without what only tests need, and with the files that the repository carries."""
    names = {one.name for one in libraries()}
    components = [one for one in bill["components"] if _normal(one["name"]) in names]
    references = {one["bom-ref"] for one in components}
    dependencies = [
        {**one, "dependsOn": [ref for ref in one.get("dependsOn", []) if ref in references]}
        for one in bill["dependencies"]
        if one["ref"] in references
    ]
    return {**bill, "components": components + [_component(one) for one in CARRIED], "dependencies": dependencies}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _component(one: Carried) -> dict[str, Any]:
    return {
        "bom-ref": one.path,
        "type": "file",
        "name": one.name,
        "version": one.version,
        "licenses": [{"license": {"id": one.licence}}],
        "hashes": [{"alg": "SHA-256", "content": one.sha256}],
        "externalReferences": [{"type": "distribution", "url": one.source}],
    }


if __name__ == "__main__":
    main(sys.argv[1])
