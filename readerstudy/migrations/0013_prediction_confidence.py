"""What a model said of its chance of being right; null for every prediction that was stored before."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("readerstudy", "0012_choices_that_come_late")]
    operations = [
        migrations.AddField(
            model_name="prediction",
            name="confidence",
            field=models.FloatField(blank=True, null=True),
        ),
        migrations.AddConstraint(
            model_name="prediction",
            constraint=models.CheckConstraint(
                condition=models.Q(confidence__isnull=True) | models.Q(confidence__gte=0, confidence__lte=100),
                name="prediction_confidence_in_percent",
            ),
        ),
    ]
