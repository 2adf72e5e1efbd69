from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('llm_runtime', '0005_served_tokens'),
    ]

    operations = [
        migrations.DeleteModel(
            name='EndpointShare',
        ),
    ]
