"""``pinvgcn classify`` and ``predict`` of a table in parts, by one process or several that share them out."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pinvgcn.cli.launch import job, launched

if TYPE_CHECKING:
    from pinvgcn import PinvGCNClassifier

KEPT = "parts that are written stay; the same command goes on with the others"


def as_parts(paths: Sequence[Path]) -> bool:
    """Whether a command is about a table in parts, or has several processes."""
    from pinvgcn.io.table_parts import in_parts

    return launched() or in_parts(paths)


def classify_parts(
    paths: Sequence[Path],
    target: str,
    *,
    out: Path | None,
    columns: list[str] | None,
    exclude: list[str] | None,
    class_weight: str | None,
    probabilities: bool,
    save_model: Path | None,
    report: Path | None,
    seed: int,
    as_json: bool,
    quiet: bool,
    dry_run: bool,
    force: bool,
) -> None:
    """The whole command; the first rank speaks for all."""
    from pinvgcn.cli.classify import names_of, say_plan
    from pinvgcn.cli.console import loading
    from pinvgcn.cli.working import working
    from pinvgcn.errors import ParameterError
    from pinvgcn.io.table_parts import TableParts, part_files
    from pinvgcn.io.unfinished import check_output

    started = time.perf_counter()
    with job(kept=KEPT) as group:
        silent = quiet or group.rank > 0
        _check_folder(out)
        if report is not None and not group.alone:
            raise ParameterError("--report shows all rows, which no rank has. Start it without torchrun.")
        if group.rank == 0:
            for path in (save_model, report):
                if path is not None:
                    check_output(path, force=force)
        files = part_files(paths, group=group)
        with loading():
            from pinvgcn.experiments.tables import Request, classify_table, plan_table
            from pinvgcn.experiments.tables import save_model as save
            from pinvgcn.experiments.tables.classify import new_columns, steps
            from pinvgcn.experiments.tables.parts import fingerprint, prepare
            from pinvgcn.experiments.tables.report import write_report
            from pinvgcn.features.shared_tiles import share_out
        mine = share_out([path.stat().st_size for path in files], group.size)[group.rank]
        with working(show=not silent) as tell:
            tell("Looking at the files")
            source = TableParts(_name(paths), files, mine, group=group)
            source.column(target)
            chosen, left = names_of(columns, source), names_of(exclude, source)
            done: set[str] = set()
            if out is not None and not dry_run:
                asked = [target, chosen, left, class_weight, probabilities, seed]
                command = fingerprint({"classify": asked}, files)
                done = prepare(out, files, command, force=force, group=group)
            if out is not None and len(done) == len(files) and save_model is None and report is None:
                _say_done(files, out, as_json=as_json, silent=silent)
                return

            def read(rows: int) -> None:
                tell(f"Reading: {rows:,} rows", share=source.share)

            plan = plan_table(source, target, columns=chosen, exclude=left or (), progress=read, group=group)
            source.check_new(new_columns(target, plan.target.classes, probabilities))
            result = None
            if not dry_run:
                total = steps(plan)
                place = iter(range(total + 1))
                request = Request(class_weight, seed, probabilities)
                result = classify_table(
                    plan, request, progress=lambda line: tell(line, share=next(place) / total)
                )
                if out is not None:
                    tell("Writing the parts", share=1.0)
                    result.write_parts(out, done)
                if save_model is not None:
                    save(result, save_model, force=force)
                result.seconds["all"] = time.perf_counter() - started
                if report is not None:
                    tell("Drawing the report", share=1.0)
                    write_report(result, report, out=out, force=force)
            group.wait()  # what is announced is there
        if group.rank > 0:
            return
        if result is None:
            say_plan(plan, as_json=as_json, quiet=quiet)
            return
        from pinvgcn.cli.classify import announce

        skipped = {"parts": len(files), "parts_done_before": len(done), "ranks": group.size}
        announce(result, {"Parts": out, "Model": save_model, "Report": report}, skipped, as_json, quiet)


def predict_parts_if_table(
    model: Path,
    paths: Sequence[Path],
    *,
    out: Path,
    probabilities: bool,
    force: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> bool:
    """Do the whole command if ``model`` is one that ``pinvgcn classify`` has saved; else say False."""
    from pinvgcn.cli.console import loading
    from pinvgcn.errors import PinvGCNError

    with loading():
        from pinvgcn import PinvGCNClassifier
        from pinvgcn.experiments.tables import is_table_model
    try:
        fitted = PinvGCNClassifier.load(model)
    except (PinvGCNError, OSError):
        return False  # which is said where all ranks hear of it
    if not is_table_model(fitted):
        return False
    if dry_run:
        _say_cost(fitted, paths, as_json=as_json, quiet=quiet)
    else:
        _predict_parts(fitted, model, paths, out, probabilities, force, as_json, quiet)
    return True


def _say_cost(fitted: PinvGCNClassifier, paths: Sequence[Path], *, as_json: bool, quiet: bool) -> None:
    """What a prediction of parts would take."""
    from pinvgcn.cli.console import out as stdout
    from pinvgcn.experiments.tables.cost import Cost, cost_of_prediction
    from pinvgcn.io import open_table
    from pinvgcn.io.table_parts import part_files

    assert fitted.about_ is not None
    needed = [plan["name"] for plan in fitted.about_["recipe"]["plans"] if plan["kind"] != "left out"]
    with job() as group:
        files = part_files(paths, group=group)
        if group.rank > 0:
            return
        costs = []
        for path in files:
            source = open_table(path)
            for name in needed:
                source.column(name)
            costs.append(cost_of_prediction(source, len(needed)))
        seconds = sum(cost.seconds for cost in costs) / group.size
        cost = Cost(max(cost.memory for cost in costs), seconds)
        if as_json:
            told: dict[str, Any] = {"dry_run": True, "parts": len(files), "ranks": group.size}
            told |= {"estimated_bytes": int(cost.memory), "estimated_seconds": round(seconds, 1)}
            typer.echo(json.dumps(told, indent=1))
        elif not quiet:
            line = f"{len(files)} parts would take {cost} (roughly, on one core each). Nothing was written."
            stdout().print(line, markup=False, soft_wrap=True)


def _predict_parts(
    fitted: PinvGCNClassifier,
    model: Path,
    paths: Sequence[Path],
    out: Path,
    probabilities: bool,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    from pinvgcn.cli.table_predict import say_result
    from pinvgcn.cli.working import working
    from pinvgcn.experiments.tables import predict_table
    from pinvgcn.experiments.tables.parts import fingerprint, prepare
    from pinvgcn.experiments.tables.predict import merged
    from pinvgcn.features.shared_tiles import share_out
    from pinvgcn.io.table_parts import part_files

    started = time.perf_counter()
    with job(kept=KEPT) as group:
        silent = quiet or group.rank > 0
        _check_folder(out)
        files = part_files(paths, group=group)
        command = fingerprint({"predict": probabilities}, [model])
        done = prepare(out, files, command, force=force, group=group)
        left = [path for path in files if path.name not in done]
        if not left:
            _say_done(files, out, as_json=as_json, silent=silent)
            return
        mine = [left[k] for k in share_out([path.stat().st_size for path in left], group.size)[group.rank]]
        results = []
        with working(show=not silent) as tell:
            for number, path in enumerate(mine):

                def progress(rows: int, share: float | None, at: int = number, name: str = path.name) -> None:
                    tell(f"{name}: {rows:,} rows", share=(at + (share or 0.0)) / len(mine))

                results.append(
                    predict_table(
                        fitted, path, out / path.name, probabilities=probabilities, progress=progress
                    ).as_dict()
                )
        everywhere = [one for part in group.values(results) for one in part]
        if silent:
            return
        result = merged(everywhere, seconds=time.perf_counter() - started)
        parts = {"parts": len(files), "parts_done_before": len(done), "ranks": group.size}
        if as_json:
            told = {**result.as_dict(), **parts, "output": str(out)}
            typer.echo(json.dumps(told, indent=1, allow_nan=False))
        else:
            say_result(result, out)
            _say_parts(len(files), len(done))


def _name(paths: Sequence[Path]) -> str:
    return str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def _check_folder(out: Path | None) -> None:
    from pinvgcn.errors import ParameterError
    from pinvgcn.io.table_parts import ENDINGS

    if out is not None and out.name.lower().endswith(ENDINGS) and not out.is_dir():
        raise ParameterError(f"The copies of parts go into a folder. Got {str(out)!r}; name a folder.")


def _say_done(files: Sequence[Path], out: Path, *, as_json: bool, silent: bool) -> None:
    from pinvgcn.cli.console import out as stdout

    if silent:
        return
    if as_json:
        told: dict[str, Any] = {"parts": len(files), "parts_done_before": len(files), "output": str(out)}
        typer.echo(json.dumps(told, indent=1))
    else:
        line = f"All {len(files)} parts are done, in {out}; --force starts over."
        stdout().print(line, markup=False, soft_wrap=True)


def _say_parts(count: int, done: int) -> None:
    from pinvgcn.cli.console import out as stdout

    if done:
        line = f"{done} of {count} parts were done before, and are not counted."
        stdout().print(line, markup=False, soft_wrap=True)
