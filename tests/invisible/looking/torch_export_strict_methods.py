import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(2)])

    def forward(self, x, scale: float = 2.0):
        for layer in self.layers:
            x = self.act(layer(x)) * scale
        return {"out": x, "sum": x.sum()}

    def act(self, x):
        y = torch.tanh(x)
        return y


program = torch.export.export(Block(), (torch.ones(2, 4),), strict=True)
print(program.graph_module.code)
print([n.meta.get("stack_trace", "")[-60:] for n in program.graph.nodes if n.op == "call_function"][:2])
