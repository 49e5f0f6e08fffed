"""What came after unblinding: renamed models, the runs that stood then, and voidings declared with older readings."""

from importlib import import_module

from django.db import migrations, models

voidings_held = import_module("readerstudy.migrations.0002_append_only")


class Migration(migrations.Migration):
    dependencies = [("readerstudy", "0013_prediction_confidence")]
    operations = [
        migrations.AddField("modelentry", "renamed_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("predictionrun", "was_planned", models.BooleanField(default=False)),
        # SQLite makes the table of voidings anew for its column, and its triggers go with the old one.
        migrations.RunPython(voidings_held.remove_triggers, voidings_held.add_triggers, elidable=False),
        migrations.AddField("voiding", "declared", models.BooleanField(default=False)),
        migrations.RunPython(voidings_held.add_triggers, voidings_held.remove_triggers, elidable=False),
    ]
