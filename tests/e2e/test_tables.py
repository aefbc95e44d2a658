"""CSV tables: what `sweep-worker table` and `sweep init` say of them, and the way from a table to predictions."""
import json
import os
import re

import pytest

from bad_tables import BAD
from harness import BIN, environment, sweep_command


def table(path, options, folder):
    """sweep-worker's exit status, what it says, and its peak memory in MiB."""
    out = os.path.join(folder, "out")
    words = [os.path.join(BIN, "sweep-worker"), "table", str(path), json.dumps(options)]
    child = os.posix_spawn(words[0], words, environment(), file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)])
    _, status, used = os.wait4(child, 0)
    with open(out, encoding="utf-8") as file:
        return os.waitstatus_to_exitcode(status), json.load(file), used.ru_maxrss / 1024


@pytest.mark.parametrize("name", BAD)
def test_a_bad_table_has_one_line_that_says_where_it_is_wrong(tmp_path, name):
    text, options, where, words = BAD[name]
    text = text() if callable(text) else text
    path = tmp_path / "bad.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    status, said, peak = table(path, {"label": "y", **options}, tmp_path)
    if where == "error":
        assert status == 1 and set(said) == {"error"}, said
        line = said["error"]
        assert "bad.csv" in line or '"' in line, line
    else:
        assert status == 0, said
        column = next(c for c in said["columns"] if c["name"] == where)
        line = f"{column['becomes']}: {column.get('warning', '')}"
    assert re.search(words, line) and "\n" not in line and len(line) < 400, line
    assert peak < 256 + ("SWEEPD_SANITIZED" in os.environ) * 4096, f"{peak} MiB"


NOWHERE = "/no/such/socket"  # init asks no daemon
HOUSES = "id,area,kind,seen,price\n" + "".join(
    f"{r + 1},{'' if r % 9 == 0 else r * 37 % 101 + 40},{('flat', 'house', 'hut')[r * 7 % 3]},2024-{r % 12 + 1:02}-03,"
    f"{(r * 37 % 101 + 40) * 3000 + r * 7 % 3 * 40000}\n" for r in range(120))


def test_init_prints_a_line_a_column_and_a_spec_that_validate_takes_with_the_same_lines(tmp_path):
    (tmp_path / "houses.csv").write_text(HOUSES)
    status, text, lines = sweep_command(NOWHERE, "init", "houses.csv", "--target", "price", cwd=tmp_path)
    assert status == 0, lines
    said = {line.split()[0]: line for line in lines.splitlines()[2:]}
    assert list(said) == ["id", "area", "kind", "seen", "price"], lines
    assert re.search(r"number +14 ", said["area"]) and "left out" in said["id"] and "date" in said["seen"], lines
    spec = json.loads(text)
    assert spec["name"] == "houses" and len(spec["parameters"]) == 6 and spec["early_terminate"]["type"] == "asha"
    assert spec["trainer"]["dataset"] == {"format": "csv", "path": "houses.csv", "label": "price"}
    assert spec["trainer"]["model"][-1] == {"linear": 1} and spec["trainer"]["loss"] == "mse", spec
    assert spec["metric"] == {"name": "val_rmse", "goal": "minimize"}, spec
    assert "layernorm" not in spec["trainer"]["model"], spec
    (tmp_path / "spec.json").write_text(text)
    status, verdict, _ = sweep_command(NOWHERE, "validate", "spec.json", cwd=tmp_path)
    assert status == 0 and verdict.endswith(lines.partition("\n")[2]), verdict


@pytest.mark.parametrize("scale, becomes", [
    ("auto", "a number, mostly 0: in 9 pieces"), ("standard", "a number, scaled"), ("none", "a number")])
