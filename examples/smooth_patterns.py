"""The smoothest patterns of a cloud.

Every point of a scan is joined to every other, with the weight exp(−|x − y|²/σ²). The eigenvectors of that
graph's Laplacian are its smoothest patterns, and all that the network knows of the whole. They are found
without ever writing down the graph.
"""

import matplotlib.pyplot as plt
import numpy as np
from _scan_picture import DIVERGING, draw_scan

from pinvgcn import GaussianGraph
from pinvgcn.datasets import generate_street

points = generate_street(20_000, random_state=0).X
spectra = {sigma: GaussianGraph(points, sigma=sigma, loops=1.0).spectrum(60) for sigma in (100.0, 20.0, 5.0)}
for sigma, spectrum in spectra.items():
    print(f"σ = {sigma:3.0f} m: {spectrum.solver:<8} residuals up to {spectrum.residuals.max():.0e}")
print(f"each graph has {len(points) * (len(points) - 1) // 2:,} edges")

# %%
# Six patterns at σ = 20 m: blue is negative, vermillion positive. The first ones go along the street, later
# ones across it and upwards.
spectrum = spectra[20.0]
figure, axes = plt.subplots(3, 2, figsize=(10, 5.9), layout="constrained")
for number, panel in zip((0, 1, 2, 5, 9, 14), axes.flat, strict=True):
    pattern = spectrum.vectors[:, number]
    limit = np.quantile(np.abs(pattern), 0.98)
    shades = DIVERGING(0.5 + 0.5 * np.clip(pattern / limit, -1, 1))[:, :3]
    draw_scan(panel, points, shades, f"{number + 1}: λ = {spectrum.values[number]:.4f}")
plt.show()

# %%
# The wider σ, the faster the eigenvalues come close to 1 and the fewer patterns there are. `Spectrum.mu`
# has 1 − λ with all its digits, where λ itself would have lost them.
figure, axes = plt.subplots(figsize=(8, 3.9), layout="constrained")
looks = ("#0072b2", "-"), ("#e69f00", "--"), ("#009e73", ":")
for (sigma, spectrum), (colour, style) in zip(spectra.items(), looks, strict=True):
    axes.semilogy(np.arange(1, spectrum.rank + 1), spectrum.mu, style, color=colour, label=f"σ = {sigma:g} m")
axes.set(xlabel="number of the eigenvalue", ylabel="1 − λ")
axes.legend(frameon=False)
axes.set_title("How much each pattern weighs", loc="left")
plt.show()

# %%
# Eigenvectors are functions of position: they have values where no point was, and at the points themselves
# they give what is there. [Solvers](../docs/solvers.md) has what is promised about them, [the
# mathematics](../docs/maths.md) how they are found.
new = points[:3] + np.array([0.5, 0.0, 0.0])
spectrum = spectra[20.0]
print(spectrum.extend(new)[:, :3].round(4))
print(f"largest difference at the points: {np.abs(spectrum.extend(points) - spectrum.vectors).max():.0e}")
