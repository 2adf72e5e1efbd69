"""Access to concepts and their samples."""

from __future__ import annotations

import json

from cohorts.concepts.actions import create_concept
from cohorts.models import Concept, ConceptRule, ConceptSample, ConceptVersion
from tests.integration.site.matrix.cohorts import ACT, ACT_ON
from tests.integration.site.matrix.timelines import LIST
from tests.integration.site.matrix.world import Row, World

#: Only admins; of an object, another study's admin gets 404.
ADMIN = {**ACT, "clinician": 403}
ADMIN_ON = {**ACT_ON, "clinician": 403}
#: The page of an object.
SHOW = {**ACT_ON, "clinician": 200, "admin": 200}
#: The sample is the clinician's.
OWN_PAGE = {**ACT_ON, "clinician": 200, "admin": 404}
OWN = {**ACT_ON, "admin": 404}


def _concept(world: World) -> dict[str, str]:
    found = Concept.objects.filter(study=world.study, archived_at__isnull=True).first()
    made = found or create_concept(study=world.study, name=_name(world)["name"], by=None)
    return {"public_id": made.public_id}


def _name(world: World) -> dict[str, str]:
    return {"name": f"matrix {Concept.objects.count()}"}


def _rule(world: World) -> dict[str, str]:
    concept = Concept.objects.get(public_id=_concept(world)["public_id"])
    rule, _ = ConceptRule.objects.get_or_create(concept=concept, kind="words", value="matrix")
    return {"rule": rule.public_id}


def _sample(world: World) -> dict[str, str]:
    concept = Concept.objects.get(public_id=_concept(world)["public_id"])
    version, _ = ConceptVersion.objects.get_or_create(
        concept=concept, number=1, defaults={"members": [], "sha256": "0" * 64}
    )
    sample, _ = ConceptSample.objects.get_or_create(
        version=version, reviewer=world.people["clinician"], closed_at=None, defaults={"seed": 1}
    )
    return {"public_id": sample.public_id}


def _file(world: World) -> dict[str, str]:
    return {"content": json.dumps({"occurrent_concept": 1, **_name(world)})}


ROWS = [
    Row("cohorts:concepts", LIST),
    Row("cohorts:concept_create", ACT, method="post", data=_name),
    Row("cohorts:concept_import", ACT, method="post", data=_file),
    Row("cohorts:concept_vectors", ADMIN, method="post"),
    Row("cohorts:concept", SHOW, path=_concept),
    Row("cohorts:concept_describe", ACT_ON, method="post", path=_concept, data=_name),
    Row("cohorts:concept_decide", ACT_ON, method="post", path=_concept),
    Row("cohorts:concept_filter", ACT_ON, method="post", path=_concept),
    Row("cohorts:concept_version", ACT_ON, method="post", path=_concept),
    Row("cohorts:concept_rule_add", ACT_ON, method="post", path=_concept),
    Row("cohorts:concept_rule_end", ACT_ON, method="post", path=_concept, data=_rule),
    Row("cohorts:concept_meaning", ACT_ON, method="post", path=_concept),
    Row("cohorts:concept_export", SHOW, path=_concept),
    Row("cohorts:concept_sample_draw", ACT_ON, method="post", path=_concept),
    Row("cohorts:concept_sample", OWN_PAGE, path=_sample),
    Row("cohorts:concept_sample_answer", OWN, method="post", path=_sample),
    Row("cohorts:concept_sample_close", OWN, method="post", path=_sample),
    Row("cohorts:concept_archive", ADMIN_ON, method="post", path=_concept),
]
