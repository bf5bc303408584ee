"""How suggestions are ranked; no database needed."""

import time

import pytest

from metl.matrix.suggest import Attribute, Matrix, Ranking, Target, one_to_one, type_similarity
from metl.matrix.tokens import token_set, tokenize

ENTITIES = {
    "person": {
        "number": "integer",
        "first_name": "string",
        "last_name": "string",
        "email": "string",
        "phone": "string",
        "birth_date": "date",
        "gender": "string",
        "created_at": "timestamp",
    },
    "address": {
        "street": "string",
        "house_number": "string",
        "postal_code": "string",
        "city": "string",
        "country_code": "string",
    },
    "order": {
        "number": "integer",
        "ordered_at": "timestamp",
        "status": "string",
        "total_amount": "decimal",
        "currency": "string",
        "customer_number": "integer",
        "delivery_date": "date",
    },
    "product": {
        "sku": "string",
        "name": "string",
        "description": "string",
        "unit_price": "decimal",
        "stock_quantity": "integer",
        "weight": "decimal",
    },
    "payment": {
        "iban": "string",
        "amount": "decimal",
        "paid_at": "timestamp",
        "invoice_number": "string",
    },
}
#: As services call things, and where a person would put them.
EXPECTED = {
    ("crm.public.person", "personNo", "integer"): "person.number",
    ("crm.public.person", "forename", "string"): "person.first_name",
    ("crm.public.person", "surname", "string"): "person.last_name",
    ("crm.public.person", "e_mail", "string"): "person.email",
    ("crm.public.person", "mail_addr", "string"): "person.email",
    ("crm.public.person", "telephone", "string"): "person.phone",
    ("crm.public.person", "DateOfBirth", "date"): "person.birth_date",
    ("crm.public.person", "sex", "string"): "person.gender",
    ("crm.public.person", "creation_date", "timestamp"): "person.created_at",
    ("crm.public.addresses", "street_name", "string"): "address.street",
    ("crm.public.addresses", "houseNr", "string"): "address.house_number",
    ("crm.public.addresses", "zip", "string"): "address.postal_code",
    ("crm.public.addresses", "town_city", "string"): "address.city",
    ("crm.public.addresses", "countryCd", "string"): "address.country_code",
    ("shop.public.orders", "order_id", "integer"): "order.number",
    ("shop.public.orders", "order_status", "string"): "order.status",
    ("shop.public.orders", "amt_total", "decimal"): "order.total_amount",
    ("shop.public.orders", "currencyCode", "string"): "order.currency",
    ("shop.public.orders", "cust_no", "integer"): "order.customer_number",
    ("shop.public.orders", "delivery_dt", "date"): "order.delivery_date",
    ("pim.product_master", "SKU", "string"): "product.sku",
    ("pim.product_master", "productName", "string"): "product.name",
    ("pim.product_master", "descr", "string"): "product.description",
    ("pim.product_master", "price_per_unit", "decimal"): "product.unit_price",
    ("pim.product_master", "qty_in_stock", "integer"): "product.stock_quantity",
    ("pim.product_master", "weight_kg", "decimal"): "product.weight",
    ("bank.payments", "IBAN", "string"): "payment.iban",
    ("bank.payments", "payment_amt", "decimal"): "payment.amount",
    ("bank.payments", "paidOn", "timestamp"): "payment.paid_at",
    ("bank.payments", "inv_no", "string"): "payment.invoice_number",
}
TARGETS = [
    Target(entity, 1, name, kind) for entity, attributes in ENTITIES.items() for name, kind in attributes.items()
]
NOTHING = Matrix({}, {})


def best(schema: str, name: str, kind: str = "string", matrix: Matrix = NOTHING, least: float = 0.3) -> list[str]:
    found = Ranking(TARGETS, matrix).best(Attribute(schema, 1, name, kind), 5, least)
    return [f"{each.target.entity}.{each.target.entity_attribute}" for each in found]


def test_the_expected_target_is_first_in_most_cases() -> None:
    wrong = {key: best(*key)[:2] for key, wanted in EXPECTED.items() if best(*key)[:1] != [wanted]}
    assert len(wrong) <= len(EXPECTED) * 0.1, wrong


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("customer_number", "customer id"),
        ("CustNo", "customer id"),
        ("HTTPStatusCode2", "2 code http status"),
        ("e-mail", "email"),
        ("firstName", "first name"),
        ("at", "at"),
        ("日本", "日本"),
        ("größe_in_cm", "cm grösse in"),
        ("___", "___"),
    ],
)
def test_names_are_tokenized(name: str, expected: str) -> None:
    assert token_set(tokenize(name)) == expected


