"""The rules of a study, the texts for its readers, and the analysis plan."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from msgspec.structs import asdict

from annotation.enums import LEAST_WINDOW, MOST_WINDOW, ViewerTool
from annotation.forms.account import TimeZoneField
from readerstudy.design.kernels.analysis_plan import (
    INFERENCES,
    LABELS,
    LONGEST_NAME,
    MADE,
    MEANINGS,
    MOST_PAIRS,
    MOST_RUNS,
    PARTS,
    AnalysisPlan,
    PlannedRun,
    known_choice,
    pairs_of_text,
    proposed_inference,
    read_analysis,
    read_new_analysis,
    runs_of_text,
    text_of,
)
from readerstudy.design.kernels.documents import (
    LEAST_READY,
    MOST_QUIET_MS,
    MOST_READY,
    DesignRefused,
    Rules,
    read_rules,
)
from readerstudy.forms.drafts import DraftForm, PlainTimeField, moment_in, text_field, words
from readerstudy.models import ReaderStudy
from readerstudy.study.overview import study_deadline_text

MOST_WORDS = 20_000
OWN_WORDS = "other"  # the choice for a part of the plan in words by which the program cannot act
OTHER_WORDS = _("Other, in own words: the result will be post hoc")


def _switch(label: Any, sentence: Any) -> forms.BooleanField:
    return forms.BooleanField(label=label, required=False, help_text=sentence)


def _whole(label: Any, sentence: Any, least: int, most: int) -> forms.IntegerField:
    return forms.IntegerField(label=label, required=False, min_value=least, max_value=most, help_text=sentence)


def _choice(part: str) -> forms.ChoiceField:
    """A part of the analysis plan that the program acts on: what it makes, or words of one's own."""
    made = [(choice, _(LABELS[choice])) for choice in sorted(MADE[part], key=list(LABELS).index)]
    sentence = _(MEANINGS[MADE[part][0]]) if len(made) == 1 else ""
    return forms.ChoiceField(label=_(PARTS[part]), choices=[*made, (OWN_WORDS, OTHER_WORDS)], help_text=sentence)


def _own_words(part: str) -> forms.CharField:
    label = format_lazy(_("{part}, in own words"), part=_(PARTS[part]))
    return text_field(label, _("Only with “other”: the program keeps these words and cannot act on them."))


def _chosen(plan: AnalysisPlan) -> dict[str, str]:
    """What the fields of a plan show: a choice, or “other” with the words."""
    chosen: dict[str, str] = {}
    for part in MADE:
        text = getattr(plan, part)
        known = known_choice(part, text)
        chosen |= {part: known or OWN_WORDS, f"{part}_words": "" if known else text}
    return chosen


