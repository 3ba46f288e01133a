"""Draws results as SVG, without any library: ratios beside their targets, and the quality of rankers.

A picture brings its own background and follows the reader's light or dark scheme, so it is legible on any page. Nothing
in it depends on the machine that draws it: the same results give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final
from xml.sax.saxutils import escape

__all__ = ["quality_plot", "ratio_plot"]

_WIDTH: Final = 960
_LEFT: Final = 450
_RIGHT: Final = 96
_ROW: Final = 34
_TOP: Final = 58
_BOTTOM: Final = 34
_LETTERS: Final = 66
_LEGEND: Final = (
    "Ours divided by the peer: dot = median, line = smallest to largest, bar = target; "
    "green meets it, red misses it, blue has none."
)
_STYLE: Final = """\
  .ground { fill: #ffffff; }
  text { fill: #1f2328; font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; }
  .title { font-size: 16px; font-weight: 600; }
  .model { font-weight: 600; }
  .small { fill: #59636e; font-size: 12px; }
  .line { stroke: #d1d9e0; stroke-width: 1; }
  .even { stroke: #59636e; stroke-width: 1.5; }
  .spread { stroke: #59636e; stroke-width: 2; }
  .target { stroke: #1f2328; stroke-width: 3; }
  .met { fill: #1a7f37; }
  .missed { fill: #cf222e; }
  .free { fill: #0969da; }
  .theirs { fill: #8c959f; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #161b22; }
    text { fill: #e6edf3; }
    .small { fill: #9198a1; }
    .line { stroke: #30363d; }
    .even, .spread { stroke: #9198a1; }
    .target { stroke: #e6edf3; }
    .met { fill: #3fb950; }
    .missed { fill: #f85149; }
    .free { fill: #58a6ff; }
    .theirs { fill: #6e7681; }
  }
"""


def ratio_plot(title: str, figures: Sequence[Mapping[str, Any]]) -> str:
    """One row a figure: the median ratio as a dot, its spread as a line, the target as a bar, on a logarithmic axis.

    Args:
        title: stands above.
        figures: of a report in its JSON form.
    """
    ends = [
        value
        for figure in figures
        for value in (figure["ratio_min"], figure["ratio_max"], _target(figure) or 1)
    ]
    low, high = math.floor(math.log10(min(*ends, 0.1))), math.ceil(math.log10(max(*ends, 10)))

    def place(ratio: float) -> float:
        return _LEFT + (math.log10(ratio) - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)

    height = _TOP + _ROW * len(figures) + _BOTTOM
    parts = [
        f'<text class="title" x="16" y="26">{escape(title)}</text>',
        f'<text class="small" x="16" y="45">{_LEGEND}</text>',
    ]
    bottom = height - _BOTTOM
    for power in range(low, high + 1):
        x = place(10.0**power)
        kind = "even" if power == 0 else "line"
        parts.append(f'<line class="{kind}" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{bottom}"/>')
        parts.append(
            f'<text class="small" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{10.0**power:g} x</text>'
        )
    for row, figure in enumerate(figures):
        y = _TOP + _ROW * row + _ROW / 2
        parts += _label(figure["name"], y)
        parts.append(
            f'<line class="spread" x1="{place(figure["ratio_min"]):.1f}" y1="{y:.1f}" '
            f'x2="{place(figure["ratio_max"]):.1f}" y2="{y:.1f}"/>'
        )
        target = _target(figure)
        if target is not None:
            x = place(target)
            parts.append(
                f'<line class="target" x1="{x:.1f}" y1="{y - 9:.1f}" x2="{x:.1f}" y2="{y + 9:.1f}"/>'
            )
        kind = {None: "free", True: "met", False: "missed"}[figure["met"]]
        parts.append(f'<circle class="{kind}" cx="{place(figure["ratio"]):.1f}" cy="{y:.1f}" r="5.5"/>')
        parts.append(f'<text x="{_WIDTH - _RIGHT + 14}" y="{y + 4:.1f}">{figure["ratio"]:.3g} x</text>')
    return _picture(height, title, parts)


def quality_plot(title: str, models: Mapping[str, Any], *, figure: int, name: str) -> str:
    """One block a model, one bar a ranker.

    Args:
        title: stands above.
        models: of the results of `retrieval.evaluate`.
        figure: which of the rankers' figures.
        name: its name.
    """
    rows = sum(len(model["rankers"]) + 1 for model in models.values())
    height = _TOP + 24 * rows + _BOTTOM
    span = _WIDTH - 260 - _RIGHT
    parts = [
        f'<text class="title" x="16" y="26">{escape(title)}</text>',
        f'<text class="small" x="16" y="45">{escape(name)}, higher is better; 1 would be perfect.</text>',
    ]
    for tenth in range(0, 11, 2):
        x = 260 + span * tenth / 10
        parts.append(f'<line class="line" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{height - _BOTTOM}"/>')
        parts.append(
            f'<text class="small" x="{x:.1f}" y="{height - _BOTTOM + 18}" text-anchor="middle">{tenth / 10:g}</text>'
        )
    y = float(_TOP)
    for model, found in models.items():
        parts.append(f'<text class="model" x="16" y="{y + 17:.1f}">{escape(model)}</text>')
        y += 24
        for ranker, values in found["rankers"].items():
            kind = "free" if ranker == "ours" else "theirs"
            length = span * values[figure]
            parts.append(f'<text x="246" y="{y + 16:.1f}" text-anchor="end">{escape(ranker)}</text>')
            parts.append(
                f'<rect class="{kind}" x="260" y="{y + 3:.1f}" width="{length:.1f}" height="18" rx="2"/>'
            )
            parts.append(f'<text x="{268 + length:.1f}" y="{y + 16:.1f}">{values[figure]:.3f}</text>')
            y += 24
    return _picture(height, title, parts)


def _target(figure: Mapping[str, Any]) -> float | None:
    return None if figure["target"] == "-" else float(figure["target"].split()[1])


def _label(name: str, y: float) -> list[str]:
    if len(name) <= _LETTERS:
        return [f'<text x="16" y="{y + 4:.1f}">{escape(name)}</text>']
    cut = name.rfind(" ", 0, _LETTERS)
    return [
        f'<text x="16" y="{y - 3:.1f}">{escape(name[:cut])}</text>',
        f'<text x="16" y="{y + 12:.1f}">{escape(name[cut + 1 :])}</text>',
    ]


def _picture(height: float, title: str, parts: Sequence[str]) -> str:
    body = "\n".join(f"  {part}" for part in parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(title)}">\n<style>\n{_STYLE}</style>\n'
        f'  <rect class="ground" width="{_WIDTH}" height="{height:.0f}" rx="8"/>\n{body}\n</svg>\n'
    )
