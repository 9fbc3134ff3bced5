"""Drawing: a graph as an indented text, Mermaid, Graphviz, SVG, or a page of HTML.

The layout is our own: libraries that draw layers need an external program or are far larger than a
plan requires. Nodes are placed in layers by their longest path from a beginning; an edge that
passes layers has a place in each of them, and places are ordered by the middle of their neighbors
(Sugiyama, Tagawa and Toda 1981: barycentres, down and up).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final

from agiraph.board.wait_cycles import dependencies_first, find_cycle

BOX_WIDTH, BOX_HEIGHT, GAP_ACROSS, GAP_DOWN, MARGIN = 190, 44, 24, 46, 12
BEND_WIDTH: Final = 10
SHOWN_CHARACTERS: Final = 26
SWEEPS: Final = 4
LINES_IN_GAP: Final = 3
"""The number of conditions that fit above a box."""

MOST_BENDS: Final = 20_000
DEEPEST: Final = 8
FILLS: Final = {
    "completed": "#d7f0dd",
    "failed": "#f8d7da",
    "cancelled": "#e6e6e6",
    "skipped": "#f4f4f4",
    "running": "#fff3cd",
    "assigned": "#fff3cd",
    "blocked": "#fde2c4",
}
PLAIN: Final = "#eef2fb"


@dataclass(frozen=True, slots=True)
class Box:
    """A node in a drawing; `needs` are the indices of the boxes that it waits for.

    `when` are conditions on some of these, by index; `is_each`: the node is repeated for each item
    of a list.
    """

    title: str
    role: str
    task: str
    status: str
    needs: tuple[int, ...]
    when: Mapping[int, str] = field(default_factory=dict)
    is_each: bool = False

    @property
    def under(self) -> str:
        """The second line of the box's text: role, "for each", and status."""
        return ", ".join(filter(None, (self.role, "for each" * self.is_each, self.status)))


def _after(boxes: Sequence[Box], box: Box) -> str:
    """Return the titles of the boxes that `box` waits for, with conditions: `A, B if score > 3`."""
    called = ((boxes[one].title, box.when.get(one)) for one in box.needs)
    return ", ".join(f"{title} if {text}" if text else title for title, text in called)


def levels(boxes: Sequence[Box]) -> list[int]:
    """Return for each box its layer, the length of its longest path from a box without needs.

    All are 0 if the graph has a cycle.
    """
    waits = {str(number): [str(one) for one in box.needs] for number, box in enumerate(boxes)}
    order = [] if find_cycle(waits) else dependencies_first(waits)
    found = [0] * len(boxes)
    for number in map(int, order):
        found[number] = max((found[one] + 1 for one in boxes[number].needs), default=0)
    return found


def tree(boxes: Sequence[Box], width: int) -> str:
    """Return each box in a line of at most `width` characters, below its deepest dependency."""
    deep = levels(boxes)
    below: dict[int | None, list[int]] = {}
    for number, box in enumerate(boxes):
        last = max(box.needs, key=lambda one: (deep[one], one), default=None)
        below.setdefault(last, []).append(number)
    lines: list[str] = []
    stack = [(number, "", "") for number in reversed(below.get(None, []))]
    while stack:
        number, before, after = stack.pop()
        lines.append(_line(boxes, number, before, width))
        children = below.get(number, [])
        for place in reversed(range(len(children))):
            is_last = place == len(children) - 1
            if len(after) >= DEEPEST * 3:
                stack.append((children[place], f"{after[:-3]}└> ", after))
                continue
            branch, on = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
            stack.append((children[place], after + branch, after + on))
    return "\n".join(lines)


def _line(boxes: Sequence[Box], number: int, before: str, width: int) -> str:
    box = boxes[number]
    others = f", after {_after(boxes, box)}" if len(box.needs) > 1 or box.when else ""
    told = f"{box.title} ({box.under}{others}): "
    line = before + told + " ".join(box.task.split())
    return line if len(line) <= width else f"{line[: max(1, width - 3)].rstrip()}..."


