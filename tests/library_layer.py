"""The independent reference for attention: PyTorch's own layer, carrying a model's matrices."""

import torch
from torch import Tensor


def library_attention(model, E: Tensor) -> tuple[Tensor, Tensor]:
    """Return what `torch.nn.MultiheadAttention` makes of full contexts E (B, T, D): update and weights (B, H, T, T)."""
    T, D = E.shape[1:]
    layer = torch.nn.MultiheadAttention(D, model.heads, bias=False, batch_first=True)
    later = torch.ones(T, T, dtype=torch.bool).triu(1)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([model.W_Q.weight, model.W_K.weight, model.W_V.weight]))
        layer.out_proj.weight.copy_(model.W_O.weight)
        return layer(E, E, E, attn_mask=later, average_attn_weights=False)
