"""How many messages a load would read, shown."""

from metl.util.terminal import console, table


def show(counts: dict[str, int]) -> None:
    """Without the messages that became too old for Kafka, and without looking into a checkpoint."""
    shown = table("topic", "messages")
    for topic, count in sorted(counts.items()):
        shown.add_row(topic, f"{count:,}")
    shown.add_row("all", f"{sum(counts.values()):,}")
    console.print(shown, markup=False)
