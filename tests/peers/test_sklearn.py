"""sweepd.sklearn beside scikit-learn: its own tests of a search, and the same results for the same grid."""
import inspect
import os
import pickle
import sys
import types
import warnings

import pytest

pytest.importorskip("sklearn", reason="scikit-learn cannot be installed here")

import numpy as np  # noqa: E402
import scipy.stats  # noqa: E402
from sklearn import model_selection  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.datasets import load_iris  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier  # noqa: E402
from sklearn.model_selection import KFold, cross_val_score  # noqa: E402
from sklearn.model_selection.tests import test_search as theirs  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

import sweepd  # noqa: E402
from sweepd.sklearn import GridSearchCV, RandomizedSearchCV, SearchCV  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
X, Y = load_iris(return_X_y=True)
# Those of scikit-learn's tests of a search that run here with one more import line in their file.
RUN = """grid_search grid_search_pipeline_steps SearchCV_with_fit_params grid_search_no_score
grid_search_score_method grid_search_groups trivial_cv_results_attr no_refit grid_search_error
grid_search_one_grid_point grid_search_when_param_grid_includes_range grid_search_bad_param_grid grid_search_sparse
grid_search_precomputed_kernel refit refit_callable refit_callable_invalid_type refit_callable_multi_metric
gridsearch_nd X_as_list y_as_list pandas_input unsupervised_grid_search gridsearch_no_predict grid_search_cv_results
random_search_cv_results search_cv_results_none_param grid_search_correct_score_results pickle
grid_search_with_multioutput_data predict_proba_disabled grid_search_allows_nans grid_search_failing_classifier
grid_search_classifier_all_fits_fail grid_search_failing_classifier_raise transform_inverse_transform_round_trip
search_cv__pairwise_property_delegated scalar_fit_param scalar_fit_param_compat search_train_scores_set_to_false
grid_search_cv_splits_consistency callable_multimetric_same_as_list_of_strings
callable_single_metric_same_as_single_string callable_multimetric_error_failing_clf n_features_in
search_estimator_param searchcv_raise_warning_with_non_finite_score search_with_estimators_issue_29157
unsupervised_grid_search multi_metric_search_forwards_metadata score_rejects_params_with_no_routing_enabled
grid_search_cv_results_multimetric callable_multimetric_confusion_matrix callable_multimetric_clf_all_fits_fail
callable_multimetric_error_on_invalid_key classes__property cv_results_multi_size_array
empty_cv_iterator_error random_search_bad_cv refit_callable_out_bound search_cv_results_rank_tie_breaking
search_cv_pairwise_property_equivalence_of_precomputed search_cv_score_samples_error search_cv_score_samples_method
search_cv_timing search_cv_using_minimal_compatible_estimator search_cv_verbose_3 search_html_repr""".split()
with open(inspect.getsourcefile(theirs), encoding="utf-8") as file:
    _head, _class, _rest = file.read().partition("\nclass ")
_module = sys.modules["theirs_here"] = types.ModuleType("theirs_here")
_ours = "\nfrom sweepd.sklearn import GridSearchCV, RandomizedSearchCV\n"
exec(compile(f"{_head}{_ours}{_class}{_rest}", theirs.__file__, "exec"), _module.__dict__)
globals().update({f"test_{name}": getattr(_module, f"test_{name}") for name in RUN
                  if hasattr(_module, f"test_{name}")})


@pytest.fixture(autouse=True)
def user(daemon):
    with sweepd.Client(daemon.socket) as client:
        yield client


def same(ours, real):
    assert list(ours.cv_results_) == list(real.cv_results_)
    for key, values in real.cv_results_.items():
        if "_time" not in key:
            np.testing.assert_array_equal(ours.cv_results_[key], values)
    assert (ours.best_index_, ours.best_params_) == (real.best_index_, real.best_params_)
    assert ours.best_score_ == real.best_score_


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("grid", [
    {"C": np.logspace(-1, 2, 4), "gamma": [0.1, "scale"]},
    [{"kernel": ["linear"], "C": [1, 10]}, {"kernel": ["rbf"], "C": [1, 10], "gamma": [0.1, 1]}]])
def test_same_grid_gives_the_results_of_grid_search(user, grid, n_jobs):
    named = {"scoring": ["accuracy", "f1_macro"], "refit": "f1_macro", "return_train_score": True,
             "cv": KFold(3, shuffle=True, random_state=1)}
    ours = GridSearchCV(SVC(), grid, n_jobs=n_jobs, **named).fit(X, Y)
    same(ours, model_selection.GridSearchCV(SVC(), grid, **named).fit(X, Y))
    sweep = user.sweep(ours.sweep_)
    assert sweep["state"] == "COMPLETED" and sweep["counts"]["COMPLETED"] == len(ours.cv_results_["params"])
    assert user.best(ours.sweep_)["value"] == pytest.approx(ours.best_score_)


def test_checks_of_an_estimator_end_as_those_of_grid_search():
    ours, real = ([(each["check_name"], each["status"]) for each in check_estimator(of(Ridge(), {"alpha": [0.1, 1.0]}, cv=2), on_fail=None)]
                  for of in (GridSearchCV, model_selection.GridSearchCV))
    assert ours == real and len(real) > 50


def test_splits_without_a_seed_are_the_same_for_all_candidates():
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [3, 3, 3, 3]}, n_jobs=2,
                          cv=KFold(3, shuffle=True)).fit(X, Y)
    assert len(set(search.cv_results_["mean_test_score"])) == 1


