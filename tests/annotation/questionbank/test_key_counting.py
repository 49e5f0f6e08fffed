"""Where the numbers of the keys of a foreign file count from: the whole file says it, or the person does."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.enums import Role
from annotation.models import AnswerKey, BankImport, ColumnMatching, Job, Question, User
from annotation.models.people import TokenScope
from annotation.questionbank.kernels.column_matching import FROM_0, FROM_1, LETTER, NUMBER, TEXT, guess_matching
from tests.annotation.api.asking import problem_of, program_of
from tests.annotation.api.test_incoming import send as send_over_api
from tests.annotation.questionbank.files import make_record, run_import, write_file
from tests.annotation.questionbank.test_column_matching import columns
from tests.annotation.questionbank.test_import_columns import filled, send
from tests.annotation.review.cases import make_bank
from tests.conftest import NOON
from tests.jobs import work

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
UNSAID = "no key is 0, and none is 4"


def sheet(*keys: Any, options: str = "One;Two;Three;Four") -> bytes:
    """A question for each key. The first data row is row 2."""
    header = "qid,study,Stem,Choices,cop,rationale,type,category,files\n"
    row = f"Which is it?,{options},%s,It is seen on both views.,Presence,Chest"
    return (header + "".join(f"q-{n},{n},{row % key},{n}/pa.png\n" for n, key in enumerate(keys, 1))).encode()


def match(client: Client, address: str, **changes: Any) -> Any:
    """What the server answers to the page as it stands, with these changes."""
    return client.post(address, filled(client, address, check="yes", constant_category="", **changes))


def stored(client: Client, place: str, skip: str = "") -> str:
    """The letters of the keys, after everything that a person can do to store the file."""
    work()
    client.post(place + "store/", {"skip_refused": skip} if skip else {})
    work()
    return "".join(AnswerKey.objects.order_by("revision__question__number").values_list("key", flat=True))


@pytest.mark.parametrize(
    ("keys", "form", "letters"),
    [
        ((2, 3, 1, 4), FROM_1, "BCAD"),
        ((2, 3, 1, *[2] * 300, "4.0"), FROM_1, "BCA" + "B" * 300 + "D"),
        ((2, 3, 1, 0), FROM_0, "CDBA"),
        ((2, 3, 1, 2, "", 0), FROM_0, ""),
    ],
)
def test_the_whole_file_says_where_its_keys_count_from(
    coordinator: Client, keys: tuple[Any, ...], form: str, letters: str
) -> None:
    address = send(coordinator, sheet(*keys))
    assert coordinator.get(address).context["form"]["key_form"].value() == form
    assert stored(coordinator, match(coordinator, address)["Location"]) == letters


def test_where_it_does_not_the_person_must(coordinator: Client) -> None:
    address = send(coordinator, sheet(2, 3, 1))
    page = coordinator.get(address)
    assert (page.context["form"]["key_form"].value(), page.context["first"]) == ("", [])
    assert "<strong>The key is written as</strong>" in page.content.decode()
    refused = match(coordinator, address)
    assert refused.status_code == 422
    assert UNSAID in refused.content.decode()
    assert not Job.objects.exists()
    assert not ColumnMatching.objects.exists()
    assert stored(coordinator, match(coordinator, address, key_form=FROM_1)["Location"]) == "BCA"
    assert BankImport.objects.get().result["matching"]["key_form"] == FROM_1


@pytest.mark.parametrize(
    ("keys", "said", "sentence"),
    [
        ((2, 3, 1, 0, 2, 4), FROM_0, "Row 5 has the key 0 and row 7 the key 4, and no file has both"),
        ((2, 3, 1, 0, 2, 4), FROM_1, "Row 5 has the key 0 and row 7 the key 4, and no file has both"),
        ((2, 3, 1, 4, 2, 3), FROM_0, "Row 5 has the key 4: the keys of the file count from 1, and the matching says"),
        ((2, 3, 1, 0, 2, 3), FROM_1, "Row 5 has the key 0: the keys of the file count from 0, and the matching says"),
    ],
)
def test_a_file_that_contradicts_what_is_said_is_never_stored_in_part(
    coordinator: Client, keys: tuple[int, ...], said: str, sentence: str
) -> None:
    address = send(coordinator, sheet(*keys))
    place = match(coordinator, address, key_form=said)["Location"]
    work()
    assert sentence in coordinator.get(place).context["result"]["errors"][0]["message"]
    assert stored(coordinator, place, skip="1") == ""
    assert not Question.objects.exists()


def keep_as_before(cora: User, form: str) -> None:
    """What an earlier version kept, with its guess from three rows."""
    found = columns(sheet(1, 2, 3))
    matching = guess_matching(found.names, found.rows, "dept").as_json() | {"key_form": form}
    given = {"columns": found.names, "matching": matching, "created_by": cora}
    ColumnMatching.objects.create(name="dept", created_at=NOON, changed_at=NOON, **given)


def test_the_file_goes_before_a_matching_that_was_kept(coordinator: Client, cora: User) -> None:
    keep_as_before(cora, FROM_0)
    for keys, form in (((2, 3, 1, 4), FROM_1), ((0, 3), FROM_0), ((2, 3, 1), FROM_0)):
        page = coordinator.get(send(coordinator, sheet(*keys)))
        assert page.context["form"]["key_form"].value() == form, f"{keys}: offer what the file says"
        assert page.context["kept"].name == "dept"


def test_the_command_refuses_and_takes_the_word_of_a_person(tmp_path: Path, cora: User) -> None:
    keep_as_before(cora, FROM_0)
    path = tmp_path / "later.csv"
    path.write_bytes(sheet(2, 3, 1, *[4] * 30))  # more refused rows than the command shows
    err = StringIO()
    given = ("import_questions", path, "--matching", "dept")
    with pytest.raises(CommandError, match="Nothing was stored"):
        call_command(*given, "--skip-refused", stderr=err)
    assert "--key-form from_1" in err.getvalue()
    assert not Question.objects.exists()
    call_command(*given, "--key-form", "from_1", stdout=StringIO())
    assert list(AnswerKey.objects.order_by("pk").values_list("key", flat=True)) == list("BCA" + "D" * 30)
    assert BankImport.objects.get().result["matching"]["key_form"] == FROM_1
    assert ColumnMatching.objects.get().matching["key_form"] == FROM_0
    with pytest.raises(CommandError, match="--key-form belongs to --matching"):
        call_command("import_questions", path, "--key-form", "from_1")


@pytest.mark.parametrize(
    ("keys", "letters"),
    [((2, 3, 1), "CDB"), ((2, 3, 1, 0, 4), "CDBA"), ((2, 3, 1, 4, "A"), ""), ((2, 3, 1, "A"), "CDBA")],
)
def test_numbers_of_a_question_file_count_from_0_by_its_rule(
    tmp_path: Path, keys: tuple[Any, ...], letters: str
) -> None:
    path = write_file(tmp_path, {f"q{n}": make_record(correct_answer=key) for n, key in enumerate(keys, 1)})
    result = run_import(path, "Chest", skip_refused=True)
    told = [one.code for one in result.errors]
    assert "".join(AnswerKey.objects.order_by("pk").values_list("key", flat=True)) == letters, told
    assert ("key_contradiction" in told) == (not letters), told


def test_an_api_that_offers_no_form_of_the_key_takes_none(coordinator: Client, cora: User) -> None:
    make_bank("Chest")
    script = program_of(cora, Role.COORDINATOR, TokenScope.BANK, "chest")
    made = send_over_api(script, "banks/chest/imports/", {"file": SimpleUploadedFile("dept.csv", sheet(2, 3, 1))})
    offered = script.get(f"{made['Location']}columns/").json()["offered"]
    assert offered["key_form"] == ""
    problem = problem_of(script.post(f"{made['Location']}match/", offered), 422, "matching")
    assert UNSAID in problem["detail"]
    assert script.post(f"{made['Location']}match/", offered | {"key_form": FROM_1}).status_code == 202


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (sheet(2, 3, 1), NUMBER),
        (sheet(2, 3, 1, options="1;2;3;4"), ""),  # the number of an option, or its text
        (sheet("A", "B", "C", options="C;B;A;D"), ""),
        (sheet("12", "11", options="11;12;13;14"), TEXT),
        (sheet("a)", "D."), LETTER),
        (sheet(5, 3), TEXT),
    ],
)
def test_rows_that_fit_two_ways_settle_nothing(content: bytes, form: str) -> None:
    found = columns(content)
    assert guess_matching(found.names, found.rows).key_form == form
