"""The sentences of the demo's report, as HTML with ``$names`` to fill in."""

from __future__ import annotations

from string import Template

HEADER = Template("""<header>
<p class="eyebrow">pinvgcn $version · demo report</p>
<h1>Thousands of rows, classified from a handful of labels</h1>
<p class="lead">Somebody has labelled a few rows of a table, or a few points of a laser scan. What are
all the others? This page shows how a Pseudoinverse Graph Convolutional Network (PinvGCN) answered that
question for two data sets, beside four simpler methods that were given the same labels.</p>
<div class="cards">
$cards
</div>
</header>""")

CARD = Template("""<div class="card">
<h3>$title</h3>
<p class="number">$accuracy</p>
<p>of the unlabelled $noun classified correctly by PinvGCN, from $given labels among $rows $noun.</p>
<p class="soft">$comparison</p>
</div>""")

STEPS = Template("""<ol class="steps">
<li><strong>Every point looks around.</strong> Is what surrounds it a line, a surface, a heap of leaves? Is it
upright, how high above the lowest point near it? Such shapes are measured at several scales, and all methods
of this page see them beside the coordinates.</li>
<li><strong>Everything is joined to everything.</strong> Points of the scan are joined the more strongly
the nearer they are to each other; rows of the table, the more attribute values they share. For the scan
that makes $pairs pairs. They are never written down: only their combined effect is computed.</li>
<li><strong>The graph is broken down into patterns.</strong> A pattern gives each point a number, so that
points with a strong connection get similar numbers: one end of the street against the other, the middle
against the ends, and on to finer ones. The $rank smoothest patterns of the scan are kept.</li>
<li><strong>A small network learns to mix them.</strong> From the few labelled points it learns how much
of each kind of pattern to let pass, so that the mixture tells the classes apart. The mixture has a value
at <em>every</em> point, so every point gets a class.</li>
</ol>
<p>Of the scan five such networks speak together, each of which has not seen a fifth of the labels and has
decision trees beside it. How much networks and trees count is found at the labels that they have not seen.
What they say of a point is averaged over what is around it, as it is for the other methods of this page, and
corrected for how frequent the classes turn out to be.</p>
<p class="soft">In the language of mathematics: the patterns are eigenvectors of the graph's normalised
Laplacian, the eigenvalues λ measure their smoothness, and the network learns spectral filters that combine
the Laplacian's pseudoinverse with a part for λ = 0 and a high-pass part.</p>""")

RESULTS = Template("""<p>All methods saw the same labelled rows and the same features, and were scored on all
the other rows; of the scan the probabilities of each were averaged in the same way over what is around.
$runs <em>Accuracy</em> is the share of unlabelled rows that got their true class; <em>mean recall</em>
is the share found of each class, averaged over the classes, so that rare ones count as much as common ones.
The most accurate method of each table is set in bold, whichever it is.</p>""")

SEVERAL_RUNS = Template("""Numbers are averages over $count runs, each with its own random choice of labels;
± is the standard deviation between the runs.""")

ONE_RUN = "Numbers are those of a single random choice of labels; another choice gives somewhat other ones."

SCAN = Template("""<p>A street as a laser scanner on a driving vehicle would see it, generated with $rows
points: denser near the vehicle, empty behind what stands in between. The pictures belong to the first
choice of labels (seed $seed).</p>""")

SEGMENTATION = "The same scan four times. Distances along the edges are in metres."

PATTERNS = """The four smoothest patterns of the graph: blue is negative, red positive, grey near zero.
Nobody told the computer about streets; the patterns follow from the distances between points alone."""

CONFIDENCE = """Left: the probability that the model gives to its own answer; the redder, the more a
second look is worth. Right: the share that is right among points with about the same probability. On the
dashed line, a probability of 80 % is right in 80 % of the cases."""

CONFUSION = Template("$title: PinvGCN's answers, all runs together, in shares of each true class.")

FILTERS = """<p>The network has a filter for each pair of an input column and an output column in each of
its layers. A filter is a function φ(λ): the factor by which a pattern with eigenvalue λ is multiplied.
Every filter is a mixture of three parts. The <em>zero impulse</em> acts on λ = 0 alone, the pattern that
has the same sign everywhere; the <em>pseudoinverse</em> acts on the computed patterns and favours smooth
ones in proportion to 1/λ; the <em>high-pass</em> part acts on all the rest alike. How much of each part to
use is what the network learned from the labels.</p>"""

FILTER_FIGURE = """Left: the average size of the weights of each part. Right: the filters themselves, at
each eigenvalue of the graph; the bands hold 90 % and 50 % of all filters."""

TRAINING = """Left: in a dense graph even the smallest non-zero eigenvalue is large and most others lie
close to 1, where an ordinary graph convolution multiplies by 1 − λ, almost zero. Right: the loss is noisy
because in each epoch a random half of the hidden values is left out."""

DETAILS = """The graphs and networks of the pictures. All numbers of this page are also in
<code>results.json</code>."""
