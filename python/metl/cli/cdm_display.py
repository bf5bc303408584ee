"""How plans of the canonical data model look."""

from collections import Counter
from collections.abc import Sequence

from rich.markup import escape

from metl.cdm.plan import Applied, Step
from metl.cli.display import console, table

SHOWN = 50


def show_plan(steps: Sequence[Step]) -> None:
    for step in steps:
        console.print(f"[bold]{escape(step.entity)}[/bold]  {_outcome(step)}", soft_wrap=True)
        for change in step.changes:
            console.print(f"  {escape(_change(change))}", soft_wrap=True)
        _show_cells(step)
    counted = Counter(step.outcome for step in steps)
    said = {
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
    console.print(", ".join(f"{counted[each]} {words}" for each, words in said.items() if counted[each]) + ".")


def _outcome(step: Step) -> str:
    said = {
        "new": f"[green]new[/green], version {step.version}",
        "next": f"version {step.live_version} → [green]{step.version}[/green]",
        "confirm": f"version {step.live_version} → [yellow]{step.version}[/yellow], which would wait as a plan",
        "waits": f"version {step.live_version} → [yellow]{step.version}[/yellow], which waits as plan {step.plan_id}",
        "unchanged": f"[dim]unchanged, version {step.live_version}[/dim]",
        "left": f"[dim]only in the database, version {step.live_version}; left alone[/dim]",
        "delete": f"[red]only in the database, version {step.live_version}; deleted[/red]",
    }
    if step.refusal:
        return f"version {step.live_version} → {step.version}: [red]{escape(step.refusal)}[/red]"
    return said[step.outcome]


def _change(change: dict[str, str]) -> str:
    name, was, becomes = (change.get(each, "") for each in ("attribute", "was", "becomes"))
    return {
        "added": f"+ {name}  {becomes}",
        "dropped": f"- {name}  {was}",
        "renamed": f"~ {was} → {name}  renamed",
        "retyped": f"~ {name}  {was} → {becomes}",
        "described": f"~ {name}  described: {becomes}" if name else f"~ described: {becomes}",
    }.get(change["change"], f"~ {name}  {change['change']}")


def _show_cells(step: Step) -> None:
    kept = [cell for cell in step.cells if cell.fate == "kept"]
    if kept:
        blocks = len({(cell.schema, cell.version) for cell in kept})
        versions = "1 schema version" if blocks == 1 else f"{blocks:,} schema versions"
        console.print(f"  {_cells(len(kept))} of {versions} go on.")
    if not step.lost:
        return
    console.print(f"  [red]{_cells(len(step.lost))} lost:[/red]")
    shown = table("  schema", "version", "attribute", "entity attribute", "because")
    for cell in step.lost[:SHOWN]:
        names = (f"  {cell.schema}", str(cell.version), cell.attribute, cell.entity_attribute, cell.reason or "")
        shown.add_row(*map(escape, names))
    console.print(shown)
    if len(step.lost) > SHOWN:
        console.print(f"  and {len(step.lost) - SHOWN:,} more, which --json lists.")


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count:,} cells"


def show_applied(steps: Sequence[Step], applied: Sequence[Applied]) -> None:
    lost = {step.entity: len(step.lost) for step in steps}
    for each in applied:
        if each.plan_id is not None:
            said = (
                f"version {each.version} would lose {_cells(lost[each.entity])} and waits as plan {each.plan_id}: "
                f"select metl.confirm_plan({each.plan_id}) or metl.reject_plan({each.plan_id}), then metl cdm publish"
            )
        elif each.deleted:
            said = f"version {each.version} was deleted in state {each.state}; {_cells(lost[each.entity])} lost"
        else:
            said = f"version {each.version} since state {each.state}; {_cells(lost[each.entity])} lost"
        console.print(f"[bold]{escape(each.entity)}[/bold]  {said}.", soft_wrap=True)
    for step in steps:
        if step.outcome == "waits":
            console.print(f"[bold]{escape(step.entity)}[/bold]  {_outcome(step)}.", soft_wrap=True)
    left = [step.entity for step in steps if step.outcome == "left"]
    if left:
        console.print(f"Only in the database, and left alone: {escape(', '.join(left))}.", soft_wrap=True)
    if not applied:
        console.print("Nothing had to be changed.")
