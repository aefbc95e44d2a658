"""What tutorials use of `ray.cloudpickle`: pickle."""
from pickle import dump, dumps, load, loads

__all__ = ["dump", "dumps", "load", "loads"]
