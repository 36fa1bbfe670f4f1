"""Files from a folder and from a server, intact and damaged."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from paribus import datasets
from paribus.datasets import download

CONTENT = b"a,b\n1,2\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
FILE = "RawData/some.csv"


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder without logging."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the file, in the layout of the public one."""
    (tmp_path / "public" / "RawData").mkdir(parents=True)
    (tmp_path / "public" / FILE).write_bytes(CONTENT)
    return tmp_path / "public"


@pytest.fixture
def user_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, without PARIBUS_DATA."""
    import pooch

    monkeypatch.delenv("PARIBUS_DATA", raising=False)
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    return tmp_path / "cache" / "paribus"


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The URL of a folder on a local server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def server(folder: Path, user_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folder on a local server, in place of the public URL."""
    with serving(folder) as address:
        monkeypatch.setattr(download, "ADDRESS", address)
        yield


def files_in(path: Path) -> list[Path]:
    return [each for each in path.rglob("*") if each.is_file()]


@pytest.mark.usefixtures("server")
def test_a_file_is_downloaded_once(folder: Path, user_cache: Path) -> None:
    """Tests that a file is cached, and read from the cache when the server no longer has it."""
    assert download.fetch(FILE, SHA256) == user_cache / FILE
    assert (user_cache / FILE).read_bytes() == CONTENT
    (folder / FILE).unlink()
    assert download.fetch(FILE, SHA256) == user_cache / FILE


@pytest.mark.usefixtures("server")
def test_a_damaged_download_is_refused_and_leaves_nothing(folder: Path, user_cache: Path) -> None:
    """Tests that a file with a wrong checksum is not kept, and that the right file is accepted afterwards."""
    (folder / FILE).write_bytes(CONTENT[:-3])
    with pytest.raises(ValueError, match=r"some\.csv is damaged .* and was not kept: try again"):
        download.fetch(FILE, SHA256)
    assert files_in(user_cache) == []
    (folder / FILE).write_bytes(CONTENT)
    assert download.fetch(FILE, SHA256).read_bytes() == CONTENT


@pytest.mark.usefixtures("server")
def test_a_damaged_file_in_the_cache_is_downloaded_again(user_cache: Path) -> None:
    """Tests that a file that was damaged after its download is replaced."""
    download.fetch(FILE, SHA256).write_bytes(b"spoilt")
    assert download.fetch(FILE, SHA256).read_bytes() == CONTENT


@pytest.mark.usefixtures("server")
def test_a_file_that_the_server_does_not_have_is_named(user_cache: Path) -> None:
    """Tests the message for a URL that does not exist."""
    with pytest.raises(OSError, match=r"RawData/gone\.csv could not be downloaded .* PARIBUS_DATA .*404"):
        download.fetch("RawData/gone.csv", SHA256)
    assert files_in(user_cache) == []


def test_without_a_network_the_sentence_says_what_to_do(user_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a server that does not answer, at the port of one that was just closed."""
    with serving(user_cache) as address:
        monkeypatch.setattr(download, "ADDRESS", address)
    with pytest.raises(OSError, match=r"some\.csv could not be downloaded .* check the network, or set PARIBUS_DATA"):
        download.fetch(FILE, SHA256)


def test_without_pooch_the_sentence_names_the_extra(user_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the message names the extra that is needed for a download."""
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'paribus\[data\]'"):
        datasets.load("Abalone")


def test_a_folder_is_taken_instead_of_the_network(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that PARIBUS_DATA needs neither pooch nor a cache."""
    monkeypatch.setenv("PARIBUS_DATA", str(folder))
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert download.fetch(FILE, SHA256) == folder / FILE


def test_a_wrong_file_in_the_folder_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests missing files, changed files and a missing folder."""
    monkeypatch.setenv("PARIBUS_DATA", str(folder))
    with pytest.raises(
        FileNotFoundError, match=r"there is no 'RawData/gone\.csv' in it: correct or unset PARIBUS_DATA"
    ):
        download.fetch("RawData/gone.csv", SHA256)
    (folder / FILE).write_bytes(b"a,b\n1,3\n")
    with pytest.raises(ValueError, match=r"some\.csv' is not the file that the paper's authors published"):
        download.fetch(FILE, SHA256)
    monkeypatch.setenv("PARIBUS_DATA", str(folder / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nowhere', but there is no such folder"):
        download.fetch(FILE, SHA256)


def test_a_public_set_is_read_from_a_download(
    paper_data: Path, user_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a real file is served, downloaded, verified and read."""
    with serving(paper_data) as address:
        monkeypatch.setattr(download, "ADDRESS", address)
        data = datasets.load("football")
    assert data.table["Name"][0] == "Mason Mount"
    assert [path.name for path in files_in(user_cache)] == ["football_example.csv"]
