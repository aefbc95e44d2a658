"""`sweep schema` against the daemon: what it takes the schema takes, and what it refuses the schema
refuses, but for rules that a schema cannot say."""
import collections
import copy
import glob
import json
import os
import re

import pytest

from harness import ROOT, RpcError, driven, example, parse, sweep_command

pytest.importorskip("jsonschema", reason="python3-jsonschema is not here: schemas are not checked")
import schemas  # noqa: E402

EXAMPLES = sorted(os.path.basename(p)[:-5] for p in glob.glob(os.path.join(ROOT, "examples", "*.json")))
CORPUS = sorted(glob.glob(os.path.join(ROOT, "tests", "fuzz", "corpus", "spec", "*")))
WANDB = sorted(glob.glob(os.path.join(ROOT, "tests", "fixtures", "wandb", "*.yaml")))

# What a schema cannot say, by the daemon's words.
BEYOND = {
    "names of parameters": r"no parameter|nothing uses the parameter|(or|be) the name of a parameter"
                           r"|is in \"parameters\" too|is the same for every trial",
    "a parameter's values against what it feeds": r" feeds ",
    "two numbers against each other": r"is above max|is below min|no multiple of q|no(t a)? power of two|beyond the last"
                                      r"|divided by eta|are exponents of e",
    "values against a parameter's": r"never (is|has)|of the values of|is a number, (not|never)"
                                    r"|run in a circle|one for each of the values|have a sum above",
    "layers against each other and the data": r"the last layer is|does not fit an image|comes to it"
                                              r"|do not divide the width|nothing to train"
                                              r"|leave nothing of an image|leaves none to validate|cannot be cut into",
    "files and their contents": r"No such file|Permission denied|in no folder of PATH|no data set is named|has no column|columns beside",
    "a space that can be counted": r"grid needs a list",
    "a folder that `sweep submit` fills in": r"`sweep submit` fills in|must be an absolute path",
    "a macro that needs another key": r"needs \"program\"",
    "what the daemon was started with": r"has no executor",
    "ranks against slots": r"each rank has one slot|data ranks are \d+ ranks",
}


@pytest.fixture(scope="module")
def validator():
    return schemas.spec_validator()


def refusal(client, spec):
    """The daemon's line, or None where it takes the spec."""
    try:
        client.call("sweep.validate", spec=spec)
    except RpcError as error:
        return error.message
    return None


def reason(line):
    return next((name for name, words in BEYOND.items() if re.search(words, line)), None)


def compare(client, validator, specs, record_property):
    """Each spec by both; the counts are printed at the end of the run."""
    taken, refused, beyond = 0, 0, collections.Counter()
    for spec in specs:
        line = refusal(client, spec)
        if line is None:
            taken += 1
            assert schemas.spec_fault(spec) is None, spec
        elif validator.is_valid(spec):
            assert reason(line), f"the schema takes what the daemon refuses ({line}): {spec}"
            beyond[reason(line)] += 1
        else:
            refused += 1
    left = sum(beyond.values())
    record_property("counts", f"{refused} of {refused + left} refused specs are refused by the "
                              f"schema too, and {taken} taken ones taken; the others: "
                              + (", ".join(f"{n} {name}" for name, n in beyond.most_common())
                                 or "none"))
    return taken, refused, left


def test_corpus_is_taken_and_refused_as_by_the_daemon(client, validator, record_property):
    specs = []
    for path in CORPUS:
        with open(path, "rb") as file:
            try:
                specs.append(parse(file.read()))
            except (ValueError, AssertionError, RecursionError):
                continue  # no JSON as the wire has it
    specs = [spec for spec in specs if isinstance(spec, dict)]
    taken, refused, left = compare(client, validator, specs, record_property)
    assert taken > 50 and refused > 3 * left


WRONG = [None, True, -1, 0, 0.5, 2, 1e300, "", "x", [], {}, [1], {"a": 1}]
# Of the trainer's part each refusal starts a process, and tests/trainer/spec/test_keys.c tells of each key.
WRONG_OF_TRAINER = [None, -1, "x"]


