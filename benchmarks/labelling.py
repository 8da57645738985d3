"""A scripted person at the labelling page: accuracy over actions, agreement, latency, large scans.

    python benchmarks/labelling.py clicks [--data oakland1] [--clicks 50] [--seeds 10] [--json F] [--figure F]
    python benchmarks/labelling.py agreement [--data oakland1] [--clicks 50] [--seeds 5] [--json F]
    python benchmarks/labelling.py latency [--points 100000 1000000] [--clicks 12] [--json F]
    python benchmarks/labelling.py large [--points 20000000] [--json F]

``clicks``: from one click a class, the person labels what the page proposes: the point, or the region around
it, which is made smaller until all of it is seen to be of one class; or points at random.
``agreement``: of the live answer with the full model, and both with the truth, after so many proposed clicks.
``latency``: a generated street in headless Chromium, from the press of the mouse to the new colours in the
browser (the last byte of the message that carries them) and to the next picture drawn after it, which
software WebGL dominates.
``large``: a generated street as LAS: seconds until the page is there and until it answers, and peak memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn import PinvGCNClassifier
from pinvgcn.app.cloud import Cloud, turns
from pinvgcn.app.head import Head
from pinvgcn.app.preparation import PreparedScan, prepare
from pinvgcn.app.tools import SIZE, Regions
from pinvgcn.datasets import generate_street, load_dataset

PERSONS = {"regions": "#009e73", "proposed": "#0072b2", "random": "#e69f00"}


def person(
    prepared: PreparedScan, y: np.ndarray, seed: int, clicks: int, kind: str
) -> tuple[list[float], np.ndarray, np.ndarray]:
    """Accuracy at the points without a label after each action, from one click a class on; the labelled
    points and the last answer."""
    rng = np.random.default_rng(seed)
    around, classes = prepared.surroundings, int(y.max()) + 1
    head, regions = Head(around), Regions(prepared.forms, around.around)
    rows = np.array([int(rng.choice(np.flatnonzero(y == c))) for c in range(classes)])
    if kind == "regions":
        rows = np.unique(np.concatenate([clean(regions, row, y, None) for row in rows]))
    found: list[float] = []
    while True:
        reply = head.reply(rows, y[rows], classes)
        answer = reply.proba.argmax(axis=1)
        free = np.ones(len(y), dtype=bool)
        free[rows] = False
        found.append(float((answer == y)[free].mean()))
        if classes + len(found) - 1 >= clicks:
            return found, rows, answer
        if kind == "random":
            more = rng.choice(np.flatnonzero(free), 1)
        else:
            more = head.proposals(reply, count=1)
            if kind == "regions":
                more = clean(regions, int(more[0]), y, answer)
        rows = np.union1d(rows, more)


def clean(regions: Regions, seed: int, y: np.ndarray, answer: np.ndarray | None) -> np.ndarray:
    """The largest region, from the size of the page downwards, that is of one class."""
    for size in range(SIZE, -1, -1):
        rows = regions.around(seed, size, answer)
        if (y[rows] == y[seed]).all():
            return rows
    return np.array([seed])


def prepared_data(name: str) -> tuple[Any, PreparedScan]:
    """A data set as the page has it."""
    data = load_dataset(name)
    cloud = Cloud(Path(name), data.X, {}, 1.0, turns(data.X), "", most=len(data.X))
    return data, prepare(cloud)


def clicks(arguments: argparse.Namespace) -> None:
    """Regions, proposed points and random points."""
    data, prepared = prepared_data(arguments.data)
    results = {
        kind: 100
        * np.array([person(prepared, data.y, s, arguments.clicks, kind)[0] for s in range(arguments.seeds)])
        for kind in PERSONS
    }
    first = arguments.clicks - results["random"].shape[1] + 1  # actions at the first answer
    shown = [c for c in (first, 10, 20, 30, 40, 50, 75, 100) if first <= c <= arguments.clicks]
    print(f"{arguments.data}, {arguments.seeds} seeds: accuracy in per cent after so many actions")
    print(f"{'':<22}" + "".join(f"{c:>15}" for c in shown))
    for name, found in results.items():
        cells = [f"{found[:, c - first].mean():.2f} ± {found[:, c - first].std(ddof=1):.2f}" for c in shown]
        print(f"{name:<22}" + "".join(f"{cell:>15}" for cell in cells))
    for better, worse in (("proposed", "random"), ("regions", "proposed")):
        ahead = results[better][:, -1] - results[worse][:, -1]
        error = ahead.std(ddof=1) / np.sqrt(len(ahead))
        print(f"{better} ahead of {worse} by {ahead.mean():.2f}, standard error {error:.2f}")
    if arguments.json:
        kept = {name: found.tolist() for name, found in results.items()}
        arguments.json.write_text(json.dumps({"first": first, **kept}, indent=1))
    if arguments.figure:
        draw(results, first, arguments)


def agreement(arguments: argparse.Namespace) -> None:
    """The live answer and the full model."""
    data, prepared = prepared_data(arguments.data)
    rows = []
    print(f"{'seed':>4}{'live':>9}{'full':>9}{'agree':>9}{'full, s':>9}")
    for seed in range(arguments.seeds):
        _, labelled, live = person(prepared, data.y, seed, arguments.clicks, "proposed")
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
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


def large(arguments: argparse.Namespace) -> None:
    """A scan of many points: when is it there, when does it answer, what does it take."""
    import laspy

    from pinvgcn.app.serve import Request, serve

    results = {}
    print(f"{'points':>12}{'page, s':>10}{'answers, s':>12}{'peak, GiB':>11}{'click, ms':>11}{'box, s':>8}")
    for points in arguments.points:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            path, names = Path(folder) / "street.las", write_las(Path(folder) / "street.las", points, laspy)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            started = time.perf_counter()
            with serve(Request(path, classes=names, rest=None)) as running:
                there, session = time.perf_counter() - started, running.session
                while session.view.step:
                    time.sleep(0.1)
                ready = time.perf_counter() - started
                for number in range(2):
                    session.label(session.cloud.sample[number::5_000][:5], number)
                while session.view.answer is None:
                    time.sleep(0.01)
                begun = time.perf_counter()
                running.page.hands._last = session.cloud.sample[:1]
                running.page.hands.clip_around()
                box = time.perf_counter() - begun
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
                click = 1000 * session.view.answer.seconds
        results[str(points)] = {"page": there, "answers": ready, "peak": peak, "click": click, "box": box}
        print(f"{points:>12,}{there:>10.1f}{ready:>12.1f}{peak:>11.2f}{click:>11.0f}{box:>8.1f}", flush=True)
        if before / 2**20 > 0.9 * peak:
            print("  (the peak was reached before, while the file was written)")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


def write_las(path: Path, points: int, laspy: Any) -> list[str]:
    """Copies of a generated street of a million points, side by side, written piece by piece; class names."""
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
    return list(street.target_names)


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


def latency(arguments: argparse.Namespace) -> None:
    """From a click to new colours, in a real browser."""
    from playwright.sync_api import sync_playwright

    from pinvgcn.app.serve import Request, serve

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
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


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
    one = commands.add_parser("clicks")
    one.add_argument("--data", default="oakland1")
    one.add_argument("--clicks", type=int, default=50)
    one.add_argument("--seeds", type=int, default=10)
    one.add_argument("--figure", type=Path)
    one.set_defaults(run=clicks)
    other = commands.add_parser("latency")
    other.add_argument("--points", type=int, nargs="+", default=[100_000, 1_000_000])
    other.add_argument("--clicks", type=int, default=12)
    other.set_defaults(run=latency)
    third = commands.add_parser("agreement")
    third.add_argument("--data", default="oakland1")
    third.add_argument("--clicks", type=int, default=50)
    third.add_argument("--seeds", type=int, default=5)
    third.set_defaults(run=agreement)
    fourth = commands.add_parser("large")
    fourth.add_argument("--points", type=int, nargs="+", default=[20_000_000])
    fourth.add_argument("--folder", type=Path, help="where the scan is written for a while")
    fourth.set_defaults(run=large)
    for each in (one, other, third, fourth):
        each.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
