"""The operations whose nodes and saved values are read from torch: one line each, as a call on tensors.

`{0}`, `{1}` ... stand for the tensor arguments, and the shapes after it are theirs (M is 3x3, V is 3,
S is a scalar). Operations marked with a leading `-` are measured but left out of random programs: they
want arguments of a special kind (a positive definite matrix, a probability), which `MAKE` provides.
"""

from __future__ import annotations

from dataclasses import dataclass

SHAPES: dict[str, tuple[int, ...]] = {
    "M": (3, 3),
    "V": (3,),
    "S": (),
    "B": (2, 3, 3),  # a batch of matrices
    "I": (1, 2, 4, 4),  # an image: batch, channels, height, width
    "K": (2, 2, 3, 3),  # a kernel over it
    "L": (1, 2, 6),  # a line: batch, channels, length
    "J": (2, 2, 3),  # a kernel over it
    "C": (2,),  # one number a channel
    "H": (1, 3),  # one row of hidden state
    "G": (9, 3),  # the weights of three gates
    "N": (9,),
    "F": (12, 3),  # the weights of four gates
    "D": (12,),
    "A": (1, 2, 3, 4),  # attention: batch, heads, length, width
    "E": (5, 3),  # an embedding table
    "O": (1, 2, 3, 3, 3),  # a volume
}

_UNARY = """
neg abs exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square reciprocal sin cos tan asin acos atan sinh cosh
tanh asinh acosh atanh sigmoid erf erfc erfinv lgamma digamma floor ceil round trunc frac sign relu
logit sinc deg2rad rad2deg angle i0 nan_to_num positive clone
"""
_ACTIVATIONS = """
relu6 elu selu celu gelu silu mish softplus softsign hardtanh hardswish hardsigmoid hardshrink softshrink
tanhshrink logsigmoid leaky_relu rrelu
"""
_BINARY = """
add sub mul div maximum minimum fmax fmin atan2 hypot pow remainder fmod copysign logaddexp logaddexp2
"""
_REDUCTIONS = "sum mean prod std var logsumexp(0) amax amin norm nansum nanmean max min median cumsum(0) \
cumprod(0) logcumsumexp(0) trace diff argmax(0) all"
_LOSSES = "mse_loss l1_loss smooth_l1_loss huber_loss poisson_nll_loss kl_div"

ONE_LAYER = "True, 1, 0.0, False, False, False"  # biases, layers, dropout, training, both ways, batch first

