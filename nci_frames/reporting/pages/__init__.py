"""A comparison -> pages: HTML, Markdown, JSON and terminal."""
