from . import functional  # noqa: F401


class Module:
    def __init__(self, *sizes, **more):
        self.sizes, self.steps, self.lr = sizes, 0, 1.0

    def __call__(self, x):
        y = self.forward(x)
        y.net = self
        return y

    def forward(self, x):
        return x

    def parameters(self):
        return self

    def train(self):
        return self

    eval = train

    def to(self, device):
        return self

    def state_dict(self):
        return {"steps": self.steps, "lr": self.lr,
                "sizes": [part.sizes for part in vars(self).values() if isinstance(part, Module)]}

    def load_state_dict(self, state):
        assert state["sizes"] == self.state_dict()["sizes"], "the checkpoint is of another net"
        self.steps, self.lr = state["steps"], state["lr"]


Conv2d = MaxPool2d = Linear = ReLU = Dropout = Sequential = Module


class CrossEntropyLoss:
    def __call__(self, outputs, labels):
        import torch
        outputs._value = torch.loss_of(outputs.net)
        return torch.Tensor((), outputs._value)
