"""docs/permissions.md, as ``python -m tests.permissions`` writes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from annotation.enums import Role
from tests.architecture.source import ROOT
from tests.permissions.people import Asker
from tests.permissions.rule_of_routes import OWN, RULES, SENDING
from tests.permissions.rules import ROLE
from tests.permissions.table import ANYONE, Answer, Line, roles_of

DOCUMENT = ROOT / "docs" / "permissions.md"
HEAD = """# Who may open what

Every address of the site, of pages and of the API, with what each of eleven people is answered there. Made by
`python -m tests.permissions` from the policies of the program: the roles that views and resources ask for,
and the functions that decide about a round, a study or another thing. A test asks the running program at every address
by every method and compares; an address without a row fails it.

**How to read it.** Addresses of which the same policy decides are grouped, under what it says. The table above them
has a row for each state of the thing that makes a difference. “Of others” is a round, study, case or model in which
only people who hold a role on the whole site may do something.

| answer | means |
| --- | --- |
| yes | the address opens, or the act is tried: 200, a redirect, or what is wrong with what was sent (400, 409, 422) |
| log in | a page goes to the log-in page; HTMX, scripts and the API get 401 |
| 403 | refused with a sentence that says who may |
| 404 | as if it were not there |

A method that is not listed beside an address is answered 405 to whoever has the role of the site that the address
asks for, and as above to others. `HX-Request` changes only how somebody who is not logged in is answered. Whether an
act is possible in a state, such as opening a round that is closed, is in [states.md](states.md); archiving a bank,
round or study changes nothing here, but that questions of an archived bank are not chosen for acts, and reviewers no
longer open their own pages of an archived round (404). What a token may is never more than this: its owner, in one role
and one place ([api.md](api.md)).

**The people.** Each has one role and nothing else. The reader reads in the studies that are open, closed and
unblinded; the reviewer reviews in the rounds that are draft, open and closed; the adjudicator adjudicates in the one
in adjudication; coordinators of a round or study coordinate all but those of others; coordinator, administrator, model
submitter and de-identification are roles of the whole site. Nobody holds a role in a single bank.
"""


def permissions_document(lines: Iterable[Line]) -> str:
    groups: dict[str, list[Line]] = {}
    for line in sorted(lines, key=_place):
        groups.setdefault(_heading(line), []).append(line)
    return "\n".join([HEAD, *(text for heading, group in groups.items() for text in _section(heading, group))])


def _place(line: Line) -> tuple[int, str]:
    """First what anybody opens, then what is one's own, by role of the site, and by the rules in their order."""
    gate, rule = line.route.gate(line.method), line.route.rule(line.method)
    if gate == ANYONE:
        return 0, ""
    if rule is ROLE:
        return 2, gate
    order = list(dict.fromkeys(one.says for one in (OWN, *RULES.values(), *SENDING.values())))
    return 1 if rule is OWN else 3 + order.index(rule.says), gate


def _heading(line: Line) -> str:
    gate, rule = line.route.gate(line.method), line.route.rule(line.method)
    if gate == ANYONE:
        return "Without logging in"
    roles = [role.label for role in Role if role in roles_of(gate)]
    return rule.says or f"By role of the site: {', '.join(roles)}"


def _section(heading: str, lines: Sequence[Line]) -> Iterator[str]:
    yield f"## {heading}\n"
    yield "| state | " + " | ".join(Asker) + " |"
    yield "| --- |" + " --- |" * len(Asker)
    rows = _rows(lines)
    for answers, labels in rows.items():
        state = ", ".join(labels) if len(rows) > 1 else ""
        yield f"| {state or 'any'} | " + " | ".join(answers) + " |"
    yield "\n```text"
    yield from _addresses(lines)
    yield "```\n"


def _rows(lines: Sequence[Line]) -> dict[tuple[Answer, ...], list[str]]:
    """The states, by what is answered; with the name of an address that differs from those before it."""
    found: dict[tuple[Answer, ...], list[str]] = {}
    known: dict[str, tuple[Answer, ...]] = {}
    for line in lines:
        label = line.thing.label
        if known.setdefault(label, line.answers) != line.answers:
            label = f"{label} ({line.method} {line.route.name})".strip()
        labels = found.setdefault(line.answers, [])
        if label and label not in labels:
            labels.append(label)
    return found


def _addresses(lines: Sequence[Line]) -> Iterator[str]:
    methods: dict[str, list[str]] = {}
    for line in lines:
        of_address = methods.setdefault(line.route.address, [])
        if line.method not in of_address:
            of_address.append(line.method)
    for address, given in sorted(methods.items(), key=lambda one: (one[0].startswith("/api/v1"), one[0])):
        yield f"{' '.join(given):<9}{address}"
