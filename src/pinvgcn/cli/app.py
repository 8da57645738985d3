"""The commands, put together."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from pinvgcn.cli.classify import EXAMPLES as CLASSIFY
from pinvgcn.cli.classify import classify
from pinvgcn.cli.compare import compare
from pinvgcn.cli.datasets import datasets
from pinvgcn.cli.demo import demo
from pinvgcn.cli.doctor import doctor
from pinvgcn.cli.explain import EXAMPLES as EXPLAIN
from pinvgcn.cli.explain import explain
from pinvgcn.cli.failure import run
from pinvgcn.cli.label import label
from pinvgcn.cli.predict import EXAMPLES as PREDICT
from pinvgcn.cli.predict import predict
from pinvgcn.cli.reproduce import reproduce
from pinvgcn.cli.segment import EXAMPLES as SEGMENT
from pinvgcn.cli.segment import segment

# what `pinvgcn` alone prints: the five things that one can do
FIRST = """pinvgcn classifies every point of a scan, or every row of a table, from a few labels.

  see it work                  pinvgcn demo
  classify a scan              pinvgcn segment scan.laz --labels classification -o done.laz
  label a scan by clicking     pinvgcn label scan.laz
  classify a table             pinvgcn classify table.csv --target kind -o done.csv
  apply a saved model          pinvgcn predict town.model other.laz -o done.laz

All commands: pinvgcn --help. One of them: pinvgcn segment --help. Is this machine ready: pinvgcn doctor."""

app = typer.Typer(
    name="pinvgcn",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
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
        bool, typer.Option("--debug", help="Show the whole traceback of an error (or set PINVGCN_DEBUG=1).")
    ] = False,
) -> None:
    """Classify the points of a scan, the rows of a table or the nodes of a graph from a few labels."""
    if context.invoked_subcommand is None:
        typer.echo(FIRST)


app.command()(demo)
app.command(epilog=SEGMENT)(segment)
app.command(epilog=CLASSIFY)(classify)
app.command(epilog=PREDICT)(predict)
app.command(epilog=EXPLAIN)(explain)
app.command()(label)
app.command()(compare)
app.command()(reproduce)
app.command()(datasets)
app.command()(doctor)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    return run(app, sys.argv[1:] if arguments is None else list(arguments))