def test_tokens_that_the_context_implies_are_left_out() -> None:
    assert token_set(tokenize("customer_id"), tokenize("customer")) == "id"
    assert token_set(tokenize("customer"), tokenize("customer")) == "customer"


def test_scores_are_from_0_to_1_and_the_best_come_first() -> None:
    ranking = Ranking(TARGETS, Matrix({"x": {("person", "email"): {"a"}}}, {"s": {"person": set()}}))
    for name in ("x", "email", "number", "street_name", "", "q"):
        scores = [each.score for each in ranking.best(Attribute("s", 1, name, "string"), 100, 0)]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)


def test_what_the_name_maps_to_elsewhere_is_best() -> None:
    matrix = Matrix({"contact": {("person", "phone"): {"a", "b"}, ("person", "email"): {"c"}}}, {})
    assert best("crm.x", "contact", matrix=matrix)[:2] == ["person.phone", "person.email"]
    assert best("crm.x", "Contact", matrix=matrix)[:1] == ["person.phone"]
    [first] = Ranking(TARGETS, matrix).best(Attribute("crm.x", 1, "contact", "string"), 1, 0)
    assert first.elsewhere == 2
    # Even before another of the very same name.
    assert best("crm.x", "email", matrix=Matrix({"email": {("person", "phone"): {"a"}}}, {}))[0] == "person.phone"


def test_occupied_targets_are_not_suggested() -> None:
    matrix = Matrix({"mail": {("person", "email"): {"a"}}}, {"crm.person": {"person": {"email", "number"}}})
    assert "person.email" not in best("crm.person", "mail", matrix=matrix)
    assert "person.number" not in best("crm.person", "id", "integer", matrix=matrix)
    assert best("other.person", "mail", matrix=matrix)[0] == "person.email"


def test_an_entity_that_the_schema_feeds_comes_before_others() -> None:
    assert best("x.y", "number", "integer", Matrix({}, {"x.y": {"order": set()}}))[:2] == [
        "order.number",
        "person.number",
    ]
    assert best("x.persons", "number", "integer")[0] == "person.number"


def test_an_entity_that_has_most_of_the_schema_comes_before_others() -> None:
    """Films are movies, though no letter of their names says so."""
    film = [Attribute("rental.public.film", 1, name, "string") for name in ("title", "release_year", "length")]
    film.append(Attribute("rental.public.film", 1, "film_id", "integer"))
    entities = {"loan": ("number", "started_at"), "movie": ("number", "title", "length", "year_of_release")}
    targets = [
        Target(entity, 1, name, "integer" if name == "number" else "string")
        for entity, names in entities.items()
        for name in names
    ]
    first, second = Ranking(targets, NOTHING, film).best(film[-1], 2, 0)
    assert (first.target.key, second.target.key) == (("movie", "number"), ("loan", "number"))
    assert first.score > second.score
    # Of one attribute alone nobody can tell, and a letter in common says nothing.
    alone = Ranking(targets, NOTHING, film[-1:]).best(film[-1], 2, 0)
    assert alone[0].score == alone[1].score


def test_similarity_of_types() -> None:
    assert type_similarity("integer", "integer") == 1
    assert type_similarity("integer", "decimal") == type_similarity("date", "timestamp") == 0.9
    assert type_similarity("boolean", "string") > type_similarity("string", "boolean")
    assert best("bank.x", "amount", "decimal")[0] == best("bank.x", "amount", "integer")[0] == "payment.amount"


def test_pairs_to_apply_are_one_to_one() -> None:
    ranking = Ranking(TARGETS, NOTHING)
    wanted = [Attribute("crm.person", 1, name, "string") for name in ("mail", "email", "phone", "telephone_old", "zzz")]
    pairs = one_to_one([(each, ranking.best(each, 5, 0.5)) for each in wanted])
    assert pairs == {("crm.person", 1, "person"): {"email": "email", "phone": "phone"}}


def test_fast_enough() -> None:
    """3,000 attributes against 1,000 take a third of a second; benchmarks/suggest.py has more of them."""
    syllables = ["cus", "to", "mer", "or", "der", "num", "ber", "pro", "duct", "pay", "ment", "ad", "dress", "na", "me"]
    names = [f"{a}{b}_{c}" for a in syllables for b in syllables for c in syllables]
    targets = [Target(f"entity {n % 100}", 1, names[n * 3], "string") for n in range(1_000)]
    attributes = [Attribute(f"schema {n % 300}", 1, names[n], "string") for n in range(3_000)]
    began = time.monotonic()
    ranking = Ranking(targets, NOTHING)
    assert sum(bool(ranking.best(each, 5, 0.55)) for each in attributes) > 1_500
    assert time.monotonic() - began < 10