class RulesForm(DraftForm):
    """How the cases are read."""

    empty = {"time_limit_s": _("no limit")}

    time_limit_s = _whole(
        _("Time limit for a case, seconds"),
        _("Empty: no limit, and no clock on screen. With a limit, a later answer is stored and counts as wrong."),
        5,
        3600,
    )
    shuffle_options = _switch(
        _("Shuffle the options"),
        _("Otherwise in the order of the bank. “None of the above” and options that name letters stay in place."),
    )
    cannot_tell = _switch(
        _("Allow “cannot tell”"),
        _("A reader may decline a case; it counts as incorrect. A best guess is asked then; results show both."),
    )
    confidence = _switch(
        _("Ask how sure the reader is"), _("After each answer: the chance of being right, 25, 40, 60, 80 or 95 %.")
    )
    slips = _switch(
        _("Input errors can be reported"),
        _("Until the next answer a reader can report that another option was meant; a sensitivity analysis uses it."),
    )
    quiet_ms = _whole(
        _("Keys choose nothing at first, milliseconds"),
        _(
            "So long after a case appears, so that a second press for the case before does not answer it. Quicker "
            "answers are flagged. Empty: keys choose at once, and nothing is flagged."
        ),
        0,
        MOST_QUIET_MS,
    )
    n_ready = forms.IntegerField(
        label=_("Cases loaded ahead"),
        min_value=LEAST_READY,
        max_value=MOST_READY,
        help_text=_("Next cases that are loaded in advance, so that reading goes on without the network. Two to ten."),
    )
    break_every = _whole(_("Offer a break every … cases"), _("Empty: no break is offered."), 1, 1000)
    may_pause = _switch(
        _("Readers may pause"),
        _("After the case, or at once: it is hidden and flagged. Reading time stops; a time limit goes on."),
    )
    practice_pass = _whole(
        _("Correct answers needed in the practice block"),
        _("Empty: the practice block need not be passed, only worked through."),
        1,
        100,
    )
    show_results = _switch(
        _("Show readers their own results"),
        _("On their last page, once the study is closed for everybody. The first look unblinds the study."),
    )
    show_cases = _switch(
        _("Show readers each case with its key"), _("Beside their own results: what they answered, and the key.")
    )
    questionnaire = text_field(
        _("Questions after the last case"),
        _("One a line, at most 20; the line NASA-TLX asks its six scales from 0 to 100. None must be answered."),
        most=6000,
        rows=3,
    )
    hidden_tools = forms.MultipleChoiceField(
        label=_("Image tools to hide"),
        choices=words(ViewerTool),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("A hidden tool has neither a button nor a key."),
    )
    least_width = _whole(
        _("Smallest window: width"),
        _("In a smaller window nothing of a case shows. A 1366 × 768 screen leaves about 1366 × 650."),
        LEAST_WINDOW[0],
        MOST_WINDOW[0],
    )
    least_height = _whole(
        _("Smallest window: height"), _("In pixels of the page; both or neither."), LEAST_WINDOW[1], MOST_WINDOW[1]
    )

    reader_names = _switch(
        _("Show names of readers in results"),
        _(
            "On the results pages of coordinators and in figures, in place of pseudonyms; readers see this before "
            "they agree. Exports, the analysis JSON, the report and shared links keep pseudonyms."
        ),
    )
    consent = text_field(
        _("Consent"),
        _("What a reader agrees to before anything else; they keep a copy. Say what becomes of their answers."),
        most=MOST_WORDS,
        rows=8,
    )
    instructions = text_field(
        _("Instructions"),
        _("What a reader reads before the first case. Name no finding and no rate."),
        most=5000,
        rows=6,
    )
    contact = text_field(_("Contact"), _("A person whom readers can ask: name, and mail or telephone."), most=200)
    deadline = PlainTimeField(
        label=_("Deadline"),
        required=False,
        help_text=_("Empty: until the study is closed. For one reader it can be extended."),
    )
    time_zone = TimeZoneField(help_text=_("In which the deadline is meant and shown to readers."))

    primary, primary_words = _choice("primary"), _own_words("primary")
    family, family_words = _choice("family"), _own_words("family")
    inference, inference_words = _choice("inference"), _own_words("inference")
    margin = forms.FloatField(
        label=_("Margin"),
        required=False,
        help_text=_("For non-inferiority, as a share: 0.05 is five percentage points. Empty: a test of difference."),
        widget=forms.NumberInput(attrs={"step": "0.01"}),
    )
    margin_reason = text_field(
        _("Reason for the margin"),
        _("With a margin: one line on why a difference of this size does not matter in practice."),
    )
    pairs = text_field(
        _("Planned pairs"),
        _(
            "One pair on a line, such as “Model A | each reader” or “each model | R1”: names of models, with the "
            "version where one name has several, or pseudonyms of readers. Each is tested over all tasks by the exact "
            "McNemar test, adjusted by Holm over these pairs. Empty: no pair is tested."
        ),
        most=MOST_PAIRS * 2 * (LONGEST_NAME + 3),
        rows=3,
    )
    runs = text_field(
        _("Runs that represent models"),
        _(
            "One model on a line, such as “Model A | mean of all runs” or “Model B | run 2”. With the mean, right or "
            "wrong against the readers is the share of its runs that are right. For models not named here the main run "
            "is used."
        ),
        most=MOST_RUNS * (LONGEST_NAME + 24),
        rows=2,
    )
    late_answers, late_answers_words = _choice("late_answers"), _own_words("late_answers")
    voids, voids_words = _choice("voids"), _own_words("voids")
    notes = text_field(_("Notes"), _("Additional prespecified details."), most=5000, rows=3)

    parts = (
        (_("Answers"), ("time_limit_s", "shuffle_options", "cannot_tell", "confidence", "slips", "quiet_ms")),
        (_("Pace"), ("n_ready", "break_every", "may_pause", "practice_pass")),
        (_("After the last case"), ("questionnaire", "show_results", "show_cases")),
        (_("Image tools and window"), ("hidden_tools", "least_width", "least_height")),
        (_("Information for readers"), ("consent", "reader_names", "instructions", "contact", "deadline", "time_zone")),
        (
            _("Analysis plan"),
            (
                *("primary", "primary_words", "family", "family_words", "inference", "inference_words"),
                *("late_answers", "late_answers_words", "voids", "voids_words", "margin", "margin_reason"),
                *("pairs", "runs", "notes"),
            ),
        ),
    )

    def __init__(self, study: ReaderStudy, data: Any = None) -> None:
        self.rules_before, self.n_readers = read_rules(study.rules), study.n_readers
        analysis = self.analysis_before = read_analysis(study.analysis)
        zone = ZoneInfo(study.time_zone)
        deadline = study.deadline_at.astimezone(zone).replace(tzinfo=None) if study.deadline_at else None
        texts = {name: getattr(study, name) for name in ("consent", "instructions", "contact", "time_zone")}
        lines = {
            "questionnaire": "\n".join(self.rules_before.questionnaire),
            "pairs": text_of(analysis.pairs),
            "runs": text_of(analysis.runs),
        }
        initial = {**asdict(self.rules_before), **asdict(analysis), **texts, **lines, "deadline": deadline}
        initial |= _chosen(analysis)
        super().__init__(data, initial=initial)
        if study.deadline_at:
            present = gettext("Currently: %(when)s.") % {"when": study_deadline_text(study)}
            self.fields["deadline"].help_text = f"{self.fields['deadline'].help_text} {present}"
        self._offer_inferences(study.n_readers)

    def _offer_inferences(self, n_readers: int) -> None:
        """Each with what it means; the one that is proposed for so many readers says so."""
        field = self.fields["inference"]
        assert isinstance(field, forms.ChoiceField)
        proposed = proposed_inference(n_readers)
        mark = gettext("%(label)s: proposed for %(n)s readers")
        labels = {name: gettext(LABELS[name]) for name in LABELS if name in INFERENCES}
        labels[proposed] = mark % {"label": labels[proposed], "n": n_readers}
        field.choices = [*labels.items(), (OWN_WORDS, OTHER_WORDS)]
        field.help_text = " ".join(
            f"{gettext(LABELS[name]).partition(' (')[0]}: {gettext(MEANINGS[name])}" for name in labels
        )

    def sections(self) -> list[tuple[str, list[forms.BoundField]]]:
        return [(str(title), [self[name] for name in names]) for title, names in self.parts]

    def clean_pairs(self) -> tuple[tuple[str, str], ...]:
        try:
            return pairs_of_text(self.cleaned_data["pairs"])
        except DesignRefused as refusal:
            raise forms.ValidationError(str(refusal)) from refusal

    def clean_runs(self) -> tuple[PlannedRun, ...]:
        try:
            return runs_of_text(self.cleaned_data["runs"])
        except DesignRefused as refusal:
            raise forms.ValidationError(str(refusal)) from refusal

    def clean_questionnaire(self) -> tuple[str, ...]:
        return tuple(line.strip() for line in self.cleaned_data["questionnaire"].splitlines() if line.strip())

    def clean_quiet_ms(self) -> int:
        return self.cleaned_data["quiet_ms"] or 0

    def clean(self) -> dict[str, Any]:
        asked = super().clean() or self.cleaned_data
        self._check_own_words(asked)
        if not self.errors:
            self._check_deadline()
            try:
                self.rules(), self.analysis()
            except DesignRefused as refusal:
                self.add_error(refusal.field if refusal.field in self.fields else None, gettext(str(refusal)))
        return asked

    def _check_own_words(self, asked: dict[str, Any]) -> None:
        for part in MADE:
            if asked.get(part) == OWN_WORDS and not asked.get(f"{part}_words"):
                self.add_error(f"{part}_words", gettext("Write it in your own words, or choose from the list."))

    def _check_deadline(self) -> None:
        try:
            deadline_at = self.texts()["deadline_at"]
        except forms.ValidationError as refusal:
            self.add_error("deadline", refusal)
            return
        if isinstance(deadline_at, datetime) and deadline_at <= timezone.now():
            self.add_error("deadline", gettext("This time has passed: choose a later one, or none."))

    def rules(self) -> Rules:
        """What was asked for; what other steps decide stays."""
        return read_rules(self._values(asdict(self.rules_before)))

    def analysis(self) -> AnalysisPlan:
        """What was asked for; the assumptions of the forecast stay."""
        asked = self._values({name: getattr(self.analysis_before, name) for name in asdict(AnalysisPlan())})
        own = {part: self.cleaned_data[f"{part}_words"] for part in MADE if asked[part] == OWN_WORDS}
        asked |= {part: known_choice(part, text) or text for part, text in own.items()}
        return read_new_analysis(asked, n_readers=self.n_readers)

    def _values(self, before: dict[str, Any]) -> dict[str, Any]:
        return {name: self.cleaned_data.get(name, value) for name, value in before.items()}

    def texts(self) -> dict[str, str | datetime | None]:
        """Information for readers; the deadline as the moment that it means in its zone."""
        plain, zone = self.cleaned_data["deadline"], self.cleaned_data["time_zone"]
        names = ("consent", "instructions", "contact", "time_zone")
        deadline_at = moment_in(zone, plain) if plain else None
        return {**{name: self.cleaned_data[name] for name in names}, "deadline_at": deadline_at}
