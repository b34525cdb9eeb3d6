"""Names as data may bring them: markup, formulas, expressions, and what breaks lines and cells."""

NAMES = (
    "<script>alert(1)</script>",
    '=HYPERLINK("http://x","y")',
    "a|b",
    "x\ny",
    "![i](http://x)",
    "datum.constructor",
    "{{7*7}}",
    "${datum.value}",
    "n" * 300,
    "",
    "+1",
    "-1+1",
    "@SUM(1)",
    "\tx",
    "\r=1",
    "\\|`x`",
    "<!-- -->",
    "&lt;b&gt;",
    "**b** _i_ ~~s~~ # 1. - x",
    " spaced ",
    "www.x.example https://x.example a@x.example",
    "a\u2028b\u00a0",
    ' id="clip1" url(#clip1)',
)

#: Names that a chart cannot hold: no XML, or a property of every JavaScript object.
UNDRAWABLE = (
    "a\x00b",
    "\x1b[31mred",
    "\ufffe",
    "constructor",
    "__proto__",
    "toString",
    "valueOf",
    "hasOwnProperty",
)
