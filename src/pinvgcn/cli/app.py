"""The commands, put together."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from pinvgcn.cli.failure import run

# what `pinvgcn` alone prints: the five things that one can do
FIRST = """pinvgcn classifies every point of a scan, or every row of a table, from a few labels.

  see it work                  pinvgcn demo
  classify a scan              pinvgcn segment scan.laz --labels classification -o done.laz
  label a scan by clicking     pinvgcn label scan.laz
  classify a table             pinvgcn classify table.csv --target kind -o done.csv
  apply a saved model          pinvgcn predict town.model other.laz -o done.laz

All commands: pinvgcn --help. One of them: pinvgcn segment --help. Is this machine ready: pinvgcn doctor."""


# the default in typer's words; the range of a number is in the message about a wrong one
DEFAULT = re.compile(r" *\[(?:default: \(?([^;\]]*?)\)?)?;? ?(?:[\d.<=]*x[<>=\d.]*|required)?\]")


class CompactCommand(TyperCommand):
    """Its help is plain columns, with options that are rarely needed under headings of their own."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Usage with all that is required, what it does, options, examples."""
        sections: dict[str, list[tuple[str, str]]] = {}
        usage = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            name = record[0].partition(" <")[0] if "<" in record[0] else record[0]
            if parameter.required or not name.startswith("-"):
                needed = name.split(", ")[-1]
                usage.append(needed if parameter.required else f"[{needed}]")
            panel = getattr(parameter, "rich_help_panel", None) or "Options"
            text = DEFAULT.sub(lambda found: f" [{found[1]}]" if found[1] else "", record[1])
            sections.setdefault(panel, []).append((name, text))
        formatter.write(f"Usage: {' '.join([ctx.command_path, *usage, '[OPTIONS]'])}\n")
        formatter.write(f"{inspect.cleandoc(self.help or '')}\n")
        width = min(24, max(len(name) for rows in sections.values() for name, _ in rows))
        for title, rows in sections.items():
            formatter.write(f"{title}:\n")
            formatter.indent()
            formatter.write_dl([(f"{name:<{width}}", text) for name, text in rows], col_max=24)
            formatter.dedent()
        if self.epilog:
            formatter.write(f"Examples:\n  {self.epilog.strip().replace(chr(10), chr(10) + '  ')}\n")


app = typer.Typer(
    name="pinvgcn",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"pinvgcn {version('pinvgcn')}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    # ``run`` takes --debug out of the arguments wherever it stands; it is declared here for --help
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; or PINVGCN_DEBUG=1.")
    ] = False,
) -> None:
    """Classify the points of a scan, the rows of a table or the nodes of a graph from a few labels."""
    if context.invoked_subcommand is None:
        typer.echo(FIRST)


COMMANDS = "demo segment classify predict explain label compare reproduce datasets doctor"
for name in COMMANDS.split():  # each is a function of the module that has its name
    module = importlib.import_module(f"pinvgcn.cli.{name}")
    app.command(cls=CompactCommand, epilog=getattr(module, "EXAMPLES", None))(getattr(module, name))


def main(arguments: Sequence[str] | None = None) -> int:
    return run(app, sys.argv[1:] if arguments is None else list(arguments))
