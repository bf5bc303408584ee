"""Messages mapped once more: those that outdated cells mapped, or some to compare two states with."""
