"""The browser's tab with one local page in it: loaded, told as text, acted upon.

A page runs on virtual time: its clock stands still, and moves only by `Page.let_pass`. Timers, animations and dates
are then a function of the actions, whatever else the machine does. What the page's own scripts answer is in `page.js`.
"""

import json
import time
from pathlib import Path
from typing import Any

from coevo.environments.texts import encodable, encodable_json
from coevo.environments.web.browser import Browser
from coevo.errors import EnvironmentFault

LOAD_S = 20.0
"""Longest wait for a page."""
LOAD_MS = 1000
"""What passes on the page's clock while it loads."""
START_OF_TIME_MS = 1_700_000_000_000
"""The date at which every page begins, in milliseconds since 1970."""

_SCRIPT = Path(__file__).with_name("page.js")


class Page:
    """The one tab of a browser, used for one page after the other.

    A tab of its own for each page would cost a new process each time. What a page can leave behind for the next one is
    cleared instead: its document with all timers by loading, the date by setting it, what it stored by asking.

    Every method raises `EnvironmentFault` if the browser or the page's process fails.
    """

    def __init__(self, browser: Browser):
        self._browser = browser
        context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Emulation.setVirtualTimePolicy", policy="pause")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a command of the protocol to this tab."""
        return self._browser.call(method, self._session, **params)

    def load(self, file: Path) -> None:
        """Open a file and wait until it is whole.

        Raises:
            EnvironmentFault: Also if the file is not there or never finishes to load.
        """
        self._browser.events.clear()
        self.call("Storage.clearDataForOrigin", origin="file:///", storageTypes="all")
        answer = self.call("Page.navigate", url=file.resolve().as_uri())
        if "errorText" in answer:
            raise EnvironmentFault(f"the page {file.name} did not load: {answer['errorText']}")
        self._browser.wait_for("Page.frameNavigated", self._session, LOAD_S)
        deadline = time.monotonic() + LOAD_S
        while not any(event["method"] == "Page.loadEventFired" for event in self._events()):
            if time.monotonic() > deadline:
                raise EnvironmentFault(f"the page {file.name} did not finish to load in {LOAD_S:.0f} s")
            self._run_clock("pauseIfNetworkFetchesPending", LOAD_MS)
        self.evaluate(_SCRIPT.read_text())
        self.ask("setDate", START_OF_TIME_MS)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, which has to be plain JSON; its texts are `encodable`.

        Raises:
            EnvironmentFault: Also if the expression throws.
        """
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            thrown = answer["exceptionDetails"].get("exception", {})
            said = str(thrown.get("description") or thrown.get("value") or answer["exceptionDetails"]["text"])
            raise EnvironmentFault(f"the page's script failed: {said.splitlines()[0][:300]}")
        return encodable_json(answer["result"].get("value"))

    def ask(self, function: str, *arguments: object) -> Any:
        """What a function of `page.js` returns."""
        return self.evaluate(f"coevo.{function}({', '.join(json.dumps(a) for a in arguments)})")

    def let_pass(self, milliseconds: int) -> None:
        """Let the page's clock run for a while; without waiting where nothing happens."""
        self._run_clock("advance", milliseconds)

    def dialogs(self) -> list[str]:
        """What alerts and questions of the page have said since last asked; each was accepted at once."""
        said = [event for event in self._events() if event["method"] == "Page.javascriptDialogOpening"]
        self._browser.events.clear()
        return [encodable(str(event["params"]["message"])) for event in said]

    def _run_clock(self, policy: str, milliseconds: int) -> None:
        self.call("Emulation.setVirtualTimePolicy", policy=policy, budget=milliseconds)
        self._browser.wait_for("Emulation.virtualTimeBudgetExpired", self._session, LOAD_S)

    def _events(self) -> list[dict[str, Any]]:
        return [event for event in self._browser.events if event.get("sessionId") == self._session]
