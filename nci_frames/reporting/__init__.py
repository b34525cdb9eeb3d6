"""Tables -> reports as HTML, Markdown, JSON or text, without arithmetic."""
