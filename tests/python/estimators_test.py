"""The estimators on rows of people: what must be declared, what comes out, what is charged."""

import math
import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import coppice
from coppice import LeakWarning, PrivacyWarning, PrivateTreeClassifier, PrivateTreeRegressor

FEATURES = ["age", "plan", "member"]
CLASSES = ["stays", "leaves"]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        yield


def classifier(declared, **more):
    return PrivateTreeClassifier(**{"classes": CLASSES, "epsilon": 4, **declared, **more})


class TestPublicRows:
    def test_they_say_what_private_rows_cannot(self, people, declared):
        rows, answers = people[FEATURES], people["label"]
        public_rows = (rows[:100], answers[:100])
        tree = classifier(declared, epsilon=0.001).fit(rows[100:], answers[100:], public=public_rows)
        public = [line for line in tree.privacy_.public_inputs if line.startswith("public rows: 100")]
        assert len(public) == 1 and "not protected" in public[0]
        digest = tree.privacy_.public_rows_sha256
        assert len(digest) == 64 and digest in public[0]
        assert "private rows bear out" in tree.privacy_.releases[-1]["what"]

    def test_they_are_refused_before_anything_is_charged(self, people, declared):
        rows, answers = people[FEATURES], people["label"]
        account = coppice.BudgetAccountant(1)
        asked = classifier(declared, epsilon=1, accountant=account)
        with pytest.raises(ValueError, match="give at least 20"):
            asked.fit(rows, answers, public=(rows[:10], answers[:10]))
        with pytest.raises(TypeError, match="must be a pair"):
            asked.fit(rows, answers, public=rows)
        with pytest.raises(ValueError, match="spe cannot start from public rows"):
            classifier(declared, algorithm="spe").fit(rows, answers, public=(rows[:50], answers[:50]))
        assert account.spent[0] == 0


class TestDeclaring:
    def test_bounds_are_asked_for_with_the_line_that_declares_them(self, people):
        estimator = PrivateTreeClassifier(classes=CLASSES)
        with pytest.raises(ValueError, match=r"bounds=\{'age': \(LOW, HIGH\)\}"):
            estimator.fit(people[["age"]], people["label"])

    def test_bounds_of_some_columns_name_the_others(self, people):
        rows = people[["age", "spends"]]
        with pytest.raises(ValueError, match=r"'spends': \(LOW, HIGH\)"):
            PrivateTreeClassifier(classes=CLASSES, bounds={"age": (0, 99)}).fit(rows, people["label"])

    def test_categories_are_asked_for_by_name(self, people, declared):
        with pytest.raises(ValueError, match=r"categories=\{'plan': \[VALUE, ...\]\}"):
            PrivateTreeClassifier(classes=CLASSES, bounds=declared["bounds"]).fit(
                people[FEATURES], people["label"]
            )

    def test_classes_are_asked_for(self, people, declared):
        with pytest.raises(ValueError, match=r"classes=\[FIRST, SECOND, ...\]"):
            PrivateTreeClassifier(**declared).fit(people[FEATURES], people["label"])

    def test_classes_from_y_say_that_they_leak(self, people, declared):
        with pytest.warns(LeakWarning, match=r"classes=\['leaves', 'stays'\]"):
            classifier(declared, classes="from y").fit(people[FEATURES], people["label"])

    def test_categories_from_dtypes_say_that_they_leak(self, people):
        rows = people[FEATURES].astype({"plan": "category"})
        estimator = classifier({"bounds": {"age": (18, 90)}, "categories": "from dtypes"})
        with pytest.warns(LeakWarning, match="'plan'"):
            estimator.fit(rows, people["label"])

    def test_a_target_needs_a_range(self, people, declared):
        with pytest.raises(ValueError, match=r"target_bounds=\(LOW, HIGH\)"):
            PrivateTreeRegressor(**declared).fit(people[FEATURES], people["spends"])

    def test_one_pair_is_the_range_of_the_target_only_while_it_fits(self, people):
        rows = people[["age"]]
        PrivateTreeRegressor(bounds=(0, 200), epsilon=9).fit(rows, people["spends"])
        with pytest.raises(ValueError, match="y leaves the bounds"):
            PrivateTreeRegressor(bounds=(18, 90), epsilon=9).fit(rows, people["spends"])

    @pytest.mark.parametrize(
        "wrong, message",
        [
            ({"bounds": (9, 1)}, "lower one first"),
            ({"bounds": (0, math.nan)}, "finite"),
            ({"algorithm": "random_forest"}, "epsilon=inf"),
            ({"bounds": {"nobody": (0, 1)}}, "'nobody'"),
            ({"bounds": [(0, 1)] * 5}, "5 pairs"),
            ({"categories": "guess"}, "'guess'"),
            ({"classes": ["stays"]}, "classes"),
            ({"classes": "any"}, "'any'"),
            ({"epsilon": 0}, "epsilon"),
            ({"epsilon": -1}, "epsilon"),
            ({"epsilon": math.nan}, "epsilon"),
            ({"delta": 2}, "delta|0.000001|1e-6|number"),
            ({"algorithm": "magic"}, "magic"),
            ({"settings": {"luck": 7}}, "luck"),
            ({"accountant": 3}, "BudgetAccountant"),
            ({"schema": {"features": []}}, "both given"),
        ],
    )
    def test_wrong_parameters_name_themselves(self, people, declared, wrong, message):
        with pytest.raises((ValueError, LookupError), match=message):
            classifier(declared, **wrong).fit(people[FEATURES], people["label"])

    def test_a_schema_says_it_all(self, people, declared):
        schema = coppice.declare_schema(
            FEATURES, dtypes=people[FEATURES].dtypes, classes=CLASSES, **declared
        )
        estimator = PrivateTreeClassifier(schema=schema, epsilon=4)
        estimator.fit(people[FEATURES], people["label"])
        assert estimator.model_.schema == schema
        assert coppice.Schema.from_json(schema.to_json()) == schema

    def test_missing_labels_and_unknown_classes_are_errors_that_quote_nobody(self, people, declared):
        labels = people["label"].where(people.index != 3, None)
        with pytest.raises(ValueError, match="y has missing values"):
            classifier(declared).fit(people[FEATURES], labels)
        labels = people["label"].where(people.index != 3, "secret")
        with pytest.raises(ValueError, match="none of the declared classes") as error:
            classifier(declared).fit(people[FEATURES], labels)
        assert "secret" not in str(error.value)


