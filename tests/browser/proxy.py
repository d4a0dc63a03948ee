"""A connection that can be lost, or that holds the server's answers back: a proxy between browser and server."""

import socket
import threading
from contextlib import suppress


class Proxy:
    """Passes bytes to the server at `port`, which is to be set; while `lost`, nothing gets through."""

    def __init__(self) -> None:
        self.port = 0
        self.lost = False
        self.answers = threading.Event()  # while it is not set, the browser hears nothing
        self.answers.set()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self) -> None:
        """Break all connections, and every new one."""
        self.lost = True
        for connection in list(self._open):
            _end(connection)

    def close(self) -> None:
        self.answers.set()
        self.lose()
        _end(self._listener)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                browser, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=[browser], daemon=True).start()

    def _connect(self, browser: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self.port))
        except OSError:  # the server is being started anew
            _end(browser)
            return
        self._open |= {browser, server}
        if self.lost:
            _end(browser)
            _end(server)
        threading.Thread(target=self._pass, args=[browser, server], daemon=True).start()
        threading.Thread(target=self._pass, args=[server, browser, self.answers], daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, gate: threading.Event | None = None) -> None:
        with suppress(OSError):
            while chunk := source.recv(65536):
                if gate is not None:
                    gate.wait()
                target.sendall(chunk)
        for connection in (source, target):
            self._open.discard(connection)
            _end(connection)


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
