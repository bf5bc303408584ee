"""Suggestions for a name that does not exist."""

import difflib
from collections.abc import Collection

SHOWN = 5


def nearest(word: str, names: Collection[str]) -> str:
    """The next sentence: ` Did you mean 'customer'?`, or else some of what there is."""
    folded = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(word.casefold(), folded, n=3)
    # Or part of a name: customer for shop.public.customer.
    containing = sorted(folded[each] for each in folded if word.casefold() in each)
    suggested = [folded[each] for each in close] or containing[:3]
    if suggested:
        return f" Did you mean {' or '.join(map(repr, suggested))}?"
    return f" Known are {first_of(names)}." if names else " None is known yet."


def first_of(names: Collection[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(map(repr, sorted(names)[:SHOWN]))}{more}"
