"""The man pages, as each build makes them from what the programs say of themselves."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from harness import BIN, ROOT, environment

PAGES = ("sweep.1", "sweepd.8", "sweepd-spec.5")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("man")
    subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "man"), BIN, folder], check=True)
    return folder


def said(*words):
    return subprocess.run([os.path.join(BIN, words[0]), *words[1:]], check=True, capture_output=True, text=True).stdout


def plain(page):
    return page.read_text(encoding="utf-8").replace("\\-", "-")


@pytest.mark.skipif(shutil.which("man") is None, reason="no man is installed")
@pytest.mark.parametrize("name", PAGES)
def test_man_has_no_warning(pages, name):
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", pages / name], check=False, capture_output=True,
                          text=True, env=environment(MANWIDTH="80", LC_ALL="C.UTF-8"))
    assert (done.returncode, done.stderr) == (0, "") and "SEE ALSO" in done.stdout
    assert "\\" not in done.stdout.replace("\\u", "")


def test_pages_name_all_verbs_options_and_keys(pages):
    sweep, sweepd, spec = (plain(pages / name) for name in PAGES)
    verbs = re.findall(r"^  ([a-z]+) ", said("sweep", "help"), re.M)
    assert len(verbs) > 20 and all(f'.SS "sweep {verb}' in sweep for verb in verbs)
    for verb in verbs:
        for option in re.findall(r"^  .*(--[a-z-]+)", said("sweep", "help", verb), re.M):
            assert option in sweep
    assert all(option in sweepd for option in re.findall(r"^  (--[a-z-]+)", said("sweepd", "--help"), re.M))
    keys = json.loads(said("sweep", "schema", "--json"))["properties"]
    assert len(keys) > 20 and all(f".B {key}\n" in spec for key in keys)


@pytest.mark.parametrize("name", PAGES)
def test_page_of_the_build_is_this_one(pages, name):
    built = os.path.join(os.path.dirname(BIN), "man", name)
    if not os.path.exists(built):
        pytest.skip("these programs are not in their build's folder")
    with open(built, encoding="utf-8") as file:
        assert file.read() == (pages / name).read_text(encoding="utf-8")
