"""An earlier exam of the patient that is shown beside an exam, and how a question file names it."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0013_round_double_click"),
    ]

    operations = [
        migrations.AddField(
            model_name="exam",
            name="prior",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="later_exams",
                to="annotation.exam",
            ),
        ),
        migrations.AddIndex(
            model_name="exam",
            index=models.Index(condition=models.Q(("prior__isnull", False)), fields=["prior"], name="exam_prior"),
        ),
        migrations.AddIndex(
            model_name="sourceidentifier",
            index=models.Index(
                condition=models.Q(("kind", "prior_exam")), fields=["bank", "exam_id"], name="identifier_prior"
            ),
        ),
    ]
