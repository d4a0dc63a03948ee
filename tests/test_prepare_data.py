"""The download against a server on this machine; nothing here needs a network."""

import errno
import hashlib
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pooch
import pytest

from wordlm.data import SEPARATOR, SOURCE_FILE, DataError, read_stories
from wordlm.prepare_data import cut_subset, download_source, prepare

CONTENT = b"one story<|endoftext|>another" * 5000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Answers every request in the way that `answer` says."""

    def __init__(self) -> None:
        self.answer = "whole"
        self.requests = 0
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/{SOURCE_FILE}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.requests += 1
        match self.server.answer:
            case "whole":
                self.reply(200, CONTENT)
            case "other bytes":
                self.reply(200, CONTENT[::-1])
            case "cut short":  # promises more than it sends, then hangs up
                self.reply(200, CONTENT[: len(CONTENT) // 2], promised=len(CONTENT))
            case "short but consistent":
                self.reply(200, CONTENT[: len(CONTENT) // 2])
            case "missing":
                self.reply(404, b"")
            case "broken":
                self.reply(503, b"")

    def reply(self, status: int, body: bytes, promised: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if promised is None else promised))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args) -> None:
        pass


@pytest.fixture
def server():
    with Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def download(server: Server, folder):
    return download_source(folder, url=server.url, sha256=SHA256, progressbar=False)


def test_the_right_file_is_downloaded_once(server, tmp_path):
    path = download(server, tmp_path / "new" / "folder")
    assert path.name == SOURCE_FILE
    assert path.read_bytes() == CONTENT
    download(server, tmp_path / "new" / "folder")
    assert server.requests == 1


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("other bytes", "not the pinned one"),
        ("short but consistent", "not the pinned one"),
        ("cut short", "broke off|failed"),
        ("missing", r"refused the download \(404\)"),
        ("broken", r"refused the download \(503\)"),
    ],
)
def test_a_bad_answer_is_one_line_leaves_nothing_and_a_second_try_succeeds(server, tmp_path, answer, message):
    server.answer = answer
    with pytest.raises(DataError, match=message) as error:
        download(server, tmp_path)
    assert "\n" not in str(error.value)
    assert "--source" in str(error.value)
    assert list(tmp_path.iterdir()) == []
    server.answer = "whole"
    assert download(server, tmp_path).read_bytes() == CONTENT


def test_no_network_is_said_in_one_line(tmp_path):
    with Server() as closed:
        url = closed.url
    with pytest.raises(DataError, match="check the network") as error:
        download_source(tmp_path, url=url, sha256=SHA256, progressbar=False)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_in_place_is_downloaded_anew(server, tmp_path):
    (tmp_path / SOURCE_FILE).write_bytes(b"half of it")
    assert download(server, tmp_path).read_bytes() == CONTENT


def test_a_full_disk_is_said_in_one_line_and_leaves_nothing(server, tmp_path, monkeypatch):
    whole = pooch.HTTPDownloader.__call__

    def fill_the_disk(self, url, output_file, *args, **kwargs):
        class Full:
            def __init__(self, file):
                self.file = file

            def __getattr__(self, name):
                return getattr(self.file, name)

            def write(self, data):
                raise OSError(errno.ENOSPC, "No space left on device")

        with open(output_file, "wb") as file:
            whole(self, url, Full(file), *args, **kwargs)

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", fill_the_disk)
    with pytest.raises(DataError, match="is full: free about") as error:
        download(server, tmp_path)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_while_the_subset_is_written_leaves_no_half_file(tmp_path, monkeypatch):
    def no_space(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", no_space)
    with pytest.raises(DataError, match="is full"):
        prepare("smoke", tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_killed_download_leaves_no_file_where_a_good_one_is_expected(server, tmp_path):
    """The kill falls between the first bytes and the rename."""
    program = (
        "import os, pathlib, pooch\n"
        "from wordlm.prepare_data import download_source\n"
        "whole = pooch.HTTPDownloader.__call__\n"
        "def stop(self, url, output_file, *rest, **named):\n"
        "    pathlib.Path(output_file).write_bytes(b'half')\n"
        "    os.kill(os.getpid(), 9)\n"
        "pooch.HTTPDownloader.__call__ = stop\n"
        f"download_source(pathlib.Path({str(tmp_path)!r}), url={server.url!r}, sha256={SHA256!r}, progressbar=False)\n"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == -9
    assert not (tmp_path / SOURCE_FILE).exists()
    assert download(server, tmp_path).read_bytes() == CONTENT


def test_a_source_with_too_few_stories_is_refused(tmp_path):
    source = tmp_path / "short.txt"
    source.write_text(SEPARATOR.join(["a story"] * 100), encoding="utf-8")
    with pytest.raises(DataError, match="98 whole stories after the first, 6,000 are needed"):
        prepare("dgx", tmp_path / "data", source)
    assert not (tmp_path / "data").exists()


def test_a_source_with_other_stories_is_refused(tmp_path):
    source = tmp_path / "other.txt"
    source.write_text(SEPARATOR.join(f"story {i}" for i in range(6100)), encoding="utf-8")
    with pytest.raises(DataError, match="not the pinned subset"):
        prepare("dgx", tmp_path / "data", source)
    assert not (tmp_path / "data").exists()


def test_a_missing_source_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        cut_subset(tmp_path / "nowhere.txt")


def test_the_real_source_is_cut_to_the_pinned_subset(real_stories, tmp_path):
    prepare("dgx", tmp_path, real_stories)
    assert len(read_stories(tmp_path, "dgx")) == 6000


def test_the_command_says_what_is_wrong_without_a_traceback(tmp_path):
    command = [sys.executable, "-m", "wordlm.prepare_data", "--profile", "dgx", "--data-dir", str(tmp_path)]
    done = subprocess.run([*command, "--source", str(tmp_path / "no.txt")], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
