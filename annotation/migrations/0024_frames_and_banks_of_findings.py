"""What a sample was drawn from, and the bank of a finding: the list of a bank finds questions by it."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def fill_banks(apps, _editor):
    revisions = apps.get_model("annotation", "Revision").objects.filter(pk=OuterRef("revision_id"))
    apps.get_model("annotation", "Finding").objects.update(bank_id=Subquery(revisions.values("bank_id")[:1]))


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0023_column_matchings"),
    ]

    operations = [
        migrations.AddField(
            model_name="samplingplan",
            name="frame",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name="finding",
            name="bank",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotation.questionbank",
            ),
        ),
        migrations.RunPython(fill_banks, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="finding",
            name="bank",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotation.questionbank",
            ),
        ),
        migrations.RemoveIndex(model_name="finding", name="finding_by_rule"),
        migrations.AddIndex(
            model_name="finding",
            index=models.Index(
                condition=models.Q(("dismissed_at__isnull", True)),
                fields=["bank", "rule", "revision"],
                name="finding_of_bank",
            ),
        ),
    ]
