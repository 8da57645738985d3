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
    from pinvgcn.cli.table_predict import TableRequest
    from pinvgcn.distributed.group import Group
    from pinvgcn.io import TableSource

KEPT = "parts that are written stay; the same command goes on with the others"


def as_parts(paths: Sequence[Path]) -> bool:
    """Whether a command is about a table in parts, or has several processes."""
    from pinvgcn.jobs.input_files import stands_for_several

    return launched() or stands_for_several(paths)


def classify_parts(
    paths: Sequence[Path],
    target: str,
    *,
    out: Path | None,
    columns: list[str] | None,
    exclude: list[str] | None,
    class_weight: str | None,
    probabilities: bool,
    sets: float | None,
    save_model: Path | None,
    report: Path | None,
    questions: Path | None,
    seed: int,
    as_json: bool,
    quiet: bool,
    dry_run: bool,
    force: bool,
) -> None:
    """The whole command; the first rank speaks for all."""
    from pinvgcn.cli.classify import check_besides, check_something, names_of, say_plan
    from pinvgcn.cli.console import loading
    from pinvgcn.cli.working import working
    from pinvgcn.errors import ParameterError
    from pinvgcn.io.table_parts import ENDINGS, TableParts
    from pinvgcn.jobs import input_files

    started = time.perf_counter()
    besides = {"--save-model": save_model, "--report": report, "--questions": questions}
    with job(kept="" if dry_run else KEPT) as group:
        silent = quiet or group.rank > 0
        check_something(out, *besides.values(), dry_run=dry_run)
        _check_folder(out)
        if report is not None and not group.alone:
            raise ParameterError("--report shows all rows, which no rank has. Start it without torchrun.")
        files = input_files(paths, out=out, endings=ENDINGS, group=group)
        if group.rank == 0:
            check_besides(besides, files, force=force)
        with loading():
            from pinvgcn.features.shared_tiles import share_out
            from pinvgcn.jobs import fingerprint
            from pinvgcn.report.held_out_tables import held_out_of_table, saved_estimate, steps
            from pinvgcn.report.table_page import write_report
            from pinvgcn.tables import ClassifyRequest, classify_table, plan_table
            from pinvgcn.tables import save_model as save
            from pinvgcn.tables.classify import STEPS, check_sets, new_columns
            from pinvgcn.tables.parts import done_before, prepare
            from pinvgcn.tables.questions import row_questions, write_questions
        mine = share_out([path.stat().st_size for path in files], group.size)[group.rank]
        with working(show=not silent) as tell:
            tell("Looking at the files")
            source = TableParts(_name(paths), files, mine, group=group)
            source.column(target)
            chosen, left = names_of(columns, source), names_of(exclude, source)
            done: set[str] = set()
            if out is not None:
                used = [None if names is None else sorted(set(names)) for names in (chosen, left)]
                asked = [target, *used, class_weight, probabilities, sets, seed]
                command = fingerprint({"classify": asked}, files)
                done = done_before(out, files, command, force=force, group=group)
            if (
                not dry_run
                and out is not None
                and len(done) == len(files)
                and all(path is None for path in besides.values())
            ):
                if group.rank == 0:
                    _say_done(files, out, as_json=as_json, quiet=quiet)
                return

            def read(rows: int) -> None:
                tell(f"Reading: {rows:,} rows", share=source.share)

            plan = plan_table(source, target, columns=chosen, exclude=left or (), progress=read, group=group)
            source.check_new(new_columns(target, plan.target.classes, probabilities, sets=sets is not None))
            check_sets(plan, sets)
            result = None
            if not dry_run:
                if out is not None:  # now that nothing can be refused
                    prepare(out, files, command, force=force, group=group)
                total = STEPS + steps(plan.labelled)
                place = iter(range(total + 1))
                request = ClassifyRequest(class_weight, seed, probabilities, sets)

                def step(line: str) -> None:
                    tell(line, share=next(place) / total)

                result = classify_table(plan, request, progress=step)
                heldout = held_out_of_table(result, progress=step)
                if out is not None:
                    tell("Writing the parts", share=1.0)
                    result.write_parts(out, done)
                if save_model is not None:
                    save(result, save_model, about=saved_estimate(heldout), force=force)
                found = row_questions(result) if questions is not None or report is not None else []
                if questions is not None:
                    write_questions(found, result, questions, force=force)
                result.seconds["all"] = time.perf_counter() - started
                if report is not None:
                    tell("Drawing the report", share=1.0)
                    write_report(
                        result, heldout, report, out=out, questions=found, asked=questions, force=force
                    )
            group.wait()  # what is announced is there
        if group.rank > 0:
            return
        if result is None:
            say_plan(plan, as_json=as_json, quiet=quiet)
            return
        from pinvgcn.cli.classify import announce

        skipped = {"parts": len(files), "parts_done_before": len(done), "ranks": group.size}
        written = {"Parts": out, "Model": save_model, "Report": report, "Questions": questions}
        announce(result, heldout, written, skipped, as_json, quiet)


