"""The search space of a `config`, and a trial's config from a sweep's parameters."""
import dataclasses
import inspect
import itertools
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from .. import _distributions
from .._wire import Attributes, Domain, choice, is_scalar, wire_names, wire_values

Path = Tuple[str, ...]
DRAWS = 256  # of a function, to know what it draws from


@dataclasses.dataclass
class SampleFrom:
    """Takes the value that function(spec) returns, with the rest of the config as spec.config. It is drawn in this process: no search
    learns from it."""

    function: Callable[[Any], Any]


sample_from = SampleFrom


def _kind(name: str, number: Any, arguments: str, text: str) -> Callable[..., Domain]:
    """A function with these arguments that gives a domain: of the daemon's distribution of the same name."""
    words = [word.partition("=") for word in arguments.split()]
    signature = inspect.Signature([inspect.Parameter(
        word, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=int(default) if default else inspect.Parameter.empty)
        for word, _, default in words])

    def make(*given: Any, **named: Any) -> Domain:
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        bound.arguments.pop("base", None)  # it changes nothing
        ends = {"lower": "min", "upper": "max"} if number is float else {}
        return Domain({"distribution": name, **{ends.get(word, word): float(value) if ends else value
                                                for word, value in bound.arguments.items()}}, number)

    make.__name__, make.__qualname__, make.__doc__ = name, name, text
    make.__signature__ = signature  # type: ignore[attr-defined]
    return make


uniform = _kind("uniform", float, "lower upper", "A real from lower up to upper.")
quniform = _kind("quniform", float, "lower upper q", "A multiple of q, both ends included.")
loguniform = _kind("loguniform", float, "lower upper base=10", "A real whose logarithm is uniform.")
qloguniform = _kind("qloguniform", float, "lower upper q base=10", "The same, rounded to a multiple of q.")
randn = _kind("randn", float, "mean=0 sd=1", "A normal real.")
qrandn = _kind("qrandn", float, "mean sd q", "The same, rounded to a multiple of q.")
randint = _kind("randint", int, "lower upper", "An integer from lower up to, not including, upper.")
qrandint = _kind("qrandint", int, "lower upper q=1", "A multiple of q, both ends included.")
lograndint = _kind("lograndint", int, "lower upper base=10", "An integer whose logarithm is uniform, below upper.")
qlograndint = _kind("qlograndint", int, "lower upper q base=10", "The same, a multiple of q, both ends included.")


def grid_search(values: Sequence[Any]) -> Dict[str, Any]:
    """Each of these: num_samples times every combination of the grids."""
    return {"grid_search": list(values)}


@dataclasses.dataclass
class Own:
    """A searcher's own space: parameters of a spec, their names there, and what makes a config of a trial's."""

    names: Dict[str, str]
    parameters: Dict[str, Any]
    read: Callable[[Mapping[str, Any]], Dict[str, Any]]


def of_hyperopt(given: Any) -> Own:
    """Expressions of hyperopt's, by their labels."""
    from .. import hyperopt

    space = hyperopt.Space(hyperopt.pyll.as_apply(given))
    return Own(space.names, space.parameters, lambda params: hyperopt.space_eval(given, space.values(params)))


def of_optuna(given: Any) -> Own:
    """Optuna's distributions by name, or a function that suggests. What it suggests is known by some calls of it; a
    parameter that none of them had is drawn at random."""
    if not callable(given):
        return _of_distributions(given, {}, lambda values: values)
    import optuna

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))

    def call(values: Mapping[str, Any]) -> Any:
        study.enqueue_trial(dict(values))
        trial = study.ask()
        return trial, given(trial)

    trials = [call({})[0] for _ in range(DRAWS)]
    space = _distributions.ranges(trials)

    def whole(values: Mapping[str, Any]) -> Dict[str, Any]:
        trial, constants = call(values)
        return {**trial.params, **(constants or {})}

    return _of_distributions(space, _distributions.whens(space, trials), whole)


