import argparse

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float, default=1e-3)
parser.add_argument("--hidden_size", type=int, default=16)
args = parser.parse_args()


class Parity(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(0, 20, (n, 6), generator=g)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": int(self.ids[i, 0] >= 10)}


def compute_metrics(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


config = BertConfig(vocab_size=20, hidden_size=args.hidden_size, num_hidden_layers=1, num_attention_heads=2,
                    intermediate_size=32, max_position_embeddings=8)
trainer = Trainer(
    model=BertForSequenceClassification(config),
    args=TrainingArguments(output_dir="out", learning_rate=args.learning_rate, num_train_epochs=3, eval_strategy="epoch",
                           per_device_train_batch_size=32, save_strategy="no", report_to="none", use_cpu=True),
    train_dataset=Parity(256, 0), eval_dataset=Parity(128, 1), compute_metrics=compute_metrics)
trainer.train()
