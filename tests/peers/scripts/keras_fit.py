import argparse

import keras
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--units", type=int, default=16)
args = parser.parse_args()

keras.utils.set_random_seed(0)
x = np.random.randn(512, 4).astype("float32")
y = x.sum(1, keepdims=True)
model = keras.Sequential([keras.layers.Dense(args.units, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(args.lr), loss="mse")
model.fit(x, y, validation_split=0.25, epochs=3)