class TestPredicting:
    @pytest.fixture(scope="class")
    def fitted(self, people):
        return PrivateTreeClassifier(
            epsilon=4,
            bounds={"age": (18, 90)},
            categories={"plan": ["basic", "plus", "gold"]},
            classes=CLASSES,
        ).fit(people[FEATURES][:3000], people["label"][:3000])

    def test_it_learns(self, fitted, people):
        majority = people["label"][3000:].value_counts(normalize=True).max()
        assert fitted.score(people[FEATURES][3000:], people["label"][3000:]) > majority + 0.1

    def test_probabilities_are_in_the_order_of_the_classes(self, fitted, people):
        rows = people[FEATURES][3000:]
        probabilities = fitted.predict_proba(rows)
        assert list(fitted.classes_) == sorted(CLASSES)
        assert np.allclose(probabilities.sum(axis=1), 1)
        assert (fitted.classes_[probabilities.argmax(axis=1)] == fitted.predict(rows)).all()

    def test_intervals_hold_the_probability_of_the_label(self, fitted, people):
        rows = people[FEATURES][3000:]
        interval = fitted.predict_interval(rows)
        assert interval.shape == (1000, 2)
        assert (interval[:, 0] <= interval[:, 1]).all()

    def test_pandas_out_has_the_index_and_the_classes(self, fitted, people):
        rows = people[FEATURES][3000:3005].set_axis(list("abcde"))
        frames = clone(fitted).set_output(transform="pandas")
        frames.__dict__.update(
            {k: v for k, v in fitted.__dict__.items() if k.endswith("_") and not k.startswith("_")}
        )
        probabilities = frames.predict_proba(rows)
        assert list(probabilities.index) == list("abcde")
        assert list(probabilities.columns) == sorted(CLASSES)
        assert isinstance(frames.predict(rows), pd.Series)
        assert list(frames.predict_interval(rows).columns) == ["low", "high"]

    def test_columns_in_another_order_or_missing_are_refused(self, fitted, people):
        with pytest.raises(ValueError, match="order"):
            fitted.predict(people[FEATURES[::-1]])
        with pytest.raises(ValueError):
            fitted.predict(people[["age", "plan"]])

    def test_types_of_columns_do_not_matter(self, fitted, people):
        rows = people[FEATURES][:500]
        expected = fitted.predict_proba(rows)
        as_categories = rows.astype({"plan": "category"})
        as_text = rows.assign(member=rows["member"].map({True: "True", False: "False"}))
        nullable = rows.convert_dtypes()
        for other in (as_categories, as_text, nullable):
            assert (fitted.predict_proba(other) == expected).all()

    def test_unknown_categories_and_far_numbers_have_answers(self, fitted):
        rows = pd.DataFrame(
            {"age": [1e9, np.nan, 18.0], "plan": ["new", None, "gold"], "member": [True, False, True]}
        )
        assert np.isfinite(fitted.predict_proba(rows)).all()

    def test_infinite_numbers_and_text_are_refused(self, fitted):
        rows = pd.DataFrame({"age": [np.inf], "plan": ["gold"], "member": [True]})
        with pytest.raises(ValueError, match="age"):
            fitted.predict(rows)
        with pytest.raises(ValueError, match="'age' must hold numbers"):
            fitted.predict(rows.assign(age=["old"]))

    def test_pickles_and_files_predict_alike(self, fitted, people, tmp_path):
        rows = people[FEATURES][:500]
        expected = fitted.predict_proba(rows)
        assert (pickle.loads(pickle.dumps(fitted)).predict_proba(rows) == expected).all()
        path = tmp_path / "model.json"
        fitted.model_.save(path)
        loaded = coppice.Model.load(path)
        assert loaded == fitted.model_
        by_file = PrivateTreeClassifier.from_model(loaded)
        assert (by_file.predict(rows) == fitted.predict(rows)).all()
        with pytest.raises(FileExistsError, match="model.json"):
            fitted.model_.save(path)

    def test_a_matrix_is_read_where_it_lies(self, people):
        matrix = np.asfortranarray(people[["age", "spends"]].to_numpy())
        estimator = PrivateTreeClassifier(epsilon=4, bounds=(0, 200), classes=CLASSES)
        estimator.fit(matrix, people["label"])
        expected = estimator.predict_proba(matrix)
        assert (estimator.predict_proba(np.ascontiguousarray(matrix)) == expected).all()
        assert (estimator.predict_proba(matrix[::-1]) == expected[::-1]).all()
        from coppice import _rows

        columns = _rows.columns_of(matrix, estimator.model_.schema)
        assert all(np.shares_memory(column, matrix) for column in columns)

    def test_classes_keep_their_type(self, people):
        for labels in (people["label"] == "stays", (people["label"] == "stays").astype(int)):
            estimator = PrivateTreeClassifier(
                epsilon=4, bounds=(0, 200), classes=list(np.unique(labels))
            ).fit(people[["age"]], labels)
            assert estimator.predict(people[["age"]]).dtype == labels.dtype

    def test_regression(self, people, declared):
        estimator = PrivateTreeRegressor(epsilon=4, target_bounds=(0, 120), **declared)
        estimator.fit(people[FEATURES][:3000], people["spends"][:3000])
        assert estimator.score(people[FEATURES][3000:], people["spends"][3000:]) > 0.5
        interval = estimator.predict_interval(people[FEATURES][3000:])
        values = estimator.predict(people[FEATURES][3000:])
        assert (interval[:, 0] <= values).all() and (values <= interval[:, 1]).all()


