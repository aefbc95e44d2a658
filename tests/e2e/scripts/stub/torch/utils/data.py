class TensorDataset:
    def __init__(self, *tensors):
        self.tensors = tensors

    def __len__(self):
        return len(self.tensors[0])


def random_split(dataset, sizes):
    return [TensorDataset(*(tensor[:size] for tensor in dataset.tensors)) for size in sizes]


class DataLoader:
    def __init__(self, dataset, batch_size, shuffle=False):
        self.dataset, self.size = dataset, batch_size

    def __iter__(self):
        for at in range(0, len(self.dataset), self.size):
            yield tuple(tensor[at:at + self.size] for tensor in self.dataset.tensors)
