"""What the tests of the reading page do as a reader, and what they look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from playwright.sync_api import Page, Route, expect

from annotation.case.kernels.display import Pattern
from annotation.enums import RenditionKind
from annotation.models import Image, Rendition
from readerstudy.enrolment.participation import pattern_now
from readerstudy.models import Enrolment, Response
from readerstudy.reading.prefetched import rules_of
from tests.readerstudy.studies import places_of

KEPT = "kept on this device, sending"

KEPT_ITEMS = """async (reader) => {
    const database = await new Promise((done) => {
        const asked = indexedDB.open(`reading ${reader}`, 1);
        asked.onsuccess = () => done(asked.result);
    });
    const all = await new Promise((done) => {
        const asked = database.transaction("items").objectStore("items").getAll();
        asked.onsuccess = () => done(asked.result);
    });
    database.close();
    return all;
}"""

# A promise is no answer to wait_for_function: it would be over at once.
KEPT_KINDS = f"""async ([reader, kinds]) => {{
    const isRepeated = ({{ kind, place }}, at, all) => kind === "choice"
        && all.slice(at).some((later) => later.kind === "commit" && later.place === place);
    const found = async () => (await ({KEPT_ITEMS})(reader))
        .filter((...one) => !isRepeated(...one)).map(({{ kind }}) => kind);
    for (let n = 0; n < 200 && (await found()).join() !== kinds.join(); n++) {{
        await new Promise((go) => setTimeout(go, 100));
    }}
    return found();
}}"""

HAVE_COME = """(addresses) => {
    const come = new Set(performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname));
    return addresses.every((address) => come.has(address));
}"""


@dataclass
class Device:
    """A browser of the reader's, at the reading page."""

    page: Page

    def enter(self, enrolment: Enrolment) -> None:
        self.page.goto(f"/read/{enrolment.study.slug}/room/")

    def opens(self, enrolment: Enrolment) -> Enrolment:
        """The same, with its first case on screen."""
        self.enter(enrolment)
        self.sees(1)
        return enrolment

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def sees(self, position: int) -> None:
        """This case is on screen as a whole, and can be answered."""
        expect(self.page.locator("#content")).to_have_attribute("data-showing", "case")
        expect(self.page.locator("#room-place b")).to_have_text(str(position))
        expect(self.page.locator("#stem")).to_be_visible()

    def answers(self, key: str, *, then: int | None = None) -> None:
        self.press(key)
        self.commits()
        if then is not None:
            self.sees(then)

    def stores(self, key: str, *, then: int) -> None:
        """Answers, and the server has it."""
        self.answers(key, then=then)
        self.says("saved")

    def commits(self) -> None:
        expect(self.page.locator("#case-go")).to_have_attribute("aria-disabled", "false")
        self.press("Enter")

    def is_ready(self, enrolment: Enrolment) -> None:
        """The server has everything, and the page the images of the cases that may come next: the line can be cut."""
        self.says("saved")
        position = int(self.page.locator("#room-place b").inner_text())
        ahead = places_of(enrolment)[position : position + rules_of(enrolment).n_ready]
        images = Image.objects.filter(exam__in=[place.case.revision.question.exam_id for place in ahead])
        names = Rendition.objects.filter(image__in=images, kind=RenditionKind.FULL).values_list("name", flat=True)
        self.page.wait_for_function(HAVE_COME, arg=[reverse("rendition", args=[name]) for name in names])

    def has_chosen(self, *options: str) -> None:
        checked = "() => [...document.querySelectorAll('[name=option]:checked')].map((one) => one.value)"
        assert self.page.evaluate(checked) == list(options)

    def says(self, text: str) -> None:
        """Where the answers are."""
        expect(self.page.locator("#case-saving")).to_have_text(text)

    def is_told(self, sentence: str) -> None:
        expect(self.page.locator("#case-message")).to_contain_text(sentence)

    def is_covered(self, name: str) -> None:
        expect(self.page.locator(f"[data-cover={name}]")).to_be_visible()
        expect(self.page.locator("#stem")).to_be_hidden()

    def keeps(self, enrolment: Enrolment) -> list[dict[str, Any]]:
        """What the outbox of this device holds."""
        kept: list[dict[str, Any]] = self.page.evaluate(KEPT_ITEMS, enrolment.public_id)
        return kept

    def has_kept(self, enrolment: Enrolment, *kinds: str) -> None:
        """Wait until this, and nothing else, stands on the disk; but a choice that its answer repeats."""
        found = self.page.evaluate(KEPT_KINDS, [enrolment.public_id, list(kinds)])
        assert found == list(kinds), f"this device keeps {found}, and not {list(kinds)}"

    def cut(self, enrolment: Enrolment | None = None) -> None:
        """Once the page is ready for it, where the enrolment is given."""
        if enrolment is not None:
            self.is_ready(enrolment)
        self.page.context.set_offline(True)

    def mend(self) -> None:
        self.page.context.set_offline(False)


def answers_of(enrolment: Enrolment) -> list[str]:
    """The confirmed options in the order of the reader; states in place of an option that is not there."""
    rows = Response.objects.filter(reading__enrolment=enrolment, is_confirmed=True).order_by("reading__position")
    return [row.option or row.state for row in rows]


def lose(route: Route) -> None:
    """The connection breaks: the request may have arrived."""
    route.abort("connectionreset")


def type_letters(page: Page, pattern: Pattern) -> None:
    """The display check, on its page or over a case, as somebody answers it who sees everything."""
    for name, letters in (("black", pattern.dark), ("white", pattern.light)):
        page.get_by_label(f"Letters on {name}").fill(letters)
    if not page.get_by_label("Display", exact=True).input_value():
        page.get_by_label("Display", exact=True).select_option(label="laptop")
    page.get_by_role("button", name="Check").click()


def read_letters(page: Page, enrolment: Enrolment) -> None:
    enrolment.refresh_from_db()
    type_letters(page, pattern_now(enrolment))


def agree_and_tell(page: Page) -> None:
    """From the consent to the check of the display, as a new reader."""
    page.get_by_label("I have read this and agree").check()
    page.get_by_role("button", name="Agree").click()
    page.get_by_label("radiologist in training").check()
    page.get_by_label("Years of experience").fill("4")
    page.get_by_label("no", exact=True).check()
    page.get_by_label("Chest radiographs that you read").fill("60")
    page.get_by_label("office monitor").check()
    page.get_by_label("no, not that I know of").check()
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_role("button", name="I have read this").click()


def move_to_another_screen(page: Page) -> None:
    """To one that is larger, with two pixels for one of CSS; the window keeps its size."""
    size = dict(page.viewport_size or {})
    screen = {"screenWidth": 2560, "screenHeight": 1440, "deviceScaleFactor": 2, "mobile": False}
    page.context.new_cdp_session(page).send("Emulation.setDeviceMetricsOverride", {**size, **screen})
