from django.db import migrations, models
from django.db.models.functions import Now


def told_long_ago(apps, schema_editor):
    """Of a time that has come before this was counted nobody shall hear now."""
    apps.get_model("labs", "StepRule").objects.filter(release_at__lte=Now()).update(release_told=True)


class Migration(migrations.Migration):
    dependencies = [
        ("labs", "0022_runs_under_way"),
    ]

    operations = [
        migrations.AddField(
            model_name="steprule",
            name="release_told",
            field=models.BooleanField(default=False),
        ),
        migrations.RunPython(told_long_ago, migrations.RunPython.noop),
    ]