_LINES = """
add_scalar            | {0} + 1.0                                  | M
radd_scalar           | 1.0 + {0}                                  | M
sub_scalar            | {0} - 1.0                                  | M
rsub_scalar           | 1.0 - {0}                                  | M
mul_scalar            | {0} * 2.0                                  | M
div_scalar            | {0} / 2.0                                  | M
rdiv_scalar           | 2.0 / {0}                                  | M
pow_scalar            | {0} ** 3                                   | M
square_power          | {0} ** 2                                   | M
rpow_scalar           | 2.0 ** {0}                                 | M
add_alpha             | torch.add({0}, {1}, alpha=2)               | M M
add_to_row            | {0} + {1}                                  | M V
mul_by_number         | {0} * {1}                                  | M S
add_v                 | {0} + {1}                                  | V V
mul_v                 | {0} * {1}                                  | V V
add_s                 | {0} + {1}                                  | S S
mul_s                 | {0} * {1}                                  | S S
sub_s                 | {0} - {1}                                  | S S
exp_s                 | {0}.exp()                                  | S
sum_v                 | {0}.sum()                                  | V
sum_dim               | {0}.sum(0)                                 | M
mean_dim              | {0}.mean(0)                                | M
sum_keepdim           | {0}.sum(1, keepdim=True).expand(3, 3)      | M
sum_b                 | {0}.sum()                                  | B
sum_image             | {0}.sum()                                  | I
mean_image            | {0}.mean()                                 | I
sum_line              | {0}.sum()                                  | L
sum_row               | {0}.sum()                                  | H
sum_attention         | {0}.sum()                                  | A
sum_volume            | {0}.sum()                                  | O
tanh_v                | {0}.tanh()                                 | V
exp_v                 | {0}.exp()                                  | V
tanh_row              | {0}.tanh()                                 | H
relu_image            | F.relu({0})                                | I
lerp                  | torch.lerp({0}, {1}, 0.3)                  | M M
lerp_tensor           | torch.lerp({0}, {1}, {2})                  | M M M
addcmul               | torch.addcmul({0}, {1}, {2})               | M M M
addcdiv               | torch.addcdiv({0}, {1}, {2})               | M M M
clamp                 | {0}.clamp(0.1, 0.9)                        | M
clamp_min             | {0}.clamp(min=0.1)                         | M
clamp_max             | {0}.clamp(max=0.9)                         | M
clamp_tensor          | torch.clamp({0}, {1}, {2})                 | M M M
where                 | torch.where({0} > 0.5, {0}, {1})           | M M
where_scalar          | torch.where({0} > 0.5, {0}, 0.0)           | M
masked_fill           | {0}.masked_fill({0} > 0.5, 0.0)            | M
masked_select         | {0}.masked_select(torch.eye(3) > 0)        | M
bernoulli_free_mask   | {0} * (torch.eye(3) > 0)                   | M
xlogy                 | torch.xlogy({0}, {1})                      | M M
float_power           | torch.float_power({0}, 2)                  | M
cast_double_back      | {0}.double().float()                       | M
logsumexp_both        | torch.logsumexp({0}, (0, 1))               | M
softmax               | F.softmax({0}, -1)                         | M
log_softmax           | F.log_softmax({0}, -1)                     | M
softmin               | F.softmin({0}, -1)                         | M
gumbel_softmax        | F.gumbel_softmax({0}, dim=-1)              | M | random
gelu_tanh             | F.gelu({0}, approximate="tanh")            | M
glu                   | F.glu({0}, 0)                              | F
prelu                 | F.prelu({0}, {1})                          | I C
threshold             | F.threshold({0}, 0.5, 0.0)                 | M
normalize             | F.normalize({0}, dim=-1)                   | M
cosine_similarity     | F.cosine_similarity({0}, {1}, dim=-1)      | M M
pairwise_distance     | F.pairwise_distance({0}, {1})              | M M
cdist                 | torch.cdist({0}, {1})                      | M M
norm_dim              | {0}.norm(dim=-1)                           | M
norm_one              | {0}.norm(p=1)                              | M
vector_norm           | torch.linalg.vector_norm({0})              | M
matrix_norm           | torch.linalg.matrix_norm({0})              | M
max_dim               | torch.max({0}, 0)                          | M
min_dim               | torch.min({0}, 0)                          | M
median_dim            | torch.median({0}, 0)                       | M
cummax                | torch.cummax({0}, 0)                       | M
sort                  | torch.sort({0})                            | M
topk                  | torch.topk({0}, 2)                         | M
kthvalue              | torch.kthvalue({0}, 2)                     | M
var_mean              | torch.var_mean({0}, 0)                     | M
std_mean              | torch.std_mean({0}, 0)                     | M
aminmax               | torch.aminmax({0})                         | M
prod_dim              | {0}.prod(0)                                | M
quantile              | torch.quantile({0}, 0.5)                   | M
-renorm               | torch.renorm({0}, 2, 0, 1.0)               | M
mm                    | {0} @ {1}                                  | M M
matmul_vector         | {0} @ {1}                                  | M V
mv                    | torch.mv({0}, {1})                         | M V
dot                   | torch.dot({0}, {1})                        | V V
outer                 | torch.outer({0}, {1})                      | V V
bmm                   | torch.bmm({0}, {1})                        | B B
baddbmm               | torch.baddbmm({0}, {1}, {2})               | B B B
addmm                 | torch.addmm({0}, {1}, {2})                 | M M M
addmv                 | torch.addmv({0}, {1}, {2})                 | V M V
addr                  | torch.addr({0}, {1}, {2})                  | M V V
matmul_batch          | {0} @ {1}                                  | B M
einsum                | torch.einsum("ij,jk->ik", {0}, {1})        | M M
einsum_inner          | torch.einsum("ij,ij->", {0}, {1})          | M M
tensordot             | torch.tensordot({0}, {1}, 1)               | M M
inner                 | torch.inner({0}, {1})                      | M M
kron                  | torch.kron({0}, {1})                       | M M
cross                 | torch.linalg.cross({0}, {1})               | M M
linear                | F.linear({0}, {1}, {2})                    | M M V
linear_no_bias        | F.linear({0}, {1})                         | M M
linear_vector         | F.linear({0}, {1}, {2})                    | V M V
linear_row            | F.linear({0}, {1}, {2})                    | H M V
linear_batch          | F.linear({0}, {1}, {2})                    | B M V
bilinear              | F.bilinear({0}, {1}, {2}, {3})             | M M B C
-inverse              | torch.linalg.inv({0})                      | P
-det                  | torch.linalg.det({0})                      | P
-slogdet              | torch.linalg.slogdet({0})                  | P
-logdet               | torch.logdet({0})                          | P
-solve                | torch.linalg.solve({0}, {1})               | P M
-cholesky             | torch.linalg.cholesky({0})                 | P
-qr                   | torch.linalg.qr({0})                       | P
-svd                  | torch.linalg.svd({0}, full_matrices=False) | P
-svdvals              | torch.linalg.svdvals({0})                  | P
-eigh                 | torch.linalg.eigh({0})                     | P
-eigvalsh             | torch.linalg.eigvalsh({0})                 | P
-pinv                 | torch.linalg.pinv({0})                     | P
-lstsq                | torch.linalg.lstsq({0}, {1}).solution      | P M
-matrix_exp           | torch.matrix_exp({0})                      | P
-matrix_power         | torch.linalg.matrix_power({0}, 3)          | P
-solve_triangular     | torch.linalg.solve_triangular({0}, {1}, upper=False) | P M
-cholesky_solve       | torch.cholesky_solve({0}, {1})             | M P
cov                   | torch.cov({0})                             | M
corrcoef              | torch.corrcoef({0})                        | M
index_select          | {0}.index_select(0, torch.tensor([0, 2]))  | M
index                 | {0}[torch.tensor([0, 2, 1])]               | M
index_pair            | {0}[torch.arange(3), torch.tensor([0, 2, 1])] | M
index_mask            | {0}[torch.eye(3) > 0]                      | M
gather                | {0}.gather(1, torch.tensor([[0], [1], [2]])) | M
scatter               | {0}.scatter(0, torch.tensor([[0, 1, 2]] * 3), {1}) | M M
scatter_add           | {0}.scatter_add(0, torch.tensor([[0, 1, 2]] * 3), {1}) | M M
scatter_reduce        | {0}.scatter_reduce(0, torch.tensor([[0, 1, 2]] * 3), {1}, "amax") | M M
index_add             | {0}.index_add(0, torch.tensor([0, 2, 1]), {1}) | M M
index_copy            | {0}.index_copy(0, torch.tensor([0, 2, 1]), {1}) | M M
index_fill            | {0}.index_fill(0, torch.tensor([0, 2]), 0.0) | M
index_put             | {0}.index_put((torch.tensor([0, 2, 1]),), {1}) | M M
masked_scatter        | {0}.masked_scatter(torch.eye(3) > 0, {1})  | M M
take                  | torch.take({0}, torch.tensor([0, 4]))      | M
take_along_dim        | torch.take_along_dim({0}, torch.tensor([[0], [1], [2]]), 1) | M
cat                   | torch.cat([{0}, {1}])                      | M M
cat_three             | torch.cat([{0}, {1}, {2}])                 | M M M
stack                 | torch.stack([{0}, {1}])                    | M M
stack_vectors         | torch.stack([{0}, {1}, {2}])               | V V V
stack_numbers         | torch.stack([{0}, {1}])                    | S S
hstack                | torch.hstack([{0}, {1}])                   | M M
vstack                | torch.vstack([{0}, {1}])                   | M M
repeat                | {0}.repeat(2, 1)                           | M
repeat_interleave     | {0}.repeat_interleave(2, 0)                | M
tile                  | torch.tile({0}, (2, 1))                    | M
roll                  | torch.roll({0}, 1)                         | M
flip                  | torch.flip({0}, (0,))                      | M
rot90                 | torch.rot90({0})                           | M
tril                  | torch.tril({0})                            | M
triu                  | torch.triu({0})                            | M
diag_embed            | torch.diag_embed({0})                      | V
pad                   | F.pad({0}, (1, 1))                         | M
pad_reflect           | F.pad({0}, (1, 1), mode="reflect")         | L
meshgrid              | torch.meshgrid({0}, {1}, indexing="ij")    | V V
where_mask_two        | torch.where(torch.eye(3) > 0, {0}, {1})    | M M
reshape_copy          | {0}.t().reshape(9)                         | M
contiguous_copy       | {0}.t().contiguous()                       | M
to_double             | {0}.double()                               | M
-to_same              | {0}.to(torch.float32)                      | M
-contiguous_same      | {0}.contiguous()                           | M
-dropout_off          | F.dropout({0}, training=False)             | M
dropout               | F.dropout({0}, 0.5)                        | M | random
dropout2d             | F.dropout2d({0}, 0.5)                      | I | random
alpha_dropout         | F.alpha_dropout({0}, 0.5, training=True)   | M | random
bce_with_logits       | F.binary_cross_entropy_with_logits({0}, {1}) | M M
-binary_cross_entropy | F.binary_cross_entropy({0}, {1})           | U U
cross_entropy         | F.cross_entropy({0}, torch.tensor([0, 2, 1])) | M
cross_entropy_smooth  | F.cross_entropy({0}, torch.tensor([0, 2, 1]), label_smoothing=0.1) | M
cross_entropy_probs   | F.cross_entropy({0}, {1})                  | M M
nll_loss              | F.nll_loss({0}, torch.tensor([0, 2, 1]))   | M
gaussian_nll_loss     | F.gaussian_nll_loss({0}, {1}, {2}.abs())   | M M M
margin_ranking_loss   | F.margin_ranking_loss({0}, {1}, torch.ones(3)) | V V
hinge_embedding_loss  | F.hinge_embedding_loss({0}, torch.tensor([1., -1., 1.])) | V
cosine_embedding_loss | F.cosine_embedding_loss({0}, {1}, torch.tensor([1., -1., 1.])) | M M
triplet_margin_loss   | F.triplet_margin_loss({0}, {1}, {2})       | M M M
multi_margin_loss     | F.multi_margin_loss({0}, torch.tensor([0, 2, 1])) | M
soft_margin_loss      | F.soft_margin_loss({0}, torch.ones(3, 3))     | M
mse_loss_none         | F.mse_loss({0}, {1}, reduction="none")     | M M
-ctc_loss             | F.ctc_loss({0}, torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2])) | T
embedding             | F.embedding(torch.tensor([0, 2, 4]), {0})  | E
embedding_bag         | F.embedding_bag(torch.tensor([0, 2, 4]), {0}, torch.tensor([0, 2])) | E
one_hot_matmul        | F.one_hot(torch.tensor([0, 2]), 3).float() @ {0} | M
layer_norm            | F.layer_norm({0}, (3,), {1}, {2})          | M V V
layer_norm_plain      | F.layer_norm({0}, (3,))                    | M
rms_norm              | F.rms_norm({0}, (3,), {1})                 | M V
batch_norm            | F.batch_norm({0}, None, None, {1}, {2}, training=True) | I C C
batch_norm_eval       | F.batch_norm({0}, torch.zeros(2), torch.ones(2), {1}, {2}) | I C C
instance_norm         | F.instance_norm({0}, weight={1}, bias={2}) | I C C
group_norm            | F.group_norm({0}, 2, {1}, {2})             | I C C
local_response_norm   | F.local_response_norm({0}, 2)              | I
conv1d                | F.conv1d({0}, {1}, {2}, padding=1)         | L J C
conv2d                | F.conv2d({0}, {1}, {2}, padding=1)         | I K C
conv2d_no_bias        | F.conv2d({0}, {1}, padding=1)              | I K
conv_transpose2d      | F.conv_transpose2d({0}, {1}, {2}, padding=1) | I K C
-conv3d               | F.conv3d({0}, {1}, padding=1)              | O W
max_pool1d            | F.max_pool1d({0}, 2)                       | L
max_pool2d            | F.max_pool2d({0}, 2)                       | I
avg_pool1d            | F.avg_pool1d({0}, 2)                       | L
avg_pool2d            | F.avg_pool2d({0}, 2)                       | I
adaptive_avg_pool2d   | F.adaptive_avg_pool2d({0}, 2)              | I
adaptive_avg_pool_one | F.adaptive_avg_pool2d({0}, 1)              | I
adaptive_max_pool2d   | F.adaptive_max_pool2d({0}, 2)              | I
max_pool3d            | F.max_pool3d({0}, 2)                       | O
lp_pool2d             | F.lp_pool2d({0}, 2.0, 2)                   | I
interpolate           | F.interpolate({0}, scale_factor=2)         | I
interpolate_bilinear  | F.interpolate({0}, scale_factor=2, mode="bilinear") | I
pixel_shuffle         | F.pixel_shuffle({0}.repeat(1, 2, 1, 1), 2) | I
unfold_image          | F.unfold({0}, 2)                           | I
-grid_sample          | F.grid_sample({0}, {1}, align_corners=False) | I X
-affine_grid          | F.affine_grid({0}, (1, 1, 2, 2), align_corners=False) | Y
rnn_tanh_cell         | torch.rnn_tanh_cell({0}, {1}, {2}, {3}, {4}, {5}) | H H M M V V
gru_cell              | torch.gru_cell({0}, {1}, {2}, {3}, {4}, {5}) | H H G G N N
lstm_cell             | torch.lstm_cell({0}, ({1}, {2}), {3}, {4}, {5}, {6}) | H H H F F D D
-lstm                 | torch.lstm({0}, ({1}, {2}), ({3}, {4}, {5}, {6}), ONE_LAYER) | Q Q Q F F D D
-gru                  | torch.gru({0}, {1}, ({2}, {3}, {4}, {5}), ONE_LAYER) | Q Q G G N N
-rnn_tanh             | torch.rnn_tanh({0}, {1}, ({2}, {3}, {4}, {5}), ONE_LAYER) | Q Q M M V V
attention             | F.scaled_dot_product_attention({0}, {1}, {2}) | A A A
attention_masked      | F.scaled_dot_product_attention({0}, {1}, {2}, attn_mask={3}) | A A A M
attention_causal      | F.scaled_dot_product_attention({0}, {1}, {2}, is_causal=True) | A A A
sparse_mm             | torch.sparse.mm(torch.eye(3).to_sparse(), {0}) | M
-sparse_mm_weight     | torch.sparse.mm({0}.to_sparse(), {1})      | M M
sparse_csr_mm         | torch.eye(3).to_sparse_csr() @ {0}         | M
-fft                  | torch.fft.fft({0})                         | M
-rfft                 | torch.fft.rfft({0})                        | M
-rfft_and_back        | torch.fft.irfft(torch.fft.rfft({0}), n=3)  | M
-complex              | torch.complex({0}, {1})                    | M M
searchsorted_gather   | {0}.gather(0, torch.searchsorted(torch.arange(3.), {1}.detach()).clamp(0, 2)) | M M
cumulative_trapezoid  | torch.cumulative_trapezoid({0})            | M
trapezoid             | torch.trapezoid({0})                       | M
segment_reduce        | torch.segment_reduce({0}, "sum", lengths=torch.tensor([1, 2])) | V
view                  | {0}.view(9)                                | M
view_line             | {0}.view(3, 3)                             | N
reshape               | {0}.reshape(9)                             | M
flatten               | {0}.flatten()                              | M
t                     | {0}.t()                                    | M
mT                    | {0}.mT                                     | M
transpose             | {0}.transpose(0, 1)                        | M
permute               | {0}.permute(1, 0)                          | M
select                | {0}[0]                                     | M
select_number         | {0}[0]                                     | V
slice                 | {0}[:2]                                    | M
narrow                | {0}.narrow(0, 1, 2)                        | M
unsqueeze             | {0}.unsqueeze(0)                           | M
unsqueeze_row         | {0}.unsqueeze(0)                           | V
squeeze_row           | {0}.squeeze(0)                             | H
expand                | {0}.expand(3, 3)                           | H
expand_number         | {0}.expand(3)                              | S
expand_as             | {0}.unsqueeze(0).expand(3, 3)              | V
diagonal              | {0}.diagonal()                             | M
unfold                | {0}.unfold(0, 2, 1)                        | V
movedim               | {0}.movedim(0, 1)                          | M
swapaxes              | {0}.swapaxes(0, 1)                         | M
view_as               | {0}.view_as({1})                           | M M
unflatten             | {0}.unflatten(0, (3, 3))                   | N
as_strided            | {0}.as_strided((3,), (1,))                 | M
batch_to_image        | {0}.view(1, 2, 3, 3)                       | B
split                 | {0}.split(2)                               | M
chunk                 | {0}.chunk(2)                               | M
unbind                | {0}.unbind(0)                              | M
tensor_split          | {0}.tensor_split(3)                        | M
unsafe_split          | torch.unsafe_split({0}, 2)                 | M
add_                  | {0}.add_({1})                              | M M
sub_                  | {0}.sub_({1})                              | M M
mul_                  | {0}.mul_({1})                              | M M
div_                  | {0}.div_({1})                              | M M
add_scalar_           | {0}.add_(1.0)                              | M
mul_scalar_           | {0}.mul_(2.0)                              | M
copy_                 | {0}.copy_({1})                             | M M
copy_v_               | {0}.copy_({1})                             | V V
add_v_                | {0}.add_({1})                              | V V
mul_v_                | {0}.mul_({1})                              | V V
copy_row_             | {0}.copy_({1})                             | H H
zero_                 | {0}.zero_()                                | M
zero_v_               | {0}.zero_()                                | V
fill_                 | {0}.fill_(0.5)                             | M
exp_                  | {0}.exp_()                                 | M
exp_v_                | {0}.exp_()                                 | V
tanh_                 | {0}.tanh_()                                | M
sigmoid_              | {0}.sigmoid_()                             | M
relu_                 | {0}.relu_()                                | M
relu_image_           | F.relu({0}, inplace=True)                  | I
sqrt_                 | {0}.sqrt_()                                | M
neg_                  | {0}.neg_()                                 | M
pow_                  | {0}.pow_(2)                                | M
sin_                  | {0}.sin_()                                 | M
leaky_relu_           | F.leaky_relu({0}, inplace=True)            | M
elu_                  | F.elu({0}, inplace=True)                   | M
silu_                 | F.silu({0}, inplace=True)                  | M
clamp_                | {0}.clamp_(0.1, 0.9)                       | M
addcmul_              | {0}.addcmul_({1}, {2})                     | M M M
lerp_                 | {0}.lerp_({1}, 0.1)                        | M M
masked_fill_          | {0}.masked_fill_(torch.eye(3) > 0, 0.0)    | M
index_add_            | {0}.index_add_(0, torch.tensor([0, 2, 1]), {1}) | M M
index_copy_           | {0}.index_copy_(0, torch.tensor([0, 2, 1]), {1}) | M M
scatter_add_          | {0}.scatter_add_(0, torch.tensor([[0, 1, 2]] * 3), {1}) | M M
index_put_            | {0}.index_put_((torch.tensor([0, 2, 1]),), {1}) | M M
addmm_                | {0}.addmm_({1}, {2})                       | M M M
-tanh_backward         | torch.ops.aten.tanh_backward({0}, {1})     | M M
-sigmoid_backward      | torch.ops.aten.sigmoid_backward({0}, {1})  | M M
-threshold_backward    | torch.ops.aten.threshold_backward({0}, {1}, 0) | M M
-select_backward       | torch.ops.aten.select_backward({0}, [3, 3], 0, 0) | V
-expand_matrix         | {0}.expand(3, 3)                           | S
-sgn                  | torch.sgn({0})                             | M
normal_               | {0}.normal_()                              | M | random
"""

