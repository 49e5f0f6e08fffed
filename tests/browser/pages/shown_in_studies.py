"""The pages of reader studies: who looks at them, where they are, and what is done before they are looked at."""

from __future__ import annotations

from tests.browser.pages.acts import (
    ask_back,
    learn,
    make_link,
    preview,
    read,
    see,
    send,
    spoil,
    submit_empty,
    unfold,
    view_interim_results,
)
from tests.browser.pages.look import Shown, both, looks

IN_STUDIES = [
    # readers come in
    *looks("cora", "study-invite/trial", "study-invite-file/trial", "study-invite/over"),
    *both("study-invitation", "", ("study link",)),
    Shown("study-invitation", "stan", ("study link",)),
    Shown("study-invitation", "cora", ("study link",), status=409, note="refused"),
    Shown("readings", "reading"),
    Shown("readings", "stan", note="none"),
    Shown("reading", "practising", ("trial",)),
    Shown("reading", "reading", ("trial",)),
    Shown("reading", "gone", ("trial",)),
    Shown("reading-consent", "new", ("trial",)),
    Shown("reading-consent", "reading", ("trial",)),
    *both("reading-facts", "agreed", ("trial",)),
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
    *looks("cora", "study-reader/trial/enrolment gone", "study-reader/trial/enrolment stuck", "study-rereview/over"),
    Shown("study-rereview", "cora", ("over",), act=submit_empty, note="refused"),
    # reading in a study
    Shown("reading-room", "remo", ("room",), act=read()),
    Shown("reading-room", "remo", ("room",), act=read("?", then="#keys-dialog"), note="keys"),
    Shown("reading-room", "remo", ("room",), act=read("g", then="#fault-dialog"), note="faulty"),
    Shown("reading-room", "remo", ("room",), act=read("Shift+P", then="#pause-dialog"), note="pause"),
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
    *both("study-new", "cora"),
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
    # leaderboards
    Shown("leaderboard-editions", "cora", ("benchmark",), act=unfold),
    Shown("leaderboard-editions", "ada", ("benchmark",)),
    # results by a link
    Shown("study-share", "cora", ("study results", "analysis"), act=unfold),
    Shown("study-share", "cora", ("study results", "analysis"), act=make_link, note="made"),
    *(
        Shown(name, person, ("results link",))
        for name in ("shared-analysed", "shared-agreement", "shared-categories", "shared-times")
        for person in ("", "cora")
    ),
    Shown("shared-analysed", "", ("study link",), status=404, note="no such link"),
]
