"""``pinvgcn explain``: why a saved model of a table gives a row its class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from pinvgcn.cli import console, options
from pinvgcn.cli.console import note, say
from pinvgcn.cli.predict import check_pair
from pinvgcn.errors import ParameterError
from pinvgcn.wording import counted, decimal

if TYPE_CHECKING:
    from pinvgcn.tables import ExplainedRow

SHOWN = 10  # values of a row
BAR = 24  # characters of the longest bar
EXAMPLES = """
pinvgcn explain customers.model customers.csv --row 12
pinvgcn explain customers.model next-month.parquet --row 1 --json
"""


def explain(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model that `classify --save-model` has written.")
    ],
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="The table with the row: CSV, TSV or Parquet.")
    ],
    row: Annotated[
        int,
        options.option(
            min=1, metavar="NUMBER", help="The row. The first below the names of the columns is 1."
        ),
    ],
    seed: Annotated[
        int, options.option(min=0, metavar="NUMBER", help="Seed of the orders that are drawn.")
    ] = 0,
    as_json: options.Json = False,
) -> None:
    """Say why a row of a table gets its class.

    Prints the answer and how much each value moved it, up or down, in
    log-odds: from the mean over some rows of training to this row. Nothing
    is written.
    """
    from pinvgcn.cli.progress import shown

    with console.loading():
        from pinvgcn.tables import explain_table_row
    fitted = check_pair(model, table, "explain")
    if fitted is None:
        raise ParameterError(
            f"explain is about the rows of tables. Got {model}, a model of a scan; use one that `pinvgcn "
            "classify --save-model` has written."
        )
    with shown() as progress:
        progress("Filling in the row, cell by cell")
        found = explain_table_row(fitted, table, row, random_state=seed)
    if as_json:
        typer.echo(json.dumps(found.as_dict(), indent=1, allow_nan=False))
    else:
        _say(found, table)


def _say(found: ExplainedRow, path: Path) -> None:
    from scipy.special import expit

    why = found.explanation
    given = "" if found.given is None else f" (the table says {found.given})"
    say(
        f"{path}, row {found.row:,}: {found.target} = {why.answer} with probability "
        f"{why.probability:.3f}{given}"
    )
    table = console.table("What moved the answer")
    table.add_column("value", overflow="fold", max_width=48)
    table.add_column("log-odds", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    ranked = why.ranked
    longest = max((abs(value.moved) for value in ranked), default=0.0)
    for value in ranked[:SHOWN]:
        error = f" ± {value.error:.2f}" if value.error else ""
        table.add_row(
            Text(value.words), decimal(value.moved, 2, plus=True) + error, _bar(value.moved, longest)
        )
    rest = ranked[SHOWN:]
    if rest:
        together = sum(value.moved for value in rest)
        others = Text(f"{counted(len(rest), 'other value')}, together", style="dim")
        table.add_row(others, decimal(together, 2, plus=True), _bar(together, longest))
    table.caption = (
        f"From {decimal(why.base, 2)} (as at a probability of {expit(why.base):.2f}), the mean over "
        f"{counted(why.compared, 'row')} of training, to {decimal(why.log_odds, 2)}, the log-odds of this "
        "answer. " + ("Exact." if why.exact else "± is the standard error over drawn orders.")
    )
    console.out().print(table)
    for name in found.ignored:
        note(
            f"what stands in {name!r} was ignored: training never saw it, or it cannot be read; of a "
            "number that training never saw, the nearest one that it did counts"
        )


def _bar(moved: float, longest: float) -> Text:
    """Towards the answer in blue, away from it in red."""
    if longest == 0:
        return Text("")
    halves = round(2 * BAR * min(abs(moved) / longest, 1.0))
    return Text("█" * (halves // 2) + "▌" * (halves % 2), style="blue" if moved > 0 else "red")
