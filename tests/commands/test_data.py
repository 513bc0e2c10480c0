import dataclasses
import gzip
import hashlib
import http.server
import threading
from functools import partial

import pytest

from fwexp.commands.data import main
from fwexp.data import DATASETS, DataFile
from fwexp.data.data_files import check_content
from fwexp.data.fetch import LEAST_CAP
from fwexp.files.atomic import hidden
from fwexp.files.processes import this_process
from tests.store.test_locks import GONE

TEXT = b"".join(b"line %d of a small text\n" % j for j in range(1000))
PACKED = gzip.compress(TEXT, mtime=0)  # equal bytes in every process: they are in the names of tests


class Handler(http.server.BaseHTTPRequestHandler):
    """Serve ``server.body``, in one of the ways that servers have."""

    def do_GET(self):
        self.server.requests += 1
        body = self.server.body
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) + self.server.promised_more))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    """Yield a local server, with conll2000 replaced by one file that the server has."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.body, server.promised_more, server.requests = PACKED, 0, 0
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    check = partial(check_content, size=len(TEXT), sha256=hashlib.sha256(TEXT).hexdigest())
    url = f"http://127.0.0.1:{server.server_address[1]}/train.txt.gz"
    file = DataFile("conll2000/train.txt.gz", url, len(TEXT), check)
    server.offer = lambda *files: monkeypatch.setitem(
        DATASETS.loaded, "conll2000", dataclasses.replace(DATASETS["conll2000"], files=files)
    )
    server.offer(file)
    server.url = url
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def files(folder):
    """Return the names of all files and folders below ``folder``."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_fetch_makes_the_folder_and_verifies(server, tmp_path, capsys):
    folder = tmp_path / "new"
    assert main(["fetch", "conll2000", f"data_dir={folder}"]) == 0
    assert files(folder) == ["conll2000", "conll2000/train.txt.gz"]
    path = folder / "conll2000" / "train.txt.gz"
    assert path.read_bytes() == PACKED
    assert path.stat().st_mode & 0o444 == 0o444 & ~current_umask(tmp_path)
    assert capsys.readouterr().out == f"conll2000  fetched  {path} from {server.url}\n"
    assert main(["verify", "conll2000", f"data_dir={folder}"]) == 0


def current_umask(folder):
    path = folder / "probe"
    path.touch()
    mode = path.stat().st_mode
    path.unlink()
    return ~mode & 0o777


def test_fetch_never_overwrites_a_good_file(server, tmp_path, capsys):
    path = tmp_path / "conll2000" / "train.txt.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(TEXT, compresslevel=1))  # the same text, packed in another way
    before = path.read_bytes()
    assert main(["fetch", "conll2000", f"data_dir={tmp_path}"]) == 0
    assert path.read_bytes() == before
    assert server.requests == 0
    assert "present" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"body": None}, "404"),
        ({"body": PACKED[:-20]}, "expected a whole gzip file"),
        ({"body": gzip.compress(TEXT[:-1], mtime=0)}, f"{len(TEXT) - 1} bytes of content, expected {len(TEXT)}"),
        ({"body": b"<html>not found</html>"}, f"22 bytes of content, expected {len(TEXT)}"),
        ({"body": b"x" * (LEAST_CAP + 1)}, f"more than {LEAST_CAP} bytes came"),
        ({"promised_more": 10}, "cannot get "),  # the connection breaks
    ],
)
def test_fetch_leaves_nothing_when_it_fails(server, tmp_path, capsys, answer, reason):
    vars(server).update(answer)
    assert main(["fetch", "conll2000", f"data_dir={tmp_path / 'data'}"]) == 1
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("fwexp: ")
    assert reason in captured.err
    assert server.url in captured.err
    assert ".fetch-" not in captured.err
    assert files(tmp_path) == []


def test_fetch_keeps_what_was_there_when_it_fails(server, tmp_path):
    server.body = None
    path = tmp_path / "conll2000" / "train.txt.gz"
    path.parent.mkdir()
    path.write_bytes(b"a part, cut by hand")
    assert main(["fetch", "conll2000", f"data_dir={tmp_path}"]) == 1
    assert files(tmp_path / "conll2000") == ["train.txt.gz"]
    assert path.read_bytes() == b"a part, cut by hand"


def test_fetch_cleans_up_after_fetches_that_were_killed(server, tmp_path):
    target = tmp_path / "conll2000" / "train.txt.gz"
    dead = target.parent / hidden(target).name.replace(this_process(), GONE)
    alive = hidden(target)
    for folder in (dead, alive):
        folder.mkdir(parents=True)
        (folder / "half").write_text("half")
    assert main(["fetch", "conll2000", f"data_dir={tmp_path}"]) == 0
    assert sorted(path.name for path in target.parent.iterdir()) == sorted([alive.name, target.name])