class TestPrivacy:
    def test_the_certificate_adds_up(self, people, declared):
        estimator = classifier(declared, epsilon=0.75).fit(people[FEATURES], people["label"])
        certificate = estimator.privacy_
        assert certificate.epsilon == 0.75 and certificate.delta == 0
        assert certificate.to_frame()["epsilon"].sum() == pytest.approx(0.75)
        assert "one row more or less" in certificate.neighbouring or certificate.neighbouring
        assert "What was released" in str(certificate)

    def test_the_estimator_keeps_no_count_of_rows(self, people, declared):
        """A pickle of it may be shown to others, so what it holds is what the certificate covers."""
        rows = people[FEATURES].assign(age=people["age"] + 60)
        with pytest.warns(RuntimeWarning, match="numbers outside their bounds"):
            estimator = classifier(declared).fit(rows, people["label"])
        kept = set(estimator.__dict__) - set(estimator.get_params())
        assert kept == {"n_features_in_", "feature_names_in_", "classes_", "model_", "privacy_"}

    def test_two_fits_differ(self, people, declared):
        estimators = [classifier(declared).fit(people[FEATURES], people["label"]) for _ in range(2)]
        assert estimators[0].model_ != estimators[1].model_

    def test_there_is_no_random_state(self):
        assert not any("random" in name for name in PrivateTreeClassifier().get_params())

    def test_infinite_epsilon_says_that_nothing_is_private(self, people, declared):
        with pytest.warns(PrivacyWarning, match="nothing is private"):
            classifier(declared, epsilon=math.inf).fit(people[FEATURES], people["label"])

    def test_delta_is_charged(self, people, declared):
        accountant = coppice.BudgetAccountant(4, 1e-6)
        classifier(declared, delta=1e-6, accountant=accountant, epsilon=3).fit(
            people[FEATURES], people["label"]
        )
        assert accountant.spent == (3.0, pytest.approx(1e-6))

    def test_every_algorithm_by_name(self, people):
        for name, stated in coppice.algorithms().iterrows():
            # Those without privacy are for comparison alone.
            epsilon = 8.0 if stated["private"] else math.inf
            estimator = PrivateTreeClassifier(
                algorithm=name, epsilon=epsilon, bounds=(0, 120), classes=CLASSES
            )
            estimator.fit(people[["age", "spends"]].fillna(0), people["label"])
            assert estimator.predict(people[["age", "spends"]]).shape == (4000,)


