"""Tokenize and normalize names, so that custNo, customer_number and number of customer are equal."""

import re
from functools import cache

# Splits customerID2 to customer, ID, 2 and HTTPServer to HTTP, Server.
TOKEN = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+|[^\W_]")
STOP_WORDS = {"a", "an", "at", "is", "of", "on", "the"}
#: Abbreviations, compounds and synonyms to their normal form.
SYNONYMS = {
    "acct": "account",
    "addr": "address",
    "adr": "address",
    "amt": "amount",
    "begin": "start",
    "birthdate": "birth date",
    "birthday": "birth date",
    "born": "birth date",
    "ccy": "currency",
    "cd": "code",
    "cnt": "count",
    "creation": "created",
    "curr": "currency",
    "cust": "customer",
    "datetime": "timestamp",
    "dept": "department",
    "desc": "description",
    "descr": "description",
    "dob": "birth date",
    "dt": "date",
    "emp": "employee",
    "family": "last",
    "firstname": "first name",
    "fname": "first name",
    "forename": "first name",
    "given": "first",
    "ident": "id",
    "identifier": "id",
    "inv": "invoice",
    "lastname": "last name",
    "lname": "last name",
    "mail": "email",
    "mobile": "phone",
    "msg": "message",
    "nbr": "id",
    "no": "id",
    "nr": "id",
    "num": "id",
    "number": "id",
    "org": "organization",
    "pct": "percent",
    "phonenumber": "phone",
    "plz": "postal code",
    "postcode": "postal code",
    "prod": "product",
    "qty": "quantity",
    "ref": "reference",
    "sex": "gender",
    "surname": "last name",
    "tel": "phone",
    "telephone": "phone",
    "ts": "timestamp",
    "updated": "changed",
    "modified": "changed",
    "url": "website",
    "usr": "user",
    "val": "value",
    "zip": "postal code",
    "zipcode": "postal code",
}


@cache
def tokenize(name: str) -> tuple[str, ...]:
    """The normalized tokens of a name, in its order. A name of stop words alone keeps them."""
    parts = [part.casefold() for part in TOKEN.findall(name)]
    parts = " ".join(parts).replace("e mail", "email").split()
    tokens = tuple(token for part in parts for token in SYNONYMS.get(part, _singular(part)).split())
    return tuple(token for token in tokens if token not in STOP_WORDS) or tokens or (name,)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def token_set(tokens: tuple[str, ...], context: tuple[str, ...] = ()) -> str:
    """The distinct tokens, sorted, so that their order does not count; without those that the context implies."""
    return " ".join(sorted(set(tokens) - set(context) or set(tokens)))
