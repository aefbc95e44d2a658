import argparse
import random

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--momentum", type=float, default=0.0)
parser.add_argument("--epochs", type=int, default=5)
args = parser.parse_args()

random.seed(0)
data = [(x, 3 * x - 1 + random.gauss(0, 0.1)) for x in (random.uniform(-1, 1) for _ in range(200))]
train, val = data[:150], data[150:]
w = b = vw = vb = 0.0
print(f"args: {args}")
for epoch in range(args.epochs):
    for x, y in train:
        error = w * x + b - y
        vw, vb = args.momentum * vw - args.lr * error * x, args.momentum * vb - args.lr * error
        w, b = w + vw, b + vb
    val_loss = sum((w * x + b - y) ** 2 for x, y in val) / len(val)
    print(f"Epoch {epoch + 1}/{args.epochs} - val_loss: {val_loss:.4f}")
print("done")
