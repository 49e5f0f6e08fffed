"""Every page of the site: who looks at it, where it is, and what is done before it is looked at."""

from __future__ import annotations

from tests.browser.pages.acts import (
    ask_back,
    hold_reports,
    mask_reports,
    narrow,
    plan_generation,
    press,
    revise,
    submit_empty,
    unfold,
)
from tests.browser.pages.factors import log_in, prove
from tests.browser.pages.look import Shown, both, looks
from tests.browser.pages.shown_in_studies import IN_STUDIES

WHOLE = "#case-form"
PEOPLE = ("ada", "cora", "rita", "dina", "mona", "stan", "omni")

EMPTY = [  # a site on which nothing has happened yet
    *(Shown("home", person) for person in PEOPLE),
    *looks(
        "omni",
        *("banks", "samples", "rounds", "images", "views-said", "uploads", "jobs", "quarantine", "quarantine-words"),
        *("people", "audit-log", "readings", "review-rounds", "sample-new", "round-new", "upload-new"),
        *("question-import-new", "column-matchings", "leaderboards", "model-endpoints", "prompts", "studies"),
        *("study-new", "models", "model-new", "model-runs", "model-run-new", "predictions-import"),
    ),
]

FULL = [
    # people
    *(Shown("home", person) for person in (*PEOPLE, "judy")),
    *both("login"),
    Shown("profile", "rita"),
    Shown("token-new", "cora"),
    Shown("about-api", "cora", act=unfold),
    Shown("provider-answer", query="?error=none", status=400),
    Shown("provider-connect", "rita", act=prove),
    *looks("judy", "open-sessions", "email-confirm/token"),
    Shown("mfa_authenticate", act=log_in),
    *looks("judy", "account_reauthenticate", "mfa_reauthenticate", "mfa_reauthenticate_webauthn"),
    *(Shown("mfa_index", person) for person in ("rita", "judy")),
    Shown("mfa_activate_totp", "rita"),
    Shown("mfa_deactivate_totp", "judy", act=prove),
    *looks("judy", "mfa_add_webauthn", "mfa_remove_webauthn/passkey", "mfa_view_recovery_codes"),
    Shown("mfa_view_recovery_codes", "judy", note="again"),
    Shown("mfa_generate_recovery_codes", "judy"),
    Shown("person", "ada", ("judy",), note="with a second factor"),
    *both("password-change", "rita"),
    Shown("password-reset"),
    Shown("password-reset-sent"),
    Shown("password-reset-confirm", "", ("uid", "reset token")),
    Shown("password-reset-confirm", "", ("uid", "no-token"), note="old"),
    *both("invitation", "", ("link",)),
    Shown("invitation", "rita", ("round link",)),
    Shown("invitation", "", ("old link",), status=410),
    *looks("ada", "people", "audit-log"),
    Shown("audit-log", "ada", query="?since=2026-11-25&until=2026-11-01", status=422, note="refused"),
    Shown("audit-log", "rita"),
    *both("person-add", "ada"),
    *looks("ada", "person-invite", "person-invite-file"),
    Shown("person", "ada", ("rita",), act=unfold),
    Shown("person", "ada", ("ada",)),
    *looks("stan", "round-invite/open", "round-invite-file/open"),
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
    *looks("cora", "bank-missing/bank", "generation-runs/bank", "generation-runs/generated bank"),
    Shown("generation-runs", "cora", ("generated bank",), act=plan_generation, note="planned"),
    Shown("generation-runs", "cora", ("generated bank",), act=hold_reports, note="held back"),
    Shown("generation-runs", "cora", ("generated bank",), act=mask_reports, note="masked"),
    Shown("generation-run", "cora", ("generated bank", "generation")),
    Shown("question", "cora", ("generated bank", "4"), act=unfold, note="generated"),
    *looks("cora", "bank-validators/generated bank", "bank-validators/bank"),
    *(Shown("bank-difficulties", "cora", (bank,)) for bank in ("bank", "generated bank", "empty")),
    *(Shown("bank-validator", "cora", ("generated bank", code)) for code in ("c1", "c2", "c3", "images", "bias")),
    *looks(
        "cora",
        *("bank-compliance/generated bank", "bank-near-duplicates/generated bank"),
        *("bank-near-duplicates/bank", "bank-near-duplicates/public bank", "bank-releases/generated bank"),
    ),
    Shown("bank-releases", "cora", ("bank",), act=submit_empty, note="refused"),
    *both("pair-trials", "cora", ("generated bank",)),
    *looks("cora", "pair-trials/bank", "pair-trial/generated bank/pairs done", "pair-trial/generated bank/pairs open"),
    Shown("pair-trial", "omni", ("generated bank", "pairs open")),
    Shown("pair-trial", "omni", ("generated bank", "pairs open"), act=ask_back("End judging"), note="asked to end"),
    Shown("pair-trial", "cora", ("generated bank", "pairs ended")),
    Shown("pair-trial", "rita", ("generated bank", "pairs of a reviewer")),
    Shown("question", "cora", ("bank", "1"), act=unfold),
    Shown("question", "cora", ("bank", "2"), act=unfold, note="revised"),
    Shown("question-revise", "cora", ("bank", "3")),
    Shown("question-revise", "cora", ("bank", "3"), act=revise, note="preview"),
    *both("question-import-new", "cora"),
    *looks("cora", "column-matchings", "question-import/upload checked", "question-import/upload checking"),
    # what is sent to models
    Shown("bank-sending", "cora", ("bank",), act=unfold),
    Shown("bank-sending", "ada", ("bank",), act=unfold),
    *looks("cora", "bank-sending/empty", "bank-terms/bank"),
    *both("bank-permission-new", "ada", ("bank",)),
    Shown("bank-permission-new", "ada", ("empty",), note="without terms"),
    *both("bank-permission-withdraw", "ada", ("bank", "permission")),
    *looks(
        "cora",
        *("prompts", "prompt/prompt first", "prompt/prompt second"),
        *("prompt-difference/prompt first/prompt second", "prompt-next/prompt letter"),
    ),
    Shown("prompt-next", "cora", ("prompt letter",), act=submit_empty, note="refused"),
    # what reviewers said of the questions of a prompt
    Shown("prompt", "cora", ("version 2",), note="flags"),
    Shown("prompt-comments", "cora", ("version 1",)),
    Shown("prompt-comments", "cora", ("version 3",), note="none"),
    Shown("prompt-comments", "rita", ("version 1",), status=403, note="forbidden"),
    Shown("prompt-history", "cora", ("version 2",)),
    # what people say about a question
    Shown("review-comments", "stan", ("discussed",)),
    Shown("mentions", "omni"),
    Shown("mentions", "rita"),
    *both("question-import-columns", "cora", ("upload foreign",)),
    # images
    Shown("images", "cora"),
    Shown("image", "cora", ("image",), act=unfold),
    Shown("quarantine", "dina"),
    *looks("dina", "quarantine-words", "quarantined-image/held", act=unfold),
    *looks(
        "cora", "views-said", "uploads", "upload-new", "upload-fetch", "upload/upload taken", "upload/upload queued"
    ),
    # sampling
    *looks("cora", "bin", "samples", "sample-new"),
    Shown("sample", "cora", ("sample",), act=unfold),
    # rounds
    Shown("rounds", "cora"),
    Shown("round-new", "cora", act=unfold),
    Shown("round-edit", "cora", ("draft",)),
    Shown("round-new", "cora", act=submit_empty, note="refused"),
    *(Shown("round", "cora", (state,), act=unfold) for state in ("draft", "open", "closed", "disputed", "calibrated")),
    *looks("cora", "review-forms", "review-form/form"),
    Shown("review-form-new", "cora", act=unfold),
    Shown("review-form-new", "cora", act=submit_empty, note="refused"),
    Shown("round", "ada", ("open",)),
    Shown("round-agreement", "cora", ("closed",)),
    Shown("round-report", "cora", ("closed",), note="none so far"),
    Shown("round-report", "cora", ("disputed",), note="its file is gone"),
    *looks("cora", "round-import/open", "round-groups/closed", "round-difficulty/closed"),
    Shown("bank-outcomes", "cora", ("bank",), act=unfold),
    *looks("cora", "bank-groups/bank", "bank-difficulty/bank"),
    *looks("cora", "round-reviewer/open/rita", "round-reviewer/closed/rita", act=unfold),
    # adjudication
    *looks("judy", "adjudication/disputed", "adjudication-decide/settlement"),
    Shown("adjudication-decide", "judy", ("settlement",), act=submit_empty, note="refused"),
    Shown("adjudication-revise", "judy", ("settlement",)),
    # reviewing
    *looks("rita", "review-rounds", "review-worklist/open"),
    Shown("review-worklist", "remo", ("closed",), "?show=skipped"),
    *looks("nils", "review-worklist/calibrated", "calibration/calibrated"),
    Shown("calibration", "nora", ("calibrated",)),
    *looks("rita", "review-decisions/closed", "review-display/blind"),
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
    *IN_STUDIES,
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
    *looks("cora", "model-edit/model listed", "model-replace/model listed", "model-withdraw/model listed"),
    Shown("model-withdraw", "cora", ("model listed",), act=submit_empty, note="refused"),
    *both("prediction-import-new", "cora", ("model listed",)),
    *both("predictions-import", "cora"),
    Shown("predictions-import", "cora", query="?file={sent good}&file={sent bad}&file={sent stored}"),
    Shown("predictions-import", "cora", query="?file={sent good}&file={sent waiting}"),
    Shown("prediction-import-new", "mona", ("model new",), note="no bank is open"),
    *(Shown("prediction-import", "cora", (f"sent {state}",)) for state in ("waiting", "good", "bad", "stored")),
    *(Shown("prediction-run", "cora", (f"run {number}",), act=unfold) for number in (1, 2, 3)),
    # models that the site runs itself
    *looks("cora", "model-runs", "model-run-new"),
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
    # leaderboards
    *(Shown("leaderboards", person) for person in ("cora", "mona")),
    Shown("leaderboard-new", "cora", act=submit_empty, note="refused"),
    Shown("leaderboard-edit", "cora", ("board draft",)),
    Shown("leaderboard-edit", "cora", ("board",), note="frozen"),
    Shown("leaderboard", "cora", ("board draft",)),
    Shown("leaderboard", "cora", ("board",), act=unfold),
    Shown("leaderboard", "ada", ("board",), act=unfold),
    *looks("mona", "leaderboard-team/board", "leaderboard-team/board of others"),
    # what teams send to leaderboards
    Shown("leaderboard-submissions", "cora", ("board",)),
    *looks(
        "mona",
        *("leaderboard-submissions/board", "leaderboard-submission/board/submission passed"),
        *("leaderboard-submission/board/submission wrong",),
        act=unfold,
    ),
    Shown("leaderboard-submission", "mona", ("board", "submission waiting")),
    *looks(
        "cora",
        *("leaderboard-submission/board/submission withdrawn", "leaderboard-statement/board/statement new"),
        act=unfold,
    ),
    *looks("mona", "leaderboard-statement/board/statement refused", "leaderboard-statement-new/board"),
    # endpoints of models
    Shown("model-endpoints", "cora"),
    Shown("model-endpoint", "cora", ("probed",), act=unfold),
    Shown("model-endpoint", "ada", ("probed",), act=unfold),
    Shown("model-endpoint", "ada", ("plain",), act=submit_empty, note="refused"),
    Shown("model-endpoint", "ada", ("probing",), note="under way"),
    Shown("model-endpoint", "cora", ("plain",), note="not probed"),
    # jobs
    Shown("jobs", "cora"),
    *looks("ada", "site", "site-settings", "site-policies"),
    Shown("person-policies", "ada", ("stan",), act=unfold),
    *looks("ada", "person-policies/omni", "site-webhooks"),
    *(Shown("job", "cora", (f"job {state}",)) for state in ("queued", "running", "failed", "cancelled", "taken")),
    Shown("job", "cora", ("job changed",)),
    # refusals
    Shown("people", "rita", status=403, note="forbidden"),
    Shown("round", "remo", ("no-such-round",), status=404, note="missing"),
    Shown("review-case", "", ("blind",), note="to log in"),
]

# What an address gives that shows no page of its own: an act, a file, a redirect, an answer for a script.
NO_PAGE = {
    name: why
    for why, names in {
        "a file": (
            "about-api-document bank-export bank-figure bank-missing-file bank-source-ids bank-taxonomy "
            "leaderboard-card leaderboard-inputs leaderboard-report model-run-picture models-compare-file "
            "prediction-import-report quarantine-rendition question-import-picture question-import-report "
            "question-template reading-consent-copy rendition round-codebook round-export round-figure "
            "shared-figure study-codebook study-figure study-protocol thumbnail upload-report"
        ),
        "a line of the page of a bank": "bank-valid",
        "a part of a page": "round-cost study-analysed-stands",
        "a redirect": "adjudication-question audit-thing review-continue",
        "for a script": "mfa_login_webauthn reading-state review-categories study-dry-state",
        "for machines": "healthz",
        "the page login, under the name by which allauth knows it": "account_login",
    }.items()
    for name in names.split()
}
