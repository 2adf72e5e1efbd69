from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("ehr", "0003_uploads_and_jobs")]

    operations = [
        migrations.AddField(
            model_name="importjob",
            name="delete_authored",
            field=models.BooleanField(default=False),
        ),
    ]
