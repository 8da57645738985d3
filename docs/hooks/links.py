"""Links: pages read well in the repository and on the site.

A link that leaves ``docs/`` leads to the gallery where an example is meant, and becomes plain text otherwise.
What docstrings cite in words ("docs/maths.md, 2.1") becomes a link. A page that would fetch anything from
elsewhere fails the build.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.utils import get_relative_url

LINK = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+[^)\s]*)\)")
# "docs/maths.md, 2.1", "docs/maths.md, section 5", "equation 2.1 of docs/maths.md", "docs/solvers.md"
CITATION = re.compile(
    r"(?:equation )?(?P<before>\d+(?:\.\d+)*) of (?:<code>)?docs/maths\.md(?:</code>)?"
    r"|(?:<code>)?docs/(?P<page>[\w/-]+)\.md(?:</code>)?(?:, (?:section )?(?P<after>\d+(?:\.\d+)*))?"
)
NUMBERED = re.compile(r"<p><strong>(\d+\.\d+)</strong>")
SECTION = re.compile(r'(<h2 id="[^"]*">)(?=(\d+)\. )')
LITERAL = re.compile(r"(<pre.*?</pre>|<a .*?</a>)", re.DOTALL)
FETCHED = re.compile(
    r'<(?:script|img|iframe|link rel="(?!canonical)[^"]*")[^>]* (?:src|href)="?(?:https?:)?//', re.IGNORECASE
)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    docs, root = Path(config.docs_dir), Path(config.config_file_path).parent
    here = (docs / page.file.src_uri).parent

    def replace(match: re.Match[str]) -> str:
        text, target = match.groups()
        path = (here / target.partition("#")[0]).resolve()
        if path.is_relative_to(docs):
            return match[0]
        if not path.exists():
            raise PluginError(f"{page.file.src_uri} links to {target}, which does not exist.")
        name = "index" if path.name in {"examples", "README.md"} else path.stem
        example = f"gallery/{name}.md" if path.is_relative_to(root / "examples") else ""
        return f"[{text}]({_relative(example, page)})" if example in files.src_uris else text

    return LINK.sub(replace, markdown)


def on_page_content(content: str, page: Any, files: Any, **_: Any) -> str:
    if page.file.src_uri == "maths.md":  # its numbers are what citations lead to
        content = NUMBERED.sub(r'<p id="\1"><strong>\1</strong>', content)
        content = SECTION.sub(r'\1<span id="\2"></span>', content)

    def replace(match: re.Match[str]) -> str:
        number = match["before"] or match["after"]
        target = files.get_file_from_path(f"{match['page'] or 'maths'}.md")
        if target is None or target.src_uri == page.file.src_uri:
            return match[0]
        href = get_relative_url(target.url, page.url)
        if number:
            return f'<a href="{href}#{number}">mathematics, {number}</a>'
        return f'<a href="{href}">{match[0]}</a>'

    parts = LITERAL.split(content)
    parts[::2] = [CITATION.sub(replace, part) for part in parts[::2]]
    return "".join(parts)


def _relative(source: str, page: Any) -> str:
    return get_relative_url(source, page.file.src_uri)


def on_post_build(config: Any) -> None:
    site = Path(config.site_dir)
    for path in site.rglob("*.html"):
        found = FETCHED.search(path.read_text(encoding="utf-8"))
        if found:
            raise PluginError(f"{path.relative_to(site)} would fetch something from elsewhere: {found[0]}")
