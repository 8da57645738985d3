"""One graph on several processes: bytes exchanged, seconds and memory, phase by phase.

    python benchmarks/distributed.py                          10^5, 10^6 and 10^7 points, 1 and 2 ranks
    python benchmarks/distributed.py --points 1000000 --ranks 1 2 4

Each rank has one thread and its own share of a cloud of streets, whose points do not depend on the number of
ranks. Phases: the spectrum (rank 60), the fit (features as they are, one network), and the prediction of as
many points that the model has not seen. A phase takes as long as its slowest rank; bytes are those that the
first rank hands to ``torch.distributed``. What the ranks find is compared with what one finds.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

BLOCK = 100_000  # points drawn at a time, by their place in the cloud
PHASES = ("spectrum", "fit", "predict")
CLASSES = 4


def cloud(start: int, stop: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points start … stop of a town: ground, facades, trees and cars; and their classes."""
    points, classes = [], []
    for block in range(start // BLOCK, -(-stop // BLOCK)):
        draw = np.random.default_rng([seed, block])
        kind = draw.integers(CLASSES, size=BLOCK)
        x, y = draw.uniform(0, 100, (2, BLOCK))
        high = draw.uniform(size=BLOCK)
        z = np.choose(kind, [0.1 * high, 12 * high, 3 + 5 * high, 1.8 * high])
        y = np.choose(kind, [y, np.where(y < 50, 0.0, 100.0) + high, 25 + 0.5 * y, 48 + 0.04 * y])
        own = slice(max(start - block * BLOCK, 0), min(stop - block * BLOCK, BLOCK))
        points.append(np.column_stack([x, y, z])[own])
        classes.append(kind[own])
    return np.concatenate([np.empty((0, 3)), *points]), np.concatenate([np.empty(0, int), *classes])


def work(points: int) -> None:
    """One rank; the first prints what all have measured."""
    import torch
    import torch.distributed as dist

    from pinvgcn import GaussianGraph, PinvGCNClassifier
    from pinvgcn.distributed.group import Group

    torch.set_num_threads(1)
    several = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if several:
        dist.init_process_group("gloo")
    group = Group.of(dist.group.WORLD if several else None)
    bounds = [points * rank // group.size for rank in range(group.size + 1)]
    mine = slice(bounds[group.rank], bounds[group.rank + 1])
    X, y = cloud(mine.start, mine.stop, 0)
    labels = np.where(np.arange(mine.start, mine.stop) < 400, y, -1)  # all on the first rank
    new, _ = cloud(mine.start, mine.stop, 1)
    found: dict[str, dict[str, float]] = {}

    def measured(name: str, phase) -> object:
        group.wait()
        before, started = group.sent, time.perf_counter()
        result = phase()
        seconds = time.perf_counter() - started
        found[name] = {"bytes": group.sent - before, "seconds": float(group.largest(seconds))}
        return result

    eigenvalues = measured(  # the vectors are not kept: the fit finds its own
        "spectrum",
        lambda: GaussianGraph(X, 100.0, loops=1.0, process_group=group).spectrum(60, solver="taylor").values,
    )
    model = PinvGCNClassifier(
        sigma=100.0, geometry=False, solver="taylor", scaling="isotropic", members=1, neighbours=None
    )
    measured("fit", lambda: model.fit(X, labels, process_group=group))
    total = measured(
        "predict",
        lambda: sum(
            (model.predict_proba(new[at : at + BLOCK]).sum(axis=0) for at in range(0, len(new), BLOCK)),
            np.zeros(CLASSES),
        ),
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    result = {
        "points": points,
        "ranks": group.size,
        "phases": found,
        "peak_gib": float(group.largest(peak)),
        "eigenvalues": eigenvalues.tolist(),
        "proba": group.sum(total).tolist(),
    }
    if group.rank == 0:
        print(json.dumps(result))
    if several:
        dist.destroy_process_group()


def run(points: int, ranks: int) -> dict:
    """The ranks as processes of one thread each."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        with open(out, "w") as file:
            subprocess.run(
                [*(command if ranks > 1 else [sys.executable]), __file__, "--work", str(points)],
                stdout=file, check=True, env=environment,
            )  # fmt: skip
        return json.loads(out.read_text().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--json", type=Path, help="write the numbers there, too")
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work is not None:
        work(arguments.work)
        return
    print(
        f"{'points':>12}{'ranks':>7}{'GiB':>7}" + "".join(f"{p:>11} s{'times':>7}{'MB':>9}" for p in PHASES)
    )
    results = []
    for points in arguments.points:
        alone = None
        for ranks in arguments.ranks:
            one = run(points, ranks)
            alone = alone or one
            one["times"] = {p: alone["phases"][p]["seconds"] / one["phases"][p]["seconds"] for p in PHASES}
            one["eigenvalue_difference"] = float(
                np.abs(np.subtract(one["eigenvalues"], alone["eigenvalues"])).max()
            )
            results.append(one)
            print(
                f"{points:12,}{ranks:7}{one['peak_gib']:7.2f}"
                + "".join(
                    f"{one['phases'][p]['seconds']:13.2f}{one['times'][p]:7.2f}"
                    f"{one['phases'][p]['bytes'] / 1e6:9.2f}"
                    for p in PHASES
                ),
                flush=True,
            )
    largest = max(one["eigenvalue_difference"] for one in results)
    print(f"largest difference of an eigenvalue between numbers of ranks: {largest:.1e}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
