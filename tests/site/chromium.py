"""A headless Chromium that is driven through pipes, by its DevTools protocol.

Nothing but the browser itself is needed. A browser runs in a folder of its own, asks nobody for
updates, and ends with its ``with`` block.
"""

import base64
import fcntl
import json
import os
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from browser import FLAGS

LONGEST = 30.0  # seconds to wait for anything


class Chromium:
    """One page of a browser.

    Attributes:
        events: What the browser told since they were last cleared, oldest first.
    """

    def __init__(self, program: str) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, to_browser = os.pipe()  # the browser reads from 3 and writes to 4
        from_browser, to_write = os.pipe()
        flags = [*FLAGS, "--remote-debugging-pipe"]
        command = [program, *flags, f"--user-data-dir={self._folder.name}", "about:blank"]

        def connect() -> None:  # in the new process; the pipes may have these numbers already
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, to_write)]
            for number, end in zip((3, 4), ends, strict=True):
                os.dup2(end, number)

        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,  # would close those two; all others close by themselves
            preexec_fn=connect,
        )
        os.close(to_read)
        os.close(to_write)
        self._to, self._from = to_browser, from_browser
        self._last_id = 0
        self._half = b""
        self._messages: deque[dict[str, Any]] = deque()
        self.events: list[dict[str, Any]] = []
        self._session: str | None = None
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self) -> None:
        """Speak with the page that there is from the beginning."""
        pages = self.send("Target.getTargets")["targetInfos"]
        target = next(page["targetId"] for page in pages if page["type"] == "page")
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser."""
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._folder.cleanup()

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self._last_id += 1
        message: dict[str, Any] = {"id": self._last_id, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, address: str) -> None:
        """Go to a page and wait until it and all that it needs has been loaded."""
        self.events.clear()
        self.send("Page.navigate", url=address)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._receive()

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript."""
        done = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in done:
            raise RuntimeError(f"{expression}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """Return the value of an expression as soon as it is true."""
        return _until(lambda: self.evaluate(expression), expression)

    def resize(self, width: int, height: int, phone: bool = False) -> None:
        """Give the page a size, in pixels."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )

    def screenshot(self, path: Path, whole: bool = False) -> None:
        """Write a picture of what is seen, or of the whole page."""
        done = self.send("Page.captureScreenshot", captureBeyondViewport=whole, format="png")
        path.write_bytes(base64.b64decode(done["data"]))

    def _receive(self) -> dict[str, Any]:
        """Return the next message; those that nobody asked for are kept as events."""
        while not self._messages:
            part = os.read(self._from, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            *whole, self._half = (self._half + part).split(b"\0")
            self._messages.extend(json.loads(text) for text in whole)
        message = self._messages.popleft()
        if "method" in message:
            self.events.append(message)
        return message


def _until(condition: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + LONGEST
    while not (value := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"not within {LONGEST:.0f} s: {what}")
        time.sleep(0.05)
    return value
