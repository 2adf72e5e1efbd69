"""Cards, menu entries and page guards that upper apps register.

They do so in `AppConfig.ready`; this app knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from accounts.models import Role, Study, User


@dataclass(frozen=True)
class Link:
    """A link of a card: words and an address."""

    words: str
    url: str


class Place(StrEnum):
    """Where the home page puts a card."""

    #: Its tasks are in the list of what the person does next.
    NEXT = "next"
    MAIN = "main"
    SIDE = "side"


@dataclass(frozen=True)
class Task:
    """Work of the person that is not finished.

    `link` goes on with it. `done` of `total` are drawn if there is a total. `due` says by when it
    should be done, if there is a day.
    """

    words: str
    link: Link
    detail: str = ""
    done: int = 0
    total: int = 0
    due: str = ""
    overdue: bool = False


@dataclass(frozen=True)
class Card:
    """One part of the home page.

    A template of the app's own gets it as `card`, with its data in `card.context`. The page lists
    the `tasks` of cards in the place NEXT, instead of their templates.
    """

    title: str
    lines: Sequence[str] = ()
    links: Sequence[Link] = ()
    template: str = "accounts/_card.html"
    context: Mapping[str, Any] = field(default_factory=dict)
    place: Place = Place.SIDE
    tasks: Sequence[Task] = ()
    #: The page's primary action if no task waits for the person.
    lead: Link | None = None


@dataclass(frozen=True)
class NavItem:
    """An entry of the main navigation, for people with one of `roles`.

    The roles are those in the active study. If `concerns` is given, it must be true as well.
    `routes`: the beginnings of the URL routes of its section, for example "runs/".
    """

    label: str
    url_name: str
    routes: tuple[str, ...]
    roles: frozenset[Role] = frozenset(Role)
    concerns: Callable[[User, Study], bool] | None = None
    #: For superusers alone, with any roles or none.
    for_superusers: bool = False


@dataclass(frozen=True)
class OpeningQuestion:
    """What a person is asked before pages show them some objects.

    `words` say what opening them means. The answer is stored for `object_ids`.
    """

    words: str
    object_ids: tuple[str, ...]


#: Builds a card for this person in this study; None if there is nothing to show.
HomeCard = Callable[[User, Study], Card | None]
#: Why this person must not open that object now, as a sentence for them; None to let them.
PageGuard = Callable[[User, str, str], str | None]
#: All objects of that type which a page guard closes to this person now: for lists, counts and
#: sums.
ClosedObjects = Callable[[User, str], Collection[str]]
#: What this person is asked before pages show these objects; None to show them at once.
AskBefore = Callable[[User, str, Collection[str]], OpeningQuestion | None]

_home_cards: list[tuple[int, HomeCard]] = []
_study_cards: list[tuple[int, HomeCard]] = []
_nav_items: list[tuple[int, NavItem]] = []
_page_guards: dict[PageGuard, tuple[ClosedObjects, frozenset[str]]] = {}
_opening_questions: list[AskBefore] = []


def register_home_card(build: HomeCard, *, order: int = 100) -> None:
    """Add a card; lower `order` comes first."""
    if build not in (known for _, known in _home_cards):
        _home_cards.append((order, build))


def register_study_card(build: HomeCard, *, order: int = 100) -> None:
    """Add a card to the study page of admins; lower `order` comes first."""
    if build not in (known for _, known in _study_cards):
        _study_cards.append((order, build))


def register_nav_item(item: NavItem, *, order: int = 100) -> None:
    """Add a navigation entry; lower `order` comes first."""
    if item not in (known for _, known in _nav_items):
        _nav_items.append((order, item))


def register_page_guard(
    guard: PageGuard, closed: ClosedObjects, object_types: Iterable[str]
) -> None:
    """Add a guard for objects of these types.

    Pages of one object ask `guard(user, object_type, object_id)`, all others ask `closed`.
    """
    _page_guards[guard] = (closed, frozenset(object_types))


def register_opening_question(ask: AskBefore) -> None:
    """Add a question that pages ask before they show objects."""
    if ask not in _opening_questions:
        _opening_questions.append(ask)


def find_opening_question(
    user: User, object_type: str, object_ids: Collection[str]
) -> OpeningQuestion | None:
    """Return the first question about showing these objects, or None."""
    questions = (ask(user, object_type, object_ids) for ask in _opening_questions)
    return next((question for question in questions if question is not None), None)


def home_cards(user: User, study: Study) -> list[Card]:
    """The cards that have something to say, in order."""
    return _build_cards(_home_cards, user, study)


def study_cards(user: User, study: Study) -> list[Card]:
    """The cards of the study page, in order."""
    return _build_cards(_study_cards, user, study)


def _build_cards(registered: list[tuple[int, HomeCard]], user: User, study: Study) -> list[Card]:
    built = (build(user, study) for _, build in sorted(registered, key=lambda entry: entry[0]))
    return [card for card in built if card is not None]


def nav_items(
    roles: frozenset[Role], user: User | None = None, study: Study | None = None
) -> list[NavItem]:
    """Return the entries for these roles in the study, in order.

    Entries that concern only some people need `user` and `study`.
    """
    items = (item for _, item in sorted(_nav_items, key=lambda entry: entry[0]))
    return [item for item in items if _concerns(item, roles, user, study)]


def _concerns(
    item: NavItem, roles: frozenset[Role], user: User | None, study: Study | None
) -> bool:
    if item.for_superusers:
        return user is not None and user.is_superuser
    if not item.roles & roles:
        return False
    if item.concerns is None:
        return True
    return user is not None and study is not None and item.concerns(user, study)


def veto(user: User, object_type: str, object_id: str) -> str | None:
    """The first guard's reason against opening the object, or None."""
    return next(
        (reason for guard in _page_guards if (reason := guard(user, object_type, object_id))), None
    )


def closed_objects(user: User, object_type: str) -> frozenset[str]:
    """Return the ids of the type's objects that are closed to the person now."""
    lists = (closed for closed, types in _page_guards.values() if object_type in types)
    return frozenset(object_id for closed in lists for object_id in closed(user, object_type))


def all_closed_objects(user: User) -> frozenset[str]:
    """Return the ids of everything that is closed to the person now."""
    types = frozenset[str]().union(*(types for _, types in _page_guards.values()))
    return frozenset[str]().union(*(closed_objects(user, one) for one in types))
