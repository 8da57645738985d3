"""The Gaussian kernel k(x, y) = exp(−|x − y|²/σ²) as a linear map.

A kernel sums over nodes in two steps that never see all pairs of nodes at once::

    c = gather(points, w)        c = Σ_j φ(x_j) w_j        one pass over the nodes, small result
    evaluate(points, c)          φ(x)ᵀ c = Σ_j k(x, x_j) w_j   at any points, node by node

``taylor.py`` has monomials, few where σ is about the size of the cloud;
``fourier.py`` has trigonometric features and costs O(n) in one to three dimensions;
both make the Gram matrix of their features in one pass, the second by FFT.
``cutoff.py`` keeps the pairs that see each other, few where σ is far below the scene;
``exact.py`` has φ(x) = (k(x, x_1), …, k(x, x_n)), so that nothing is approximated.
``base.py`` has what all share, and the box, turned to the cloud's own axes, that both series live in.
"""

from pinvgcn.kernels.base import Box, Kernel, SeriesKernel
from pinvgcn.kernels.cutoff import CutoffKernel
from pinvgcn.kernels.exact import ExactKernel
from pinvgcn.kernels.fourier import FourierKernel
from pinvgcn.kernels.taylor import TaylorKernel

KERNELS: dict[str, type[Kernel]] = {  # by their name in a file
    kernel.kind: kernel for kernel in (TaylorKernel, FourierKernel, CutoffKernel, ExactKernel)
}

__all__ = ["Box", "CutoffKernel", "ExactKernel", "FourierKernel", "Kernel", "SeriesKernel", "TaylorKernel"]