def mermaid(boxes: Sequence[Box]) -> str:
    """Return a Mermaid flowchart; special characters are written as codes."""
    lines = ["flowchart TD"]
    for number, box in enumerate(boxes):
        lines.append(f'    n{number}["{_code(box.title)}<br/>{_code(box.under)}"]')
    for number, box in enumerate(boxes):
        for one in box.needs:
            label = f'|"{_code(box.when[one])}"|' if one in box.when else ""
            lines.append(f"    n{one} -->{label} n{number}")
    for status, fill in FILLS.items():
        if named := [f"n{number}" for number, box in enumerate(boxes) if box.status == status]:
            lines += [f"    classDef {status} fill:{fill}", f"    class {','.join(named)} {status}"]
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    kept = " ".join(text.split())
    return "".join(c if c.isalnum() or c in " ,.-_" else f"#{ord(c)};" for c in kept)


def dot(boxes: Sequence[Box]) -> str:
    """Return the graph in DOT, the language of Graphviz."""
    lines = [
        "digraph plan {",
        '    node [shape=box, style="rounded,filled", fontname="sans-serif"];',
    ]
    for number, box in enumerate(boxes):
        label = json.dumps(f"{box.title}\n{box.under}", ensure_ascii=False)
        fill = FILLS.get(box.status, PLAIN)
        lines.append(f'    n{number} [label={label}, fillcolor="{fill}"];')
    for number, box in enumerate(boxes):
        for one in box.needs:
            said = json.dumps(box.when.get(one, ""), ensure_ascii=False)
            label = f" [label={said}, style=dashed]" if one in box.when else ""
            lines.append(f"    n{one} -> n{number}{label};")
    return "\n".join([*lines, "}"]) + "\n"


# --- the image -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Spot:
    """A place in a layer: a box, or a bend of an edge that crosses the layer (`box` None)."""

    box: int | None
    layer: int
    above: "list[Spot]"
    below: "list[Spot]"
    x: float = 0.0

    @property
    def width(self) -> int:
        """The width of the spot in pixels."""
        return BEND_WIDTH if self.box is None else BOX_WIDTH

    @property
    def top(self) -> int:
        """The upper edge of the spot in pixels."""
        return MARGIN + self.layer * (BOX_HEIGHT + GAP_DOWN)


def svg(boxes: Sequence[Box]) -> str:
    """Return an SVG image; it has no script and refers to nothing."""
    layers = _layers(boxes)
    width = max((_width(layer) for layer in layers), default=0) + 2 * MARGIN
    height = len(layers) * (BOX_HEIGHT + GAP_DOWN) - GAP_DOWN + 2 * MARGIN if layers else 0
    _order(layers, width)
    spots = [spot for layer in layers for spot in layer]
    shown = [_edge(boxes, spot, below) for spot in spots for below in spot.below]
    shown += [_drawn(boxes[spot.box], spot) for spot in spots if spot.box is not None]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, *shown, "</svg>"]) + "\n"


def _layers(boxes: Sequence[Box]) -> list[list[Spot]]:
    deep = levels(boxes)
    layers: list[list[Spot]] = [[] for _ in range(max(deep, default=-1) + 1)]
    spots = [Spot(number, deep[number], [], []) for number in range(len(boxes))]
    for spot in spots:
        layers[spot.layer].append(spot)
    edges = [(spots[one], spots[number]) for number, box in enumerate(boxes) for one in box.needs]
    bends = sum(low.layer - high.layer - 1 for high, low in edges)
    for high, low in edges:
        last = high
        for layer in range(high.layer + 1, low.layer if bends <= MOST_BENDS else 0):
            bend = Spot(None, layer, [], [])
            layers[layer].append(bend)
            _join(last, bend)
            last = bend
        _join(last, low)
    return layers


def _join(high: Spot, low: Spot) -> None:
    high.below.append(low)
    low.above.append(high)


def _width(layer: Sequence[Spot]) -> int:
    return sum(spot.width for spot in layer) + GAP_ACROSS * (len(layer) - 1)