def places(value, at=()):
    if at:
        yield at
    items = value.items() if isinstance(value, dict) else \
        enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, at + (key,))


def kind_of(param):
    """What decides which keys a parameter may have, and what they may be."""
    given = tuple(sorted({"min", "max", "value", "values"} & set(param)))
    return param.get("distribution", given), type(param.get("min")), "when" in param


def spoiled(specs):
    """At each place that no spec before it has: every wrong value, none at all, another key, one more key."""
    seen = set()
    for spec in specs:
        for at in places(spec):
            where = tuple(kind_of(spec["parameters"][key]) if before == "parameters" else key
                          for before, key in zip((None, *at), at) if not isinstance(key, int))
            if (where, type(at[-1])) in seen:
                continue
            seen.add((where, type(at[-1])))
            trains = "trainer" in spec and at[0] in ("trainer", "parallel", "resources")
            whole = spec if trains else {key: value for key, value in spec.items() if key != "trainer"}
            for spoil in [lambda o, k, v=v: o.__setitem__(k, v) for v in (WRONG_OF_TRAINER if trains else WRONG)] + [
                    lambda o, k: o.__delitem__(k),
                    lambda o, k: isinstance(o, dict) and o.update({f"{k}s": o.pop(k)}),
                    lambda o, k: isinstance(o, dict) and o.update(zzz=1)]:
                wrong = copy.deepcopy(whole)
                inner = wrong
                for key in at[:-1]:
                    inner = inner[key]
                spoil(inner, at[-1])
                yield wrong


def test_examples_are_taken_and_refused_when_spoiled(client, validator, record_property):
    specs = [example(name) for name in EXAMPLES]
    for spec in specs:
        assert schemas.spec_fault(spec) is None and refusal(client, spec) is None
    taken, refused, left = compare(client, validator, spoiled(specs), record_property)
    assert taken > 50 and refused > 3 * left


@pytest.mark.parametrize("path", WANDB, ids=os.path.basename)
def test_file_of_wandb_is_taken_as_it_is_stored(daemon, client, path, tmp_path):
    (tmp_path / "train.py").touch()
    assert sweep_command(daemon, "submit", path, cwd=tmp_path)[0] == 0
    assert schemas.spec_fault(client.sweep(1)["spec"]) is None


def resolved(schema, definition):
    while "$ref" in definition:
        definition = {**schema["definitions"][definition["$ref"].rpartition("/")[2]],
                      **{k: v for k, v in definition.items() if k != "$ref"}}
    return definition


def described(schema, value, at=""):
    """The keys of all objects in the schema (not of its rules): (where, is something said?)."""
    if not isinstance(value, dict):
        return
    if "additionalProperties" in value:
        for key, inner in value.get("properties", {}).items():
            yield f"{at}/{key}", "const" in inner or "description" in resolved(schema, inner)
            yield from described(schema, inner, f"{at}/{key}")
    for i, inner in enumerate(value.get("anyOf", [])):
        yield from described(schema, inner, f"{at}/{i}")
    for name, inner in value.get("definitions", {}).items():
        yield from described(schema, inner, f"{at}/{name}")


def test_every_key_says_what_it_is_for():
    schema = schemas.spec_schema()
    keys = dict(described(schema, schema))
    assert len(keys) > 300 and [at for at, said in keys.items() if not said] == []


def test_schema_key_is_for_editors_and_has_no_effect(daemon, client):
    spec = driven(**{"$schema": "./sweep.schema.json"})
    result = client.call("sweep.validate", spec=spec)
    assert result["warnings"] == client.call("sweep.validate", spec=driven())["warnings"]
    status, text, _ = sweep_command("/no/such/socket", "schema")
    assert status == 0 and json.loads(text) == schemas.spec_schema()
    status, text, _ = sweep_command("/no/such/socket", "schema", "--json")
    assert status == 0 and json.loads(text) == schemas.spec_schema() and text.count("\n") == 1
