import argparse

import numpy as np
import xgboost as xgb

parser = argparse.ArgumentParser()
parser.add_argument("--eta", type=float, default=0.3)
parser.add_argument("--max_depth", type=int, default=6)
args = parser.parse_args()

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 5))
y = X[:, 0] * X[:, 1] + X[:, 2]
train, val = xgb.DMatrix(X[:450], y[:450]), xgb.DMatrix(X[450:], y[450:])
xgb.train({"eta": args.eta, "max_depth": args.max_depth, "nthread": 1}, train, num_boost_round=20,
          evals=[(train, "train"), (val, "val")])
