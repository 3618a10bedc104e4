"""Private evaluations: what they measure, what they cost, and what they refuse."""

import math
import unittest

import numpy as np
import pandas as pd

import coppice


def rows(count, seed):
    random = np.random.default_rng(seed)
    spent = random.uniform(0, 90, count)
    churn = random.uniform(size=count) < np.where(spent > 45, 0.85, 0.15)
    plan = random.choice(["basic", "gold"], count)
    return pd.DataFrame({"spent": spent, "plan": plan}), np.where(churn, "yes", "no")


def fitted():
    X, y = rows(2000, 1)
    estimator = coppice.PrivateTreeClassifier(
        epsilon=math.inf, bounds={"spent": (0, 90)}, categories={"plan": ["basic", "gold"]}, classes=["no", "yes"]
    )
    return estimator.fit(X, y)


class EvaluationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.estimator = fitted()

    def test_measures_the_accuracy(self):
        X, y = rows(2000, 2)
        exact = float((self.estimator.predict(X) == y).mean())
        # Noise of scale 1/5 on four counts of 2000 rows: .01 is reached with a chance below e^-20.
        scores = coppice.evaluate_privately(self.estimator, X, y, epsilon=10)
        self.assertAlmostEqual(scores.accuracy, exact, delta=0.01)
        low, high = scores.interval
        self.assertTrue(low < scores.accuracy < high)
        self.assertEqual(scores.epsilon, 10)
        self.assertIsNone(scores.rmse)
        self.assertIn("accuracy", repr(scores))

    def test_groups_cost_nothing(self):
        X, y = rows(2000, 3)
        accountant = coppice.BudgetAccountant(epsilon=1)
        scores = coppice.evaluate_privately(self.estimator, X, y, epsilon=1, by="plan", accountant=accountant)
        self.assertEqual(list(scores.groups()["group"]), ["basic", "gold", "other", "missing"])
        self.assertEqual(accountant.spent, (1.0, 0.0))

    def test_an_empty_budget_refuses(self):
        X, y = rows(100, 4)
        accountant = coppice.BudgetAccountant(epsilon=1)
        with self.assertRaises(coppice.BudgetExhausted):
            coppice.evaluate_privately(self.estimator, X, y, epsilon=1.5, accountant=accountant)
        self.assertEqual(accountant.spent, (0.0, 0.0))

    def test_charges_say_what_was_released(self):
        X, y = rows(100, 5)
        accountant = coppice.BudgetAccountant(epsilon=1)
        coppice.evaluate_privately(self.estimator.model_, X, y, epsilon=0.25, accountant=accountant)
        charged = [entry for entry in accountant.account["entries"] if entry["kind"] == "settled"]
        self.assertEqual([release["epsilon"] for release in charged[0]["releases"]], [0.125, 0.125])

    def test_wrong_input_is_refused(self):
        X, y = rows(10, 6)
        for changed in ({"epsilon": 0}, {"epsilon": -1}, {"epsilon": math.nan}, {"by": "none"}, {"by": "spent"}, {"reach": 3.0},
                        {"neighbours": "other"}):
            with self.subTest(changed), self.assertRaises(ValueError):
                coppice.evaluate_privately(self.estimator, X, y, **{"epsilon": 1.0, **changed})
        with self.assertRaises(TypeError):
            coppice.evaluate_privately("model", X, y, epsilon=1)
        with self.assertRaises(ValueError):
            coppice.evaluate_privately(self.estimator, X, y[:5], epsilon=1)
        with self.assertRaises(ValueError):
            coppice.evaluate_privately(self.estimator, X, np.full(10, "perhaps"), epsilon=1)


if __name__ == "__main__":
    unittest.main()
