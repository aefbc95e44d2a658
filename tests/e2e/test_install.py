"""What `cmake --install` puts somewhere runs from there, and names nothing of the tree that it was built in."""
import gzip
import os
import re
import shutil
import subprocess
import urllib.request

import pytest

import harness
from gpus import CUDA, NEEDS_FAKES, SMALL, Machine, Rig
from harness import BIN, DEADLINE, ROOT, environment, sweep_command, trained, wait_until

BUILD = os.path.dirname(BIN)
USER_UNITS, SYSTEM_UNITS = "share/systemd/user", "lib/systemd/system"


@pytest.fixture(name="installed", scope="module")
def installed_fixture(tmp_path_factory):
    """The tree, as a package is made of it: installed for one folder into another (DESTDIR), and moved."""
    if not shutil.which("cmake") or not os.path.exists(os.path.join(BUILD, "cmake_install.cmake")):
        pytest.skip("no cmake, or no build folder")
    folder = tmp_path_factory.mktemp("install")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", "/opt/sweepd"], check=True, capture_output=True,
                   env=environment(DESTDIR=str(folder / "staged")))
    shutil.move(folder / "staged" / "opt" / "sweepd", folder / "moved")
    return folder / "moved"


@pytest.fixture(name="there")
def there_fixture(installed, monkeypatch):
    """Programs are those of the installed tree."""
    monkeypatch.setattr(harness, "BIN", str(installed / "bin"))
    return installed


def test_installed_daemon_finds_its_worker_and_its_data(there, start):
    client = start("cpu:1").client()
    sweep = client.run(trained(epochs=2, run_cap=2), "COMPLETED")
    # Whose worker, and whose data: those of the tree.
    assert os.readlink(f"/proc/{client.slots()[0]['pid']}/exe") == str(there / "bin" / "sweep-worker")
    os.rename(there / "share/sweepd/data/wine.csv", there / "share/sweepd/data/kept")
    try:
        (there / "share/sweepd/data/wine.csv").write_text("class,a\n")
        assert "wine" in client.refused("sweep.submit", spec=trained()).message
    finally:
        os.rename(there / "share/sweepd/data/kept", there / "share/sweepd/data/wine.csv")


@pytest.mark.usefixtures("there")
def test_installed_daemon_finds_its_executors(start):
    """The one of the tree has run: it wants an option that it was not given."""
    client = start("none", "--executor", "ssh").client()
    wait_until(lambda: "hosts=FILE" in (client.call("device.list")["pilots"]["says"] or ""), "its check")


@NEEDS_FAKES
def test_installed_worker_finds_the_gpu_module(there, tmp_path):
    folder = there / "lib" / "sweepd"
    folder.mkdir(exist_ok=True)
    module, kept = folder / "libsweepd-cuda.so", folder / "kept"
    if module.exists():
        module.rename(kept)
    shutil.copy(CUDA, module)
    daemon = Machine(tmp_path, Rig(tmp_path, SMALL), "gpu:0").start(SWEEPD_CUDA_MODULE="")
    try:
        client = daemon.client()
        assert client.wait_sweep(client.submit(trained(epochs=2, run_cap=2)))["state"] == "COMPLETED"
    finally:
        daemon.stop()
        module.unlink()
        if kept.exists():
            kept.rename(module)


def test_installed_command_makes_its_own_things(there, daemon, tmp_path):
    assert sweep_command(daemon, "ls")[0] == 0
    assert (there / "share/doc/sweepd/README.md").exists() and (there / "share/doc/sweepd/docs/install.md").exists()
    assert (there / "include/sweepd.h").exists()


def test_installed_command_finds_the_page(there, daemon):
    """Whose page: the tree's; its files are in the program."""
    with subprocess.Popen([there / "bin" / "sweep", "--socket", daemon.socket, "web", "--no-open"], text=True,
                          stdout=subprocess.PIPE, env=environment()) as page:
        try:
            url = page.stdout.readline().strip()
            assert os.readlink(f"/proc/{page.pid}/exe") == str(there / "bin" / "sweep-web")
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            opener.open(url, timeout=DEADLINE).close()  # the token becomes a cookie
            html = opener.open(url.partition("?")[0], timeout=DEADLINE).read()
            assert gzip.decompress(html).startswith(b"<!doctype html>")
        finally:
            page.terminate()


def test_page_s_unit_takes_nothing_and_tells_nobody(installed):
    """Required, the daemon's socket would be taken from one that was started by hand; the journal has more readers."""
    unit = (installed / USER_UNITS / "sweepd-web.service").read_text()
    assert "\nRequires=" not in unit and "\nWants=" not in unit
    assert "\nStandardOutput=truncate:%t/sweepd-web\n" in unit and "\nUMask=0077\n" in unit


@pytest.mark.skipif(os.confstr("CS_GNU_LIBC_VERSION") != "glibc 2.36", reason="not Debian 12, on which wheels are made")
@pytest.mark.parametrize("program", ["sweepd", "sweep", "sweep-web", "sweep-worker"])
def test_program_wants_no_newer_glibc_than_the_wheel_promises(program):
    """docs/install.md: 2.34. A call of one function can raise it."""
    with open(os.path.join(BIN, program), "rb") as file:
        wanted = {int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?=[\0.])", file.read())}
    assert 17 <= max(wanted) <= 34


@pytest.mark.parametrize("whose, folder, n", [("--user", USER_UNITS, 3), ("--system", SYSTEM_UNITS, 2)])
def test_units_are_as_systemd_wants_them(installed, tmp_path, whose, folder, n):
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze")
    units = tmp_path / "units"
    shutil.copytree(installed / folder, units)
    for unit in units.iterdir():
        text = unit.read_text()
        assert "@BIN@" not in text and "@DOC@" not in text
        # verify wants the program to be there.
        unit.write_text(text.replace("/opt/sweepd/bin", str(installed / "bin")))
    done = subprocess.run(["systemd-analyze", whose, "--man=no", "verify", *sorted(units.iterdir())], check=False,
                          capture_output=True, text=True, timeout=DEADLINE,
                          env=environment(XDG_RUNTIME_DIR=str(tmp_path)))
    said = [line for line in done.stderr.splitlines() if "sweepd" in line]
    assert done.returncode == 0 and not said, done.stderr
    assert len(list(units.iterdir())) == n


def test_programs_say_their_commit_also_from_an_archive_and_that_they_know_none(daemon, tmp_path):
    def made_in(folder, line=None):
        shutil.copy(os.path.join(ROOT, "cmake", "commit.cmake"), folder)
        (folder / "commit.txt").write_text(line or "$Format:%h$\n")
        subprocess.run(["cmake", f"-DOUT={folder}/made.c", "-P", folder / "commit.cmake"], check=True,
                       env=environment(GIT_CEILING_DIRECTORIES=str(folder)))
        return re.search('"(.*)"', (folder / "made.c").read_text())[1]

    assert made_in(tmp_path) == "unknown"
    assert made_in(tmp_path, "0123abc\n") == "0123abc"
    said = {sweep_command(daemon, "--version")[1].removeprefix("sweep "),
            subprocess.check_output([os.path.join(BIN, "sweepd"), "--version"], text=True).removeprefix("sweepd ")}
    info = daemon.client().call("daemon.info")
    assert said == {f"{info['version']} (commit {info['commit']})\n"}
