"""How plans of the canonical data model look."""

from collections import Counter
from collections.abc import Sequence

from metl.cdm.plan import Applied, Step
from metl.cli.output import print_cells
from metl.util.terminal import console, plural, printable, say

#: So many lost cells of an entity are shown on a terminal.
SHOWN = 100
WORDS = {
    "new": "new",
    "next": "with a next version",
    "confirm": "that would wait for confirmation",
    "waits": "waiting",
    "frozen": "frozen",
    "blocked": "blocked",
    "delete": "to be deleted",
    "unchanged": "unchanged",
    "left": "only in the database",
}


def show_plan(steps: Sequence[Step]) -> None:
    for step in steps:
        _title(step.entity, *_outcome(step))
        for change in step.changes:
            say(f"  {printable(_change(step, change))}")
        if step.warning:
            say(f"  {printable(step.warning)}", "yellow")
        _show_cells(step)
    count = Counter(step.outcome for step in steps)
    say(", ".join(f"{count[outcome]} {words}" for outcome, words in WORDS.items() if count[outcome]) + ".")


def _title(entity: str, text: str, style: str = "") -> None:
    console.print(f"{printable(entity)}  ", style="bold", end="", markup=False, soft_wrap=True)
    say(text, style)


def _outcome(step: Step) -> tuple[str, str]:
    """What becomes of it, and in which colour."""
    elevated = f"version {step.live_version} → {step.version}"
    if step.refusal:
        return f"{elevated}: {printable(step.refusal)}", "red"
    return {
        "new": (f"new, version {step.version}", "green"),
        "next": (elevated, "green"),
        "confirm": (f"{elevated}, which would wait as a plan", "yellow"),
        "waits": (f"{elevated}, which waits as plan {step.plan_id}", "yellow"),
        "unchanged": (f"unchanged, version {step.live_version}", "dim"),
        "left": (f"only in the database, version {step.live_version}; left alone", "dim"),
        "delete": (f"only in the database, version {step.live_version}; deleted", "red"),
    }[step.outcome]


def _change(step: Step, change: dict[str, str]) -> str:
    name, was, becomes = (change.get(each, "") for each in ("attribute", "was", "becomes"))
    added = f"+ {name}  {becomes}"
    if was and step.live_version is not None:
        added += f"; there is no {was!r} that it could be renamed from"
    return {
        "added": added,
        "dropped": f"- {name}  {was}",
        "renamed": f"~ {was} → {name}  renamed",
        "retyped": f"~ {name}  {was} → {becomes}",
        "described": f"~ {name}  described: {becomes}" if name else f"~ described: {becomes}",
    }.get(change["change"], f"~ {name}  {change['change']}")


def _show_cells(step: Step) -> None:
    kept = [cell for cell in step.cells if cell.fate == "kept"]
    if kept:
        blocks = len({(cell.schema, cell.version) for cell in kept})
        say(f"  {plural(len(kept), 'cell')} of {plural(blocks, 'schema version')} go on.")
    if not step.lost:
        return
    say(f"  {plural(len(step.lost), 'cell')} lost:", "red")
    print_cells({**vars(cell), "entity": step.entity} for cell in step.lost[:SHOWN])
    if len(step.lost) > SHOWN:
        say(f"  and {len(step.lost) - SHOWN:,} more, which --json lists.")


def show_applied(steps: Sequence[Step], applied: Sequence[Applied]) -> None:
    lost = {step.entity: plural(len(step.lost), "cell") for step in steps}
    for each in applied:
        if each.plan_id is not None:
            text = (
                f"version {each.version} would lose {lost[each.entity]} and waits as plan {each.plan_id}. Decide with: "
                f"metl plans confirm {each.plan_id} and then metl entities publish, or metl plans reject {each.plan_id}"
            )
        elif each.deleted:
            text = f"version {each.version} was deleted in state {each.state}; {lost[each.entity]} lost."
        else:
            text = f"version {each.version} since state {each.state}; {lost[each.entity]} lost."
        _title(each.entity, text)
    for step in steps:
        if step.outcome == "waits":
            _title(step.entity, *_outcome(step))
    if left := [step.entity for step in steps if step.outcome == "left"]:
        say(f"Only in the database, and left alone: {printable(', '.join(left))}.")
    if not applied:
        say("Nothing had to be changed.")
