"""Addresses, by room. Each room keeps its own block."""

from __future__ import annotations

from django.urls import URLPattern, path

from readerstudy.views import (
    cases,
    design_steps,
    dry_room,
    dry_run,
    entering,
    freezing,
    inviting,
    joining,
    preparing,
    reading_api,
    reading_room,
    studies,
    study_acts,
    study_exports,
    watch_acts,
    watch_results,
    watching,
)

urlpatterns: list[URLPattern] = [
    # readers come in
    path("studies/<slug:slug>/invite/", inviting.study_invite, name="study-invite"),
    path(
        "studies/<slug:slug>/invitations/<int:pk>/remind/",
        inviting.study_invitation_remind,
        name="study-invitation-remind",
    ),
    path(
        "studies/<slug:slug>/invitations/<int:pk>/revoke/",
        inviting.study_invitation_revoke,
        name="study-invitation-revoke",
    ),
    path("read/", entering.readings, name="readings"),
    path("read/join/<str:token>/", joining.study_invitation, name="study-invitation"),
    path("read/<slug:slug>/", entering.reading, name="reading"),
    path("read/<slug:slug>/consent/", entering.reading_consent, name="reading-consent"),
    path("read/<slug:slug>/consent/copy/", entering.reading_consent_copy, name="reading-consent-copy"),
    path("read/<slug:slug>/facts/", preparing.reading_facts, name="reading-facts"),
    path("read/<slug:slug>/instructions/", preparing.reading_instructions, name="reading-instructions"),
    path("read/<slug:slug>/display/", preparing.reading_display, name="reading-display"),
    path("read/<slug:slug>/done/", preparing.reading_done, name="reading-done"),
    path("read/<slug:slug>/withdraw/", entering.reading_withdraw, name="reading-withdraw"),
    # design
    path("studies/", studies.studies, name="studies"),
    path("studies/new/", studies.study_new, name="study-new"),
    path("studies/<slug:slug>/", studies.study, name="study"),
    path("studies/<slug:slug>/cases/", cases.study_cases, name="study-cases"),
    path("studies/<slug:slug>/arms/", design_steps.study_arms, name="study-arms"),
    path("studies/<slug:slug>/rules/", design_steps.study_rules, name="study-rules"),
    path("studies/<slug:slug>/readers/", design_steps.study_readers, name="study-readers"),
    path("studies/<slug:slug>/dry-run/", dry_run.study_dry_run, name="study-dry-run"),
    path("studies/<slug:slug>/dry-run/room/", dry_room.study_dry_room, name="study-dry-room"),
    path("studies/<slug:slug>/dry-run/session/", dry_room.study_dry_session, name="study-dry-session"),
    path("studies/<slug:slug>/dry-run/state/", dry_room.study_dry_state, name="study-dry-state"),
    path("studies/<slug:slug>/dry-run/pause/", dry_room.study_dry_pause, name="study-dry-pause"),
    path("studies/<slug:slug>/dry-run/resume/", dry_room.study_dry_resume, name="study-dry-resume"),
    path("studies/<slug:slug>/dry-run/cases/<slug:place>/<slug:act>/", dry_room.study_dry_case, name="study-dry-case"),
    path("studies/<slug:slug>/freeze/", freezing.study_freeze, name="study-freeze"),
    path("studies/<slug:slug>/protocol.json", freezing.study_protocol, name="study-protocol"),
    path("studies/<slug:slug>/open/", study_acts.study_open, name="study-open"),
    path("studies/<slug:slug>/close/", study_acts.study_close, name="study-close"),
    path("studies/<slug:slug>/copy/", study_acts.study_copy, name="study-copy"),
    path("studies/<slug:slug>/archive/", study_acts.study_archive, name="study-archive"),
    path("studies/<slug:slug>/bring-back/", study_acts.study_bring_back, name="study-bring-back"),
    path("studies/<slug:slug>/delete/", study_acts.study_delete, name="study-delete"),
    # watching
    path("studies/<slug:slug>/watch/", watching.study_watch, name="study-watch"),
    path("studies/<slug:slug>/watch/extend/", watch_acts.study_extend, name="study-extend"),
    path("studies/<slug:slug>/watch/remind/", watch_acts.study_remind, name="study-remind"),
    path("studies/<slug:slug>/watch/interim/", watch_results.study_interim, name="study-interim"),
    path("studies/<slug:slug>/watch/<str:public_id>/", watching.study_reader, name="study-reader"),
    path("studies/<slug:slug>/watch/<str:public_id>/extend/", watch_acts.reader_extend, name="study-reader-extend"),
    path("studies/<slug:slug>/watch/<str:public_id>/remind/", watch_acts.reader_remind, name="study-reader-remind"),
    path(
        "studies/<slug:slug>/watch/<str:public_id>/withdraw/", watch_acts.reader_withdraw, name="study-reader-withdraw"
    ),
    path("studies/<slug:slug>/watch/<str:public_id>/pass/", watch_acts.reader_pass, name="study-reader-pass"),
    path("studies/<slug:slug>/watch/<str:public_id>/replace/", watch_acts.reader_replace, name="study-reader-replace"),
    path("studies/<slug:slug>/void/", watch_results.study_void, name="study-void"),
    path("studies/<slug:slug>/re-review/", watch_results.study_rereview, name="study-rereview"),
    # data of a study
    path("studies/<slug:slug>/export/<slug:table>/<slug:form>/", study_exports.study_export, name="study-export"),
    path("studies/<slug:slug>/codebook/<slug:table>/", study_exports.study_codebook, name="study-codebook"),
    # reading
    path("read/<slug:slug>/room/", reading_room.reading_room, name="reading-room"),
    path("read/<slug:slug>/session/", reading_api.reading_session, name="reading-session"),
    path("read/<slug:slug>/state/", reading_api.reading_state, name="reading-state"),
    path("read/<slug:slug>/pause/", reading_api.reading_pause, name="reading-pause"),
    path("read/<slug:slug>/resume/", reading_api.reading_resume, name="reading-resume"),
    path("read/<slug:slug>/cases/<str:place>/open/", reading_api.reading_open, name="reading-open"),
    path("read/<slug:slug>/cases/<str:place>/choice/", reading_api.reading_choice, name="reading-choice"),
    path("read/<slug:slug>/cases/<str:place>/events/", reading_api.reading_events, name="reading-events"),
    path("read/<slug:slug>/cases/<str:place>/commit/", reading_api.reading_commit, name="reading-commit"),
    path("read/<slug:slug>/cases/<str:place>/remark/", reading_api.reading_remark, name="reading-remark"),
]
