"""Who came into a study by an invitation to their address: the address is confirmed."""

from django.db import migrations


def confirm(apps, editor):
    used = apps.get_model("readerstudy", "StudyInvitation").objects.filter(used_at__isnull=False).exclude(email="")
    addresses = apps.get_model("account", "EmailAddress").objects
    addresses.filter(primary=True, email__in=used.values("email")).update(verified=True)


class Migration(migrations.Migration):
    dependencies = [
        ("readerstudy", "0021_model_runs"),
        ("annotation", "0041_accounts_taken_over"),
    ]

    operations = [migrations.RunPython(confirm, migrations.RunPython.noop)]
