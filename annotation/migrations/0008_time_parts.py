"""What was taken off a time, by its cause. Empty for times that were stored by the older rule, which did not say so."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0007_source_ids")]
    operations = [
        migrations.AddField("blindanswer", "time_parts", models.JSONField(blank=True, null=True)),
        migrations.AddField("review", "time_parts", models.JSONField(blank=True, null=True)),
    ]
