"""A table whose rows are shared out: the hypergraph, its spectrum, its experts are those of one process."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ranks import SIZES, shares

import pinvgcn.experts.diffusion
import pinvgcn.fitting.prepared
import pinvgcn.graphs.rules
from pinvgcn import Hypergraph, PinvGCNClassifier
from pinvgcn.datasets import load_dataset
from pinvgcn.distributed.group import Group
from pinvgcn.errors import PinvGCNError
from pinvgcn.features.missing_numbers import MissingNumbers
from pinvgcn.graphs import TableEncoder
from pinvgcn.graphs.distinct import distinct_rows, distinct_subsample, row_hashes

KINDS = ("even", "uneven", "empty")
N = 300
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, N)
TABLE = pd.DataFrame(
    {f"c{j}": np.array(list("abcde"))[(2 * TRUTH * (j < 4) + RNG.integers(0, 3, N)) % 5] for j in range(6)}
).assign(
    late=np.where(np.arange(N) < 200, None, "z"),  # all missing on the first ranks
    place=np.array(["north", "south"])[np.arange(N) // 150],  # a value that only some ranks have
    size=np.round(RNG.normal(size=N), 2),
    flag=RNG.random(N) < 0.3,
)
FEW = np.where(np.arange(N) % 8 == 0, TRUTH, -1)


def own(group, table, kind):
    return table[shares(table.shape[0], group.size, kind)[group.rank]]


def graph_of(process_group, table, kind, options):
    group = Group.of(process_group)
    graph = Hypergraph.from_table(own(group, table, kind), process_group=process_group, **options)
    return graph, graph.spectrum()


def described(process_group, table, kind, options):
    graph, spectrum = graph_of(process_group, table, kind, options)
    return {
        "learned": graph.encoder.to_dict(),
        "incidence": graph.incidence.toarray(),
        "nodes": (graph.n_nodes, graph.n_total, graph.start),
        "values": spectrum.values,
        "null": spectrum.null_vectors,
        "vectors": spectrum.vectors,
        "residuals": spectrum.residuals,
        "new": spectrum.extend_basis(graph.encoder.transform(table[:5])[0]),
        "product": graph.normalized_adjacency @ spectrum.vectors[:, :2],
    }


def check_same(found, table, options, *, vectors=True):
    """Against one process on all rows."""
    graph = Hypergraph.from_table(table, **options)
    spectrum = graph.spectrum()
    for one in found:
        assert one["learned"] == graph.encoder.to_dict()
        np.testing.assert_allclose(one["values"], spectrum.values, atol=1e-10)
        assert one["residuals"].max(initial=0) < 1e-8
    np.testing.assert_array_equal(np.vstack([one["incidence"] for one in found]), graph.incidence.toarray())
    assert [one["nodes"][1] for one in found] == [len(table)] * len(found)
    assert [one["nodes"][2] for one in found] == np.cumsum([0, *(one["nodes"][0] for one in found)])[
        :-1
    ].tolist()
    np.testing.assert_allclose(np.vstack([one["null"] for one in found]), spectrum.null_vectors, atol=1e-10)
    V = np.vstack([one["vectors"] for one in found])
    if vectors:
        np.testing.assert_allclose(V, spectrum.vectors, atol=1e-6)
    some = np.random.default_rng(0).normal(size=(len(table), 3))
    onto = [U @ (U.T @ some) for U in (V, spectrum.vectors)]
    np.testing.assert_allclose(onto[0], onto[1], atol=1e-7)
    NV = np.vstack([one["product"] for one in found])
    np.testing.assert_allclose(NV, V[:, :2] * (1 - spectrum.values[:2]), atol=1e-8)
    at_first = np.hstack([spectrum.null_vectors[:5], V[:5]])
    for one in found:
        np.testing.assert_allclose(one["new"], at_first, atol=1e-8)


OPTIONS = {
    "width": {},
    "quantile": {"binning": "quantile", "bins": 7},
    "missing": {"missing": "value", "min_size": 1},
    "large": {"min_size": 40},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("options", OPTIONS)
def test_a_table_on_several_ranks(ranks, size, kind, options):
    check_same(ranks.run(size, described, TABLE, kind, OPTIONS[options]), TABLE, OPTIONS[options])


PARTS = {  # of one column on four ranks: what each of them has
    "ints and floats": [[1, 2, 3], [0.5, np.nan, 2.5], [3, 1], [7.0]],
    "text beside numbers": [[1, 2, 2], ["a", None, "1"], [1.0, 2.5], [np.nan]],
    "missing elsewhere": [[None, None, None], ["a", "b", "a"], [np.nan, np.nan], ["b"]],
    "truths and missing": [[True, False, True], [None, None, None], [False, True], [np.nan]],
    "truths beside numbers": [[True, False, True], [1, 0, 1], [2.0, np.nan], [1]],
    "no row": [[], ["a", "b", "c"], [], ["b", "a"]],
    "whole objects": [np.array([1, 2, 1], dtype=object), [1.0, 2.0, 3.0], ["x", "y"], [2]],
}


def frames_of(column):
    """A frame for each rank: the column, and one that all rows share or not."""
    return [
        pd.DataFrame({"a": pd.Series(list(part), dtype=getattr(part, "dtype", None) if len(part) else None)})
        .assign(b=lambda f: np.arange(len(f)) % 2 == 0)
        .assign(c="all")
        for part in PARTS[column]
    ]


def encoded(process_group, parts, options):
    group = Group.of(process_group)
    encoder = TableEncoder(min_size=1, **options)
    H = encoder.fit_transform(parts[group.rank], group)
    return encoder.to_dict(), encoder.names, H.toarray()


@pytest.mark.parametrize("binning", ["width", "quantile"])
@pytest.mark.parametrize("column", PARTS)
def test_columns_that_differ_between_parts(ranks, column, binning):
    """As one process sees the parts, one below the other."""
    parts, options = frames_of(column), {"binning": binning, "bins": 3, "missing": "value"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of pandas, on columns that are all missing
        whole = pd.concat([part for part in parts if len(part)], ignore_index=True)
    encoder = TableEncoder(min_size=1, **options)
    H = encoder.fit_transform(whole).toarray()
    found = ranks.run(4, encoded, parts, options)
    for learned, names, _ in found:
        assert (learned, names) == (encoder.to_dict(), encoder.names)
    np.testing.assert_array_equal(np.vstack([own for _, _, own in found]), H)


def test_pandas_categories(ranks):
    """Ordered ones keep their order if it is the same on all ranks; unlike lists of categories are joined."""
    order = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    rows = [["high", "low"], ["middle", "high"], [], ["low", None]]
    same = [pd.DataFrame({"a": pd.Categorical(part, dtype=order), "b": range(len(part))}) for part in rows]
    (learned, names, _), *_ = ranks.run(4, encoded, same, {})
    assert learned["columns"][0]["values"] == ["low", "middle", "high"]
    assert names[:3] == ("a = low", "a = middle", "a = high")
    unlike = [pd.DataFrame({"a": pd.Categorical(part), "b": range(len(part))}) for part in rows]
    (learned, _, _), *_ = ranks.run(4, encoded, unlike, {})
    assert learned["columns"][0]["values"] == ["high", "low", "middle"]


def edges_of_numbers(process_group, x, kind, most, few):
    group = Group.of(process_group)
    pinvgcn.graphs.rules.FEW, before = few, pinvgcn.graphs.rules.FEW
    pinvgcn.graphs.rules.MOST = most
    try:
        encoder = TableEncoder(4, binning="quantile")
        encoder.fit_transform(own(group, x, kind), group)
    finally:
        pinvgcn.graphs.rules.FEW = before
        pinvgcn.graphs.rules.MOST = pinvgcn.distributed.rows.MOST
    return encoder.to_dict()["columns"][0]["edges"]


@pytest.mark.parametrize("kind", KINDS)
def test_quantiles_of_many_rows(ranks, kind):
    """Beyond the pool: exact where numbers repeat, else from the pool; the same on any ranks."""
    x = np.random.default_rng(3).exponential(size=(2_000, 1))
    few = np.round(x, 1)
    exact = ranks.run(4, edges_of_numbers, few, kind, 1_000, 100)
    assert exact == [exact_edges(few)] * 4
    many = ranks.run(4, edges_of_numbers, x, kind, 1_000, 100)
    assert many == [edges_of_numbers(None, x, kind, 1_000, 100)] * 4
    inner = np.quantile(x, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(many[0][1:-1], inner, rtol=0.15)
    assert (many[0][0], many[0][-1]) == (x.min(), x.max())


def exact_edges(x):
    encoder = TableEncoder(4, binning="quantile")
    encoder.fit_transform(x)
    return encoder.to_dict()["columns"][0]["edges"]


def refused(process_group, parts):
    group = Group.of(process_group)
    try:
        Hypergraph.from_table(parts[group.rank], process_group=process_group)
    except PinvGCNError as error:
        return f"{type(error).__name__}: {error}"
    return "taken"


TWO = pd.DataFrame({"a": list("xxyy"), "b": list("uvuv")})


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            [TWO, TWO[["a"]]],
            "ColumnError: Every rank must have the columns of rank 0, in their order: 'a', 'b'",
        ),
        ([TWO, TWO[["b", "a"]]], "Got 'b', 'a' on rank 1 instead"),
        ([TWO, TWO.assign(b=[1.0, 2.0, np.inf, 3.0])], "DataError: Rank 1: Column 'b' must be finite"),
        ([TWO, np.zeros(3)], "DataError: Rank 1: The table must be 2-dimensional"),
        ([TWO.iloc[:0], TWO.iloc[:0]], "DataError: The table has 0 sample"),
        (
            [TWO.assign(a="x", b="u"), TWO.assign(a="x", b="u")],
            "ColumnError: The table must have a column that",
        ),
        (
            [TWO, pd.DataFrame({"a": ["x", None], "b": ["u", None]})],
            "GraphError: .* 1 isolated node .*node 5",
        ),
    ],
)
def test_what_cannot_be_used_is_told_on_all_ranks(ranks, parts, message):
    found = ranks.run(2, refused, parts)
    assert found[0] == found[1]
    assert pd.Series(found).str.contains(message).all(), found[0]


def given_incidence(process_group, H, weights, kind, solver):
    group = Group.of(process_group)
    graph = Hypergraph(own(group, H, kind), weights, process_group=process_group)
    spectrum = graph.spectrum(6, solver=solver)
    return spectrum.values, spectrum.null_vectors, spectrum.vectors


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", ["krylov", "dense"])
@pytest.mark.parametrize("wide", [False, True])
def test_pieces_weights_and_solvers(ranks, kind, solver, wide):
    """Three pieces, of which ranks see parts only; with few hyperedges and with more than rows."""
    rng = np.random.default_rng(5)
    n, edges = (24, 90) if wide else (240, 90)
    piece, of_edge = rng.integers(0, 3, n), np.arange(edges) % 3
    H = (rng.random((n, edges)) < 0.2) * (piece[:, None] == of_edge)
    H[np.arange(n), piece] = 1
    for e in range(edges):
        H[np.flatnonzero(piece == of_edge[e])[0], e] = 1
    weights = rng.uniform(0.5, 2, edges)
    values, null, vectors = given_incidence(None, H, weights, "even", "dense")
    assert null.shape[1] == 3
    found = ranks.run(4, given_incidence, H, weights, kind, solver)
    for one in found:
        np.testing.assert_allclose(one[0], values, atol=1e-10)
    np.testing.assert_allclose(np.vstack([one[1] for one in found]), null, atol=1e-10)
    V = np.vstack([one[2] for one in found])
    np.testing.assert_allclose(V, vectors, atol=1e-5)


def many_edges(process_group, n, kind):
    """More hyperedges than are solved whole."""
    rng = np.random.default_rng(6)
    rows = np.repeat(np.arange(n), 4)
    columns = np.sort(rng.integers(0, 3_200, (n, 4)) * (rng.random((n, 4)) < 0.7), axis=1).ravel()
    H = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, 3_200))
    H.data[:] = 1
    H = H[:, np.flatnonzero(H.sum(axis=0) > 0)]
    graph = Hypergraph(own(Group.of(process_group), H, kind), process_group=process_group)
    spectrum = graph.spectrum(4)
    return spectrum.solver, spectrum.values, spectrum.residuals


def test_more_hyperedges_than_are_solved_whole(ranks):
    solver, values, _ = many_edges(None, 9_000, "even")
    for one in ranks.run(2, many_edges, 9_000, "uneven"):
        assert one[0] == solver == "krylov"
        np.testing.assert_allclose(one[1], values, atol=1e-10)
        assert one[2].max() < 1e-7


def pool_of(process_group, H, kind, most, dense):
    group = Group.of(process_group)
    mine = sp.csr_array(own(group, H, kind))
    first, _, counts = distinct_rows(mine)
    rows = mine[first].toarray() if dense else mine[first]
    pool = distinct_subsample(rows, counts, row_hashes(mine[first]), group, most=most)
    return pool._replace(rows=pool.rows if dense else pool.rows.toarray())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", [1, 40, 10_000])
@pytest.mark.parametrize("size", SIZES)
def test_a_pool_of_distinct_rows(ranks, size, kind, most):
    """The distinct rows with the smallest hashes and how often they come, in the order in which they come."""
    H = Hypergraph.from_table(TABLE[["c0", "c1", "c2", "c3"]]).incidence.toarray()
    found, inverse = np.unique(H, axis=0, return_inverse=True)
    hashes = row_hashes(sp.csr_array(found))
    chosen = np.argsort(hashes)[:most]
    first = [int(np.flatnonzero(inverse == c)[0]) for c in chosen]
    order = np.argsort(first)
    for pool in [*ranks.run(size, pool_of, H, kind, most, most == 40), pool_of(None, H, kind, most, False)]:
        np.testing.assert_array_equal(pool.rows, found[chosen[order]])
        np.testing.assert_array_equal(pool.hashes, hashes[chosen[order]])
        np.testing.assert_array_equal(pool.counts, np.bincount(inverse)[chosen[order]])
        assert pool.complete == (most >= len(found))
        if most > 1:
            assert pool.distinct == pytest.approx(len(found), rel=0 if pool.complete else 4 / np.sqrt(most))


def test_the_estimate_of_how_many_rows_differ():
    """Within three standard deviations, d/√most, at several numbers of columns."""
    for columns in (1, 2, 5):
        rows = np.random.default_rng(columns).integers(0, 50_000, (40_000, columns))
        offsets = 50_000 * np.arange(columns)
        flat = (rows + offsets).ravel()
        H = sp.csr_array(
            (np.ones(len(flat)), flat, columns * np.arange(40_001)), shape=(40_000, 50_000 * columns)
        )
        first, _, counts = distinct_rows(H)
        pool = distinct_subsample(H[first], counts, row_hashes(H[first]), most=1_000)
        assert pool.distinct == pytest.approx(len(first), rel=3 / np.sqrt(1_000))


def spread(process_group, kind, anchors, most):
    """The graph of nearest rows, and a model of six experts on the same rows, or on a subsample."""
    group = Group.of(process_group)
    pinvgcn.experts.diffusion.ANCHORS, before = anchors, pinvgcn.experts.diffusion.ANCHORS
    pinvgcn.fitting.prepared.MOST, whole = most, pinvgcn.fitting.prepared.MOST
    try:
        model = PinvGCNClassifier("categorical", epochs=5, trees=5, members=2)
        model.fit(own(group, TABLE, kind), own(group, FEW, kind), process_group=process_group)
    finally:
        pinvgcn.experts.diffusion.ANCHORS = before
        pinvgcn.fitting.prepared.MOST = whole
    found = model.fitted_
    diffusion = found.ensemble.experts["diffusion"]
    return {
        "anchors": diffusion.anchors,
        "logs": diffusion.logs,
        "weights": found.ensemble.exponents,
        "proba": found.transduction_proba,
        "again": found.probabilities(found.place(TABLE[:7])),
    }


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("anchors", "most"), [(30, 1_000), (4_096, 1_000), (4_096, 90)])
def test_experts_of_a_table_with_numbers(ranks, kind, anchors, most):
    one = spread(None, kind, anchors, most)
    assert len(one["weights"]) == 6
    for size in SIZES:
        found = ranks.run(size, spread, kind, anchors, most)
        for other in found:
            np.testing.assert_allclose(other["anchors"], one["anchors"], atol=1e-6)
            np.testing.assert_allclose(other["logs"], one["logs"], atol=1e-5)
            np.testing.assert_allclose(other["weights"], one["weights"], atol=1e-5)
            np.testing.assert_allclose(other["again"], one["again"], atol=1e-5)
        together = np.vstack([other["proba"] for other in found])
        np.testing.assert_allclose(together, one["proba"], atol=1e-5)


def test_mushroom(ranks):
    """Real rows: eigenvalues, incidences and anchors of 8,124 mushrooms."""
    X = load_dataset("mushroom").X
    check_same(ranks.run(4, described, X, "uneven", {"min_size": 1}), X, {"min_size": 1}, vectors=False)


@st.composite
def tables(draw):
    n = draw(st.integers(2, 12))
    cells = st.one_of(st.none(), st.sampled_from(["a", "b", ""]), st.sampled_from([0, 1, 2.5]), st.booleans())
    kinds = [
        st.sampled_from(["a", "b", "c", None]),
        st.integers(-3, 3),
        st.floats(-2, 2, width=16),
        st.booleans(),
        cells,
    ]
    columns = {
        f"c{j}": pd.Series(draw(st.lists(draw(st.sampled_from(kinds)), min_size=n, max_size=n)))
        for j in range(draw(st.integers(1, 3)))
    }
    cuts = sorted(draw(st.lists(st.integers(0, n), min_size=3, max_size=3)))
    return pd.DataFrame(columns), [0, *cuts, n]


def cut(process_group, table, ends, options):
    rank = Group.of(process_group).rank
    try:
        graph = Hypergraph.from_table(
            table[ends[rank] : ends[rank + 1]], process_group=process_group, **options
        )
    except PinvGCNError as error:
        return str(error), None, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return graph.encoder.to_dict(), graph.incidence.toarray(), graph.spectrum().values


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    tables(), st.sampled_from(["width", "quantile"]), st.sampled_from(["ignore", "value"]), st.integers(1, 2)
)
def test_any_table_however_it_is_shared_out(ranks, table, binning, missing, min_size):
    frame, ends = table
    options = {"binning": binning, "missing": missing, "min_size": min_size, "bins": 3}
    learned, H, values = cut(None, frame, [0, len(frame)], options)
    found = ranks.run(4, cut, frame, ends, options)
    for one in found:
        assert one[0] == learned
        if H is not None:
            np.testing.assert_allclose(one[2], values, atol=1e-10)
    if H is not None:
        np.testing.assert_array_equal(np.vstack([one[1] for one in found]), H)


def missing_numbers(process_group, X, kind):
    group = Group.of(process_group)
    found = MissingNumbers.of(X[shares(len(X), group.size, kind)[group.rank]], group)
    return found.to_dict()


@pytest.mark.parametrize("kind", KINDS)
def test_missing_numbers_are_those_of_one_process(ranks, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 1)) + 0.3 * rng.normal(size=(N, 4))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[: N // 2, 3] = np.nan  # known on the last ranks only
    one = MissingNumbers.of(X).to_dict()
    for own_rank in ranks.run(SIZES[-1], missing_numbers, X, kind):
        assert own_rank["knots"] == one["knots"]
        for a, b in zip(own_rank["scores"], one["scores"], strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)
        np.testing.assert_allclose(own_rank["correlations"], one["correlations"], atol=2e-6)
