"""The sentences of a table's report, as HTML with ``$names`` to fill in."""

from __future__ import annotations

from string import Template

HEADER = Template("""<header>
<p class="eyebrow">pinvgcn $version · table report</p>
<h1>$target, predicted in $file</h1>
<p class="lead">$labelled of $rows rows came with a class in the column <code>$target</code>. From these
and from the other columns, several experts, a Pseudoinverse Graph Convolutional Network (PinvGCN) among
them, have together predicted $what.</p>
<div class="cards">
$cards
</div>
</header>""")

CARD = Template("""<div class="card">
<h3>$title</h3>
<p class="number">$number</p>
<p>$text</p>
<p class="soft">$small</p>
</div>""")

COLUMNS = """<p>Rows that share a value are joined. Dates are seen by year, month and weekday, and
numbers as they are, and by the bin that they fall into, of ten that hold about equally many rows. What
is nearly unique joins nothing, and free text says too much at once: such columns are left out, unless
<code>--columns</code> asks for them.</p>"""

HELD_OUT = Template("""<p>The labels were dealt into $folds parts. Each part was predicted from the
others by every method, from the same columns, as if its classes were not known. <em>Accuracy</em> is
the share that was right; 95 % intervals come from the number of labels alone, and hold for the other
rows as far as the labelled ones are like them. <em>Macro F1</em> is the mean over the classes of the
harmonic mean of precision and recall, so that rare classes count as much as common ones. The most
accurate method is set in bold, whichever it is.</p>""")

ONE_PART = Template("""<p>There are many labels: one part in $folds of them was held out, and predicted
from the others by every method, from the same columns. <em>Accuracy</em> is the share that was right,
with its 95 % interval; <em>macro F1</em> is the mean over the classes of the harmonic mean of precision
and recall. The most accurate method is set in bold, whichever it is.</p>""")

NOT_HELD_OUT = """<p>No class has two labelled rows, so that none could be held out: how well this works
is not known. Label more rows.</p>"""

CONFUSION = "PinvGCN's answers to the labels that were held out, in shares of each true class."

WHY = Template("""<p>Each of $labels labels was asked of the part of the model that had not seen it: as it
stands, and with the cell of one column from another labelled row. What is lost then, in the mean over
$permutations permutations, is what the column is worth. The <em>log-likelihood</em> tells more than
accuracy where labels are few. $clear Columns that say the same stand in for each other, so that neither
loses much. <code>pinvgcn explain</code> tells the same of a single row.</p>""")

NO_WHY = """<p>No label was held out of any part of the model, so that nothing tells what the columns are
worth.</p>"""

EXPERTS = """The weights of the experts whose opinions make the answer, as shares of their sum: the network is
the PinvGCN; forest a random forest, trees extremely randomised ones; linear is logistic regression, kernel
the same with a Gaussian kernel; diffusion spreads labels between rows that are nearest to each other."""

IMPORTANCE = """Longer bars: columns without which labels that were held out are found less surely. Lines
are standard errors over the labels."""

UNSURE = """<p>A label helps most where many rows are in doubt. Rows with the same values are one question;
the sum of 1 − confidence over those without a class is the number of them that are expected to be wrong.
Rows that are like one that is asked for come later.</p>"""

MAP = """Every row as a point: close together where rows share many values. The directions are the two
smoothest patterns (eigenvectors) of the graph, and know nothing of the classes. Where colours mix, the
columns do not tell the classes apart in these two patterns; the network uses all of them."""

FILTERS = """<p>The graph of the rows is broken down into patterns, ordered by their smoothness λ. The
network has learned how much of each kind to let pass: the <em>zero impulse</em> is the pattern with one
sign everywhere, the <em>pseudoinverse</em> favours smooth patterns in proportion to 1/λ, the
<em>high-pass</em> part lets all pass alike.</p>"""

FILTER_FIGURE = """Left: the average size of the weights of each part. Right: the filters themselves, at
each eigenvalue of the graph; the bands hold 90 % and 50 % of all filters."""

TRAINING = """Left: the spectrum, the eigenvalues that the filters see. Right: the loss in training,
noisy because in each epoch a random half of the hidden values is left out."""
