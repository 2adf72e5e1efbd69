"""Find the stays: Encounters that are not part of another one.

An Encounter that is part of another (an intensive care stay, an emergency visit) belongs to its
stay, and so do the resources that name it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from ehr.formats.base import LONGEST_CASE_ID, EncounterRecord, Rejection
from ehr.formats.fhir.elements import Fault, Resource
from ehr.formats.fhir.files import FhirFile
from ehr.formats.fhir.references import parse_reference
from ehr.formats.fhir.times import Moment, find_end
from ehr.formats.fhir.visits import Visit

#: In place of a place: an Encounter of the input that is no stay of the dataset.
OUTSIDE = -1
TWICE = "the encounter appears twice"
UNKNOWN = "names an encounter that the input does not have"


class Stays:
    """The encounters of the dataset, and which of them a resource is of."""

    def __init__(
        self,
        visits: list[Visit],
        patients: Mapping[str, str],
        chosen: frozenset[str] | None = None,
        faulty: Iterable[str] = (),
    ) -> None:
        """Take the Encounters in order; `patients` is key → subject key.

        `faulty` are the keys of rejected Encounters.
        """
        self.encounters: list[EncounterRecord] = []
        self.rejections: list[Rejection] = []
        self._patients = patients
        self._places: dict[str, int] = dict.fromkeys(faulty, OUTSIDE)
        self._visits: dict[str, Visit] = {}
        self._own: dict[tuple[str, int], int] = {}
        self._by_subject: dict[str, list[int]] = defaultdict(list)
        #: First and last time of each stay and its parts; None if the end is not known.
        self._windows: list[tuple[datetime, datetime | None]] = []
        first = [visit for visit in visits if self._register(visit)]
        taken: set[str] = set()
        for visit in first:
            if not visit.part_of and visit.happened and (chosen is None or visit.case_id in chosen):
                self._add_stay(visit, taken)
        for visit in first:
            if visit.part_of and visit.happened:
                self._add_part(visit)

    def subject_of(self, reference: Resource | None) -> str:
        """Return the subject key of a patient, "" if none is named."""
        return self._say_subject(parse_reference(reference, "Patient"))

    def find(self, reference: Resource | None, field: str, subject: str) -> int | None:
        """Return the place of the encounter that a resource names.

        None if it names none; OUTSIDE for an Encounter that is no stay. Raises Fault if the input
        does not have it, or if it is of another patient.
        """
        key = parse_reference(reference, "Encounter")
        if not key or key.startswith("EpisodeOfCare/"):
            return None
        place = self._places.get(key)
        if place is None:
            raise Fault(field, UNKNOWN)
        if place != OUTSIDE and subject and subject != self.encounters[place].subject_key:
            raise Fault("subject", "not the patient of this encounter")
        return place

    def find_visit(self, file: FhirFile, number: int) -> int:
        """Return the place of the stay of an Encounter, OUTSIDE without one."""
        return self._own.get((file.name, number), OUTSIDE)

    def find_by_time(self, subject: str, moment: Moment) -> int:
        """Return the place of the only stay of a patient at a time.

        OUTSIDE if there is none. Raises Fault if there may be several, or if nothing says it.
        """
        places = self._by_subject.get(subject)
        if not places:
            return OUTSIDE
        if moment.time is None:
            raise Fault("encounter", "neither an encounter nor a time says which stay it is of")
        first = moment.time
        last = find_end(moment)
        windows = ((place, *self._windows[place]) for place in places)
        within = [(p, end) for p, start, end in windows if start <= last and (end or last) >= first]
        if not within:
            return OUTSIDE
        if len(within) > 1:
            raise Fault("encounter", "no encounter is named, and the patient has several then")
        place, end = within[0]
        if end is None and self.encounters[place].admitted_at < first:
            raise Fault("encounter", "no encounter is named, and the stay then has no discharge")
        return place

    def places_of(self, subject: str) -> Iterator[int]:
        """Yield the places of a patient's stays."""
        return iter(self._by_subject.get(subject, ()))

    def _register(self, visit: Visit) -> bool:
        """Make the Encounter known; False and a rejection for a second one."""
        if any(key in self._visits for key in visit.keys if "?" not in key):
            self.rejections.append(visit.reject("id", TWICE))
            return False
        for key in visit.keys:
            self._visits.setdefault(key, visit)
            self._places.setdefault(key, OUTSIDE)
        return True

    def _add_stay(self, visit: Visit, taken: set[str]) -> None:
        """Add the stay, or reject it."""
        subject = self._say_subject(visit.subject)
        admitted, left = visit.start.time, visit.end.time
        if not 0 < len(subject) <= LONGEST_CASE_ID or not subject.isprintable():
            self.rejections.append(visit.reject("subject", "the stay names no patient"))
        elif admitted is None:
            self.rejections.append(visit.reject("period.start", "the time of admission is missing"))
        elif visit.case_id in taken:
            self.rejections.append(visit.reject("identifier", TWICE))
        else:
            taken.add(visit.case_id)
            place = len(self.encounters)
            ended = find_end(visit.end) if left else datetime.max if visit.ongoing else None
            # A discharge on the day of the admission has no hour that could be before it.
            left = max(left, admitted) if left else None
            self.encounters.append(
                EncounterRecord(visit.case_id, admitted, left, visit.title, subject_key=subject)
            )
            self._by_subject[subject].append(place)
            self._windows.append((admitted, ended))
            self._assign(visit, place)

    def _add_part(self, visit: Visit) -> None:
        """Give a part of a stay the place of its stay."""
        stay, seen = visit, {visit.keys}
        while stay.part_of:
            above = self._visits.get(stay.part_of)
            if above is None:
                self.rejections.append(visit.reject("partOf", UNKNOWN))
                return
            if above.keys in seen:
                self.rejections.append(visit.reject("partOf", "the encounter is part of itself"))
                return
            stay = above
            seen.add(stay.keys)
        place = self._places[stay.keys[0]] if stay.keys else OUTSIDE
        subject = self._say_subject(visit.subject)
        if place != OUTSIDE and subject and subject != self.encounters[place].subject_key:
            self.rejections.append(visit.reject("subject", "not the patient of the stay"))
            return
        if place != OUTSIDE:
            start, end = self._windows[place]
            later = find_end(visit.end) if visit.end.time else end
            self._windows[place] = (
                min(start, visit.start.time or start),
                end and later and max(end, later),
            )
        self._assign(visit, place)

    def _assign(self, visit: Visit, place: int) -> None:
        self._own[visit.file.name, visit.piece.number] = place
        own = [key for key in visit.keys if self._visits[key] is visit]
        self._places.update(dict.fromkeys(own, place))

    def _say_subject(self, key: str) -> str:
        return self._patients.get(key) or key.removeprefix("Patient/")
