"""The session's own database: real PostgreSQL with its extensions.

It is emptied after tests that commit.
"""

import os
import subprocess
import sys

import pytest
from django.contrib.auth import get_user_model
from django.db import connection

from config.env import BASE_DIR


@pytest.mark.django_db
def test_the_extensions_are_there():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extname FROM pg_extension WHERE extname IN ('vector', 'pg_trgm') ORDER BY 1"
        )
        assert cursor.fetchall() == [("pg_trgm",), ("vector",)]


@pytest.mark.parametrize("turn", [1, 2])
def test_what_another_process_committed_is_gone_in_the_next_test(process_environment, turn):
    script = "from django.contrib.auth import get_user_model as m; m().objects.create_user(username='other', password='x')"
    command = [sys.executable, "manage.py", "shell", "--no-imports", "--command", script]
    result = subprocess.run(
        command, cwd=BASE_DIR, env=process_environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert get_user_model().objects.filter(username="other").count() == 1


def test_the_services_are_not_the_developers(services):
    assert not services.var.is_relative_to(BASE_DIR)
    assert os.environ["OCCURRENT_VAR"] == str(services.var)
