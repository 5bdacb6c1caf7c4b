from __future__ import annotations

import pytest

from openzim_mcp.web.markdown import Renderer


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain <script>alert(1)</script> & \"'", "plain &lt;script&gt;alert(1)&lt;/script&gt; &amp; &#34;&#39;"),
        ("**bold**, *slanted* and ~~gone~~", "<strong>bold</strong>, <em>slanted</em> and <del>gone</del>"),
        ("`<b>` and `` a ` b ``", "<code>&lt;b&gt;</code> and <code>a ` b</code>"),
        ("2 * 3 * 4 and f(*args, **kwargs)", "2 * 3 * 4 and f(*args, **kwargs)"),
        ("one\ntwo", "one<br>\ntwo"),
        ("\\# not a heading", "# not a heading"),
        ("costs $5 or $6", "costs $5 or $6"),
    ],
)
def test_inline(text: str, html: str) -> None:
    assert str(Renderer().inline(text)) == html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("One\n\nTwo", "<p>One</p>\n<p>Two</p>"),
        ("- a\n  - b\n- c", "<ul><li>a\n<ul><li>b</li></ul></li>\n<li>c</li></ul>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li>\n<li>b</li></ol>'),
        ("> a\n> b", "<blockquote><p>a<br>\nb</p></blockquote>"),
        ("```py\nx <y\n```\nafter", '<pre tabindex="0" data-language="py"><code>x &lt;y</code></pre>\n<p>after</p>'),
        ("```\ncut", '<pre tabindex="0"><code>cut</code></pre>'),
        ("… - Python lacks it.", "<ul><li>… Python lacks it.</li></ul>"),
        (": what it means", '<p class="dd">what it means</p>'),
        ("- \n", "<ul><li></li></ul>"),
    ],
)
def test_blocks(text: str, html: str) -> None:
    assert str(Renderer().blocks(text)) == html


def test_table_has_a_header_and_escaped_borders() -> None:
    html = str(Renderer().blocks("| a | b |\n| --- | --- |\n| x \\| y | <i> |"))

    assert '<th scope="col">a</th><th scope="col">b</th>' in html
    assert "<td>x | y</td><td>&lt;i&gt;</td>" in html


def test_deep_nesting_ends() -> None:
    text = "\n".join("  " * depth + "- x" for depth in range(300))

    assert str(Renderer().blocks(text)).count("<ul>") < 20
    assert str(Renderer().blocks("> " * 5000 + "x")).count("<blockquote>") < 20
