"""The rules backbone has four stages and the caps of the protocol."""

import subprocess
import sys

from timelines.backbones.rules.backbone import rules_backbone
from timelines.pipeline.backbone import QueryWriter, Reviser, Tagger, TextTimer


def test_four_stages_under_one_name_without_a_case_cap() -> None:
    backbone = rules_backbone()
    assert (backbone.name, backbone.max_rows_per_occurrence, backbone.max_rows_per_case) == (
        "rules",
        3,
        None,
    )
    assert backbone.version
    stages: tuple[Tagger, TextTimer, QueryWriter, Reviser] = (
        backbone.tagger,
        backbone.timer,
        backbone.query_writer,
        backbone.reviser,
    )
    assert len({type(stage) for stage in stages}) == 4


def test_naming_the_backbone_loads_no_parser() -> None:
    check = "import sys, timelines.backbones.rules.backbone; sys.exit('spacy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
