from __future__ import annotations

from contextlib import suppress
from itertools import islice
from unicodedata import normalize

from django.db import IntegrityError, migrations, transaction

from annotation.hashes import identifier_digest
from annotation.questionbank.kernels.records import read_as

NAMES = ("User", "Invitation", "QuestionBank", "ColumnMatching", "SamplingPlan", "ReviewRound")


def keep_what_is_read(apps, schema_editor):  # type: ignore[no-untyped-def]
    """Beside the ids of questions what people read of them, where that is another text: look-alikes are found by it."""
    names = apps.get_model("annotation", "SourceIdentifier").objects
    rows = names.filter(kind="question_key").values_list("value", "bank_id", "question_id").iterator()
    read = ((text, bank, question) for key, bank, question in rows if (text := read_as(key)) != key)
    while page := list(islice(read, 2_000)):
        names.bulk_create(
            names.model(
                digest=identifier_digest("question_read", text),
                kind="question_read",
                value=text,
                bank_id=bank,
                question_id=question,
            )
            for text, bank, question in page
        )


def compose(apps, schema_editor):  # type: ignore[no-untyped-def]
    """Names that were stored before names were stored in NFC are found by their text again.

    What people wrote stays as it is: hashes are over it, and searching and sorting take either form.
    """
    for model in NAMES:
        rows = apps.get_model("annotation", model).objects
        for pk, name in rows.values_list("pk", "name"):
            if (composed := normalize("NFC", name)) != name:
                with suppress(IntegrityError), transaction.atomic():  # another one is called so
                    rows.filter(pk=pk).update(name=composed)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0014_input_errors")]

    operations = [
        migrations.RunPython(keep_what_is_read, migrations.RunPython.noop),
        migrations.RunPython(compose, migrations.RunPython.noop),
    ]