class TestBudgets:
    def test_a_search_adds_up_what_it_spends_and_says_so(self, people, declared):
        accountant = coppice.BudgetAccountant(100)
        search = GridSearchCV(
            classifier(declared, accountant=accountant), {"epsilon": [0.5, 1.0]}, cv=3
        )
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            search.fit(people[FEATURES], people["label"])
        assert accountant.fits == 2 * 3 + 1
        assert accountant.spent[0] == 3 * 0.5 + 3 * 1.0 + search.best_params_["epsilon"]
        assert any("4 fits were charged" in str(warning.message) for warning in told)
        assert search.best_estimator_.accountant is accountant

    def test_a_budget_ends_a_search(self, people, declared):
        accountant = coppice.BudgetAccountant(2)
        with pytest.raises(coppice.BudgetExhausted, match="left"):
            cross_val_score(
                classifier(declared, epsilon=1, accountant=accountant),
                people[FEATURES],
                people["label"],
                cv=3,
                error_score="raise",
            )
        assert accountant.spent == (2.0, 0.0)

    def test_processes_of_a_search_share_a_file(self, people, declared, tmp_path):
        accountant = coppice.BudgetAccountant(50, path=tmp_path / "budget")
        cross_val_score(
            classifier(declared, epsilon=1, accountant=accountant),
            people[FEATURES],
            people["label"],
            cv=4,
            n_jobs=2,
            error_score="raise",
        )
        assert accountant.spent == (4.0, 0.0)

    def test_an_accountant_in_memory_does_not_leave_its_process(self):
        with pytest.raises(TypeError, match="path="):
            pickle.dumps(coppice.BudgetAccountant(1))

    def test_the_default_accountant_adds_up(self, people, declared):
        before = coppice.default_accountant().spent[0]
        classifier(declared, epsilon=0.5).fit(people[FEATURES], people["label"])
        assert coppice.default_accountant().spent[0] == pytest.approx(before + 0.5)

    def test_pipelines_and_clones(self, people, declared):
        accountant = coppice.BudgetAccountant(10)
        pipeline = make_pipeline(
            FunctionTransformer(lambda frame: frame), classifier(declared, accountant=accountant)
        )
        clone(pipeline).fit(people[FEATURES], people["label"]).predict(people[FEATURES])
        assert accountant.fits == 1


class TestLongFits:
    def test_progress_is_told_and_may_stop_the_fit(self, people, declared):
        class Stop(Exception):
            pass

        def stop(done):
            assert 0 <= done <= 1
            raise Stop

        accountant = coppice.BudgetAccountant(10)
        with pytest.raises(Stop):
            classifier(declared, accountant=accountant).fit(
                people[FEATURES], people["label"], progress=stop
            )
        assert accountant.spent == (4.0, 0.0)  # noise may have been drawn

    def test_ctrl_c_stops_a_fit_and_the_lock_is_free_meanwhile(self):
        rows = np.random.default_rng(1).random((400_000, 30))
        labels = (rows[:, 0] > 0.5).astype(int)
        estimator = PrivateTreeClassifier(bounds=(0, 1), classes=[0, 1], epsilon=1, algorithm="auto")
        ticks = []

        def tick():
            for _ in range(20):
                time.sleep(0.01)
                ticks.append(time.monotonic())
            signal.raise_signal(signal.SIGINT)

        thread = threading.Thread(target=tick)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            for _ in range(50):
                estimator.fit(rows, labels)
        thread.join()
        assert len(ticks) == 20
