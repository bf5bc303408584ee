"""Where attributes that map to nothing might belong: ranked by names and types, never applied by itself."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from rapidfuzz import fuzz, process

from metl.matrix.tokens import text, words

#: What a score is made of: the name of the attribute, and whether the schema and the entity belong together.
NAME, KINSHIP = 0.85, 0.15
#: The name is mapped so in the matrix already: for certain by one schema, and more if none maps it otherwise.
KNOWN, UNDISPUTED = 0.97, 0.03
SAME_NAME = 0.95
SAME_WORDS = 0.93
#: Below this two names have nothing in common; of a schema and an entity, whose names are short, more is needed.
ALIKE, AKIN = 0.5, 0.6
#: An entity has as many of the schema's other attributes as none else.
RESEMBLES = 0.9
COMPATIBLE = 0.9
#: Almost anything can be written down.
AS_TEXT = 0.8
INCOMPATIBLE = 0.6
FAMILIES = [
    {"integer", "decimal", "float"},
    {"date", "timestamp"},
    {"string", "uuid"},
    {"json", "object", "array"},
]


class Attribute(NamedTuple):
    schema: str
    version: int
    attribute: str
    type: str


class Target(NamedTuple):
    entity: str
    entity_version: int
    entity_attribute: str
    type: str

    @property
    def place(self) -> tuple[str, str]:
        return self.entity, self.entity_attribute


class Suggestion(NamedTuple):
    target: Target
    score: float
    #: How many schemas map an attribute of this name so.
    elsewhere: int


@dataclass(frozen=True)
class Matrix:
    """What is mapped already."""

    #: Of each name of an attribute, the schemas that map it to an entity attribute.
    known: dict[str, dict[tuple[str, str], set[str]]]
    #: The entities that each schema feeds, and of each the attributes that are taken in the version that is looked at.
    taken: dict[str, dict[str, set[str]]]


class Ranking:
    def __init__(self, targets: Iterable[Target], matrix: Matrix, attributes: Iterable[Attribute] = ()) -> None:
        """Of `attributes`, those of one schema tell together which entity it resembles."""
        self._matrix = matrix
        self._targets = list(targets)
        self._by_place = {each.place: each for each in self._targets}
        self._by_name: dict[str, list[Target]] = defaultdict(list)
        self._by_text: dict[str, list[Target]] = defaultdict(list)
        for target in self._targets:
            said = words(target.entity_attribute)
            self._by_name[text(said)].append(target)
            self._by_text[text(said, words(target.entity))].append(target)
        self._texts = list(self._by_text)
        self._known: dict[str, dict[tuple[str, str], set[str]]] = defaultdict(lambda: defaultdict(set))
        for name, places in matrix.known.items():
            for place, schemas in places.items():
                self._known[text(words(name))][place] |= schemas
        self._by_schema: dict[str, set[str]] = defaultdict(set)
        for attribute in attributes:
            self._by_schema[attribute.schema].add(_meaning(attribute))
        self._alike = cache(self._find_alike)
        self._kinship = cache(self._find_kinship)
        self._resemblance = cache(self._find_resemblance)

    def best(self, attribute: Attribute, count: int, least: float) -> list[Suggestion]:
        """The best first."""
        best = _Best(count, least)
        name = text(words(attribute.attribute))
        known = self._known.get(name, {})
        for place, schemas in known.items():
            if place in self._by_place:
                likeness = KNOWN + UNDISPUTED * len(schemas) / sum(map(len, known.values()))
                self._offer(best, attribute, self._by_place[place], likeness, len(schemas))
        done = set(known)
        for target in self._by_name.get(name, []):
            if target.place not in done:
                done.add(target.place)
                same = attribute.attribute == target.entity_attribute
                self._offer(best, attribute, target, SAME_NAME if same else SAME_WORDS)
        for other, likeness in self._alike(_meaning(attribute)):
            # From here on no kinship could lift one above what is found already.
            if NAME * likeness + KINSHIP < best.floor:
                break
            for target in self._by_text[other]:
                if target.place not in done:
                    self._offer(best, attribute, target, likeness)
        return best.ranked()

    def _offer(self, best: "_Best", attribute: Attribute, target: Target, likeness: float, elsewhere: int = 0) -> None:
        kinship = self._kinship(attribute.schema, target.entity)
        score = round((NAME * likeness + KINSHIP * kinship) * likeness_of_types(attribute.type, target.type), 3)
        if score >= best.floor and target.entity_attribute not in self._taken(attribute.schema, target.entity):
            best.add(Suggestion(target, score, elsewhere))

    def _taken(self, schema: str, entity: str) -> set[str]:
        return self._matrix.taken.get(schema, {}).get(entity, set())

    def _find_alike(self, wanted: str) -> list[tuple[str, float]]:
        """The texts of targets that are like this one, the best first."""
        close = process.extract(wanted, self._texts, scorer=fuzz.ratio, limit=None, score_cutoff=100 * ALIKE)
        return [(other, SAME_WORDS * score / 100) for other, score, _ in close]

    def _find_kinship(self, schema: str, entity: str) -> float:
        if entity in self._matrix.taken.get(schema, {}):
            return 1.0
        likeness = fuzz.ratio(text(words(_last_part(schema))), text(words(entity))) / 100
        return max(likeness if likeness >= AKIN else 0.0, RESEMBLES * self._resemblance(schema).get(entity, 0.0))

    def _find_resemblance(self, schema: str) -> dict[str, float]:
        """How much of the schema each entity has, beside the one that has most; what many have says little."""
        shares: dict[str, float] = defaultdict(float)
        for meaning in self._by_schema.get(schema, ()):
            entities = {target.entity for target in self._by_text.get(meaning, ())}
            for entity in entities:
                shares[entity] += 1 / len(entities)
        most = max(shares.values(), default=0.0)
        return {entity: share / max(most, 1.0) for entity, share in shares.items()}


class _Best:
    """So many with the highest scores; of equal ones those that came first."""

    def __init__(self, count: int, least: float) -> None:
        self._count = count
        #: What a score has to reach now.
        self.floor = least
        # The worst of them comes first.
        self._heap: list[tuple[float, int, Suggestion]] = []
        self._seen = 0

    def add(self, suggestion: Suggestion) -> None:
        self._seen += 1
        entry = (suggestion.score, -self._seen, suggestion)
        if len(self._heap) < self._count:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heappushpop(self._heap, entry)
        if len(self._heap) == self._count:
            self.floor = max(self.floor, self._heap[0][0])

    def ranked(self) -> list[Suggestion]:
        return [suggestion for _, _, suggestion in sorted(self._heap, reverse=True)]


@cache
def likeness_of_types(source: str, target: str) -> float:
    if source == target or "any" in (source, target):
        return 1.0
    if any({source, target} <= family for family in FAMILIES):
        return COMPATIBLE
    return AS_TEXT if target == "string" else INCOMPATIBLE


def one_to_one(
    suggested: Sequence[tuple[Attribute, Sequence[Suggestion]]],
) -> dict[tuple[str, int, str], dict[str, str]]:
    """For each block, the best pairs that go together; an attribute whose best place is taken goes without."""
    ranked = sorted(((found[0], attribute) for attribute, found in suggested if found), key=lambda each: -each[0].score)
    pairs: dict[tuple[str, int, str], dict[str, str]] = defaultdict(dict)
    for suggestion, attribute in ranked:
        block = pairs[attribute.schema, attribute.version, suggestion.target.entity]
        block.setdefault(suggestion.target.entity_attribute, attribute.attribute)
    return pairs


def _meaning(attribute: Attribute) -> str:
    """The film_id of a film is its id."""
    return text(words(attribute.attribute), words(_last_part(attribute.schema)))


def _last_part(schema: str) -> str:
    """Of shop.public.customer it is the customer that says something."""
    return schema.rpartition(".")[2] or schema
