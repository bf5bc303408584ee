"""metl stack fetch: the Java parts."""

import asyncio
import shutil
from pathlib import Path

import click

from metl.capture import plugin
from metl.errors import BadInput
from metl.jvm import jars, java
from metl.util.aio import run_all


@click.command(short_help="Download jars.")
@click.argument("configuration", nargs=-1)
@click.option("--to", "target", type=click.Path(path_type=Path), help="Also copy them to folders in here.")
def fetch(configuration: tuple[str, ...], target: Path | None) -> None:
    """Download the jars of CONFIGURATIONs of ivy.xml (default: all) into the cache and print where they are.

    `metl up` does this by itself. It is for working offline later, for Docker
    (metl stack fetch debezium converter --to .metl/plugins) and for clusters (metl stack fetch spark --to jars).
    """
    configurations = jars.configurations()
    unknown = [name for name in configuration if name not in configurations]
    if unknown:
        raise BadInput(f"ivy.xml has no configuration {unknown[0]!r}. It has {', '.join(configurations)}.")
    java.machine_java()
    names = configuration or tuple(configurations)
    folders = asyncio.run(_fetch_all(names))
    for name, folder in zip(names, folders, strict=True):
        if target is not None:
            if (target / name / jars.MANIFEST).exists():
                # An older one of ours: two versions of a jar in one folder help nobody.
                shutil.rmtree(target / name)
            shutil.copytree(folder, target / name, dirs_exist_ok=True)
            if name == "debezium":
                plugin.add_converter(target / name / plugin.CONNECTOR)
            folder = target / name
        click.echo(f"{name:<9} {folder}")


async def _fetch_all(names: tuple[str, ...]) -> list[Path]:
    async def fetch_one(name: str) -> Path:
        return await jars.fetch(name, lambda text: click.echo(f"{name:<9} {text}"))

    return await run_all(*(fetch_one(name) for name in names))
