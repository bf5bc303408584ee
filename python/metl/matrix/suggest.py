"""Suggests entity attributes for unmapped attributes, ranked by similarity of names and types. Applies nothing."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from rapidfuzz import fuzz, process

from metl.matrix.tokens import token_set, tokenize

#: A score is the weighted sum of two similarities, of the attributes' names and of schema and entity, times that of
#: the types.
NAME_WEIGHT, ENTITY_WEIGHT = 0.85, 0.15
#: Name similarity where another schema maps the same name to it; the bonus is for the share of schemas that do.
MAPPED_ELSEWHERE, AGREEMENT_BONUS = 0.97, 0.03
IDENTICAL_NAMES = 0.95
IDENTICAL_TOKENS = 0.93
#: Similarities below these are noise; names of schemas and entities are short, which makes chance matches likelier.
MIN_NAME_SIMILARITY, MIN_ENTITY_SIMILARITY = 0.5, 0.6
#: Similarity of a schema to the entity that has most of its attributes.
MAX_OVERLAP = 0.9
COMPATIBLE = 0.9
#: Almost any value can be converted to a string.
TO_STRING = 0.8
INCOMPATIBLE = 0.6
COMPATIBLE_TYPES = [
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
    def key(self) -> tuple[str, str]:
        return self.entity, self.entity_attribute


class Suggestion(NamedTuple):
    target: Target
    score: float
    #: How many schemas map an attribute of this name to the target.
    elsewhere: int


@dataclass(frozen=True)
class Matrix:
    """The existing mappings."""

    #: By attribute name and Target.key: the schemas that map it so.
    mapped: dict[str, dict[tuple[str, str], set[str]]]
    #: By schema and entity that it feeds: the entity attributes that its version in question maps already.
    occupied: dict[str, dict[str, set[str]]]


class Ranking:
    def __init__(self, targets: Iterable[Target], matrix: Matrix, attributes: Iterable[Attribute] = ()) -> None:
        """The `attributes` of one schema together show which entity it overlaps with."""
        self._matrix = matrix
        self._targets = list(targets)
        self._by_key = {each.key: each for each in self._targets}
        self._by_name: dict[str, list[Target]] = defaultdict(list)
        #: As _by_name, but without the tokens of the entity's name.
        self._by_short_name: dict[str, list[Target]] = defaultdict(list)
        for target in self._targets:
            tokens = tokenize(target.entity_attribute)
            self._by_name[token_set(tokens)].append(target)
            self._by_short_name[token_set(tokens, tokenize(target.entity))].append(target)
        self._short_names = list(self._by_short_name)
        self._mapped: dict[str, dict[tuple[str, str], set[str]]] = defaultdict(lambda: defaultdict(set))
        for name, targets_of_name in matrix.mapped.items():
            for key, schemas in targets_of_name.items():
                self._mapped[token_set(tokenize(name))][key] |= schemas
        self._by_schema: dict[str, set[str]] = defaultdict(set)
        for attribute in attributes:
            self._by_schema[attribute.schema].add(_short_name(attribute))
        self._similar_names = cache(self._compute_similar_names)
        self._entity_similarity = cache(self._compute_entity_similarity)
        self._overlap = cache(self._compute_overlap)

    def best(self, attribute: Attribute, count: int, min_score: float) -> list[Suggestion]:
        """The top `count` suggestions, the best first."""
        top = _TopN(count, min_score)
        name = token_set(tokenize(attribute.attribute))
        mapped = self._mapped.get(name, {})
        for key, schemas in mapped.items():
            if key in self._by_key:
                agreement = len(schemas) / sum(map(len, mapped.values()))
                similarity = MAPPED_ELSEWHERE + AGREEMENT_BONUS * agreement
                self._offer(top, attribute, self._by_key[key], similarity, len(schemas))
        done = set(mapped)
        for target in self._by_name.get(name, []):
            if target.key not in done:
                done.add(target.key)
                is_identical = attribute.attribute == target.entity_attribute
                self._offer(top, attribute, target, IDENTICAL_NAMES if is_identical else IDENTICAL_TOKENS)
        for short_name, similarity in self._similar_names(_short_name(attribute)):
            # Candidates are sorted: none after this can enter the top n.
            if NAME_WEIGHT * similarity + ENTITY_WEIGHT < top.min_score:
                break
            for target in self._by_short_name[short_name]:
                if target.key not in done:
                    self._offer(top, attribute, target, similarity)
        return top.ranked()

    def _offer(
        self, top: "_TopN", attribute: Attribute, target: Target, name_similarity: float, elsewhere: int = 0
    ) -> None:
        entity_similarity = self._entity_similarity(attribute.schema, target.entity)
        similarity = NAME_WEIGHT * name_similarity + ENTITY_WEIGHT * entity_similarity
        score = round(similarity * type_similarity(attribute.type, target.type), 3)
        if score >= top.min_score and target.entity_attribute not in self._occupied(attribute.schema, target.entity):
            top.add(Suggestion(target, score, elsewhere))

    def _occupied(self, schema: str, entity: str) -> set[str]:
        return self._matrix.occupied.get(schema, {}).get(entity, set())

    def _compute_similar_names(self, name: str) -> list[tuple[str, float]]:
        """Short names of targets with their similarity, the most similar first."""
        matches = process.extract(
            name, self._short_names, scorer=fuzz.ratio, limit=None, score_cutoff=100 * MIN_NAME_SIMILARITY
        )
        return [(match, IDENTICAL_TOKENS * ratio / 100) for match, ratio, _ in matches]

    def _compute_entity_similarity(self, schema: str, entity: str) -> float:
        if entity in self._matrix.occupied.get(schema, {}):
            return 1.0
        ratio = fuzz.ratio(token_set(tokenize(_table_name(schema))), token_set(tokenize(entity))) / 100
        by_name = ratio if ratio >= MIN_ENTITY_SIMILARITY else 0.0
        return max(by_name, MAX_OVERLAP * self._overlap(schema).get(entity, 0.0))

    def _compute_overlap(self, schema: str) -> dict[str, float]:
        """The share of the schema's attributes that each entity has, relative to the entity that has most.

        An attribute that many entities have counts less, as an inverse document frequency.
        """
        shares: dict[str, float] = defaultdict(float)
        for name in self._by_schema.get(schema, ()):
            entities = {target.entity for target in self._by_short_name.get(name, ())}
            for entity in entities:
                shares[entity] += 1 / len(entities)
        most = max(shares.values(), default=0.0)
        return {entity: share / max(most, 1.0) for entity, share in shares.items()}


class _TopN:
    """A bounded heap of the highest scores; of equal ones it keeps those that were added first."""

    def __init__(self, count: int, min_score: float) -> None:
        self._count = count
        #: The score to reach now; rises as the heap fills.
        self.min_score = min_score
        self._heap: list[tuple[float, int, Suggestion]] = []
        self._added = 0

    def add(self, suggestion: Suggestion) -> None:
        self._added += 1
        entry = (suggestion.score, -self._added, suggestion)
        if len(self._heap) < self._count:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heappushpop(self._heap, entry)
        if len(self._heap) == self._count:
            self.min_score = max(self.min_score, self._heap[0][0])

    def ranked(self) -> list[Suggestion]:
        return [suggestion for _, _, suggestion in sorted(self._heap, reverse=True)]


@cache
def type_similarity(source: str, target: str) -> float:
    if source == target or "any" in (source, target):
        return 1.0
    if any({source, target} <= types for types in COMPATIBLE_TYPES):
        return COMPATIBLE
    return TO_STRING if target == "string" else INCOMPATIBLE


def one_to_one(
    suggested: Sequence[tuple[Attribute, Sequence[Suggestion]]],
) -> dict[tuple[str, int, str], dict[str, str]]:
    """A greedy 1:1 matching for each block. An attribute whose best target is taken is left out."""
    best = ((suggestions[0], attribute) for attribute, suggestions in suggested if suggestions)
    pairs: dict[tuple[str, int, str], dict[str, str]] = defaultdict(dict)
    for suggestion, attribute in sorted(best, key=lambda each: -each[0].score):
        block = pairs[attribute.schema, attribute.version, suggestion.target.entity]
        block.setdefault(suggestion.target.entity_attribute, attribute.attribute)
    return pairs


def _short_name(attribute: Attribute) -> str:
    """Without the tokens of the table's name: film_id of table film is id."""
    return token_set(tokenize(attribute.attribute), tokenize(_table_name(attribute.schema)))


def _table_name(schema: str) -> str:
    """The customer of shop.public.customer."""
    return schema.rpartition(".")[2] or schema
