"""Actions done to a page as a user does them, with real events of the mouse and the keyboard."""

from typing import Any

from coevo.environments.web.actions import Action
from coevo.environments.web.page import Page

_KEY_CODES = {
    "Enter": 13,
    "Tab": 9,
    "Escape": 27,
    "Backspace": 8,
    "Delete": 46,
    "Space": 32,
    "ArrowUp": 38,
    "ArrowDown": 40,
    "ArrowLeft": 37,
    "ArrowRight": 39,
    "Home": 36,
    "End": 35,
    "PageUp": 33,
    "PageDown": 34,
}
_KEY_TEXTS = {"Enter": "\r", "Space": " "}


def perform(page: Page, action: Action) -> str:
    """Do an action that acts on the page; what stood in its way as a sentence, or "" where it was done.

    Raises:
        EnvironmentFault: If the browser fails.
    """
    match action.verb:
        case "click" | "hover":
            return _point(page, action)
        case "type":
            return _type(page, action)
        case "select":
            return _problem(page.ask("choose", _number(action), action.text))
        case "press":
            _press(page, action.text)
            return ""
        case "scroll":
            return _problem(page.ask("scroll", 1 if action.text == "down" else -1))
        case _:
            return f"There is nothing to do for {action.verb} on this page."


def _number(action: Action) -> int:
    # No element has the number -1: a name that is no number is answered like a number that is not there.
    return int(action.element) if action.element.isdecimal() and len(action.element) < 10 else -1


def _problem(answer: dict[str, Any]) -> str:
    return str(answer.get("problem", ""))


def _point(page: Page, action: Action) -> str:
    place = page.ask("locate", _number(action))
    if not _problem(place):
        _mouse(page, "mouseMoved", place)
        if action.verb != "hover":
            _mouse(page, "mousePressed", place)
            _mouse(page, "mouseReleased", place)
    return _problem(place)


def _mouse(page: Page, event: str, place: dict[str, float]) -> None:
    button = {} if event == "mouseMoved" else {"button": "left", "clickCount": 1}
    page.call("Input.dispatchMouseEvent", type=event, x=place["x"], y=place["y"], **button)


def _type(page: Page, action: Action) -> str:
    number = _number(action)
    field = page.ask("fieldOf", number)
    if problem := _problem(field):
        return problem
    if field["kind"] == "set":
        return _problem(page.ask("put", number, action.text))
    if problem := _point(page, Action("click", action.element)):
        return problem
    if not page.ask("mark", number)["isEmpty"]:
        _press(page, "Delete")
    for character in action.text:
        _press(page, "Enter" if character == "\n" else character)
    return ""


def _press(page: Page, key: str) -> None:
    if key not in _KEY_CODES and not key.isascii():
        page.call("Input.insertText", text=key)
        return
    text = _KEY_TEXTS.get(key, key if len(key) == 1 else "")
    # The codes of letters and digits are those of their capital letters; of other signs no page of ours asks.
    code = _KEY_CODES[key] if key in _KEY_CODES else ord(key.upper()) if key.isalnum() else 0
    name = " " if key == "Space" else key
    shared = {"key": name, "windowsVirtualKeyCode": code}
    page.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **shared)
    page.call("Input.dispatchKeyEvent", type="keyUp", **shared)
