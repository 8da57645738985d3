"""The hidden layers in one pass over chunks of nodes, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pinvgcn.nn.dropout import DropoutKey, drop_, start_of
from pinvgcn.nn.model import PinvGCN
from pinvgcn.nn.problem import Problem
from pinvgcn.nn.rows import Rows, chunks

Map = Callable[[Callable[[int], Any], Sequence[int]], Any]  # such as the built-in map, or that of a pool


class FastNetwork:
    """``PinvGCN.forward`` at a few rows: the same numbers and gradients, at the cost of its large products.

    A hidden layer passes on its sum over nodes C = VᵀH, and its values at the rows that are asked for; the
    last layer is computed there alone. What has no row a node is left to PyTorch's own differentiation.
    Where ranks share out the nodes, each has the rows that are its own, and gradients of what it adds to the
    loss of all.

    Scores are wanted at ``rows`` (m,), ascending, without repetition. ``run`` is ``map``, or one that works
    on several chunks at a time. If ``sampled``, the rows are the first nodes, and the others stand for more
    than themselves: what the last hidden layer sums of these is the mean over their dropout, of which a few
    nodes would be a poor sample.
    """

    def __init__(
        self, network: PinvGCN, problem: Problem, rows: Tensor, run: Map = map, *, sampled: bool = False
    ) -> None:
        self.network, self.problem, self.rows, self.run = network, problem, rows, run
        *hidden, _ = network.layers
        self._F = problem.F.dense(rows)
        self._first = [] if hidden else [part.dense(rows) for part in problem.first]
        starts = torch.tensor([part.start for part in chunks(len(problem))] + [len(problem)])
        self._bounds = torch.searchsorted(rows.cpu(), starts).tolist()
        self._dropped = [len(problem)] * len(hidden)
        if sampled and hidden:
            self._dropped[-1] = len(rows)
        self._hidden = [self._F.new_empty(len(problem), len(conv.bias)) for conv in hidden]

    def __call__(self, key: tuple[int, int] | None = None) -> Tensor:
        """Scores (m, classes), with dropout for ``key`` = (seed, epoch), without it for None."""
        problem, layers = self.problem, self.network.layers
        p = 0.0 if key is None else self.network.dropout
        scores: Tensor = layers[-1].bias
        inputs, thetas = problem.first, problem.first_coefficients(layers[0])
        if not self._hidden:
            for A, theta in zip(self._first, thetas, strict=True):
                scores = scores + A @ theta
            return scores
        H, direct = None, None
        for depth, (out, dropped) in enumerate(zip(self._hidden, self._dropped, strict=True), start=1):
            start = start_of(DropoutKey(*key, depth)) if key is not None and p else None
            nodes = self.rows, self._bounds, problem.ids
            plan = _Plan(inputs, problem.weighted, *nodes, p, start, dropped, self.run, out)
            H, sums, at_rows = _Hidden.apply(plan, H, direct, layers[depth - 1].bias, *thetas)
            sums = problem.group.total(sums)
            inputs, thetas = (problem.F,), [problem.spread(layers[depth].spectral(problem.gather(sums)))]
            direct = layers[depth].direct()
        return scores + self._F @ thetas[0] + at_rows @ direct


@dataclass(frozen=True)
class _Plan:
    """The constants of one hidden layer in one epoch."""

    inputs: tuple[Rows, ...]  # A_j
    weighted: Rows  # diag(ω) F
    rows: Tensor  # (m,)
    bounds: list[int]  # which of the rows lie in which chunk
    ids: Tensor
    p: float
    start: int | None  # of the sequence of random numbers that dropout draws from
    dropped: int  # how many nodes, the first ones, it draws for; the others are their mean
    run: Map
    out: Tensor  # H, overwritten in every epoch

    def split(self, Y: Tensor, chunk: slice) -> tuple[Tensor, Tensor]:
        """The rows of a chunk for which dropout is drawn, and the others."""
        mine = max(0, self.dropped - chunk.start)
        return Y[:mine], Y[mine:]


class _Hidden(torch.autograd.Function):
    """H = drop(ReLU(Σ_j A_j Θ_j + H′N + b)), S = Fᵀ diag(ω) H, and H at some rows.

    ReLU(sY) = s ReLU(Y) for s = 1/(1 − p), so that s multiplies the small Θ, N and b instead of H; and the
    derivative of ReLU and dropout together is s where H > 0, so that no mask is kept; nodes for which nothing
    is drawn have s taken back in H and in the derivative. A chunk's sums are kept apart until all are done:
    the result does not depend on how many chunks were worked on at a time.
    """

    @staticmethod
    def forward(
        ctx: Any, plan: _Plan, before: Tensor | None, direct: Tensor | None, bias: Tensor, *thetas: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        scale = 1 / (1 - plan.p)
        H, parts = plan.out, chunks(len(plan.out))
        coefficients = [scale * theta for theta in thetas]
        own = None if direct is None else scale * direct
        constant = scale * bias
        sums = H.new_empty(len(parts), plan.weighted.shape[1], H.shape[1])

        @torch.no_grad()  # for the threads of a pool, which do not inherit it
        def work(c: int) -> None:
            Y = H[parts[c]]
            Y.copy_(constant.expand_as(Y))
            for A, theta in zip(plan.inputs, coefficients, strict=True):
                A.times(c, theta, Y)
            if own is not None:
                assert before is not None
                Y.addmm_(before[parts[c]], own)
            Y.clamp_min_(0)
            if plan.start is not None:
                drawn, mean = plan.split(Y, parts[c])
                if len(drawn):
                    drop_(drawn, plan.p, plan.start, plan.ids[parts[c]][: len(drawn)])
                mean *= 1 - plan.p
            plan.weighted.adjoint(c, Y, sums[c])

        list(plan.run(work, range(len(parts))))
        ctx.plan, ctx.before, ctx.own, ctx.scale = plan, before, own, scale
        ctx.set_materialize_grads(False)
        return H.detach(), sums.sum(dim=0), H[plan.rows]

    @staticmethod
    def backward(
        ctx: Any, dH: Tensor | None, dS: Tensor | None, d_rows: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        plan, before, own = ctx.plan, ctx.before, ctx.own
        H, parts = plan.out, chunks(len(plan.out))
        width = H.shape[1]
        d_thetas = [H.new_empty(len(parts), A.shape[1], width) for A in plan.inputs]
        d_bias = H.new_empty(len(parts), width)
        d_own = None if own is None else H.new_empty(len(parts), *own.shape)
        d_before = None if before is None else torch.empty_like(before)

        @torch.no_grad()
        def work(c: int) -> None:
            G = torch.zeros_like(H[parts[c]]) if dH is None else dH[parts[c]].clone()
            if dS is not None:
                plan.weighted.times(c, dS, G)
            if d_rows is not None:
                mine = slice(plan.bounds[c], plan.bounds[c + 1])
                G[plan.rows[mine] - parts[c].start] += d_rows[mine]
            G *= torch.sign(H[parts[c]])
            if plan.start is not None:
                plan.split(G, parts[c])[1].mul_(1 - plan.p)
            for A, d_theta in zip(plan.inputs, d_thetas, strict=True):
                A.adjoint(c, G, d_theta[c])
            torch.sum(G, dim=0, out=d_bias[c])
            if d_own is not None and d_before is not None:
                torch.mm(before[parts[c]].T, G, out=d_own[c])
                torch.mm(G, own.T, out=d_before[parts[c]])

        list(plan.run(work, range(len(parts))))

        totals = (None if d is None else ctx.scale * d.sum(dim=0) for d in (d_own, d_bias, *d_thetas))
        return None, d_before, *totals
