"""The rules backbone has four stages, and no row costs it anything."""

import subprocess
import sys

from timelines.backbones.rules.backbone import rules_backbone
from timelines.pipeline.backbone import QueryWriter, Reviser, Tagger, TextTimer
from timelines.pipeline.config import PipelineConfig, Preset, preset_config
from timelines.pipeline.expansion import Caps, find_caps


def test_four_stages_under_one_name_without_a_budget() -> None:
    backbone = rules_backbone()
    assert backbone.name == "rules"
    assert not backbone.pays_for_rows
    default, published = PipelineConfig(), preset_config(Preset.PUBLISHED)
    assert find_caps(backbone, default) == Caps(per_occurrence=8)
    assert find_caps(backbone, published) == Caps()
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
