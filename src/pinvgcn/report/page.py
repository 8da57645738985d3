"""The looks of an HTML report: one document, its style sheet, and a few pieces to fill it with.

A page needs no network, no script and no other file. It follows the reader's choice of light or
dark, and prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from string import Template

_DOCUMENT = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="$generator">
<title>$title</title>
<style>
$style
</style>
</head>
<body>
<main class="$width">
$body
</main>
</body>
</html>
""")

_STYLE = """
:root {
  --paper: #fdfdfc; --ink: #1d2126; --soft: #5b636e; --line: #e0e3e7; --panel: #f4f5f6; --accent: #0072b2;
  --bar: rgba(0, 114, 178, .22);
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --ink: #e4e7ea; --soft: #a0a9b3; --line: #2f353b; --panel: #1c2024; --accent: #56b4e9;
    --bar: rgba(86, 180, 233, .26);
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans",
    sans-serif;
}
main { max-width: 1000px; margin: 0 auto; padding: 3.5rem 1.5rem 4rem; }
main.wide { max-width: 1320px; }
header { margin-bottom: 2.5rem; }
.eyebrow {
  font-size: .78rem; letter-spacing: .09em; text-transform: uppercase; color: var(--accent);
  font-weight: 600; margin: 0;
}
h1 {
  font-size: 2.25rem; line-height: 1.15; letter-spacing: -.02em; margin: .35rem 0 .8rem;
  text-wrap: balance;
}
h2 {
  font-size: 1.35rem; line-height: 1.25; letter-spacing: -.01em; margin: 3.2rem 0 .7rem;
  padding-top: 1.1rem; border-top: 1px solid var(--line);
}
h3 { font-size: 1.02rem; margin: 1.8rem 0 .4rem; }
p { margin: .6rem 0; max-width: 46rem; }
p, li, dd, figcaption { overflow-wrap: anywhere; }
.lead { font-size: 1.13rem; max-width: 46rem; }
.soft, figcaption { color: var(--soft); font-size: .9rem; }
.cards {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(19rem, 1fr)); gap: 1rem;
  margin: 1.8rem 0;
}
.card {
  background: var(--panel); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.3rem;
}
.card h3 { margin: 0; }
.card .number {
  font-size: 2.3rem; font-weight: 650; letter-spacing: -.03em; line-height: 1.2; margin: .3rem 0 0;
}
.card p { margin: .25rem 0 0; }
ol.steps {
  counter-reset: step; list-style: none; margin: 1.2rem 0; padding: 0; display: grid; gap: 1.6rem;
  grid-template-columns: repeat(auto-fit, minmax(21rem, 1fr));
}
ol.steps li { counter-increment: step; border-top: 3px solid var(--accent); padding-top: .6rem; }
ol.steps li::before { content: counter(step) ". "; font-weight: 650; color: var(--accent); }
ol.steps strong { font-weight: 650; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .8rem 0 .4rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .5rem .8rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-size: .8rem; font-weight: 600; color: var(--soft); vertical-align: bottom; }
thead th { border-bottom: 1.5px solid var(--soft); }
th:first-child, td:first-child { text-align: left; padding-left: .2rem; }
td small { display: block; color: var(--soft); font-size: .8rem; white-space: normal; line-height: 1.35; }
table.wide-bars :is(th, td):nth-child(2), table.wide-bars :is(th, td):nth-child(3) { width: 17%; }
table.wide-bars :is(th, td):nth-child(4) { width: 24%; }
table.dense :is(th, td) { padding: .4rem .55rem; }
table.dense td { font-size: .88rem; }
table.dense :is(th, td:first-child) { white-space: normal; }
table.dense :is(th, td):first-child { min-width: 7rem; }
table.words :is(th, td):not(:last-child) { text-align: left; white-space: normal; }
table.dense td strong { color: var(--accent); }
tr.best td { font-weight: 700; }
tr.best td small { font-weight: 400; }
td.bar { background: linear-gradient(90deg, var(--bar) var(--share), transparent var(--share)) no-repeat;
  background-size: 100% 1.9rem; background-position: 0 50%; }
td.shade { background: color-mix(in srgb, var(--bar) var(--share), transparent); }
figure { margin: 1.4rem 0; }
svg.figure { display: block; width: 100%; height: auto; }
figure.table { margin: 0; }
figcaption { margin-top: .5rem; max-width: 50rem; }
.pair { display: grid; grid-template-columns: 9fr 5fr; gap: 2rem; align-items: end; }
@media (max-width: 700px) { .pair { grid-template-columns: 1fr; } h1 { font-size: 1.8rem; } }
dl {
  display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.4rem; margin: .8rem 0;
  font-size: .93rem;
}
dt { color: var(--soft); }
dd { margin: 0; }
code, pre {
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: .88em;
}
pre {
  background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem;
  overflow-x: auto;
}
pre code { font-size: 1em; }
a { color: var(--accent); }
@media print {
  main { padding-top: 0; max-width: none; }
  h2 { break-after: avoid; }
  figure:not(.table), tr { break-inside: avoid; }
}
"""


def document(title: str, body: Iterable[str], generator: str, *, wide: bool = False) -> str:
    """A whole page; a wide one has room for tables with many columns."""
    return _DOCUMENT.substitute(
        title=escape(title),
        style=_STYLE.strip(),
        generator=escape(generator),
        width="wide" if wide else "",
        body="\n".join(body),
    )


def section(title: str, *parts: str) -> str:
    """A heading and what stands under it."""
    return f"<section>\n<h2>{escape(title)}</h2>\n" + "\n".join(parts) + "\n</section>"


def figure(svg: str, caption: str) -> str:
    """A figure with its caption, which is HTML."""
    return f"<figure>\n{svg}\n<figcaption>{caption}</figcaption>\n</figure>"


def cell(text: str, *, bar: float | None = None, shade: float | None = None) -> str:
    """A table's cell of HTML, over a bar or a shade that is a share of the full one."""
    for kind, share in (("bar", bar), ("shade", shade)):
        if share is not None:
            return f'<td class="{kind}" style="--share: {100 * share:.1f}%">{text}</td>'
    return f"<td>{text}</td>"


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    caption: str = "",
    *,
    best: Iterable[int] = (),
    kind: str = "",
) -> str:
    """A table of finished cells; the rows whose numbers are in ``best`` stand out.

    ``kind`` is a class of the style sheet. A table that is too wide for the window scrolls; its caption does
    not.
    """
    chosen = set(best)
    lines = []
    for number, cells in enumerate(rows):
        mark = ' class="best"' if number in chosen else ""
        lines.append(f"<tr{mark}>{''.join(cells)}</tr>")
    header = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    parts = [
        f'<div class="scroll"><table class="{kind}">',
        f"<thead><tr>{header}</tr></thead>",
        "<tbody>",
        *lines,
        "</tbody></table></div>",
    ]
    if caption:
        parts = ['<figure class="table">', *parts, f"<figcaption>{caption}</figcaption>", "</figure>"]
    return "\n".join(parts)


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and their values, both plain text."""
    return "<dl>" + "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in pairs) + "</dl>"