def _order(layers: list[list[Spot]], width: int) -> None:
    """Order each layer by the middle of its neighbors in the previous layer, down and up."""
    for layer in layers:
        _set(layer, width)
    for sweep in range(SWEEPS):
        is_down = sweep % 2 == 0
        for layer in layers if is_down else reversed(layers):
            middles = {
                id(spot): _middle(spot, spot.above if is_down else spot.below) for spot in layer
            }
            layer.sort(key=lambda spot: middles[id(spot)])
            _set(layer, width)


def _middle(spot: Spot, others: Sequence[Spot]) -> float:
    return sum(other.x for other in others) / len(others) if others else spot.x


def _set(layer: Sequence[Spot], width: int) -> None:
    """Place the spots of a layer side by side, centred in the image; `x` is a spot's centre."""
    left = (width - _width(layer)) / 2
    for spot in layer:
        spot.x = left + spot.width / 2
        left += spot.width + GAP_ACROSS


def _edge(boxes: Sequence[Box], high: Spot, low: Spot) -> str:
    """Return the SVG path from spot `high` to `low`.

    The part that ends at a box has the condition.
    """
    begin = high.top + BOX_HEIGHT
    bend = (low.top - begin) / 2
    path = f"M{high.x:g} {begin} C{high.x:g} {begin + bend:g} {low.x:g} {low.top - bend:g}"
    through = f" V{low.top + BOX_HEIGHT}" if low.box is None else ""
    path = f'<path d="{path} {low.x:g} {low.top}{through}" fill="none" stroke="#8a94a6"'
    origin = high
    while origin.box is None:
        origin = origin.above[0]
    conditions = boxes[low.box].when if low.box is not None else {}
    if origin.box not in conditions:
        return f"{path}/>"
    said = conditions[origin.box]
    line = [*conditions].index(origin.box) % LINES_IN_GAP
    x, y = (high.x + 3 * low.x) / 4, low.top - 9 - 11 * line
    return (
        f'{path} stroke-dasharray="4 3"/>'
        f'<text x="{x:g}" y="{y}" text-anchor="middle" font-size="10" '
        f'fill="#444" stroke="#fff" stroke-width="3" paint-order="stroke">{_cut(said)}'
        f"<title>{escape(_drawable(said))}</title></text>"
    )


def _drawn(box: Box, spot: Spot) -> str:
    left, fill = spot.x - BOX_WIDTH / 2, FILLS.get(box.status, PLAIN)
    return (
        f"<g><title>{escape(_drawable(box.task))}</title>"
        f'<rect x="{left:g}" y="{spot.top}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" '
        f'fill="{fill}" stroke="#5b6577"/>'
        f'<text x="{spot.x:g}" y="{spot.top + 19}" text-anchor="middle" font-weight="bold">'
        f"{_cut(box.title)}</text>"
        f'<text x="{spot.x:g}" y="{spot.top + 35}" text-anchor="middle" fill="#444">'
        f"{_cut(box.under)}</text></g>"
    )


def _cut(text: str) -> str:
    kept = text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"
    return escape(_drawable(kept))


def _drawable(text: str) -> str:
    """Return a text without the characters that XML does not allow."""
    return "".join(c if c >= " " and not "\ud800" <= c <= "\udfff" else " " for c in text)


def page(boxes: Sequence[Box], title: str) -> str:
    """Return a page of HTML with the image and a table of the nodes' tasks."""
    rows = "".join(
        f"<tr><th>{escape(box.title)}</th><td>{escape(box.under)}</td>"
        f"<td>{escape(_after(boxes, box))}</td>"
        f"<td style='white-space:pre-wrap'>{escape(box.task)}</td></tr>\n"
        for box in boxes
    )
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        f"<title>{escape(title)}</title>\n<style>body{{font-family:sans-serif;margin:2em}}"
        "table{border-collapse:collapse;margin-top:2em}td,th{border:1px solid #ccc;padding:.4em;"
        "text-align:left;vertical-align:top}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n{svg(boxes)}"
        "<table><tr><th>node</th><th>role</th><th>after</th><th>task</th></tr>\n"
        f"{rows}</table></body></html>\n"
    )
