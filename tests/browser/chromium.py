"""A headless Chromium, driven through the DevTools protocol over two pipes: nothing to install but the browser."""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """The browser's program, if there is one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Tab:
    """One page: what is asked of it, and what it says by itself."""

    def __init__(self, process: subprocess.Popen[bytes], out: int, into: int) -> None:
        self.process, self._out, self._into = process, out, into
        self._number, self._rest = 0, b""
        self.session: str | None = None
        self.events: list[dict[str, Any]] = []

    def ask(self, method: str, seconds: float = 30, **parameters: Any) -> dict[str, Any]:
        """A command of the protocol, and its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + seconds
        while (found := self._next(end - time.monotonic())) is not None:
            if found.get("id") == self._number:
                assert "error" not in found, (method, found)
                return found["result"]
            self.events.append(found)
        raise TimeoutError(f"{method} was not answered within {seconds} s")

    def _next(self, seconds: float) -> dict[str, Any] | None:
        end = time.monotonic() + seconds
        while b"\0" not in self._rest:
            if not select.select([self._into], [], [], max(0.0, end - time.monotonic()))[0]:
                return None
            got = os.read(self._into, 1 << 20)
            assert got, f"the browser has ended ({self.process.poll()})"
            self._rest += got
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def open(self, address: str) -> None:
        self.ask("Page.navigate", url=address)
        self.until(lambda: self.js("document.readyState") == "complete")

    def js(self, expression: str) -> Any:
        """The value of an expression in the page."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, (expression, found)
        return found["result"].get("value")

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key])

    def point(self, x: float, y: float) -> None:
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def look(self, width: int, height: int, *, dark: bool = False, phone: bool = False) -> None:
        """As a screen of this size shows it."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path: Path, *, whole: bool = False) -> None:
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def until(self, holds: Callable[[], Any], seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, "it did not come about in time"
            time.sleep(0.05)

    def complaints(self) -> list[str]:
        """Errors and warnings of the page, uncaught exceptions and what its own policy forbade."""
        self.js("1")  # what was said until now has come by then
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(json.dumps(parameters["exceptionDetails"])[:500])
            elif event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(json.dumps(parameters["args"])[:500])
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(json.dumps(parameters["entry"])[:500])
        return found

    def requests(self) -> list[str]:
        self.js("1")
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]


KEYS = {"Tab": 9, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39}


@contextlib.contextmanager
def tab(program: str) -> Iterator[Tab]:
    """A browser of its own with one page, gone at the end."""
    ours_in, theirs_out = os.pipe()
    theirs_in, ours_out = os.pipe()
    # The browser wants descriptors 3 and 4; out of their way first.
    high_in, high_out = (fcntl.fcntl(each, fcntl.F_DUPFD, 50) for each in (theirs_in, theirs_out))
    for each in (theirs_in, theirs_out):
        os.close(each)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = [
            "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={profile}", "--no-sandbox", "--disable-gpu",
            "--no-first-run", "--disable-dev-shm-usage", "--hide-scrollbars", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--no-default-browser-check", "about:blank",
        ]  # fmt: skip
        command = ["bash", "-c", f'exec "$@" 3<&{high_in} 4>&{high_out}', "bash", program, *options]
        process = subprocess.Popen(
            command, pass_fds=(high_in, high_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(high_in)
        os.close(high_out)
        page = Tab(process, ours_out, ours_in)
        try:
            target = page.ask("Target.createTarget", seconds=60, url="about:blank")["targetId"]
            page.session = page.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                page.ask(f"{domain}.enable")
            yield page
        finally:
            page.session = None
            with contextlib.suppress(Exception):
                page.ask("Browser.close", seconds=5)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(ours_in)
            os.close(ours_out)
