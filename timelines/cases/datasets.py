"""Find a dataset by its name or public id."""

from __future__ import annotations

from ehr.models import Dataset


def find_dataset(name: str, study: str = "") -> Dataset:
    """Return the dataset of that name or public id.

    Raises LookupError, which lists the known ones, if none or several match.
    """
    datasets = Dataset.objects.select_related("study").order_by("name")
    if study:
        datasets = datasets.filter(study__name=study)
    found = list(datasets.filter(public_id=name)) or list(datasets.filter(name=name))
    if not found:
        known = (
            ", ".join(sorted({d.name for d in datasets}))
            or "none has been imported yet (manage.py import_dataset)"
        )
        raise LookupError(f"there is no dataset {name!r}; there is: {known}")
    if len(found) > 1:
        raise LookupError(
            f"{len(found)} studies have a dataset {name!r}; add --study, one of:"
            f" {', '.join(d.study.name for d in found)}"
        )
    return found[0]
