from django.db import migrations

BY_HAND = ["several_valid", "key_wrong", "no_valid_option"]


def add_what_pages_asked(apps, schema_editor):
    """Earlier pages offered these flags in every round without a blind answer: forms that were so answered asked them."""
    reviews, forms = (apps.get_model("annotation", name).objects for name in ("Review", "ReviewForm"))
    here = reviews.filter(assignment__round__steps="open").exclude(time_rule="elsewhere").order_by()
    for form in forms.filter(pk__in=here.values("assignment__round__form")):
        form.design["flags"] = [*dict.fromkeys([*form.design["flags"], *BY_HAND])]
        form.save(update_fields=["design"])


class Migration(migrations.Migration):
    dependencies = [("annotation", "0043_pages_of_drafts")]

    # Earlier versions pass over these flags in a form, so that nothing is to be undone.
    operations = [migrations.RunPython(add_what_pages_asked, migrations.RunPython.noop)]
