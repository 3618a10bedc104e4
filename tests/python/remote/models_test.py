"""Models: predictions, explanations, downloads, estimators, endpoints."""

import contextlib

import coppice
import numpy as np
import pandas as pd
import pytest
from coppice import remote
from coppice.remote._predictions import Predictor
from coppice.remote._tables import Table
from coppice.v1 import model_pb2
from curator import NUMBER_SCHEMA, SCHEMA, CuttingProxy, customers, interrupt_once

ROWS = customers(3000)


@pytest.fixture(scope="module")
def models(client):
    """Two models of classes, and one of a number."""
    dataset = client.datasets.create(ROWS, SCHEMA, 9)
    first = dataset.train(epsilon=3, model_id="one").wait().model()
    second = dataset.train("spe", epsilon=3, model_id="two", trees=5).wait().model()
    numbers = client.datasets.create(ROWS, NUMBER_SCHEMA, 9)
    third = numbers.train(epsilon=3, model_id="number").wait().model()
    return first, second, third


def test_a_model_tells_of_itself(client, models):
    model = client.model("one")
    assert model.epsilon == 3.0 and model.delta == 0.0
    assert model.schema.classes == ["no", "yes"]
    assert len(model.releases()) > 0
    assert {"one", "two", "number"} <= set(client.models.list().index)
    nothing = client.models.list(study="nothing")
    assert nothing.empty and list(nothing.columns) == list(client.models.list().columns)
    assert "one" in repr(model) and "<iframe" in model._repr_html_()


def test_predictions_are_a_frame_with_the_rows_index(models):
    rows = ROWS.head(5).set_axis(list("abcde"))
    predicted = models[0].predict(rows, probabilities=True)
    assert list(predicted.index) == list("abcde")
    assert np.allclose(predicted["p(no)"] + predicted["p(yes)"], 1)
    assert (predicted["probability"] == predicted[["p(no)", "p(yes)"]].max(axis=1)).all()


def test_the_curator_and_the_download_predict_alike(models):
    for model in models[:2]:
        here = model.download().predict(ROWS[["age", "plan", "calls"]])
        assert (model.predict(ROWS)["label"] == here).all()
    here = models[2].download().predict(ROWS[["age", "plan", "calls"]])
    assert np.allclose(models[2].predict(ROWS)["value"], here)


def test_abstaining(models):
    confident = models[0].predict(ROWS, abstain_below=0.999999)
    assert confident["label"].isna().any()


def test_many_rows_come_over_a_stream_that_breaks(curator, models):
    rows = pd.concat([ROWS] * 30, ignore_index=True)
    proxy = CuttingProxy(curator.port)
    options = {"ca": curator.ca, "token": curator.tokens["ops"]}
    with coppice.connect(f"127.0.0.1:{proxy.port}", **options) as client:
        model = client.model("one")
        proxy.cut_after = 2 << 20
        predicted = model.predict(rows)
    proxy.close()
    assert proxy.cuts >= 1
    assert predicted.equals(models[0].predict(rows))


def test_ctrl_c_ends_predictions(curator, models):
    proxy = CuttingProxy(curator.port)
    options = {"ca": curator.ca, "token": curator.tokens["ops"]}
    with coppice.connect(f"127.0.0.1:{proxy.port}", **options) as client:
        model = client.model("one")
        proxy.stall_after = 30_000
        interrupt_once(proxy.stalled)
        with pytest.raises(KeyboardInterrupt):
            model.predict(ROWS)
        proxy.stall_after = None
    proxy.close()


def test_answers_that_cannot_be(models):
    table = Table(ROWS.head(2), models[0].schema, labelled=False)
    good = model_pb2.Prediction(label=1, probabilities=[0.4, 0.6])
    for bad in (model_pb2.Prediction(label=2, probabilities=[0.4, 0.6]), model_pb2.Prediction(label=1, probabilities=[1])):
        with pytest.raises(remote.DataLossError, match="classes that the schema does not have"):
            Predictor(Answers([good, bad]), "models/one", "models/one", models[0].schema).predict(table, False)
    for answers in ([good], [good] * 3):
        with pytest.raises(remote.DataLossError, match="rows where 2 were sent"):
            Predictor(Answers(answers), "models/one", "models/one", models[0].schema).predict(table, False)


class Answers:
    """A curator that predicts what it likes."""

    def __init__(self, predictions):
        self.predictions = predictions

    def limit(self, timeout):
        return timeout

    @contextlib.contextmanager
    def conversation(self, *_):
        yield iter([model_pb2.StreamPredictionsResponse(predictions=self.predictions)])


def test_no_rows_and_wrong_rows(models):
    assert models[0].predict(ROWS.head(0)).empty
    with pytest.raises(ValueError, match="no column plan"):
        models[0].predict(ROWS.drop(columns="plan"))


def test_explanations_add_up(models):
    model = models[2]
    explained = model.explain(ROWS.head(3), trees=0)
    assert explained.attrs["unit"] == "value"
    for _, part in explained.groupby("row"):
        total = part["base"].iloc[0] + part["contribution"].sum()
        assert total == pytest.approx(part["answer"].iloc[0])
    assert explained["path"].str.contains("calls").any()
    with pytest.raises(ValueError, match="explain takes 1 to 100"):
        model.explain(ROWS)


def test_by_the_list_of_models(client, models):
    assert client.models.predict("one", ROWS.head(2)).equals(models[0].predict(ROWS.head(2)))
    assert len(client.models.explain("one", ROWS.head(1), trees=2)) == 2


def test_an_estimator_of_a_model(models):
    features = ROWS[["age", "plan", "calls"]]
    classifier = models[0].to_estimator()
    assert isinstance(classifier, coppice.PrivateTreeClassifier)
    assert classifier.score(features, ROWS["left"]) > (ROWS["left"] == "no").mean()
    assert isinstance(models[2].to_estimator(), coppice.PrivateTreeRegressor)


def test_an_endpoint_switches_and_rolls_back(client, models):
    endpoints = client.models.endpoints
    endpoint = endpoints.set("churn", "one", expected_version=0)
    assert (endpoint.version, endpoint.model_id) == (1, "one")
    assert endpoint.set("two").version == 2
    assert endpoint.predict(ROWS.head(9)).equals(models[1].predict(ROWS.head(9)))
    assert len(endpoint.explain(ROWS.head(1), trees=3)) == 3
    with pytest.raises(remote.FailedPreconditionError):
        endpoint.set("one", expected_version=1)
    with pytest.raises(remote.FailedPreconditionError):
        endpoint.set("number")
    assert endpoint.roll_back().model_id == "one"
    assert list(endpoint.versions()["model"]) == ["one", "two", "one"]
    assert endpoints.list().loc["churn", "version"] == 3
    with pytest.raises(remote.FailedPreconditionError):
        client.models.delete("one")
    endpoint.delete()
    with pytest.raises(remote.NotFoundError):
        client.endpoint("churn")


def test_an_endpoint_that_is_switched_meanwhile(client, models, monkeypatch):
    endpoint = client.models.endpoints.set("moving", "one")
    monkeypatch.setattr(endpoint, "_served", lambda: models[1])
    with pytest.raises(remote.FailedPreconditionError, match="serves models/one now"):
        endpoint.predict(ROWS.head(3))
    endpoint.delete()


def test_a_model_is_deleted(client):
    dataset = client.datasets.create(ROWS, SCHEMA, 1)
    model = dataset.train(epsilon=1).wait().model()
    model.delete()
    with pytest.raises(remote.NotFoundError):
        client.model(model.id)
    assert dataset.refresh().epsilon_spent == 1.0
