"""What somebody may have meant who named something that is not there."""

import difflib
from collections.abc import Collection

SHOWN = 5


def nearest(word: str, names: Collection[str]) -> str:
    """The next sentence: ` Did you mean 'customer'?`, or else some of what there is."""
    folded = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(word.casefold(), folded, n=3)
    # People also type customer for shop.public.customer.
    found = [folded[each] for each in close] or sorted(folded[each] for each in folded if word.casefold() in each)[:3]
    if found:
        return f" Did you mean {' or '.join(map(repr, found))}?"
    return f" Known are {some(names)}." if names else " None is known yet."


def some(names: Collection[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(map(repr, sorted(names)[:SHOWN]))}{more}"