def test_distributions_of_scipy_and_of_a_sweep():
    space = {"C": scipy.stats.loguniform(1e-2, 1e2), "tol": {"min": 1e-5, "max": 1e-3, "log": True},
             "degree": scipy.stats.randint(2, 4), "coef0": scipy.stats.expon(scale=2), "kernel": ["poly", "rbf"]}
    for method in ("random", "tpe"):
        search = SearchCV(SVC(), space, n_iter=8, method=method, random_state=3, cv=3).fit(X, Y)
        again = clone(search).fit(X, Y)
        assert search.cv_results_["params"] == again.cv_results_["params"]
        for params in search.cv_results_["params"]:
            assert 1e-2 <= params["C"] <= 1e2 and params["degree"] in (2, 3) and 0 < params["coef0"] < 20


@pytest.mark.parametrize("distribution", [scipy.stats.poisson(3, loc=1), scipy.stats.geom(0.5), scipy.stats.binom(5, 0.5, loc=1),
                                          scipy.stats.randint(2, 4)])
def test_discrete_distribution_of_scipy_gives_ints(distribution):
    search = SearchCV(DecisionTreeClassifier(), {"max_depth": distribution}, n_iter=4, cv=2, error_score="raise").fit(X, Y)
    assert {type(params["max_depth"]) for params in search.cv_results_["params"]} == {int}


HALVING = {"resource": "max_depth", "max_resources": 9}


@pytest.mark.parametrize("space, settings, said", [
    ({"min_samples_leaf": [1]}, {**HALVING, "factor": 1}, "factor must be a whole number of at least 2, not 1"),
    ({"min_samples_leaf": [1]}, {**HALVING, "min_resources": 0}, "min_resources must be a whole number of at least 1, not 0"),
    ({"min_samples_leaf": [1]}, {**HALVING, "max_resources": "auto"}, "max_resources must be a whole number .* not 'auto'"),
    ({"min_samples_leaf": [1]}, {"n_iter": 0}, "n_iter must be a whole number of at least 1, not 0"),
    ({"max_depth": [1, 2]}, HALVING, "the resource 'max_depth' is a parameter of the space"),
    ({"ccp_alpha": scipy.stats.uniform(1, 0)}, {}, "nothing can be drawn for 'ccp_alpha'"),
    ({"max_depth": scipy.stats.randint(3, 3)}, {}, "nothing can be drawn for 'max_depth'")])
def test_setting_that_cannot_be_is_refused_by_name(space, settings, said):
    with pytest.raises(ValueError, match=said):
        SearchCV(DecisionTreeClassifier(), space, **settings).fit(X, Y)


def test_numbers_of_numpy_are_settings():
    search = SearchCV(DecisionTreeClassifier(), {"ccp_alpha": scipy.stats.uniform(0, 1)}, n_iter=np.int64(3), cv=2,
                      resource="max_depth", min_resources=np.int32(1), max_resources=np.float32(9), factor=np.int64(3))
    assert len(search.fit(X, Y).cv_results_["params"]) == 3


def test_random_search_of_lists_tries_no_point_twice():
    search = RandomizedSearchCV(SVC(), {"C": [1, 2, 3], "gamma": [1, 2]}, n_iter=5, cv=2).fit(X, Y)
    assert len({tuple(params.items()) for params in search.cv_results_["params"]}) == 5


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("resource", [
    {"resource": "n_samples", "min_resources": 50}, {"resource": "clf__max_iter", "max_resources": 18}])
def test_halving_gives_the_best_more_of_the_resource(n_jobs, resource):
    pipe = make_pipeline(StandardScaler(), SGDClassifier(random_state=0))
    pipe.steps[1] = ("clf", pipe.steps[1][1])
    search = SearchCV(pipe, {"clf__alpha": np.logspace(-6, 2, 9)}, method="grid", cv=3, n_jobs=n_jobs, random_state=1,
                      **resource).fit(X, Y)
    used = search.cv_results_["n_resources"]
    assert used[search.best_index_] == used.max() == (150 if resource["resource"] == "n_samples" else 18)
    assert used.min() < used.max()


def test_nested_cross_validation_pickles_and_clones():
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    grid = {"logisticregression__C": [0.1, 1, 10]}
    search = GridSearchCV(pipe, grid, n_jobs=2, cv=3)
    real = model_selection.GridSearchCV(pipe, grid, cv=3)
    np.testing.assert_array_equal(cross_val_score(search, X, Y, cv=3), cross_val_score(real, X, Y, cv=3))
    loaded = pickle.loads(pickle.dumps(search.fit(X, Y)))
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))
    assert clone(loaded).get_params().keys() == real.get_params().keys()
    assert clone(search).set_params(param_grid={"logisticregression__C": [1]}).fit(X, Y).best_index_ == 0


class Breaks(DecisionTreeClassifier):
    def fit(self, x, y):
        if self.max_depth == 2:
            raise KeyError("two")
        if self.max_depth == 3:
            os._exit(3)
        return super().fit(x, y)


def test_error_of_a_process_is_raised_as_it_was():
    with pytest.raises(KeyError, match="two"):
        GridSearchCV(Breaks(), {"max_depth": [1, 4, 2, 5]}, n_jobs=2, error_score="raise").fit(X, Y)


def test_trial_whose_fits_fail_has_error_score():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search = GridSearchCV(Breaks(random_state=0), {"max_depth": [2, 1, 4]}, n_jobs=2, cv=2, error_score=0.125)
        search.fit(X, Y)
    assert search.cv_results_["mean_test_score"][0] == 0.125 < search.best_score_
    assert any("2 fits failed out of a total of 6" in str(each.message) for each in caught)
