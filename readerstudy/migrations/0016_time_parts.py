"""What was taken off a time, by its cause; see annotation 0008. A column that may be empty keeps the triggers."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("readerstudy", "0015_fill_after_unblinding")]
    operations = [migrations.AddField("response", "time_parts", models.JSONField(blank=True, null=True))]