def test_validate_says_what_the_scale_makes_of_a_number(tmp_path, scale, becomes):
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{r // 5 if r % 5 == 0 else 0},{r % 2}\n" for r in range(50)))
    status, text, lines = sweep_command(NOWHERE, "init", "t.csv", "--target", "y", cwd=tmp_path)
    assert status == 0 and "in 9 pieces" in lines, lines
    spec = json.loads(text)
    spec["trainer"]["scale"] = scale
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    status, verdict, _ = sweep_command(NOWHERE, "validate", "spec.json", cwd=tmp_path)
    assert status == 0 and re.search(rf"\na +number +0 +10 +{becomes} *\n", verdict), verdict


def test_init_of_a_file_without_names_takes_a_number(tmp_path):
    (tmp_path / "h.csv").write_text(HOUSES.partition("\n")[2])
    status, text, lines = sweep_command(NOWHERE, "init", "h.csv", "--target", 4, "header=false", cwd=tmp_path)
    assert status == 0 and json.loads(text)["trainer"]["dataset"]["label"] == 4, lines
    (tmp_path / "h.csv").write_text(HOUSES.replace(",kind,", ",4,"))
    status, text, lines = sweep_command(NOWHERE, "init", "h.csv", "--target", 4, cwd=tmp_path)
    assert status == 0 and json.loads(text)["trainer"]["dataset"]["label"] == "4", lines


def test_init_of_16000_columns_has_a_line_for_each(tmp_path):
    (tmp_path / "genes.csv").write_text("\n".join(
        [",".join([f"g{c}" for c in range(15999)] + ["y"]),
         *(",".join([str(r % 2) for c in range(15999)] + ["ab"[r % 2]]) for r in range(40))]) + "\n")
    status, _, lines = sweep_command(NOWHERE, "init", "genes.csv", "--target", "y", cwd=tmp_path)
    assert status == 0 and lines.count("\n") == 16002, lines[:300]


# and 25 numbers, and one that is 0 but in `rare` rows: 55 inputs, 65, 64, 65
@pytest.mark.parametrize("values, rare, norms", [(30, 0, 0), (40, 0, 3), (19, 20, 0), (19, 21, 3)])
def test_init_of_a_table_of_many_inputs_has_a_norm_behind_each_linear_layer(tmp_path, values, rare, norms):
    (tmp_path / "wide.csv").write_text("".join(
        ",".join([*(str(r * (c + 3) % 29 / 4) if r else f"x{c}" for c in range(25)), f"w{r * 7 % values}" if r else "word",
                  f"{r if r <= rare else 0}" if r else "gain", str(r % 17 * 1000) if r else "price"]) + "\n" for r in range(201)))
    status, text, lines = sweep_command(NOWHERE, "init", "wide.csv", "--target", "price", cwd=tmp_path)
    assert status == 0 and json.loads(text)["trainer"]["model"].count("layernorm") == norms, lines


def test_init_puts_words_into_the_dataset_and_obeys_them(tmp_path):
    (tmp_path / "h.csv").write_text(HOUSES)
    words = ["init", "h.csv", "--target", "kind", 'columns={"ignore": ["seen"]}', "header=true"]
    status, text, lines = sweep_command(NOWHERE, *words, cwd=tmp_path)
    assert status == 0 and re.search(r"\nseen +ignored.*left out", lines), lines
    spec = json.loads(text)
    assert spec["trainer"]["dataset"] == {"format": "csv", "path": "h.csv", "label": "kind",
                                          "columns": {"ignore": ["seen"]}, "header": True}
    assert spec["trainer"]["model"][-1] == {"linear": 3} and spec["trainer"]["loss"] == "cross_entropy", spec
    assert spec["metric"] == {"name": "val_loss", "goal": "minimize"}, spec


@pytest.mark.parametrize("words, wanted, line", [
    (["h.csv"], 2, "--target NAME"), (["-", "--target", "price"], 2, "needs a file"),
    (["h.csv", "--target", "price", "header"], 2, "KEY=VALUE, each key once, not 'header'"),
    (["h.csv", "--target", "price", "label=area"], 2, "each key once"),
    (["h.csv", "--target", "prize"], 1, '"price"'), (["none.csv", "--target", "price"], 1, "none.csv"),
    (["h.csv", "--target", "price", "hedaer=false"], 1, "hedaer")])
def test_init_of_what_it_cannot_take_prints_no_spec(tmp_path, words, wanted, line):
    (tmp_path / "h.csv").write_text(HOUSES)
    status, out, wrong = sweep_command(NOWHERE, "init", *words, cwd=tmp_path)
    assert (status, out) == (wanted, "") and line in wrong and wrong.count("\n") == 1, wrong


def test_three_commands_make_prices_of_raw_rows(start, tmp_path):
    """Columns in another order, no target, and a word that training has not seen."""
    daemon = start("cpu:2")
    (tmp_path / "houses.csv").write_text(HOUSES)
    status, text, wrong = sweep_command(daemon, "init", "houses.csv", "--target", "price", cwd=tmp_path)
    assert status == 0, wrong
    (tmp_path / "houses.json").write_text(text)
    status, _, wrong = sweep_command(daemon, "submit", "houses.json", "--watch", cwd=tmp_path)
    assert status == 0, wrong
    (tmp_path / "new.csv").write_text("kind,seen,area,id\nhut,2024-05-03,60,7\nflat,2024-05-03,130,8\ntent,,100,9\n")
    status, text, wrong = sweep_command(daemon, "predict", 1, "new.csv", cwd=tmp_path)
    assert status == 0 and "tent" in wrong, wrong
    rows = text.splitlines()
    assert rows[0] == "prediction"
    small, large, _ = map(float, rows[1:])
    assert abs(small - 260000) < 60000 and abs(large - 390000) < 60000, text
