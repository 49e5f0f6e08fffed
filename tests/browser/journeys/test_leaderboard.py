"""A leaderboard in Chromium: frozen, two teams, a check that fails and ones that pass, two persons, the public page."""

from __future__ import annotations

import json
import threading
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.enums import Role
from annotation.models import User
from readerstudy.leaderboard.editions import folder_here
from readerstudy.leaderboard.kernels.statement import CHOICE, QUESTIONS
from readerstudy.models import Benchmark, Edition
from tests.browser.entering import Browse
from tests.conftest import make_person
from tests.jobs import work
from tests.readerstudy.design.made import make_questions

pytestmark = pytest.mark.usefixtures("own_home")

N = 300  # the fewest that can be frozen; the key of each is B
BOARD = "/leaderboards/private-test/"


@pytest.mark.journey
def test_from_the_draft_to_the_numbers_that_everybody_reads(browse: Browse, cora: User, tmp_path: Path) -> None:
    make_questions(N, name="Private")
    mona, nora = (make_person(name, Role.MODEL_SUBMITTER) for name in ("Mona", "Nora"))
    coordinator, first, second = browse(cora), browse(mona), browse(nora)
    freeze(coordinator)
    for page, name in ((first, "Thorax"), (second, "Lung")):
        take_part(page, name)
    approve_both(coordinator)

    names = take_questions(first, tmp_path / "questions.zip")
    fails(first, tmp_path, names)
    sends_and_names(first, tmp_path, names, "Thorax-VL", n_right=240)
    sends_and_names(second, tmp_path, names, "Lung-VL", n_right=90)

    Edition.objects.update(due_on=timezone.now().date() - timedelta(days=1))
    score(coordinator, browse(make_person("Carl", Role.COORDINATOR)))
    verify(coordinator)
    with another_server(folder_here(Benchmark.objects.get())) as address:
        expect_numbers(browse(nora), address)


def freeze(page: Page) -> None:
    page.goto("/leaderboards/new/")
    page.get_by_label("Name").fill("Private test")
    page.get_by_label("Contact").fill("board@example.org")
    page.get_by_label("Dates of the editions").fill("2199-03-01")
    page.get_by_role("button", name="Create draft").click()
    page.get_by_role("button", name="Freeze…").click()
    page.get_by_role("button", name="Freeze the leaderboard").click()
    expect(page.get_by_text(f"version 1, {N} questions.")).to_be_visible()
    work()  # writes what teams take away


def take_part(page: Page, name: str) -> None:
    page.goto("/")
    page.get_by_role("link", name="Private test").click()
    page.get_by_label("Name of the team").fill(name)
    page.get_by_label("Institution").fill("Example University")
    page.get_by_label("Contact").fill("team@example.org")
    page.get_by_role("button", name="Ask for a team").click()
    expect(page.get_by_text("A coordinator looks at it.")).to_be_visible()


def approve_both(page: Page) -> None:
    page.goto("/")
    expect(page.locator(".next")).to_contain_text("2 teams to approve")
    page.locator(".next a").click()
    for name in ("Lung", "Thorax"):
        row = page.get_by_role("row").filter(has_text=name)
        row.get_by_role("button", name="Approve").click()
        expect(row).to_contain_text("approved")


def take_questions(page: Page, to: Path) -> list[str]:
    page.goto(f"{BOARD}team/")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    download.value.save_as(to)
    with zipfile.ZipFile(to) as packed:
        return list(json.loads(packed.read("questions.json")))


def send(page: Page, file: Path, lines: Iterable[tuple[str, str]]) -> None:
    file.write_text("".join(f"{json.dumps({'id': name, 'pred_answer': letter})}\n" for name, letter in lines))
    page.goto(f"{BOARD}submissions/")
    page.get_by_label("File of predictions").set_input_files(file)
    page.get_by_role("button", name="Send and check").click()
    page.wait_for_url("**/submissions/*/")
    work()


def fails(page: Page, folder: Path, names: list[str]) -> None:
    send(page, folder / "wrong.jsonl", [(names[0], "B"), ("elsewhere", "A")])
    expect(page.get_by_text("The check did not pass")).to_be_visible()
    expect(page.get_by_role("row", name="elsewhere")).to_contain_text("names no question")
    expect(page.get_by_role("button", name="Name for edition")).to_have_count(0)


def sends_and_names(page: Page, folder: Path, names: list[str], model: str, *, n_right: int) -> None:
    send(page, folder / "answers.jsonl", [(name, "AB"[place < n_right]) for place, name in enumerate(names)])
    expect(page.get_by_text("The check passed.")).to_be_visible()
    assert str(n_right) not in page.locator("dl.counts").inner_text().split()
    sent = page.url
    page.get_by_role("link", name="Fill in the statement").click()
    for one in QUESTIONS:
        field = page.locator(f"main [name={one.name}]")
        if one.kind == CHOICE:
            field.select_option("unknown")
        else:
            field.fill({"model": model, "dated_on": "2026-05"}.get(one.name, "none"))
    page.get_by_role("button", name="Keep the statement").click()
    expect(page.get_by_text("You can name a submission meanwhile.")).to_be_visible()
    page.goto(sent)
    page.get_by_role("button", name="Name for edition 1").click()
    expect(page.get_by_text("Named for edition 1.")).to_be_visible()


def score(page: Page, other: Page) -> None:
    for _team in range(2):
        page.goto(f"{BOARD}submissions/")
        page.get_by_role("link", name="Read statement").first.click()
        page.get_by_role("button", name="Pass", exact=True).click()
        expect(page.get_by_text("The statement is passed")).to_be_visible()
    page.goto("/")
    page.locator(".next a").click()
    page.get_by_role("button", name="Propose to score it").click()
    expect(page.get_by_role("button", name="Confirm and score")).to_have_count(0)
    other.goto("/")
    expect(other.locator(".next")).to_contain_text("Cora proposed to score edition 1")
    other.locator(".next a").click()
    other.get_by_role("button", name="Confirm and score").click()
    other.get_by_role("button", name="Score and publish").click()
    expect(other.get_by_text("It is being scored")).to_be_visible()
    work()


def verify(page: Page) -> None:
    page.goto(f"{BOARD}editions/")
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_text("The board is being verified")).to_be_visible()
    work()
    page.reload()
    expect(page.get_by_text("rows, answers, keys and files are what was published")).to_be_visible()


@contextmanager
def another_server(folder: Path) -> Iterator[str]:
    """One that knows nothing of the site."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def expect_numbers(page: Page, address: str) -> None:
    page.goto(address)
    rows = page.locator(".wide tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("Thorax-VL")
    expect(rows.nth(0)).to_contain_text("80.0")
    expect(rows.nth(1)).to_contain_text("30.0")
    expect(rows.nth(1)).to_contain_text("−50.0")
    rows.nth(0).get_by_role("link").click()
    expect(page.get_by_role("row", name="All questions")).to_contain_text("80.0 (")
    page.wait_for_load_state()  # its style, too: this server is about to end
