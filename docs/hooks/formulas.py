"""Formulas become MathML, which browsers draw without a script, in a font that lies beside the pages."""

from __future__ import annotations

import html
import re
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from fontTools.subset import Subsetter
from fontTools.ttLib import TTFont
from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

# as pymdownx.arithmatex leaves them: \( ... \) in a span, \[ ... \] in a div
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
TAG = re.compile(r"\\tag\{([^}]*)\}")
TIGHT = re.compile(r"<mo(?: [^>]*)?>(&#x0007C;|&#x0002F;|/|\|)</mo>")
CAPITAL = re.compile(r"<mi>(&#x0039[0-9A-F];|&#x003A[0-9];)</mi>")
INLINE = re.compile(r'(\(?)(<math [^>]*display="inline".*?</math>)([).,;:]*)', re.DOTALL)
FUNCTION = re.compile(r"<mi>(?:ln|log|max|min|argmax)</mi>(?!<mo[^>]*>&#x00028;)")
# beside what the formulas say: the root, and the italic and script letters that browsers draw for plain ones
ALWAYS = {0x221A, *range(0x20, 0x7F), *range(0x2100, 0x2150), *range(0x1D400, 0x1D7CC)}

drawn: set[str] = set()  # the characters of all formulas


def on_page_content(content: str, page: Any, **_: Any) -> str:
    content = FORMULA.sub(lambda match: _mathml(match, page), content)
    # no line begins with the comma after a formula
    return INLINE.sub(r'<span class="formula">\1\2\3</span>', content)


def _mathml(match: re.Match[str], page: Any) -> str:
    display = match[2] == "["
    latex = html.unescape(match[3]).strip()
    mathml = convert(TAG.sub("", latex), display="block" if display else "inline")
    # as TeX has it: no space around bars and slashes, Greek capitals upright
    mathml = TIGHT.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', mathml)
    mathml = FUNCTION.sub(r'\g<0><mspace width="0.167em"/>', mathml)
    mathml = CAPITAL.sub(r'<mi mathvariant="normal">\1</mi>', mathml)
    text = html.unescape(re.sub("<[^>]*>", "", mathml))
    if "\\" in text:
        raise PluginError(f"{page.file.src_uri} has a formula that MathML cannot say: {latex}")
    drawn.update(text)
    if not display:
        return mathml
    tag = TAG.search(latex)
    number = f'<span class="number">({tag[1]})</span>' if tag else ""
    return f'<div class="equation"><div>{mathml}</div>{number}</div>'


def on_post_build(config: Any) -> None:
    """STIX Two Math (SIL Open Font Licence), cut down to the characters that are drawn."""
    font = TTFont(str(package_files("ziamath.fonts") / "STIXTwoMath-Regular.ttf"))
    subsetter = Subsetter()
    subsetter.options.layout_features = ["*"]
    subsetter.populate(unicodes=ALWAYS.union(map(ord, drawn)))
    subsetter.subset(font)
    font.flavor = "woff"
    font.save(Path(config.site_dir, "assets", "math.woff"))
