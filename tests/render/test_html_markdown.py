"""A page of the documentation as HTML: its forms are kept, and nothing in it can become a tag."""

from __future__ import annotations

import re

from afterward import messages
from afterward.render.html_markdown import markdown_page
from afterward.rules import all_rules

PAGE = """\
# A `name` & more

> a message <of> PyTorch's

First line,
second **line** with [a link](elsewhere.md).

- one
- `two`

```python
if a < b:

    pass
```
"""


def test_each_form_is_kept() -> None:
    body = markdown_page(PAGE).partition("<body>")[2]
    assert "<h1>A <code>name</code> &amp; more</h1>" in body
    assert "<blockquote><code>a message &lt;of&gt; PyTorch&#x27;s</code></blockquote>" in body
    assert "<p>First line,\nsecond <b>line</b> with a link.</p>" in body
    assert "<ul><li>one\n</li><li><code>two</code></li></ul>" in body
    assert "<pre>if a &lt; b:\n\n    pass\n</pre>" in body


def test_no_form_of_our_pages_is_left_as_it_was_typed() -> None:
    pages = [page.shown for page in messages.all_pages()] + [rule.page() for rule in all_rules()]
    for page in pages:
        body = re.sub(r"<(pre|code)>.*?</\1>", "", markdown_page(page).partition("<body>")[2], flags=re.DOTALL)
        left = re.search(r"```|^#+ |\*\*|`|\]\(", body, flags=re.MULTILINE)
        assert left is None, body[max(left.start() - 80, 0) : left.end() + 80]
