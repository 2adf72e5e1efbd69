"""`manage.py import_concepts`: import concepts from JSON files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts.models import Study, User
from accounts.permissions import NotAllowed
from cohorts.concepts.actions import make_version
from cohorts.concepts.portable import import_concept
from cohorts.concepts.values import ConceptRefused

STARTER = Path(__file__).parents[2] / "concepts" / "starter"


class Command(BaseCommand):
    help = (
        "Import concepts. Members wait for review; with --by they are decided as the files say, and"
        " a version is made. Without files, the starter set is imported."
        " Importing the same files again adds only what is new."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the files and the study."""
        parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
        parser.add_argument("--study", required=True, help="name or public id of the study")
        parser.add_argument(
            "--by", default="", metavar="USERNAME", help="the person who decides as the files say"
        )

    def handle(self, *args: Any, files: list[Path], study: str, by: str, **options: Any) -> None:
        """Import each file; none if one of them cannot be read."""
        by_name = Study.objects.filter(name=study).first()
        chosen = by_name or Study.objects.filter(public_id=study).first()
        if chosen is None:
            raise CommandError("There is no study of that name..")
        person = User.objects.filter(username=by).first() if by else None
        if by and person is None:
            raise CommandError("There is no account of that name.")
        with transaction.atomic():
            for file in files or sorted(STARTER.glob("*.json")):
                self._import(file, chosen, person)

    def _import(self, file: Path, study: Study, by: User | None) -> None:
        try:
            concept, new = import_concept(
                study=study, content=file.read_bytes(), accept=by is not None, by=by
            )
            if by is not None and concept.members.filter(state="accepted").exists():
                make_version(concept=concept, by=by)
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror or 'cannot be read'}.") from None
        except NotAllowed as refused:
            raise CommandError(str(refused)) from None
        except ConceptRefused as refused:
            raise CommandError(f"{file.name}: {refused}") from None
        self.stdout.write(f"{concept.name}: {new} new members")
