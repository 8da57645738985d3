"""A scripted person at the labelling page: accuracy over actions, agreement, models, latency, large scans.

    python benchmarks/labelling.py clicks [--data oakland1] [--clicks 50] [--seeds 10] [--json F] [--figure F]
    python benchmarks/labelling.py agreement [--data oakland1] [--clicks 50] [--seeds 5] [--json F]
    python benchmarks/labelling.py model [--data oakland2 oakland1] [--clicks 50] [--seeds 5] [--json F]
    python benchmarks/labelling.py latency [--points 100000 1000000] [--clicks 12] [--json F]
    python benchmarks/labelling.py large [--points 20000000] [--export] [--json F]

``clicks``: from one click a class, the person labels what the page proposes: the point, or the region around
it, which is made smaller until all of it is seen to be of one class; or points at random.
``agreement``: of the live answer with the full model, and both with the truth, after so many proposed clicks.
``model``: a model that ``pinvgcn segment`` fits to 100 labels a class of one scan colours another; the person
then labels regions that the page proposes, beside one who has no model; and what the full model says then.
``latency``: a generated street in headless Chromium, from the press of the mouse to the new colours in the
browser (the last byte of the message that carries them) and to the next picture drawn after it, which
software WebGL dominates.
``large``: a generated street as LAS: seconds until the page is there and until it answers, and peak memory;
``--export``: seconds until the whole scan is written, by which share rightly, and the peak of the process
that does it.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import tempfile
import time
from pathlib import Path
from queue import Queue
from typing import Any

import laspy
import numpy as np

from pinvgcn import PinvGCNClassifier
from pinvgcn.app.cloud import Cloud, turns
from pinvgcn.app.exports import classify
from pinvgcn.app.labels import Category
from pinvgcn.app.live import Base, Live
from pinvgcn.app.preparation import PreparedScan, prepare
from pinvgcn.app.refining import Command, FitQuestion, Refined, Refiner, predicted
from pinvgcn.app.serve import Request, Running, serve
from pinvgcn.app.session import REVIEWED
from pinvgcn.app.tools import SIZE, Regions
from pinvgcn.datasets import Dataset, generate_street, load_dataset
from pinvgcn.datasets.scans import COLUMNS
from pinvgcn.io import ScanSource, open_scan

PERSONS = {"regions": "#009e73", "proposed": "#0072b2", "random": "#e69f00"}


def person(
    live: Live, y: np.ndarray, seed: int, clicks: int, kind: str
) -> tuple[list[float], np.ndarray, np.ndarray]:
    """Accuracy at the points without a label after each action, from one click a class on, or from none where
    a model answers first; the labelled points and the last answer."""
    rng = np.random.default_rng(seed)
    classes = tuple(Category(c, str(c), (0, 0, 0)) for c in range(int(y.max()) + 1))
    rows, actions = np.empty(0, dtype=np.int64), 0
    if live.base is None:
        rows = np.array([int(rng.choice(np.flatnonzero(y == c))) for c in range(len(classes))])
        actions = len(rows)
        if kind == "regions":
            rows = np.unique(np.concatenate([clean(live.regions, row, y, None) for row in rows]))
    found: list[float] = []
    while True:
        answer = live.answer(rows, y[rows], classes)
        assert answer is not None
        free = y >= 0
        free[rows] = False
        found.append(float((answer.numbers == y)[free].mean()))
        if actions == clicks:
            return found, rows, answer.numbers
        actions += 1
        if kind == "random":
            more = rng.choice(np.flatnonzero(free), 1)
        else:
            places = live.places(answer, 1 if (y >= 0).all() else REVIEWED)
            more = np.array([next(place.seed for place in places if y[place.seed] >= 0)])
            if kind == "regions":
                more = clean(live.regions, int(more[0]), y, answer.numbers)
        rows = np.union1d(rows, more)


def clean(regions: Regions, seed: int, y: np.ndarray, answer: np.ndarray | None) -> np.ndarray:
    """The largest region, from the size of the page downwards, that is of one class."""
    for size in range(SIZE, -1, -1):
        rows = regions.around(seed, size, answer)
        if (y[rows] == y[seed]).all():
            return rows
    return np.array([seed])


def prepared_data(name: str) -> tuple[Dataset, Cloud, PreparedScan]:
    """A data set as the page has it."""
    data = load_dataset(name)
    cloud = Cloud(Path(name), data.X, {}, 1.0, turns(data.X), "", most=len(data.X))
    return data, cloud, prepare(cloud)


def clicks(arguments: argparse.Namespace) -> dict[str, Any]:
    """Regions, proposed points and random points."""
    data, cloud, prepared = prepared_data(arguments.data)
    results = {}
    for kind in PERSONS:
        persons = [
            person(Live(cloud, prepared), data.y, seed, arguments.clicks, kind)[0]
            for seed in range(arguments.seeds)
        ]
        results[kind] = 100 * np.array(persons)
    first = arguments.clicks - results["random"].shape[1] + 1  # actions at the first answer
    print(f"{arguments.data}, {arguments.seeds} seeds: accuracy in per cent after so many actions")
    curves(results, first, arguments.clicks)
    for better, worse in (("proposed", "random"), ("regions", "proposed")):
        ahead = results[better][:, -1] - results[worse][:, -1]
        error = ahead.std(ddof=1) / np.sqrt(len(ahead))
        print(f"{better} ahead of {worse} by {ahead.mean():.2f}, standard error {error:.2f}")
    if arguments.figure:
        draw(results, first, arguments)
    return {"first": first, **{name: found.tolist() for name, found in results.items()}}


def curves(results: dict[str, np.ndarray], first: int, last: int) -> None:
    """A line of means and spreads for each person; a curve has its last value after ``last`` actions."""
    shown = [c for c in sorted({0, first, 5, 10, 20, 30, 40, 50, 75, 100, last}) if first <= c <= last]
    print(f"{'':<14}" + "".join(f"{c:>15}" for c in shown))
    for name, found in results.items():
        at = [found[:, c - last - 1] if last - c < found.shape[1] else None for c in shown]
        cells = ["" if x is None else f"{x.mean():.2f} ± {x.std(ddof=1):.2f}" for x in at]
        print(f"{name:<14}" + "".join(f"{cell:>15}" for cell in cells))


def agreement(arguments: argparse.Namespace) -> list[list[float]]:
    """The live answer and the full model."""
    data, cloud, prepared = prepared_data(arguments.data)
    rows = []
    print(f"{'seed':>4}{'live':>9}{'full':>9}{'agree':>9}{'full, s':>9}")
    for seed in range(arguments.seeds):
        _, labelled, live = person(Live(cloud, prepared), data.y, seed, arguments.clicks, "proposed")
        labels = np.full(len(data.y), -1)
        labels[labelled] = data.y[labelled]
        started = time.perf_counter()
        full = PinvGCNClassifier("gaussian", random_state=0).fit(data.X, labels).transduction_
        spent = time.perf_counter() - started
        row = [
            100 * float((one == other).mean())
            for one, other in ((live, data.y), (full, data.y), (live, full))
        ]
        rows.append([*row, spent])
        print(f"{seed:>4}" + "".join(f"{value:>9.2f}" for value in row) + f"{spent:>9.1f}", flush=True)
    print("mean" + "".join(f"{value:>9.2f}" for value in np.mean(rows, axis=0)))
    return rows


def model(arguments: argparse.Namespace) -> dict[str, Any]:
    """A model of one scan on another: before the first click, and after corrections."""
    home, away = (load_dataset(name) for name in arguments.data)
    known = np.flatnonzero(away.y >= 0)
    results: dict[str, list[Any]] = {"model": [], "no model": [], "full": []}
    with tempfile.TemporaryDirectory() as folder:
        there, here, labels, saved = (Path(folder) / name for name in ("a.xyz", "b.xyz", "l.csv", "town"))
        write_text(home, there)
        write_text(away, here)
        source, cloud = open_scan(here), Cloud.of(here, most=len(away.y))
        prepared = prepare(cloud)
        categories = tuple(Category(c, name, (0, 0, 0)) for c, name in enumerate(away.target_names))
        for seed in range(arguments.seeds):
            rng = np.random.default_rng(seed)
            rows = [rng.choice(np.flatnonzero(home.y == c), 100) for c in range(len(home.target_names))]
            lines = [f"{row},{home.target_names[home.y[row]]}" for row in np.unique(rows).tolist()]
            labels.write_text("\n".join(["index,label", *lines, ""]))
            out = ("-o", f"{folder}/c.xyz", "--save-model", saved, "--seed", str(seed), "--force")
            Command("segment", there, "--labels", labels, *out).wait()
            classes, places, confidence = predicted(saved, source, Path(folder))
            numbers = np.array([away.target_names.index(str(name)) for name in classes])[places]
            live = Live(cloud, prepared)
            no_model, _, _ = person(live, away.y, seed, arguments.clicks, "regions")
            live.base = Base(numbers, confidence)
            curve, found, _ = person(live, away.y, seed, arguments.clicks, "regions")
            answer = live.answer(found, away.y[found], categories)
            assert answer is not None
            question = live.with_base(FitQuestion(found, away.y[found], categories), answer)
            refined = full_fit(source, cloud, question)
            free = np.setdiff1d(known, found)
            results["model"].append([100 * share for share in curve])
            results["no model"].append([100 * share for share in no_model])
            results["full"].append(100 * float((refined.numbers == away.y)[free].mean()))
            print(f"seed {seed}: " + ", ".join(f"{k} {np.ravel(v[-1])[-1]:.2f}" for k, v in results.items()))
    print(f"{' → '.join(arguments.data)}: accuracy in per cent after so many actions")
    curves({name: np.array(results[name]) for name in ("model", "no model")}, 0, arguments.clicks)
    full = np.array(results["full"])
    print(f"the full model to the last labels: {full.mean():.2f} ± {full.std(ddof=1):.2f}")
    return results


def full_fit(source: ScanSource, cloud: Cloud, question: FitQuestion) -> Refined:
    """What a page that rests comes to."""
    said: Queue[tuple[Refined | None, str]] = Queue()
    with tempfile.TemporaryDirectory() as folder:
        refiner = Refiner(source, cloud.points, Path(folder) / "fit", lambda _, *answer: said.put(answer))
        refiner.ask(question)
        refined, trouble = said.get()
        refiner.close()
    assert refined is not None, trouble
    return refined


def write_text(data: Dataset, path: Path) -> None:
    """A scan as text, with what it has beside coordinates."""
    names = ["x", "y", "z", *COLUMNS.get(data.name, ())]
    columns = [data.X] if data.features is None else [data.X, data.features]
    np.savetxt(path, np.hstack(columns), fmt="%.3f", header=" ".join(names), comments="")


def large(arguments: argparse.Namespace) -> dict[str, Any]:
    """A scan of many points: when is it there, when does it answer, what does it take."""
    results = {}
    print(f"{'points':>12}{'page, s':>10}{'answers, s':>12}{'peak, GiB':>11}{'click, ms':>11}{'box, s':>8}")
    for points in arguments.points:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            path = Path(folder) / "street.las"
            street = write_las(path, points)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            started = time.perf_counter()
            with serve(Request(path, classes=street.target_names, rest=None)) as running:
                there, session = time.perf_counter() - started, running.session
                while session.view.step:
                    time.sleep(0.1)
                ready = time.perf_counter() - started
                y = np.resize(street.y, points)
                some = np.random.default_rng(0).choice(session.cloud.sample, 500, replace=False)
                for number in range(len(street.target_names)):
                    session.label(some[y[some] == number], number)
                while session.view.answer is None or session.view.waits:
                    time.sleep(0.01)
                begun = time.perf_counter()
                running.page.hands._last = session.cloud.sample[:1]
                running.page.hands.clip_around()
                box = time.perf_counter() - begun
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
                click = 1000 * session.view.answer.seconds
                found = {"page": there, "answers": ready, "peak": peak, "click": click, "box": box}
                print(f"{points:>12,}{there:>10.1f}{ready:>12.1f}{peak:>11.2f}{click:>11.0f}{box:>8.1f}")
                if before / 2**20 > 0.9 * peak:
                    print("  (the peak was reached before, while the file was written)")
                if arguments.export:
                    found |= export(running, open_scan(path), y)
        results[str(points)] = found
    return results


def export(running: Running, source: ScanSource, y: np.ndarray) -> dict[str, float]:
    """Write the whole scan, as the button does."""
    begun, worked = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"  {classify(source, running.session)}")
    taken, children = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = children.ru_utime + children.ru_stime - worked.ru_utime - worked.ru_stime
    peak, own = (x.ru_maxrss / 2**20 for x in (children, resource.getrusage(resource.RUSAGE_SELF)))
    right = 100 * float((running.session.refined().numbers == y).mean())
    print(
        f"  export in {taken:.0f} s ({processor:.0f} s of processor time), of which {right:.2f} % are right; "
        f"peak of its process {peak:.2f} GiB, of the page {own:.2f} GiB"
    )
    return {"export": taken, "processor": processor, "export peak": peak, "page peak": own, "right": right}


def write_las(path: Path, points: int) -> Dataset:
    """Copies of a generated street of a million points, side by side, written piece by piece; the street."""
    street = generate_street(min(points, 1_000_000), random_state=0)
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.scales, header.offsets = [0.001] * 3, [0.0] * 3
    width = float(np.ptp(street.X[:, 1])) + 1.0
    with laspy.open(path, mode="w", header=header) as file:
        for copy in range(-(-points // len(street.X))):
            count = min(len(street.X), points - copy * len(street.X))
            record = laspy.ScaleAwarePointRecord.zeros(count, header=header)
            record.x, record.y, record.z = (street.X[:count] + np.array([0.0, copy * width, 0.0])).T
            record.intensity = (1000 + 100 * street.y[:count]).astype(np.uint16)
            file.write_points(record)
    return street


def draw(results: dict[str, np.ndarray], first: int, arguments: argparse.Namespace) -> None:
    """The curve of docs/labelling.md."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for name, found in results.items():
        colour = PERSONS[name]
        at = np.arange(first, first + found.shape[1])
        low, middle, high = np.percentile(found, [10, 50, 90], axis=0)
        axes.plot(at, middle, color=colour, label=f"{name} (median of {len(found)} persons)")
        axes.fill_between(at, low, high, color=colour, alpha=0.2, linewidth=0, label="the middle 80 %")
    axes.set_xlabel("actions")
    axes.set_ylabel("unlabelled points classified rightly (%)")
    axes.set_title(f"{arguments.data}: what the page proposes, and anywhere", loc="left")
    axes.grid(axis="y", linewidth=0.4)
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(arguments.figure, dpi=150)


