"""Names as words, so that custNo, customer_number and number of customer are alike."""

import re
from functools import cache

# customerID2 and HTTPServer fall apart as people read them.
PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+|[^\W_]")
#: What says nothing about what an attribute means.
IDLE = {"a", "an", "at", "is", "of", "on", "the"}
#: One spelling for each of the words that people shorten, glue together or use for one another.
SPELLING = {
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
def words(name: str) -> tuple[str, ...]:
    """In the order of the name; of an idle name, all there is."""
    parts = [part.casefold() for part in PART.findall(name)]
    spelled = " ".join(parts).replace("e mail", "email").split()
    said = tuple(word for part in spelled for word in SPELLING.get(part, _singular(part)).split())
    return tuple(word for word in said if word not in IDLE) or said or (name,)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def text(said: tuple[str, ...], context: tuple[str, ...] = ()) -> str:
    """In one order, whatever the name has, and without what goes without saying where it stands."""
    return " ".join(sorted(set(said) - set(context) or set(said)))