def predict_parts(
    fitted: PinvGCNClassifier, paths: Sequence[Path], asked: TableRequest, group: Group
) -> None:
    """The whole command, by a model that ``pinvgcn classify`` has saved; the first rank speaks for all."""
    from pinvgcn.cli.table_predict import say_result
    from pinvgcn.cli.working import working
    from pinvgcn.distributed.group import together
    from pinvgcn.features.shared_tiles import share_out
    from pinvgcn.io import open_table
    from pinvgcn.io.table_parts import ENDINGS
    from pinvgcn.jobs import fingerprint, input_files
    from pinvgcn.tables import predict_table
    from pinvgcn.tables.parts import done_before, prepare
    from pinvgcn.tables.predict import check_table, merged

    started, out = time.perf_counter(), asked.out
    wanted: dict[str, Any] = {"probabilities": asked.probabilities, "sets": asked.sets}
    _check_folder(out)
    files = input_files(paths, out=out, endings=ENDINGS, group=group)
    command = fingerprint({"predict": wanted}, [asked.model])
    done = done_before(out, files, command, force=asked.force, group=group)
    left = [path for path in files if path.name not in done]
    mine = [left[k] for k in share_out([path.stat().st_size for path in left], group.size)[group.rank]]
    with together(group):
        sources = [open_table(path) for path in mine]
        for source in sources:
            check_table(fitted, source, **wanted)
    if asked.dry_run:
        _say_cost(fitted, sources, asked, group, {"parts": len(files), "parts_done_before": len(done)})
        return
    prepare(out, files, command, force=asked.force, group=group)
    if not left:
        if group.rank == 0:
            _say_done(files, out, as_json=asked.as_json, quiet=asked.quiet)
        return
    results = []
    with working(show=group.rank == 0 and not asked.quiet) as tell:
        for number, source in enumerate(sources):
            name = source.path.name

            def progress(rows: int, share: float | None, at: int = number, name: str = name) -> None:
                tell(f"{name}: {rows:,} rows", share=(at + (share or 0.0)) / len(sources))

            results.append(predict_table(fitted, source, out / name, progress=progress, **wanted).as_dict())
    everywhere = [one for part in group.values(results) for one in part]
    if group.rank > 0:
        return
    result = merged(everywhere, seconds=time.perf_counter() - started)
    parts = {"parts": len(files), "parts_done_before": len(done), "ranks": group.size}
    if asked.as_json:
        told = {**result.as_dict(), **parts, "output": str(out)}
        typer.echo(json.dumps(told, indent=1, allow_nan=False))
    elif not asked.quiet:
        say_result(result, out)
        _say_parts(len(files), len(done))


def _say_cost(
    fitted: PinvGCNClassifier,
    sources: Sequence[TableSource],
    asked: TableRequest,
    group: Group,
    parts: dict[str, int],
) -> None:
    """What a prediction of these parts of this rank, and of those of others, would take."""
    from pinvgcn.cli.console import out as stdout
    from pinvgcn.jobs import Cost
    from pinvgcn.tables.cost import cost_of_prediction

    assert fitted.about_ is not None
    needed = sum(plan["kind"] != "left out" for plan in fitted.about_["recipe"]["plans"])
    costs = [cost_of_prediction(source, needed) for source in sources]
    memory = group.largest(max((cost.memory for cost in costs), default=0.0))
    seconds = group.largest(sum((cost.seconds for cost in costs), 0.0))  # ranks do not wait for each other
    if group.rank > 0:
        return
    if asked.as_json:
        told: dict[str, Any] = {"dry_run": True, **parts, "ranks": group.size}
        told |= {"estimated_bytes": int(memory), "estimated_seconds": round(seconds, 1)}
        typer.echo(json.dumps(told, indent=1))
    elif not asked.quiet:
        count = parts["parts"]
        left, cost = count - parts["parts_done_before"], Cost(memory, seconds)
        line = f"{left} of {count} parts would take {cost} (roughly, on one core each)."
        line = line if left else f"All {count} parts are done, in {asked.out}."
        stdout().print(f"{line} Nothing was written.", markup=False, soft_wrap=True)


def _name(paths: Sequence[Path]) -> str:
    return str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def _check_folder(out: Path | None) -> None:
    from pinvgcn.errors import ParameterError
    from pinvgcn.io.table_parts import ENDINGS

    if out is not None and out.name.lower().endswith(ENDINGS) and not out.is_dir():
        raise ParameterError(f"The copies of parts go into a folder. Got {str(out)!r}; name a folder.")


def _say_done(files: Sequence[Path], out: Path, *, as_json: bool, quiet: bool) -> None:
    from pinvgcn.cli.console import out as stdout

    if as_json:
        told: dict[str, Any] = {"parts": len(files), "parts_done_before": len(files), "output": str(out)}
        typer.echo(json.dumps(told, indent=1))
    elif not quiet:
        line = f"All {len(files)} parts are done, in {out}; --force starts over."
        stdout().print(line, markup=False, soft_wrap=True)


def _say_parts(count: int, done: int) -> None:
    from pinvgcn.cli.console import out as stdout

    if done:
        line = f"{done} of {count} parts were done before, and are not counted."
        stdout().print(line, markup=False, soft_wrap=True)