def latency(arguments: argparse.Namespace) -> dict[str, Any]:
    """From a click to new colours, in a real browser."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    results: dict[str, Any] = {}
    print(f"{'points':>10}{'drawn':>10}{'colours, ms':>14}{'worst':>8}{'answer, ms':>12}{'picture, ms':>13}")
    for points in arguments.points:
        street = generate_street(points, random_state=0)
        with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
            path = Path(folder) / "street.xyz"
            np.savetxt(path, street.X, fmt="%.3f")
            with serve(Request(path, classes=list(street.target_names), rest=None)) as running:
                browser = driver.chromium.launch(
                    executable_path=chromium,
                    args=["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
                )
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                arrivals: list[tuple[float, int]] = []
                page.on(
                    "websocket",
                    lambda socket, arrivals=arrivals: socket.on(
                        "framereceived", lambda frame: arrivals.append((time.perf_counter(), len(frame)))
                    ),
                )
                page.goto(running.address)
                session = running.session
                while session.view.step:
                    page.wait_for_timeout(200)
                page.wait_for_timeout(5_000)
                found = _clicks(page, running, street.y, arrivals, arguments.clicks)
                browser.close()
        colours, answers, pictures = (1000 * np.array(column) for column in zip(*found, strict=True))
        drawn = len(running.page.hands.shown)
        results[str(points)] = {"colours": colours.tolist(), "pictures": pictures.tolist()}
        print(
            f"{points:>10,}{drawn:>10,}{np.median(colours):>14.0f}{colours.max():>8.0f}"
            f"{np.median(answers):>12.0f}{np.median(pictures):>13.0f}",
            flush=True,
        )
    return results


def _clicks(
    page: Any, running: Any, y: np.ndarray, arrivals: list[tuple[float, int]], count: int
) -> list[tuple[float, float, float]]:
    """Seconds of clicks: to the colours' last byte, in the head, and to the next picture."""
    session, drawn = running.session, running.page.hands.shown.index
    classes = [int(drawn[np.flatnonzero(y[drawn] == c)[0]]) for c in range(int(y.max()) + 1)]
    for number, point in enumerate(classes):  # one label a class, so that there is an answer
        session.label(np.array([point]), number)
    page.wait_for_timeout(3_000)
    enough = 3 * len(drawn)  # bytes of all colours
    found = []
    rng = np.random.default_rng(0)
    while len(found) < count:
        before = len(session.view.labelled)
        answer = session.view.answer
        arrivals.clear()
        started = time.perf_counter()
        page.mouse.click(*rng.uniform([350, 200], [850, 600]))
        for _ in range(20):
            page.wait_for_timeout(50)
            if len(session.view.labelled) > before:
                break
        else:
            continue  # no point was there
        while session.view.answer is answer:
            page.wait_for_timeout(20)
        while not any(size >= enough for _, size in arrivals):
            page.wait_for_timeout(20)
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        drawn_at = time.perf_counter()
        last = next(when for when, size in arrivals if size >= enough)
        found.append((last - started, session.view.answer.seconds, drawn_at - started))
        page.wait_for_timeout(1_000)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    for command in (clicks, agreement, model, latency, large):
        one = commands.add_parser(command.__name__)
        one.set_defaults(run=command)
        one.add_argument("--json", type=Path)
        if command in (clicks, agreement):
            one.add_argument("--data", default="oakland1")
        if command in (clicks, agreement, model):
            one.add_argument("--seeds", type=int, default=10 if command is clicks else 5)
        if command is not large:
            one.add_argument("--clicks", type=int, default=12 if command is latency else 50)
        if command is clicks:
            one.add_argument("--figure", type=Path)
        if command is model:
            one.add_argument("--data", nargs=2, default=["oakland2", "oakland1"])
        if command is latency:
            one.add_argument("--points", type=int, nargs="+", default=[100_000, 1_000_000])
        if command is large:
            one.add_argument("--points", type=int, nargs="+", default=[20_000_000])
            one.add_argument("--folder", type=Path, help="where the scan is written for a while")
            one.add_argument("--export", action="store_true")
    arguments = parser.parse_args()
    results = arguments.run(arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
