"""The page served to this machine alone while training goes on."""

import errno
import gzip
import hashlib
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bayesbellman.experiments.report.page import render

HOST = "127.0.0.1"
Collect = Callable[[], dict[str, Any]]


def make_server(collect: Collect, port: int) -> ThreadingHTTPServer:
    """``/`` is the page, ``/data.json`` what is new; ``port`` 0 takes a free one."""
    reading = threading.Lock()  # one request reads the folders, the next finds what it read

    def read() -> dict[str, Any]:
        with reading:
            return collect()

    class Handler(BaseHTTPRequestHandler):
        """Answers this machine's browser, and no page from elsewhere that got here by another name."""

        def do_GET(self) -> None:
            name = (self.headers.get("Host") or "").rsplit(":", 1)[0]
            if name not in (HOST, "localhost"):
                self.send_error(403)
                return
            address = self.path.split("?", 1)[0]
            if address not in ("/", "/data.json"):
                self.send_error(404)
                return
            try:
                data = read()
            except (OSError, ValueError) as error:  # a run that is just being replaced, or was removed
                self._answer(503, "text/plain", str(error))
                return
            if address == "/":
                self._answer(200, "text/html", render(data, live=True))
                return
            news = json.dumps(data, allow_nan=False, separators=(",", ":"))
            same = {name: value for name, value in data.items() if name != "made"}
            tag = '"' + hashlib.sha256(json.dumps(same).encode()).hexdigest()[:24] + '"'
            if self.headers.get("If-None-Match") == tag:
                self.send_response(304)
                self.end_headers()
            else:
                self._answer(200, "application/json", news, ETag=tag)

        def _answer(self, status: int, kind: str, text: str, **headers: str) -> None:
            content = text.encode()
            if "gzip" in (self.headers.get("Accept-Encoding") or ""):
                content, headers = gzip.compress(content, 1), {**headers, "Content-Encoding": "gzip"}
            self.send_response(status)
            base = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": len(content)}
            for name, value in {**base, "Cache-Control": "no-store", **headers}.items():
                self.send_header(name, str(value))
            self.end_headers()
            try:
                self.wfile.write(content)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the reader has gone

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the terminal is for what matters."""

    if not 0 <= port <= 65535:
        raise ValueError(f"--port is {port}; accepted is a whole number from 0 (any that is free) to 65535")
    try:
        server = ThreadingHTTPServer((HOST, port), Handler)
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            why = "is in use" if error.errno == errno.EADDRINUSE else "may not be used by this user"
            raise OSError(f"--port {port} {why}; name another, or 0 for any that is free") from error
        raise
    server.daemon_threads = True
    return server


def serve(collect: Collect, port: int, say: Callable[[str], None]) -> None:
    """Until Ctrl-C."""
    collect()  # what is wrong with a folder is said before anybody looks
    with make_server(collect, port) as server:
        say(f"live at http://{HOST}:{server.server_address[1]}/  (Ctrl-C ends it; training is not touched)")
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            say("no longer live")
