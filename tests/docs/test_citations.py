"""What docstrings cite exists: sections and equations of docs/maths.md, pages of docs/."""

import importlib
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MATHS = (DOCS / "maths.md").read_text(encoding="utf-8")
SOURCES = sorted(
    path
    for folder in ("src", "tests", "benchmarks", "examples", "docs")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".md"} and path != Path(__file__)
)
NUMBER = r"\d+(?:\.\d+)*"
# "docs/maths.md, 4.1", "docs/maths.md, 9.1, 9.2 and 9.3", "`docs/maths.md`, 7", "10.5 of docs/maths.md"
AFTER = re.compile(rf"docs/maths\.md`?,\s+(?:section\s+)?({NUMBER}(?:(?:,|\s+to|\s+and)\s+\d+\.\d+)*)")
BEFORE = re.compile(rf"({NUMBER})\s+of\s+`?docs/maths\.md")
PAGE = re.compile(r"docs/([\w/-]+\.md)")

sections = set(re.findall(r"^## (\d+)\. ", MATHS, re.MULTILINE))
paragraphs = re.findall(r"^\*\*(\d+\.\d+)\*\* ", MATHS, re.MULTILINE)


def citations():
    for path in SOURCES:
        text = re.sub(r"\n\s*#?\s*", " ", path.read_text(encoding="utf-8"))
        for pattern in (AFTER, BEFORE):
            for match in pattern.finditer(text):
                yield from ((path.relative_to(ROOT), number) for number in re.findall(NUMBER, match[1]))


def test_numbers_that_are_cited_exist():
    cited = list(citations())
    assert len(cited) > 25  # the patterns find what is there
    assert [(str(path), number) for path, number in cited if number not in sections.union(paragraphs)] == []


def test_pages_that_are_cited_exist():
    missing = {
        (str(path.relative_to(ROOT)), page)
        for path in SOURCES
        for page in PAGE.findall(path.read_text(encoding="utf-8"))
        if not (DOCS / page).exists()
    }
    assert missing == set()


def test_links_lead_somewhere():
    """Where the repository is read; the build of the site checks the same there, and anchors too."""
    pages = [ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "examples").glob("*")]
    links = [
        (page, target)
        for page in pages
        if page.suffix in {".md", ".py"}
        for target in re.findall(r"\]\(([^)\s#:]+)[^)\s:]*\)", page.read_text(encoding="utf-8"))
    ]
    assert len(links) > 40
    assert [(str(page.relative_to(ROOT)), to) for page, to in links if not (page.parent / to).exists()] == []


def test_every_paragraph_has_a_number_of_its_own():
    assert [number for number, count in Counter(paragraphs).items() if count > 1] == []
    by_section = Counter(number.split(".")[0] for number in paragraphs)
    for section, count in by_section.items():
        assert {f"{section}.{i}" for i in range(1, count + 1)} <= set(paragraphs), section


def test_equations_have_the_number_of_their_paragraph():
    here, seen = "", []
    for line in MATHS.splitlines():
        heading = re.match(r"(?:## (\d+)\. |\*\*(\d+\.\d+)\*\* )", line)
        if heading:
            here = heading[1] or heading[2]
        for tag in re.findall(r"\\tag\{(.*?)\}", line):
            assert re.fullmatch(re.escape(here) + "[b-z]?", tag), f"equation {tag} in paragraph {here}"
            seen.append(tag)
    assert len(seen) > 20
    assert len(seen) == len(set(seen))
    assert MATHS.count("```math") == len(seen)  # and every displayed equation has one


def test_the_version_is_the_same_everywhere():
    import pinvgcn

    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == pinvgcn.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\d.+)$", changes, re.MULTILINE)[1] == pinvgcn.__version__


@pytest.mark.parametrize(
    "module", ["graphs", "spectra", "embedding", "nn", "pyg", "features", "datasets", "io"]
)
def test_the_reference_has_every_public_name(module):
    page = (DOCS / "api" / f"{module}.md").read_text(encoding="utf-8")
    listed = re.findall(rf"^::: pinvgcn\.{module}\.(\w+)$", page, re.MULTILINE)
    assert sorted(listed) == sorted(importlib.import_module(f"pinvgcn.{module}").__all__)


def test_the_reference_has_every_name_of_the_package():
    import pinvgcn

    index = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    assert [name for name in pinvgcn.__all__ if f"`{name}`" not in index] == []
