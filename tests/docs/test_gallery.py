"""The gallery's reading of a script."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

HOOK = Path(__file__).parents[2] / "docs" / "hooks" / "gallery.py"
SCRIPT = '''"""Two and two.

How they are added.
"""

print("before")

# %%
# The sum, with a [link](other.py).
total = 2 + 2
print(total)

# %%
# Nothing but text.
'''


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("gallery_hook", HOOK)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_blocks_keep_text_code_and_lines(gallery):
    title, blocks = gallery.blocks_of(SCRIPT)
    assert title == "Two and two"
    assert [block.text for block in blocks] == [
        "How they are added.",
        "The sum, with a [link](other.py).",
        "Nothing but text.",
    ]
    lines = SCRIPT.splitlines()
    for block, first in zip(blocks, ('print("before")', "total = 2 + 2"), strict=False):
        code = block.code.splitlines()
        place = next(i for i, line in enumerate(code) if line)
        assert code[place] == lines[block.line + place] == first


def test_a_page_shows_what_was_printed_and_links_to_pages(gallery, tmp_path):
    script = tmp_path / "sum.py"
    script.write_text(SCRIPT)
    shown = [{"printed": text, "pictures": []} for text in ("before\n", "4\n", "")]
    page = gallery.page(script, {"blocks": shown, "seconds": 1.0})
    assert "\n# Two and two\n\nHow they are added.\n\n```python\nprint(" in page
    assert "```text\n4\n```" in page
    assert "[link](other.md)" in page


def test_a_script_that_fails_says_where(tmp_path):
    script = tmp_path / "broken.py"
    script.write_text(SCRIPT.replace("2 + 2", "2 + two"))
    done = subprocess.run([sys.executable, HOOK, script, tmp_path], capture_output=True, text=True)
    assert done.returncode == 1
    assert f'"{script}", line 10' in done.stderr
    assert "NameError: name 'two' is not defined" in done.stderr
