"""What rpc.discover promises of results, and `sweep schema` of specs; and the checks against them."""
import functools
import json
import tempfile

import jsonschema

from harness import Daemon, sweep_command


@functools.cache
def document():
    """rpc.discover's, of a daemon for just that."""
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(folder).start()
        try:
            return daemon.client().call("rpc.discover")
        finally:
            daemon.process.terminate()  # daemon.term() would ask it for more
            daemon.process.wait()
            daemon.process = None
            daemon.stop()


@functools.cache
def validators():
    """By the name of a method or notification."""
    whole = document()
    resolver = jsonschema.RefResolver("", whole)
    schemas = {m["name"]: m["result"]["schema"] for m in whole["methods"]}
    schemas.update({n["name"]: n["params"] for n in whole["x-notifications"]})
    for schema in [*schemas.values(), *whole["components"]["schemas"].values()]:
        jsonschema.Draft7Validator.check_schema(schema)
    return {name: jsonschema.Draft7Validator(schema, resolver=resolver)
            for name, schema in schemas.items()}


def fault(name, value):
    """What is wrong with an answer, in one line; None: it is as promised."""
    return fault_of(f"{name} answers", validators()[name], value)


def fault_of(what, validator, value):
    error = jsonschema.exceptions.best_match(validator.iter_errors(value))
    if error is None:
        return None
    return f"{what}, at /{'/'.join(map(str, error.absolute_path))}: {error.message[:500]}"


@functools.cache
def spec_schema():
    status, text, _ = sweep_command("/no/such/socket", "schema")
    assert status == 0
    return json.loads(text)


@functools.cache
def spec_validator():
    jsonschema.Draft7Validator.check_schema(spec_schema())
    return jsonschema.Draft7Validator(spec_schema())


def spec_fault(spec):
    return fault_of("the schema refuses a spec that the daemon takes", spec_validator(), spec)
