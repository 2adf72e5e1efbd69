"""Find the readings that a condition without a number describes.

Examples: "hypotensive", "febrile". Limits are the usual clinical ones for adults; a reading outside
them is not evidence for the condition.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """A range: readings strictly above `above` or strictly below `below`.

    With `under`, readings between `above` and `under` fit.
    """

    above: float | None = None
    below: float | None = None
    under: float | None = None

    def fit(self, value: float) -> bool:
        if self.under is not None and self.above is not None:
            return self.above < value < self.under
        return (self.above is not None and value > self.above) or (
            self.below is not None and value < self.below
        )


#: (words of the condition, words of the event name, limits). The size of a °F row identifies it.
_TABLE: tuple[tuple[str, str, Limits], ...] = (
    (r"(?:no|without) (?:eye opening|motor|response|verbal)", r"gcs", Limits(below=2.0)),
    (
        r"eye\w* .{0,20}(?:pain|noxious)|to (?:pain|noxious)",
        r"eye opening",
        Limits(above=1.0, under=3.0),
    ),
    (
        r"eye\w* .{0,20}(?:voice|speech|command)|to voice",
        r"eye opening",
        Limits(above=2.0, under=4.0),
    ),
    (r"spontaneous", r"eye opening", Limits(above=3.0)),
    (r"locali[sz]", r"motor", Limits(above=4.0, under=6.0)),
    (r"withdr[ae]w", r"motor", Limits(above=3.0, under=5.0)),
    (r"nonverbal|no verbal|mute", r"verbal", Limits(below=2.0)),
    (r"inattent|(?:poor|lost|no|impaired) attention", r"inattention", Limits(above=0.0)),
    (r"\battentive|attention (?:was )?(?:normal|intact)", r"inattention", Limits(below=1.0)),
    (r"disorgani[sz]ed", r"disorgani[sz]ed", Limits(above=0.0)),
    (r"cam(?:-icu)? ?\+|positive cam", r"cam icu", Limits(above=0.0)),
    (r"negative cam", r"cam icu", Limits(below=1.0)),
    (r"full strength|normal strength|full power", r"strength", Limits(above=4.0)),
    (r"\bweak|paresis|plegi", r"strength", Limits(below=5.0)),
    (r"cleared? mentally|delirium (?:had )?cleared", r"cam icu", Limits(below=1.0)),
    (r"sweat|diaphore|clammy", r"paroxysmal sweats", Limits(above=0.0)),
    (r"seeing|hallucinat|visions", r"visual disturbances", Limits(above=0.0)),
    (r"hearing voices|auditory", r"auditory disturbance", Limits(above=0.0)),
    (r"breathless|dyspn|short(?:ness)? of breath|\bsob\b", r"dyspnea", Limits(above=0.0)),
    (
        r"(?:no|without|free of|denie[sd]) (?:\w+ )?pain|pain[- ]free|painless",
        r"pain level",
        Limits(below=1.0),
    ),
    (r"\borient", r"orientation", Limits(above=0.0)),
    (r"confus|disorient", r"orientation", Limits(below=1.0)),
    (r"cam(?:-icu)? (?:was )?pos|deliri", r"cam icu", Limits(above=0.0)),
    (r"cam(?:-icu)? (?:was )?neg", r"cam icu", Limits(below=1.0)),
    (r"hallucinat", r"disturbance", Limits(above=0.0)),
    (r"polyuri|brisk", r"foley|void|urine", Limits(above=200.0)),
    (r"low[- ]grade", r"temperature fahrenheit", Limits(above=99.2)),
    (r"low[- ]grade", r"temperature celsius", Limits(above=37.3)),
    (r"hypotherm", r"temperature fahrenheit", Limits(below=96.0)),
    (r"hypotherm", r"temperature celsius", Limits(below=35.6)),
    (r"defervesc|afebrile", r"temperature fahrenheit", Limits(below=100.4)),
    (r"defervesc|afebrile", r"temperature celsius", Limits(below=38.0)),
    (r"fever|febrile|pyrexia|rigor|chill|spike", r"temperature fahrenheit", Limits(above=100.2)),
    (r"fever|febrile|pyrexia|rigor|chill|spike", r"temperature celsius", Limits(above=37.9)),
    (
        r"(?<!ventricular )tachycardi|rvr|rapid ventricular|tachy\b|\bsvt",
        r"heart rate",
        Limits(above=99.0),
    ),
    (r"\bvt\b|ventricular tachycardia|palpitation", r"heart rate", Limits(above=109.0)),
    (r"bradycardi|brady\b", r"heart rate", Limits(below=60.0)),
    (r"hypotens|shock|hemodynamic(?:ally)? (?:un|in)stab", r"systolic|bps", Limits(below=95.0)),
    (r"hypotens", r"mean", Limits(below=65.0)),
    (r"hypertens", r"systolic|bps", Limits(above=140.0)),
    (r"tachypne", r"respiratory rate|rr", Limits(above=22.0)),
    (r"bradypne|apne", r"respiratory rate|rr", Limits(below=10.0)),
    (r"desat|hypox", r"saturation|spo2", Limits(below=92.0)),
    (r"hypercap|hypercarb", r"co2|carbon dioxide .partial", Limits(above=45.0)),
    (r"acid", r"\bph\b", Limits(below=7.35)),
    (r"alkal", r"\bph\b", Limits(above=7.45)),
    (r"lact", r"lact", Limits(above=2.0)),
    (r"hyponatr", r"sodium", Limits(below=135.0)),
    (r"hypernatr", r"sodium", Limits(above=145.0)),
    (r"hyperkal", r"potassium", Limits(above=5.0)),
    (r"hypokal", r"potassium", Limits(below=3.6)),
    (r"hyperglyc", r"glucose", Limits(above=180.0)),
    (r"hypoglyc", r"glucose", Limits(below=70.0)),
    (r"hypocalc", r"calcium", Limits(below=8.4)),
    (r"hypercalc", r"calcium", Limits(above=10.3)),
    (r"hypomagn", r"magnesium", Limits(below=1.7)),
    (r"hypophosph", r"phosph", Limits(below=2.7)),
    (r"hyperphosph", r"phosph", Limits(above=4.5)),
    (r"leukocyt", r"white|wbc|^lab:leukocytes", Limits(above=11.0)),
    (r"leukopen", r"white|wbc|^lab:leukocytes", Limits(below=4.0)),
    (r"neutropen", r"neut", Limits(below=1.5)),
    (r"anemi", r"hemoglobin", Limits(below=11.0)),
    (r"thrombocytop", r"platelet", Limits(below=150.0)),
    (r"thrombocytos", r"platelet", Limits(above=450.0)),
    (r"coagulopath", r"inr|pt\b|ptt|prothrombin", Limits(above=1.4)),
    (r"kidney|renal|aki|arf|azotem|urem", r"creatinine|urea|bun", Limits(above=1.3)),
    (r"transamin|shock liver|hepatit", r"alanine|alt|asparate|ast", Limits(above=60.0)),
    (r"bilirubin|jaundic", r"bilirubin", Limits(above=1.5)),
    (r"rhabdo", r"kinase|ck", Limits(above=1000.0)),
    (r"nstemi|ischemia", r"troponin", Limits(above=0.03)),
    (r"pancreat", r"lipase", Limits(above=120.0)),
    (r"hyperammon", r"ammonia", Limits(above=50.0)),
    (r"triglycerid", r"triglyceride", Limits(above=200.0)),
    (r"oligur|anur", r"foley|void|urine", Limits(below=40.0)),
    (r"agitat", r"richmond|agitation", Limits(above=0.0)),
    (r"sedat|somnol|drows|letharg|sleepy|arousable", r"richmond", Limits(below=0.0)),
    (r"tremor|tremul|withdraw", r"tremor", Limits(above=0.0)),
    (r"follow|obey|purposeful", r"motor", Limits(above=5.0)),
    (r"unrespons|comat|obtund", r"gcs|glasgow", Limits(below=4.0)),
)
_COMPILED = tuple((re.compile(words), re.compile(event), limits) for words, event, limits in _TABLE)
_NEGATED = re.compile(
    r"\b(?:no|not|without|never|denie[sd]|negative for|free"
    r" of|resolv\w*|recover\w*|normali[sz]\w*|improv\w*|cleared)\b",
    re.IGNORECASE,
)


def fits_condition(text: str, event: str, value: float) -> bool | None:
    """Return whether a reading fits the condition that a text names.

    None if the text names none for this event. A negated or resolved condition ("no fever",
    "desaturation resolved") fits readings outside the limits.
    """
    text, event = text.lower(), event.lower().replace("-", " ")
    for words, name, limits in _COMPILED:
        if words.search(text) and name.search(event):
            return limits.fit(value) != (bool(_NEGATED.search(text)) and "no" not in words.pattern)
    return None