def test_fetch_of_a_file_that_is_a_part_of_what_comes(server, tmp_path):
    server.offer(*(dataclasses.replace(file, skip=2) for file in DATASETS["conll2000"].files))
    server.body = b"another\nfile\n" + TEXT
    assert main(["fetch", "conll2000", f"data_dir={tmp_path}"]) == 0
    assert gzip.decompress((tmp_path / "conll2000" / "train.txt.gz").read_bytes()) == TEXT


def test_fetch_goes_on_after_a_failure(server, tmp_path):
    (file,) = DATASETS["conll2000"].files
    server.offer(dataclasses.replace(file, path="conll2000/absent.gz", url="http://127.0.0.1:9/absent.gz"), file)
    assert main(["fetch", "conll2000", f"data_dir={tmp_path}"]) == 1
    assert files(tmp_path / "conll2000") == ["train.txt.gz"]


def test_a_missing_package_ends_neither_fetch_nor_verify(server, horseseg_without_h5py, tmp_path, capsys):
    path = horseseg_without_h5py(tmp_path)
    reason = f"{path}: MATLAB files of version 7.3 need h5py, which is not installed: "
    assert main(["fetch", "horseseg", "conll2000", f"data_dir={tmp_path}"]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(f"fwexp: {reason}")
    assert captured.err.count("\n") == 1
    assert captured.out.startswith("conll2000  fetched")
    assert files(tmp_path / "horseseg") == [path.name]  # it may be whole, so it is not replaced
    assert main(["verify", "horseseg", "conll2000", f"data_dir={tmp_path}"]) == 1
    untested, whole = capsys.readouterr().out.splitlines()
    assert untested.startswith(f"horseseg   untested {reason}")
    assert whole.startswith("conll2000  ok ")


def test_verify_names_what_is_missing_or_damaged(letter_file, tmp_path, capsys):
    letter_file.write(tmp_path)
    (tmp_path / "conll2000").mkdir()
    (tmp_path / "conll2000" / "test.txt").write_text("Confidence NN B-NP\n")
    assert main(["verify", f"data_dir={tmp_path}"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["conll2000", "missing"],
        ["conll2000", "damaged"],
        ["digits", "ok"],
        *[["hansards", "missing"]] * 5,
        *[["horses", "missing"]] * 2,
        ["horseseg", "missing"],
        *[["lsp", "missing"]] * 2,
        ["ocr", "damaged"],
    ]
    assert lines[0].endswith(f"{tmp_path}/conll2000/train.txt.gz; get it with `fwexp data fetch conll2000`")
    assert "19 bytes of content, expected 639396" in lines[1]
    assert "8 letters in 4 words, expected 52152 letters in 6877 words" in lines[-1]


def test_prepare(letter_file, tmp_path, capsys):
    letter_file.write(tmp_path)
    assert main(["prepare", "ocr", "digits", f"data_dir={tmp_path}"]) == 0
    assert capsys.readouterr().out == "ocr        prepared n 2 + 2, d 4082\ndigits     prepared n 1000 + 500, d 770\n"
    assert main(["prepare", "ocr", "hansards", f"data_dir={tmp_path / 'none'}"]) == 1
    errors = capsys.readouterr().err.splitlines()
    assert [error.split(" needs ")[0] for error in errors] == ["fwexp: dataset ocr", "fwexp: dataset hansards"]


def test_embedded_data_need_no_folder(tmp_path, capsys):
    assert main(["verify", "digits", f"data_dir={tmp_path}"]) == 0
    assert main(["fetch", "digits", f"data_dir={tmp_path}"]) == 0
    assert files(tmp_path) == []
    assert capsys.readouterr().out.count("digits.npz") == 2


@pytest.mark.parametrize("args", [["list"], []])
def test_list(args, letter_file, tmp_path, capsys):
    letter_file.write(tmp_path)
    assert main([*args, f"data_dir={tmp_path}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    lines, cures = lines[: 1 + len(DATASETS)], lines[1 + len(DATASETS) :]
    assert [cure.partition(":")[0] for cure in cures] == ["conll2000", "hansards", "horses", "horseseg", "lsp"]
    assert "put it there (https://github.com/" in cures[2]
    table = {line.split()[0]: line for line in lines}
    assert "n 6251 + 626, d 4082" in table["ocr"]
    assert f"present  {tmp_path}/ocr" in table["ocr"]
    assert f"missing  {tmp_path}/conll2000" in table["conll2000"]
    assert "present  in the package" in table["digits"]


@pytest.mark.data
def test_verify_real_data(real_data, capsys):
    there = [name for name in DATASETS if name != "horseseg"]
    assert main(["verify", *there, f"data_dir={real_data}"]) == 0
    assert capsys.readouterr().out.count(" ok ") == 13
