"""The modules of `torch.nn`, by what they hold and by the operation they are."""

from __future__ import annotations

from afterward.interpret.library.python.words import words

NORMS = words("BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm LayerNorm GroupNorm RMSNorm")
OWN_NORMS = words("InstanceNorm1d InstanceNorm2d InstanceNorm3d")  # of each sample; parameters they have only if asked
WEIGHT_AND_BIAS = words(
    "Linear LazyLinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d LazyConv2d "
    "LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d Bilinear"
)
RECURRENT = {"LSTM": 3, "GRU": 2, "RNN": 2}
CELLS = {"LSTMCell": 2, "GRUCell": 1, "RNNCell": 1}
OPAQUE = words(
    "MultiheadAttention Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
    "TransformerEncoderLayer"
)
# Layers without parameters, by the operation they are.
ACTIVATIONS = {
    "ReLU": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "GELU": "gelu", "SiLU": "silu", "ELU": "elu",
    "LeakyReLU": "leaky_relu", "Softplus": "softplus", "Softmax": "softmax", "LogSoftmax": "log_softmax",
    "Mish": "mish", "Hardtanh": "hardtanh", "Hardswish": "hardswish", "Hardsigmoid": "hardsigmoid", "CELU": "celu",
    "SELU": "selu", "ReLU6": "relu6", "Softsign": "softsign", "LogSigmoid": "logsigmoid", "GLU": "glu",
    "MaxPool1d": "max_pool1d", "MaxPool2d": "max_pool2d", "MaxPool3d": "max_pool3d", "AvgPool1d": "avg_pool1d",
    "AvgPool2d": "avg_pool2d", "AvgPool3d": "avg_pool2d", "Softmin": "softmin", "Softshrink": "softshrink",
    "Tanhshrink": "tanhshrink", "Hardshrink": "hardshrink", "Threshold": "threshold", "Softmax2d": "softmax",
    "AdaptiveMaxPool2d": "adaptive_max_pool2d", "AdaptiveMaxPool1d": "adaptive_max_pool2d",
    "LocalResponseNorm": "local_response_norm", "RReLU": "rrelu",
}  # fmt: skip
SHAPES = {
    "Flatten": "flatten", "Unflatten": "unflatten", "PixelShuffle": "pixel_shuffle", "AdaptiveAvgPool2d": "mean",
    "AdaptiveAvgPool1d": "mean", "AdaptiveAvgPool3d": "mean", "Upsample": "interpolate", "ZeroPad2d": "pad",
    "ReflectionPad2d": "pad", "ReflectionPad1d": "pad", "ReplicationPad2d": "pad", "ConstantPad2d": "pad",
    "PixelUnshuffle": "pixel_shuffle", "Fold": "flatten", "Unfold": "flatten", "UpsamplingBilinear2d": "interpolate",
    "UpsamplingNearest2d": "interpolate",
}  # fmt: skip
LOSSES = {
    "MSELoss": "mse_loss", "L1Loss": "l1_loss", "SmoothL1Loss": "smooth_l1_loss", "HuberLoss": "huber_loss",
    "CrossEntropyLoss": "cross_entropy", "NLLLoss": "nll_loss", "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "bce_with_logits", "KLDivLoss": "kl_div", "CosineEmbeddingLoss": "cosine_embedding_loss",
    "TripletMarginLoss": "triplet_margin_loss", "MarginRankingLoss": "margin_ranking_loss", "CTCLoss": "ctc_loss",
    "HingeEmbeddingLoss": "hinge_embedding_loss", "PoissonNLLLoss": "poisson_nll_loss",
    "SoftMarginLoss": "soft_margin_loss",
    "GaussianNLLLoss": "gaussian_nll_loss", "MultiMarginLoss": "multi_margin_loss",
    "CosineSimilarity": "cosine_similarity",
    "PairwiseDistance": "pairwise_distance", "MultiLabelSoftMarginLoss": "soft_margin_loss",
}  # fmt: skip
DROPOUTS = words("AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout")
CONTAINERS = words("ModuleDict ModuleList ParameterDict ParameterList Sequential")
WRAPPERS = words("DataParallel DistributedDataParallel")
