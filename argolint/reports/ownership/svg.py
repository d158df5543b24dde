"""Ownership as a picture: Applications on the left, objects on the right; the layout is deterministic."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from xml.sax.saxutils import escape

from argolint.reports.ownership.graph import Picture
from argolint.values import plain, shorten

_ROW = 34
_HEIGHT = 24
_LETTER = 7.2
_LETTERS = 60
_GAP = 120
_MARGIN = 10
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1b1f24}.box{fill:#f3f5f7;stroke:#57606a}.edge{fill:none;stroke:#57606a;stroke-width:1.5}"
    ".owner{stroke:#116329}.claimant{stroke:#7a5000;stroke-dasharray:6 4}.phantom{stroke:#b42318;stroke-dasharray:2 4}"
    "@media (prefers-color-scheme:dark){text{fill:#e6e9ee}.box{fill:#1f242b;stroke:#a9b2be}.owner{stroke:#6fd28a}.claimant{stroke:#f0b849}"
    ".phantom{stroke:#ff9088}}"
)


def svg(pictures: Sequence[Picture], *, alone: bool = True) -> str:
    """The pictures one below the other. `alone`: a file of its own, with a style; the HTML report has one for all."""
    bodies, top, width = [], 0.0, 0.0
    for picture in pictures:
        body, wide, high = _picture(picture)
        bodies.append(f'<g transform="translate(0 {top:g})">{body}</g>')
        top, width = top + high + 20, max(width, wide)
    legend, wide = _legend({role for picture in pictures for _, _, role in picture.edges})
    bodies.append(f'<g transform="translate(0 {top:g})">{legend}</g>')
    width, top = max(width, wide) + 2 * _MARGIN, top + _ROW / 2 + 2 * _MARGIN
    box = f"{-_MARGIN:g} {-_MARGIN:g} {width:g} {top:g}"
    head = f'xmlns="http://www.w3.org/2000/svg" role="img" width="{width:g}" height="{top:g}" viewBox="{box}"'
    about = "; ".join(_description(picture) for picture in pictures)
    style = f"<style>{_STYLE}</style>" if alone else ""
    return f"<svg {head}><title>{escape(plain(about))}</title>{style}{''.join(bodies)}</svg>\n"


_MEANS = {"owner": "owns it", "claimant": "claims it too", "phantom": "named by tracking data, and no Application"}


def _legend(roles: Collection[str]) -> tuple[str, float]:
    """The legend for the line styles in use, and its width."""
    made, x = [], 0.0
    for role, text in _MEANS.items():
        if role in roles:
            made.append(f'<path class="edge {role}" d="M{x:g} 8H{x + 30:g}"/><text x="{x + 38:g}" y="12">{text}</text>')
            x += 38 + len(text) * _LETTER + 16
    return "".join(made), x


def _description(picture: Picture) -> str:
    """The picture in words, for screen readers."""
    edges = (f"{picture.apps[app]} is {role} of {picture.objects[obj]}" for app, obj, role in picture.edges)
    return ", ".join(edges)


def _picture(picture: Picture) -> tuple[str, float, float]:
    """The elements of a picture, its width and its height."""
    apps, objects = _column_orders(picture)
    left = max((_text_width(picture.apps[i]) for i in apps), default=0.0)
    right = max((_text_width(picture.objects[i]) for i in objects), default=0.0)
    at = left + _GAP
    row_of_app = {i: row for row, i in enumerate(apps)}
    row_of_object = {i: row for row, i in enumerate(objects)}
    made = []
    for app, obj, role in picture.edges:
        y1, y2 = row_of_app[app] * _ROW + _HEIGHT / 2, row_of_object[obj] * _ROW + _HEIGHT / 2
        path = f"M{left:g} {y1:g}C{left + _GAP / 2:g} {y1:g} {at - _GAP / 2:g} {y2:g} {at:g} {y2:g}"
        about = escape(plain(f"{picture.apps[app]} is {role} of {picture.objects[obj]}"))
        made.append(f'<path class="edge {role}" d="{path}"><title>{about}</title></path>')
    made += [_box(picture.apps[i], left - _text_width(picture.apps[i]), row * _ROW, 3) for i, row in row_of_app.items()]
    made += [_box(picture.objects[i], at, row * _ROW, 11) for i, row in row_of_object.items()]
    high = max(len(apps), len(objects)) * _ROW
    if picture.left_out:
        made.append(f'<text x="0" y="{high + 12}">and {picture.left_out} more</text>')
        high += 20
    return "".join(made), at + right, high


def _column_orders(picture: Picture) -> tuple[list[int], list[int]]:
    """The order of both columns: each node moves to the middle of its neighbours, twice, which removes most crossings."""
    apps, objects = list(range(len(picture.apps))), list(range(len(picture.objects)))
    for _ in range(2):
        objects = _sorted(objects, apps, [(obj, app) for app, obj, _ in picture.edges])
        apps = _sorted(apps, objects, [(app, obj) for app, obj, _ in picture.edges])
    return apps, objects


def _sorted(column: list[int], other: list[int], edges: Sequence[tuple[int, int]]) -> list[int]:
    row = {i: position for position, i in enumerate(other)}

    def middle(i: int) -> tuple[float, int]:
        rows = [row[there] for here, there in edges if here == i]
        return (sum(rows) / len(rows) if rows else 0.0, i)

    return sorted(column, key=middle)


def _text_width(label: str) -> float:
    return min(len(plain(label)), _LETTERS) * _LETTER + 16


def _box(label: str, x: float, y: float, round_: int) -> str:
    whole = plain(label)
    short = shorten(whole, _LETTERS)
    place = f'x="{x:g}" y="{y:g}" width="{_text_width(label):g}" height="{_HEIGHT}" rx="{round_}"'
    return (
        f'<g><title>{escape(whole)}</title><rect class="box" {place}/>'
        f'<text x="{x + 8:g}" y="{y + 16:g}">{escape(short)}</text></g>'
    )
