"""A scripted person at the labelling page: accuracy over clicks, and how long a click takes to show.

    python benchmarks/labelling.py clicks [--data oakland1] [--clicks 50] [--seeds 10] [--json F] [--figure F]
    python benchmarks/labelling.py latency [--points 100000 1000000] [--clicks 12] [--json F]

``clicks``: from one click a class, the person labels what the page proposes, or points at random.
``latency``: a generated street in headless Chromium, from the press of the mouse to the new colours in the
browser (the last byte of the message that carries them) and to the next picture drawn after it, which
software WebGL dominates.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.app.cloud import Cloud, surroundings
from pinvgcn.app.head import Head
from pinvgcn.app.proposals import proposals
from pinvgcn.datasets import generate_street, load_dataset


def person(head: Head, y: np.ndarray, seed: int, clicks: int, proposed: bool) -> list[float]:
    """Accuracy at the points without a label after each click, from one click a class on."""
    rng = np.random.default_rng(seed)
    classes = int(y.max()) + 1
    rows = [int(rng.choice(np.flatnonzero(y == c))) for c in range(classes)]
    found = []
    while True:
        reply = head.reply(np.array(rows), y[rows], classes)
        right = reply.proba.argmax(axis=1) == y
        right[rows] = False
        found.append(float(right.sum() / (len(y) - len(rows))))
        if len(rows) >= clicks:
            return found
        if proposed:
            rows.append(int(proposals(head, reply, count=1)[0]))
        else:
            rows.append(int(rng.choice(np.setdiff1d(np.arange(len(y)), rows))))


def clicks(arguments: argparse.Namespace) -> None:
    """Proposed against random."""
    data = load_dataset(arguments.data)
    cloud = Cloud(Path(arguments.data), data.X, {}, 1.0, np.arange(len(data.X)), "")
    around = surroundings(cloud)
    results: dict[str, np.ndarray] = {}
    for name, proposed in (("proposed", True), ("random", False)):
        runs = [person(Head(around), data.y, s, arguments.clicks, proposed) for s in range(arguments.seeds)]
        results[name] = 100 * np.array(runs)
    first = arguments.clicks - results["random"].shape[1] + 1  # clicks of the first answer
    shown = [c for c in (first, 10, 20, 30, 40, 50, 75, 100) if first <= c <= arguments.clicks]
    print(f"{arguments.data}, {arguments.seeds} seeds: accuracy in per cent after so many clicks")
    print(f"{'':<22}" + "".join(f"{c:>15}" for c in shown))
    for name, found in results.items():
        cells = [f"{found[:, c - first].mean():.2f} ± {found[:, c - first].std(ddof=1):.2f}" for c in shown]
        print(f"{name:<22}" + "".join(f"{cell:>15}" for cell in cells))
    ahead = results["proposed"][:, -1] - results["random"][:, -1]
    print(
        f"proposed ahead by {ahead.mean():.2f}, standard error {ahead.std(ddof=1) / np.sqrt(len(ahead)):.2f}"
    )
    if arguments.json:
        kept = {name: found.tolist() for name, found in results.items()}
        arguments.json.write_text(json.dumps({"first": first, **kept}, indent=1))
    if arguments.figure:
        draw(results, first, arguments)


def draw(results: dict[str, np.ndarray], first: int, arguments: argparse.Namespace) -> None:
    """The curve of docs/labelling.md."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for (name, found), colour in zip(results.items(), ("#0072b2", "#e69f00"), strict=True):
        at = np.arange(first, first + found.shape[1])
        low, middle, high = np.percentile(found, [10, 50, 90], axis=0)
        axes.plot(at, middle, color=colour, label=f"{name} (median of {len(found)} persons)")
        axes.fill_between(at, low, high, color=colour, alpha=0.2, linewidth=0, label="the middle 80 %")
    axes.set_xlabel("clicks, one point each")
    axes.set_ylabel("unlabelled points classified rightly (%)")
    axes.set_title(f"{arguments.data}: clicks where the page proposes, and anywhere", loc="left")
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
            with serve(Request(path, classes=list(street.target_names))) as running:
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
                found = _clicks(page, session, street.y, arrivals, arguments.clicks)
                browser.close()
        colours, answers, pictures = (1000 * np.array(column) for column in zip(*found, strict=True))
        drawn = len(session.cloud.drawn)
        results[str(points)] = {"colours": colours.tolist(), "pictures": pictures.tolist()}
        print(
            f"{points:>10,}{drawn:>10,}{np.median(colours):>14.0f}{colours.max():>8.0f}"
            f"{np.median(answers):>12.0f}{np.median(pictures):>13.0f}",
            flush=True,
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


def _clicks(
    page: Any, session: Any, y: np.ndarray, arrivals: list[tuple[float, int]], count: int
) -> list[tuple[float, float, float]]:
    """Seconds of clicks: to the colours' last byte, in the head, and to the next picture."""
    drawn = session.cloud.drawn
    classes = [int(np.flatnonzero(y[drawn] == c)[0]) for c in range(int(y.max()) + 1)]
    for number, point in enumerate(classes):  # one label a class, so that there is an answer
        session.label(np.array([point]), number)
    page.wait_for_timeout(3_000)
    enough = 3 * len(drawn)  # bytes of all colours
    found = []
    rng = np.random.default_rng(0)
    while len(found) < count:
        before = int((session.view.labels != -1).sum())
        answer = session.view.predicted
        arrivals.clear()
        started = time.perf_counter()
        page.mouse.click(*rng.uniform([350, 200], [850, 600]))
        for _ in range(20):
            page.wait_for_timeout(50)
            if int((session.view.labels != -1).sum()) > before:
                break
        else:
            continue  # no point was there
        while session.view.predicted is answer:
            page.wait_for_timeout(20)
        while sum(size >= enough for _, size in arrivals) < 2:  # the label itself, then the answer
            page.wait_for_timeout(20)
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        drawn_at = time.perf_counter()
        last = [when for when, size in arrivals if size >= enough][1]
        found.append((last - started, session.view.seconds, drawn_at - started))
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
    for each in (one, other):
        each.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
