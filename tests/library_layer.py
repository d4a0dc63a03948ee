"""The independent reference for attention: PyTorch's own layer, carrying a model's matrices."""

import torch
from torch import Tensor


def library_attention(model, E: Tensor) -> tuple[Tensor, Tensor]:
    """Return what `torch.nn.MultiheadAttention` makes of full contexts E (B, T, D): update and weights (B, H, T, T).

    The layer knows no sharing of keys and values: each of its heads gets a copy of what ours share.
    """
    T, D = E.shape[1:]
    layer = torch.nn.MultiheadAttention(D, model.heads, bias=False, batch_first=True)
    later = torch.ones(T, T, dtype=torch.bool).triu(1)
    K, V = (
        W.weight.unflatten(0, (model.kv_heads, -1)).repeat_interleave(model.heads // model.kv_heads, 0).flatten(0, 1)
        for W in (model.W_K, model.W_V)
    )
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([model.W_Q.weight, K, V]))
        layer.out_proj.weight.copy_(model.W_O.weight)
        return layer(E, E, E, attn_mask=later, average_attn_weights=False)
