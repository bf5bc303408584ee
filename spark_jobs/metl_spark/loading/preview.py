"""Shows how many messages a load would read."""

from metl.util.terminal import console, table


def show(counts: dict[str, int]) -> None:
    """Without expired messages. What a checkpoint has passed already counts as well."""
    shown = table("topic", "messages")
    for topic, count in sorted(counts.items()):
        shown.add_row(topic, f"{count:,}")
    shown.add_row("all", f"{sum(counts.values()):,}")
    console.print(shown, markup=False)
