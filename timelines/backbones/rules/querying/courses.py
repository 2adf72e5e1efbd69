"""Infusions, devices and supports that go on for hours.

Their begin and their end are two occurrences.
"""

from __future__ import annotations

#: Given by infusion in intensive care: "off" is the end of the infusion.
CONTINUOUS = frozenset(
    {
        "pressor", "inotrope", "sedative", "paralytic", "norepinephrine", "vasopressin", "phenylephrine", "epinephrine", "dopamine",
        "angiotensin ii", "dobutamine", "milrinone", "isoproterenol", "propofol", "fentanyl", "midazolam", "dexmedetomidine", "ketamine",
        "cisatracurium", "rocuronium", "insulin", "amiodarone", "diltiazem", "esmolol", "nicardipine", "clevidipine", "nitroglycerin",
        "nitroprusside", "octreotide", "sodium bicarbonate", "argatroban", "bivalirudin", "lidocaine", "procainamide",
    }
)  # fmt: skip

#: Devices and supports with a begin and an end; for other procedures both rows are one moment.
LASTING = frozenset(
    {
        "invasive ventilation", "extubation", "noninvasive ventilation", "tracheostomy", "arterial line", "central line", "introducer",
        "pa catheter", "picc", "dialysis catheter", "peripheral iv", "iabp", "pacing wires", "crrt", "hemodialysis", "chest tube", "foley",
        "evd", "feeding tube", "wound vac",
    }
)  # fmt: skip
