"""Words that people use in names of networks, losses and optimizers, and what they import without showing it."""

from __future__ import annotations

import re

from afterward.interpret.library.python.words import words
from afterward.interpret.library.torch import distributions, layers

NETWORK = words(
    "actor adapter agent attention attn autoencoder backbone base bert cell classifier clf cnn conv critic "
    "decoder dec dense discriminator disc dqn embed embedder embedding embeddings emb enc encoder estimator "
    "extractor fc forward gan gat gcn gen generator gnn gpt gru head layer layers linear lm lstm mapper mlp model "
    "models module net nets network nn ppo policy predictor projector proj qnet regressor resnet rnn segmentor "
    "sequential siamese student tagger teacher transformer unet vae vgg vit"
)
ALWAYS_NETWORK = (["model"], ["net"], ["network"])  # whose values are called otherwise
LETTERS = frozenset("DGQFVE")  # names of networks in papers
LOSS = words(
    "bce ce criterion criteria crit cross distance entropy kl kld l1 l2 loss losses metric mse nll objective "
    "penalty reg regularizer"
)
OPTIMIZER = ("opt", "adam", "sgd", "solver", "trainer")  # how they begin
STEPS_TOO = words("scheduler sched lr env environment scaler bar pbar profiler prof")  # and are no optimizers
DATA = words(
    "augment augmentation batch batches collate create data dataset fetch get iter load loader make mixup cutmix "
    "next normalize noise pad prepare preprocess process read sample shuffle tensorize tokenize tokenizer "
    "transform transforms to"
)
LOADER = words("loader dataloader dl data dataset batches batch train valid val test iterator inout samples trainset")
OF_SCALERS = words("scale update unscale_")
OF_MODULES = words("parameters named_parameters state_dict load_state_dict train eval named_modules")
OF_TENSORS = words(
    "size dim view reshape detach clone item numpy cpu cuda to float long double mean sum max min backward "
    "squeeze unsqueeze permute transpose t contiguous type requires_grad_ numel tolist gather expand repeat "
    "append extend items values keys get update pop format join split strip astype zero_grad step parameters "
    "named_parameters train eval state_dict load_state_dict"
)
PRODUCTS = words("mm matmul bmm mv addmm baddbmm einsum linear")
MAKES_LEAVES = words("Parameter ParameterList parameters requires_grad requires_grad_")
BEGINNINGS = words("init initial initialize zero zeros reset empty start blank")  # methods that begin a state
LIBRARIES = words(
    "PIL accelerate apex cv2 datasets deepspeed dgl einops gym gymnasium h5py higher ignite kornia lightning "
    "matplotlib networkx nltk numpy pandas peft pyro pytorch_lightning scipy seaborn sklearn snntorch spacy "
    "tensorboard tensorboardX timm torch torch_geometric torch_scatter torch_sparse torchaudio torchmetrics "
    "torchtext torchvision tqdm transformers wandb yaml"
)

# What people import without showing it.
USUAL = {
    "torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "optim": "torch.optim", "np": "numpy",
    "numpy": "numpy", "T": "torch", "th": "torch", "Variable": "torch.autograd.Variable", "autograd": "torch.autograd",
    "DataLoader": "torch.utils.data.DataLoader", "Dataset": "torch.utils.data.Dataset",
    "TensorDataset": "torch.utils.data.TensorDataset", "random": "random", "math": "math", "time": "time",
    "os": "os", "sys": "sys", "copy": "copy", "deque": "collections.deque", "plt": "matplotlib.pyplot",
    "namedtuple": "collections.namedtuple", "count": "itertools.count", "tqdm": "tqdm.tqdm", "trange": "tqdm.trange",
    "pd": "pandas", "autocast": "torch.autocast", "GradScaler": "torch.amp.GradScaler", "Tensor": "torch.Tensor",
    "itertools": "itertools", "datasets": "torchvision.datasets", "transforms": "torchvision.transforms",
    "clip_grad_norm_": "torch.nn.utils.clip_grad_norm_",
    "defaultdict": "collections.defaultdict", "wandb": "wandb", "gym": "gym", "lightning": "lightning",
    "pl": "lightning.pytorch", "logging": "logging", "json": "json",
}  # fmt: skip
# Classes by their names alone: of layers only those that people do not give to networks of their own.
_LAYERS = (layers.NORMS, layers.WEIGHT_AND_BIAS, layers.ACTIVATIONS, layers.LOSSES, layers.DROPOUTS, layers.CONTAINERS)
LOSS_CLASSES = layers.LOSSES.keys()
_CLASSES = {
    "torch.nn": frozenset().union(*_LAYERS),
    "torch.distributions": distributions.PARAMETERS.keys() | {"Categorical"},
    "torch.optim": words("Adam SGD AdamW RMSprop LBFGS Adagrad"),
}
USUAL |= {name: f"{module}.{name}" for module, names in _CLASSES.items() for name in names}


def module_with(classes: set[str]) -> str | None:
    """The module of torch that has all these classes, as far as they are known: `D.Normal`, `D.Independent`."""
    return next((module for module, names in _CLASSES.items() if names & classes), None)


_TOKENS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def tokens(path: str) -> list[str]:
    """The words in the last part of a path."""
    last = path.rsplit(".", 1)[-1]
    return [one.lower() for one in _TOKENS.findall(last)]


def names_network(path: str) -> bool:
    last = path.rsplit(".", 1)[-1]
    if set(tokens(path)) & BEGINNINGS:
        return False  # `init_rnn_state`
    return last in LETTERS or bool(set(tokens(path)) & NETWORK)
