"""Private evaluations at a curator: a reserve, its account, and what repeats and previews cost."""

import coppice
import pytest
from coppice.remote import BudgetExhaustedError, RemoteError
from curator import SCHEMA, customers


@pytest.fixture(scope="module")
def dataset(owner):
    return owner.datasets.create(customers(4000), SCHEMA, 3, dataset_id="evaluated", reserve=0.5)


@pytest.fixture(scope="module")
def model(dataset):
    return dataset.train("spe", epsilon=3, job_id="for-evaluation").wait(progress=False).model()


def test_the_reserve_pays_and_training_is_charged_nothing(dataset, model):
    foreseen = model.preview_evaluation("evaluated", 1, rows=2000)
    assert foreseen["fits"] and foreseen["account"] == "reserve" and 0 < foreseen["half_width"] < 0.1
    scores = model.evaluate_privately("evaluated", 1, request_id="once")
    assert scores.account == "reserve" and scores.caveat is None and scores.epsilon == 1
    low, high = scores.interval
    assert low <= scores.accuracy <= high
    again = model.evaluate_privately("evaluated", 1, request_id="once")
    assert again.to_dict() == scores.to_dict()
    dataset.refresh()
    assert dataset.epsilon_spent == pytest.approx(3) and dataset.reserve_epsilon_spent == 1
    assert (dataset.reserve, dataset.reserve_epsilon_left) == (0.5, 2.0)
    assert scores.id in set(dataset.releases()["job"])


def test_the_account_of_the_reserve_ends_too(model):
    with pytest.raises(BudgetExhaustedError):
        model.evaluate_privately("evaluated", 2.5)


def test_wrong_input_is_refused(owner, model):
    for options in ({"by": "nothing"}, {"reach": 2.0}):
        with pytest.raises((ValueError, RemoteError)):
            model.evaluate_privately("evaluated", 0.1, **options)
    with pytest.raises(ValueError):
        model.evaluate_privately("evaluated", 0)
    with pytest.raises(coppice.RemoteError):
        model.evaluate_privately("none", 1)
    for reserve in (1, -0.1):
        with pytest.raises(ValueError):
            owner.datasets.create(None, SCHEMA, 1, reserve=reserve)
