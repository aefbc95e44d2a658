"""The results that rpc.discover promises, as JSON Schema; and the check of answers against them."""
import functools
import tempfile

import jsonschema

from harness import Daemon


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
    error = jsonschema.exceptions.best_match(validators()[name].iter_errors(value))
    if error is None:
        return None
    return f"{name} answers, at /{'/'.join(map(str, error.absolute_path))}: {error.message[:500]}"