SHAPES.update(P=(3, 3), U=(3, 3), T=(5, 1, 3), W=(2, 2, 3, 3, 3), X=(1, 2, 2, 2), Y=(1, 2, 3), Q=(1, 1, 3))


@dataclass(frozen=True, slots=True)
class Operation:
    """One call to measure: its name in the table, its source, the shapes of its tensor arguments."""

    name: str
    call: str
    shapes: tuple[str, ...]
    in_programs: bool = True
    random: bool = False

    @property
    def in_place(self) -> bool:
        return self.name.endswith("_")


def _lines() -> list[str]:
    lines = [line.replace("ONE_LAYER", ONE_LAYER) for line in _LINES.splitlines() if line.strip()]
    lines += [f"{name} | torch.{name}({{0}}) | M" for name in _UNARY.split()]
    lines += [f"{name} | F.{name}({{0}}) | M" for name in _ACTIVATIONS.split()]
    lines += [f"{name} | torch.{name}({{0}}, {{1}}) | M M" for name in _BINARY.split()]
    lines += [f"{name} | F.{name}({{0}}, {{1}}) | M M" for name in _LOSSES.split()]
    for entry in _REDUCTIONS.split():
        name, _, rest = entry.partition("(")
        call = f"{{0}}.{name}({rest or ')'}"
        lines.append(f"{name} | {call} | M")
    return lines


def _operation(line: str) -> Operation:
    name, call, shapes, *flags = (part.strip() for part in line.split("|"))
    return Operation(name.lstrip("-"), call, tuple(shapes.split()), not name.startswith("-"), "random" in flags)


OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in map(_operation, _lines())}