def _of_distributions(space: Mapping[str, Any], whens: Mapping[str, Any],
                      whole: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Own:
    names = wire_names(space)

    def read(params: Mapping[str, Any]) -> Dict[str, Any]:
        out = Attributes()
        for name, value in whole(_distributions.values(space, names, params)).items():
            _put(out, tuple(name.split("/")), value)  # as Ray has it
        return out

    return Own(names, _distributions.parameters(space, names, whens), read)


class Space:
    """A config with its domains. `mutations` (of PopulationBasedTraining) are domains for keys with a first value, `own`
    is the searcher's."""

    def __init__(self, config: Mapping[str, Any], mutations: Optional[Mapping[str, Any]] = None, own: Optional[Own] = None) -> None:
        self.leaves: Dict[Path, Any] = dict(_leaves(config))
        self.grids = {path: leaf["grid_search"] for path, leaf in self.leaves.items() if _is_grid(leaf)}
        self.domains = {path: leaf for path, leaf in self.leaves.items() if isinstance(leaf, Domain)}
        self.domains.update({path: choice(values) for path, values in self.grids.items()})
        first: Dict[str, Any] = {}
        mutated: List[str] = []
        for path, domain in _leaves(mutations or {}):
            before = self.domains.get(path)
            self.domains[path] = (domain if isinstance(domain, Domain) else _drawn(domain, self.leaves.get(path))
                                  if callable(domain) else choice(domain))
            if before is None and path in self.leaves:
                first[".".join(path)] = self.leaves[path]
            mutated.append(".".join(path))
        constants = {path: leaf for path, leaf in self.leaves.items() if is_scalar(leaf) and path not in self.domains}
        self.names = wire_names(".".join(path) for path in (*self.domains, *constants))
        self.first = {self.names[name]: value for name, value in first.items()}
        self.mutable = [self.names[name] for name in mutated]  # by a population
        specs = {**{path: domain.spec for path, domain in self.domains.items()},
                 **{path: {"value": leaf} for path, leaf in constants.items()}}
        self.parameters = {self.names[".".join(path)]: spec for path, spec in specs.items()}
        self.own = own or Own({}, {}, lambda params: {})
        self.names.update(self.own.names)
        self.parameters.update(self.own.parameters)

    def points(self, num_samples: int) -> List[Dict[str, Any]]:
        """The first values of each trial of a grid, or of a population that was given some."""
        names = [self.names[".".join(path)] for path in self.grids]
        grid = [dict(zip(names, row)) for row in itertools.product(*(wire_values(v) for v in self.grids.values()))]
        return [{**self.first, **point} for _ in range(num_samples) for point in grid] if self.first or names else []

    def config(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        """A trial's config; the functions of sample_from are called here."""
        out = Attributes()
        later: Dict[Path, SampleFrom] = {}
        for path, leaf in {**self.leaves, **self.domains}.items():
            if isinstance(leaf, Domain):
                _put(out, path, leaf.read(params[self.names[".".join(path)]]))
            elif isinstance(leaf, SampleFrom):
                later[path] = leaf
            else:
                _put(out, path, leaf)
        spec = Attributes(config=out)
        while later:
            waiting = {}
            for path, leaf in later.items():
                try:
                    _put(out, path, leaf.function(spec))
                except (AttributeError, KeyError):
                    waiting[path] = leaf  # of another one, perhaps
                    if len(waiting) == len(later):
                        raise
            later = waiting
        return _plain(Attributes({**out, **self.own.read(params)}))


def _drawn(function: Callable[[], Any], first: Any) -> Domain:
    """Guesses what a function draws from: the range of 256 numbers, or the values if they are few or no numbers."""
    values = [function() for _ in range(DRAWS)] + ([first] if is_scalar(first) and first is not None else [])
    if len(set(values)) <= 16 or not all(isinstance(value, (int, float)) for value in values):
        return choice(sorted(set(values), key=lambda value: (str(type(value)), value)))
    if all(isinstance(value, int) for value in values):
        return randint(min(values), max(values) + 1)
    return uniform(min(values), max(values))


def _is_grid(leaf: Any) -> bool:
    return isinstance(leaf, Mapping) and set(leaf) == {"grid_search"}


def _leaves(config: Mapping[str, Any], path: Path = ()) -> Iterator[Tuple[Path, Any]]:
    for key, leaf in config.items():
        if isinstance(leaf, Mapping) and leaf and not _is_grid(leaf):
            yield from _leaves(leaf, (*path, key))
        else:
            yield (*path, key), leaf


def _put(config: Dict[str, Any], path: Path, value: Any) -> None:
    for key in path[:-1]:
        config = config.setdefault(key, Attributes())
    config[path[-1]] = value


def _plain(config: Any) -> Any:
    return {key: _plain(value) for key, value in config.items()} if isinstance(config, Attributes) else config
