"""What was made by others: pinned with hashes, under licences that permit, and unchanged in this repository."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

from tests.supply_chain import CARRIED, PAGE, ROOT, Carried, libraries, of_run_time, page, pinned

LISTS = sorted(path.name for path in ROOT.glob("requirements*.txt"))
COPYLEFT = re.compile(r"GPL|General Public|Mozilla|MPL|EUPL|CDDL|Eclipse|CC-BY-SA", re.I)
ACCEPTED = {
    "psycopg2-binary": "LGPL with exceptions: a library of the fixed stack, used as it is, never changed or copied",
    "certifi": "MPL-2.0: a list of certificates, used as it is",
    "fido2": "BSD; MPL-2.0 for its list of public suffixes, used as it is",
    "tqdm": "MPL-2.0 and MIT: rapidocr asks for it; used as it is",
}


@pytest.mark.parametrize("name", LISTS)
def test_every_pinned_file_is_known_by_its_hash(name: str) -> None:
    entries = re.split(r"\n(?=[a-z0-9])", (ROOT / name).read_text().strip())
    assert pinned(name)
    without = [entry.partition(" ")[0] for entry in entries if "==" in entry and "--hash=sha256:" not in entry]
    assert without == [], "make lock writes the hashes"


def test_no_library_is_under_a_licence_that_binds_this_program() -> None:
    bound = {one.name for one in libraries() if COPYLEFT.search(one.licence) or not one.licence}
    assert bound == set(ACCEPTED)


def test_the_page_of_licences_is_what_is_installed() -> None:
    assert PAGE.read_text() == page(), "make sbom writes it"


@pytest.mark.parametrize("one", CARRIED, ids=lambda one: one.name)
def test_a_file_of_somebody_else_is_the_one_that_was_released(one: Carried) -> None:
    assert hashlib.sha256((ROOT / one.path).read_bytes()).hexdigest() == one.sha256


def test_every_file_in_the_folder_of_vendors_is_listed() -> None:
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "static" / "vendor").glob("*") if path.is_file()}
    assert {path for path in there if not path.endswith("LICENSE")} <= {one.path for one in CARRIED}


def test_a_bill_of_materials_holds_what_runs_and_nothing_else() -> None:
    bill = {
        "components": [{"name": "Django", "bom-ref": "a"}, {"name": "pytest", "bom-ref": "b"}],
        "dependencies": [{"ref": "a", "dependsOn": ["b"]}, {"ref": "b"}],
    }
    made = json.loads(json.dumps(of_run_time(bill)))
    assert [one["name"] for one in made["components"]] == ["Django", *(one.name for one in CARRIED)]
    assert made["dependencies"] == [{"ref": "a", "dependsOn": []}]
