"""What the pictures of records share: words, dots with a line, the page around them, and the command line."""

import json
import sys
from xml.sax.saxutils import escape


def text(at_x, at_y, words, anchor="start", weight="normal"):
    return (
        f'<text x="{at_x:.1f}" y="{at_y:.1f}" text-anchor="{anchor}" font-weight="{weight}">'
        f"{escape(words)}</text>"
    )


def grid_line(at_x, top, bottom):
    return f'<line x1="{at_x:.1f}" y1="{top}" x2="{at_x:.1f}" y2="{bottom}" stroke="#888" stroke-opacity="0.3"/>'


def page(width, height, title, *parts):
    """The whole picture; its words are light on a dark page."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">'
    style = "<style>text{fill:#222}@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>"
    return "\n".join([head, style, text(12, 18, title, weight="bold"), *parts, "</svg>"]) + "\n"


def main(usage, form, source, draw):
    """Draws the record named first into the file named second. `form` begins the record's format, `source` makes one."""
    if len(sys.argv) != 3:
        sys.exit(usage)
    with open(sys.argv[1], encoding="utf-8") as file:
        record = json.load(file)
    if not str(record.get("format", "")).startswith(f"{form}/"):
        sys.exit(f"{sys.argv[1]}: its format is not {form}; {source} makes such a record")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(draw(record))
