"""Every page of the site: who looks at it, where it is, and what is done before it is looked at."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.urls import reverse

from tests.browser.pages.acts import (
    Act,
    ask_back,
    learn,
    make_link,
    narrow,
    plan_generation,
    press,
    preview,
    read,
    revise,
    see,
    send,
    spoil,
    submit_empty,
    unfold,
    view_interim_results,
)
from tests.browser.pages.factors import log_in, prove
from tests.browser.pages.place import Place


@dataclass(frozen=True)
class Shown:
    """One look at a page: its URL name, the person (empty: nobody is logged in), what fills the address."""

    name: str
    person: str = ""
    keys: tuple[str, ...] = ()
    query: str = ""
    status: int = 200
    act: Act | None = None
    note: str = ""

    @property
    def title(self) -> str:
        return " ".join(filter(None, (self.name, self.person or "nobody", *self.keys, self.query, self.note)))

    def address(self, place: Place) -> str:
        query = re.sub(r"\{(.+?)\}", lambda found: str(_part(place, found[1])), self.query)  # "?file={sent good}"
        return reverse(self.name, args=[_part(place, key) for key in self.keys]) + query


def _part(place: Place, key: str) -> str | int:
    """What stands in the address for a thing of the place: its slug, public id or number; else the key itself."""
    thing = place.people.get(key) or place.things.get(key, key)
    for name in ("slug", "public_id", "pk"):
        if hasattr(thing, name):
            part: str | int = getattr(thing, name)
            return part
    return str(thing)


WHOLE = "#case-form"
PEOPLE = ("ada", "cora", "rita", "dina", "mona", "stan", "omni")

EMPTY = [  # a site on which nothing has happened yet
    *(Shown("home", person) for person in PEOPLE),
    *(
        Shown(name, "omni")
        for name in (
            "banks",
            "samples",
            "rounds",
            "images",
            "uploads",
            "jobs",
            "quarantine",
            "quarantine-words",
            "people",
            "audit-log",
        )
    ),
    *(
        Shown(name, "omni")
        for name in ("readings", "review-rounds", "sample-new", "round-new", "upload-new", "question-import-new")
    ),
    Shown("column-matchings", "omni"),
    Shown("model-endpoints", "omni"),
    Shown("prompts", "omni"),
    *(
        Shown(name, "omni")
        for name in ("studies", "study-new", "models", "model-new", "model-runs", "model-run-new", "predictions-import")
    ),
]

FULL = [
    # people
    *(Shown("home", person) for person in (*PEOPLE, "judy")),
    Shown("login"),
    Shown("login", act=submit_empty, note="refused"),
    Shown("profile", "rita"),
    Shown("token-new", "cora"),
    Shown("about-api", "cora", act=unfold),
    Shown("provider-answer", query="?error=none", status=400),
    Shown("provider-connect", "rita", act=prove),
    Shown("open-sessions", "judy"),
    Shown("email-confirm", "judy", ("token",)),
    Shown("mfa_authenticate", act=log_in),
    Shown("account_reauthenticate", "judy"),
    Shown("mfa_reauthenticate", "judy"),
    Shown("mfa_reauthenticate_webauthn", "judy"),
    *(Shown("mfa_index", person) for person in ("rita", "judy")),
    Shown("mfa_activate_totp", "rita"),
    Shown("mfa_deactivate_totp", "judy", act=prove),
    Shown("mfa_add_webauthn", "judy"),
    Shown("mfa_remove_webauthn", "judy", ("passkey",)),
    Shown("mfa_view_recovery_codes", "judy"),
    Shown("mfa_view_recovery_codes", "judy", note="again"),
    Shown("mfa_generate_recovery_codes", "judy"),
    Shown("person", "ada", ("judy",), note="with a second factor"),
    Shown("password-change", "rita"),
    Shown("password-change", "rita", act=submit_empty, note="refused"),
    Shown("password-reset"),
    Shown("password-reset-sent"),
    Shown("password-reset-confirm", "", ("uid", "reset token")),
    Shown("password-reset-confirm", "", ("uid", "no-token"), note="old"),
    Shown("invitation", "", ("link",)),
    Shown("invitation", "", ("link",), act=submit_empty, note="refused"),
    Shown("invitation", "rita", ("round link",)),
    Shown("invitation", "", ("old link",), status=410),
    Shown("people", "ada"),
    Shown("audit-log", "ada"),
    Shown("audit-log", "ada", query="?since=2026-11-25&until=2026-11-01", status=422, note="refused"),
    Shown("audit-log", "rita"),
    Shown("person-add", "ada"),
    Shown("person-add", "ada", act=submit_empty, note="refused"),
    Shown("person-invite", "ada"),
    Shown("person-invite-file", "ada"),
    Shown("person", "ada", ("rita",), act=unfold),
    Shown("person", "ada", ("ada",)),
    Shown("round-invite", "stan", ("open",)),
    Shown("round-invite-file", "stan", ("open",)),
    # bank
    Shown("banks", "cora"),
    Shown("bank", "cora", ("bank",), act=unfold),
    Shown("bank", "cora", ("bank",), "?q=nothing"),
    Shown("bank", "cora", ("empty",)),
    Shown("bank", "ada", ("empty",), act=unfold),
    Shown("bank", "cora", ("bank",), "?category=nothing&state=imported", note="filtered"),
    Shown("bank-chosen", "cora", ("bank",), "?act=withdraw&number=1&number=2"),
    Shown("bank-chosen", "cora", ("bank",), "?act=sample", 422, note="nothing selected"),
    Shown("bank-categories", "cora", ("bank",), act=unfold),
    Shown("bank-categories", "cora", ("empty",)),
    Shown("bank-chosen", "cora", ("bank",), "?act=tag&number=1"),
    Shown("bank-chosen", "cora", ("bank",), "?act=untag&number=1"),
    Shown("bank-missing", "cora", ("bank",)),
    Shown("generation-runs", "cora", ("bank",)),
    Shown("generation-runs", "cora", ("generated bank",)),
    Shown("generation-runs", "cora", ("generated bank",), act=plan_generation, note="planned"),
    Shown("generation-run", "cora", ("generated bank", "generation")),
    Shown("question", "cora", ("generated bank", "4"), act=unfold, note="generated"),
    Shown("bank-validators", "cora", ("generated bank",)),
    Shown("bank-validators", "cora", ("bank",)),
    *(Shown("bank-identifiers", "cora", (bank,)) for bank in ("bank", "generated bank")),
    *(Shown("bank-difficulties", "cora", (bank,)) for bank in ("bank", "generated bank", "empty")),
    *(Shown("bank-validator", "cora", ("generated bank", code)) for code in ("c1", "c2", "c3", "bias")),
    Shown("bank-near-duplicates", "cora", ("generated bank",)),
    Shown("bank-near-duplicates", "cora", ("bank",)),
    Shown("bank-near-duplicates", "cora", ("public bank",)),
    Shown("pair-trials", "cora", ("generated bank",)),
    Shown("pair-trials", "cora", ("generated bank",), act=submit_empty, note="refused"),
    Shown("pair-trials", "cora", ("bank",)),
    Shown("pair-trial", "cora", ("generated bank", "pairs done")),
    Shown("pair-trial", "cora", ("generated bank", "pairs open")),
    Shown("pair-trial", "omni", ("generated bank", "pairs open")),
    Shown("question", "cora", ("bank", "1"), act=unfold),
    Shown("question", "cora", ("bank", "2"), act=unfold, note="revised"),
    Shown("question-revise", "cora", ("bank", "3")),
    Shown("question-revise", "cora", ("bank", "3"), act=revise, note="preview"),
    Shown("question-import-new", "cora"),
    Shown("question-import-new", "cora", act=submit_empty, note="refused"),
    Shown("column-matchings", "cora"),
    Shown("question-import", "cora", ("upload checked",)),
    Shown("question-import", "cora", ("upload checking",)),
    # what is sent to models
    Shown("bank-sending", "cora", ("bank",), act=unfold),
    Shown("bank-sending", "ada", ("bank",), act=unfold),
    Shown("bank-sending", "cora", ("empty",)),
    Shown("bank-terms", "cora", ("bank",)),
    Shown("bank-permission-new", "ada", ("bank",)),
    Shown("bank-permission-new", "ada", ("bank",), act=submit_empty, note="refused"),
    Shown("bank-permission-new", "ada", ("empty",), note="without terms"),
    Shown("bank-permission-withdraw", "ada", ("bank", "permission")),
    Shown("bank-permission-withdraw", "ada", ("bank", "permission"), act=submit_empty, note="refused"),
    Shown("prompts", "cora"),
    Shown("prompt", "cora", ("prompt first",)),
    Shown("prompt", "cora", ("prompt second",)),
    Shown("prompt-difference", "cora", ("prompt first", "prompt second")),
    Shown("prompt-next", "cora", ("prompt letter",)),
    Shown("prompt-next", "cora", ("prompt letter",), act=submit_empty, note="refused"),
    # what reviewers said of the questions of a prompt
    Shown("prompt", "cora", ("version 2",), note="flags"),
    Shown("prompt-comments", "cora", ("version 1",)),
    Shown("prompt-comments", "cora", ("version 3",), note="none"),
    Shown("prompt-comments", "rita", ("version 1",), status=403, note="forbidden"),
    Shown("prompt-history", "cora", ("version 2",)),
    Shown("prompt-trial-new", "cora", ("version 2",)),
    Shown("prompt-trial-new", "cora", ("version 2",), act=submit_empty, note="refused"),
    Shown("prompt-trial", "cora", ("trial closed",)),
    Shown("prompt-trial", "cora", ("trial planned",)),
    # what people say about a question
    Shown("review-comments", "stan", ("discussed",)),
    Shown("mentions", "omni"),
    Shown("mentions", "rita"),
    Shown("question-import-columns", "cora", ("upload foreign",)),
    Shown("question-import-columns", "cora", ("upload foreign",), act=submit_empty, note="refused"),
    # images
    Shown("images", "cora"),
    Shown("image", "cora", ("image",), act=unfold),
    Shown("quarantine", "dina"),
    Shown("quarantine-words", "dina", act=unfold),
    Shown("quarantined-image", "dina", ("held",), act=unfold),
    Shown("uploads", "cora"),
    Shown("upload-new", "cora"),
    Shown("upload", "cora", ("upload taken",)),
    Shown("upload", "cora", ("upload queued",)),
    # sampling
    Shown("bin", "cora"),
    Shown("samples", "cora"),
    Shown("sample-new", "cora"),
    Shown("sample", "cora", ("sample",), act=unfold),
    # rounds
    Shown("rounds", "cora"),
    Shown("round-new", "cora", act=unfold),
    Shown("round-edit", "cora", ("draft",)),
    Shown("round-new", "cora", act=submit_empty, note="refused"),
    *(Shown("round", "cora", (state,), act=unfold) for state in ("draft", "open", "closed", "disputed", "calibrated")),
    Shown("review-forms", "cora"),
    Shown("review-form", "cora", ("form",)),
    Shown("review-form-new", "cora", act=unfold),
    Shown("review-form-new", "cora", act=submit_empty, note="refused"),
    Shown("round", "ada", ("open",)),
    Shown("round-agreement", "cora", ("closed",)),
    Shown("round-report", "cora", ("closed",), note="none so far"),
    Shown("round-report", "cora", ("disputed",), note="its file is gone"),
    Shown("round-import", "cora", ("open",)),
    Shown("round-groups", "cora", ("closed",)),
    Shown("round-difficulty", "cora", ("closed",)),
    Shown("bank-outcomes", "cora", ("bank",), act=unfold),
    Shown("bank-groups", "cora", ("bank",)),
    Shown("bank-difficulty", "cora", ("bank",)),
    Shown("round-reviewer", "cora", ("open", "rita"), act=unfold),
    Shown("round-reviewer", "cora", ("closed", "rita"), act=unfold),
    # adjudication
    Shown("adjudication", "judy", ("disputed",)),
    Shown("adjudication-decide", "judy", ("settlement",)),
    Shown("adjudication-decide", "judy", ("settlement",), act=submit_empty, note="refused"),
    Shown("adjudication-revise", "judy", ("settlement",)),
    # reviewing
    Shown("review-rounds", "rita"),
    Shown("review-worklist", "rita", ("open",)),
    Shown("review-worklist", "remo", ("closed",), "?show=skipped"),
    Shown("review-worklist", "nils", ("calibrated",)),
    Shown("calibration", "nils", ("calibrated",)),
    Shown("calibration", "nora", ("calibrated",)),
    Shown("review-decisions", "rita", ("closed",)),
    Shown("review-case", "rita", ("blind",), act=press(then=WHOLE)),
    Shown("review-case", "rita", ("blind",), act=press("Enter", then="[data-problem=best]"), note="incomplete"),
    Shown("review-case", "rita", ("blind",), act=press("?", then="#keys-dialog"), note="keys"),
    Shown("review-case", "rita", ("blind",), act=press("k", then="#skip-dialog"), note="skip"),
    Shown("review-case", "rita", ("blind",), act=press("f", then=".viewer-wide-root"), note="full screen"),
    Shown("review-case", "rita", ("blind",), act=press("s", "p", "l", "q"), note="tools"),
    Shown("review-case", "rita", ("blind",), act=narrow, note="small window"),
    Shown("review-case", "rita", ("broken",), act=press(then=".viewer-error:visible")),
    Shown("review-case", "rita", ("judged",), act=press(then=WHOLE)),
    Shown("review-case", "rita", ("judged",), act=press("o", then="#case-report"), note="report"),
    Shown("review-case", "rita", ("judged",), act=press("u", then=".case-reason"), note="cannot judge"),
    Shown("review-case", "rita", ("judged",), act=press("x", "7", then="#identifies-dialog"), note="identifies"),
    Shown("review-case", "rita", ("skipped",), act=press(then=WHOLE)),
    Shown("review-case", "rita", ("imageless",), act=press(then=".case-note-all")),
    Shown("review-case", "rita", ("submitted",), act=press(then=WHOLE)),
    Shown("review-case", "rita", ("read_only",), act=press(then=WHOLE)),
    # readers come in
    Shown("study-invite", "cora", ("trial",)),
    Shown("study-invite-file", "cora", ("trial",)),
    Shown("study-invite", "cora", ("over",)),
    Shown("study-invitation", "", ("study link",)),
    Shown("study-invitation", "", ("study link",), act=submit_empty, note="refused"),
    Shown("study-invitation", "stan", ("study link",)),
    Shown("study-invitation", "cora", ("study link",), status=409, note="refused"),
    Shown("readings", "reading"),
    Shown("readings", "stan", note="none"),
    Shown("reading", "practising", ("trial",)),
    Shown("reading", "reading", ("trial",)),
    Shown("reading", "gone", ("trial",)),
    Shown("reading-consent", "new", ("trial",)),
    Shown("reading-consent", "reading", ("trial",)),
    Shown("reading-facts", "agreed", ("trial",)),
    Shown("reading-facts", "agreed", ("trial",), act=submit_empty, note="refused"),
    Shown("reading-instructions", "told", ("trial",)),
    Shown("reading-display", "instructed", ("trial",)),
    Shown("reading-done", "finished", ("trial",)),
    Shown("reading-done", "done", ("over",)),
    Shown("reading-withdraw", "reading", ("trial",)),
    # watching
    Shown("study-watch", "cora", ("trial",), act=unfold),
    Shown("study-watch", "cora", ("trial",), act=view_interim_results, note="interim"),
    Shown("study-watch", "cora", ("over",), act=unfold),
    Shown("study-watch", "ada", ("trial",)),
    Shown("study-watch", "cora", ("study frozen",), note="without readers"),
    Shown("study-reader", "cora", ("trial", "enrolment reading"), act=unfold),
    Shown("study-reader", "cora", ("trial", "enrolment gone")),
    Shown("study-reader", "cora", ("trial", "enrolment stuck")),
    Shown("study-rereview", "cora", ("over",)),
    Shown("study-rereview", "cora", ("over",), act=submit_empty, note="refused"),
    # reading in a study
    Shown("reading-room", "remo", ("room",), act=read()),
    Shown("reading-room", "remo", ("room",), act=read("?", then="#keys-dialog"), note="keys"),
    Shown("reading-room", "remo", ("room",), act=read("g", then="#fault-dialog"), note="faulty"),
    Shown("reading-room", "remo", ("room",), act=read("t", then="#pause-dialog"), note="pause"),
    Shown("reading-room", "remo", ("room",), act=read("2", "Enter", then="#room-confidence"), note="how sure"),
    Shown("reading-room", "remo", ("room",), act=see("[data-cover=confidence]"), note="how sure, later"),
    Shown("reading-room", "dina", ("lessons",), act=read("0"), note="practice"),
    Shown("reading-room", "dina", ("lessons",), act=read("0", "Enter", then="#room-guess"), note="guess"),
    Shown("reading-room", "dina", ("lessons",), act=see("[data-cover=guess]"), note="guess, later"),
    Shown("reading-room", "dina", ("lessons",), act=learn, note="feedback"),
    # reader studies
    Shown("studies", "cora"),
    Shown("studies", "cora", query="?archived"),
    Shown("studies", "ada"),
    Shown("study-new", "cora"),
    Shown("study-new", "cora", act=submit_empty, note="refused"),
    *(Shown("study", "cora", (f"study {state}",)) for state in ("draft", "empty", "frozen", "open", "closed")),
    Shown("study", "ada", ("study open",)),
    Shown("study", "cora", ("study results",)),
    *(Shown("study-models", "cora", (f"study {state}",)) for state in ("frozen", "results")),
    *(Shown("study-data", "cora", (f"study {state}",)) for state in ("draft", "open", "results")),
    Shown("study", "cora", ("study frozen",), act=ask_back("Open the study"), note="asked back"),
    Shown("study", "cora", ("study open",), act=ask_back("Copy the study"), note="copied"),
    *(
        Shown(f"study-{step}", person, (f"study {state}",), act=unfold)
        for step in ("cases", "arms", "rules", "readers", "forecast", "dry-run", "freeze")
        for person, state in (("cora", "draft"), ("cora", "empty"), ("cora", "frozen"), ("ada", "draft"))
    ),
    *(Shown("study-indications", "cora", (f"study {state}",)) for state in ("draft", "frozen")),
    Shown("study-indications", "cora", ("study draft",), "?marked", note="marked"),
    Shown("study-dry-run", "cora", ("study draft",), "?done"),
    Shown("study-dry-room", "cora", ("room",), "?start", act=read()),
    Shown("study-cases", "cora", ("study draft",), act=preview, note="preview"),
    Shown("study-cases", "cora", ("study empty",), act=preview, note="refused preview"),
    Shown("study-rules", "cora", ("study draft",), act=spoil, note="refused"),
    Shown("study-forecast", "cora", ("study draft",), "?from=resultsstudy&model=0", note="taken"),
    Shown("study-import", "cora", ("study draft",)),
    Shown("study-import", "cora", ("study frozen",), act=unfold),
    Shown("study-import", "cora", ("study closed",), act=send("Reader 1,1,B,answered"), note="checked"),
    Shown("study-import", "cora", ("study closed",), act=send("Reader 1,99,Q,answered"), note="refused"),
    # results
    Shown("study-results", "cora", ("study open",), note="while readers read"),
    Shown("study-results", "cora", ("study closed",), note="without an analysis"),
    *(
        Shown(name, "cora", ("study results", "analysis"), act=unfold)
        for name in ("study-analysed", "study-agreement", "study-categories", "study-items", "study-times")
    ),
    Shown("study-report", "cora", ("study results", "analysis"), note="its file is gone"),
    Shown("study-agreement", "cora", ("study results", "analysis"), "?task=location&of=right"),
    Shown("study-items", "cora", ("study results", "analysis"), "?which=missed"),
    Shown("study-items", "cora", ("study results", "analysis"), "?show=behaviour"),
    Shown("study-pair", "cora", ("study results", "analysis", "0", "2"), act=unfold),
    # results by a link
    Shown("study-share", "cora", ("study results", "analysis"), act=unfold),
    Shown("study-share", "cora", ("study results", "analysis"), act=make_link, note="made"),
    *(
        Shown(name, person, ("results link",))
        for name in ("shared-analysed", "shared-agreement", "shared-categories", "shared-times")
        for person in ("", "cora")
    ),
    Shown("shared-analysed", "", ("study link",), status=404, note="no such link"),
    # models
    Shown("models", "cora"),
    Shown("models", "mona"),
    Shown("models-compare", "cora", act=unfold),
    Shown("models-compare", "mona", status=403, note="not for submitters"),
    Shown("model-new", "mona", act=submit_empty, note="refused"),
    *(Shown("model", "cora", (f"model {state}",), act=unfold) for state in ("listed", "replaced", "withdrawn", "new")),
    Shown("model-repeatability", "cora", ("model listed",), note="being computed"),
    Shown("model-repeatability", "cora", ("model listed",), "?on=study-closedstudy", note="hidden"),
    Shown("model-repeatability", "cora", ("model new",), note="none"),
    Shown("model-edit", "cora", ("model listed",)),
    Shown("model-replace", "cora", ("model listed",)),
    Shown("model-withdraw", "cora", ("model listed",)),
    Shown("model-withdraw", "cora", ("model listed",), act=submit_empty, note="refused"),
    Shown("prediction-import-new", "cora", ("model listed",)),
    Shown("prediction-import-new", "cora", ("model listed",), act=submit_empty, note="refused"),
    Shown("predictions-import", "cora"),
    Shown("predictions-import", "cora", act=submit_empty, note="refused"),
    Shown("predictions-import", "cora", query="?file={sent good}&file={sent bad}&file={sent stored}"),
    Shown("predictions-import", "cora", query="?file={sent good}&file={sent waiting}"),
    Shown("prediction-import-new", "mona", ("model new",), note="no bank is open"),
    *(Shown("prediction-import", "cora", (f"sent {state}",)) for state in ("waiting", "good", "bad", "stored")),
    *(Shown("prediction-run", "cora", (f"run {number}",), act=unfold) for number in (1, 2, 3)),
    # models that the site runs itself
    Shown("model-runs", "cora"),
    Shown("model-run-new", "cora"),
    Shown("model-run-new", "cora", act=submit_empty, note="refused"),
    *(
        Shown("model-run", "cora", (f"at work {state}",), act=unfold)
        for state in ("new", "estimated", "tried", "running", "paused", "stopped", "complete")
    ),
    Shown("model-run", "mona", ("at work running",), status=404, note="not for submitters"),
    Shown("model-run-calls", "cora", ("at work running",)),
    Shown("model-run-calls", "cora", ("at work new",), "?outcome=cut", note="none"),
    Shown("model-run-call", "cora", ("at work running", "3"), act=unfold),
    Shown("model-run-call", "cora", ("at work new", "1"), note="not asked"),
    Shown("model-run-variants", "cora", ("varied",)),
    Shown("model-run-variants", "cora", ("at work running",), note="not complete"),
    Shown("model-run-variants", "cora", ("at work complete",), note="nothing beside it"),
    Shown("model-run-variants", "mona", ("varied",), status=404, note="not for submitters"),
    Shown("prediction-run", "cora", ("run of a model",)),
    # endpoints of models
    Shown("model-endpoints", "cora"),
    Shown("model-endpoint", "cora", ("probed",), act=unfold),
    Shown("model-endpoint", "ada", ("probed",), act=unfold),
    Shown("model-endpoint", "ada", ("plain",), act=submit_empty, note="refused"),
    Shown("model-endpoint", "ada", ("probing",), note="under way"),
    Shown("model-endpoint", "cora", ("plain",), note="not probed"),
    # jobs
    Shown("jobs", "cora"),
    Shown("site", "ada"),
    Shown("site-settings", "ada"),
    Shown("site-policies", "ada"),
    Shown("person-policies", "ada", ("stan",), act=unfold),
    Shown("person-policies", "ada", ("omni",)),
    Shown("site-webhooks", "ada"),
    *(Shown("job", "cora", (f"job {state}",)) for state in ("queued", "running", "failed", "cancelled", "taken")),
    Shown("job", "cora", ("job changed",)),
    # refusals
    Shown("people", "rita", status=403, note="forbidden"),
    Shown("round", "remo", ("no-such-round",), status=404, note="missing"),
    Shown("review-case", "", ("blind",), note="to log in"),
]

# What an address gives that shows no page of its own: an act, a file, a redirect, an answer for a script.
NO_PAGE = {
    "about-api-document": "a file",
    "quarantine-rendition": "a file",
    "audit-thing": "a redirect",
    "models-compare-file": "a file",
    "model-run-picture": "a file",
    "prediction-import-report": "a file",
    "question-import-report": "a file",
    "reading-consent-copy": "a file",
    "rendition": "a file",
    "thumbnail": "a file",
    "bank-export": "a file",
    "bank-source-ids": "a file",
    "question-template": "a file",
    "bank-missing-file": "a file",
    "round-codebook": "a file",
    "round-export": "a file",
    "bank-figure": "a file",
    "round-cost": "a part of a page",
    "round-figure": "a file",
    "study-codebook": "a file",
    "study-figure": "a file",
    "shared-figure": "a file",
    "study-analysed-stands": "a part of a page",
    "study-protocol": "a file",
    "study-dry-state": "for a script",
    "upload-report": "a file",
    "account_login": "the page login, under the name by which allauth knows it",
    "mfa_login_webauthn": "for a script",
    "healthz": "for machines",
    "review-categories": "for a script",
    "review-continue": "a redirect",
    "adjudication-question": "a redirect",
    "reading-state": "for a script",
}
