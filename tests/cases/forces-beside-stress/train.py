import torch


class Trainer:
    def __init__(self, model, weights):
        self.model, self.weights = model, weights
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def loss(self, pred, batch):
        return {k: w * (pred[k] - batch[k]).pow(2).mean() for k, w in self.weights.items()}

    def epoch(self, data):
        totals = {}
        for batch in data:
            terms = self.loss(self.model(batch), batch)
            self.optimizer.zero_grad()
            sum(terms.values()).backward()
            self.optimizer.step()
            for k, v in terms.items():
                totals[k] = totals.get(k, 0.0) + v.item()
        return totals
