"""SVG elements as safe markup: whatever is put in, text or attribute, is made visible and escaped."""

from collections.abc import Iterable

from markupsafe import Markup, escape

from coevo.reporting.text import visible

Attribute = str | float | int


def element(name: str, children: str | Iterable[Markup] = (), /, **attributes: Attribute) -> Markup:
    """An element.

    Args:
        name: Its tag.
        children: Text, which is escaped, or elements.
        attributes: `_` stands for `-`, a trailing `_` is dropped; numbers are written with at most two decimals, and
            exactly where the attribute's name begins with `data_`.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    inside = escape(visible(children)) if isinstance(children, str) else Markup("").join(children)
    # Everything put together here is escaped already; Markup.format would look at each piece once more, for most of
    # the time that a drawing takes.
    return Markup(f"<{name}{written}>{inside}</{name}>")


def _attribute(key: str, value: Attribute) -> str:
    if isinstance(value, str):
        text = str(escape(visible(value)))
    elif key.startswith("data_"):
        text = repr(value)
    else:
        text = f"{value:.2f}".rstrip("0").rstrip(".")
    return f' {key.rstrip("_").replace("_", "-")}="{text}"'


def path(points: Iterable[tuple[float, float]]) -> str:
    """The `d` of a broken line through points, in pixels."""
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points)


def picture(title: str, description: str, size: tuple[float, float], children: Iterable[Markup]) -> Markup:
    """A drawing that scales with its box, with a title and a description for those who cannot see it.

    Args:
        title: What it is.
        description: What it shows, in words.
        size: Width and height of its coordinates.
        children: Drawn elements, back to front.
    """
    head = [element("title", title), element("desc", description)]
    label = f"{title}. {description}"
    return element(
        "svg", [*head, *children], role="img", aria_label=label, viewBox=f"0 0 {size[0]:g} {size[1]:g}", class_="chart"
    )
