#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace acc::attention {

// Finite, also times log2(e).
constexpr float kLargestShift = 2e38f;

// The tensors of a call. All but `sums` and the mask are `[batch, heads, length, D]` with contiguous
// rows; the mask has 4 dims. `shifts` are those of mask_shifts.h. `sums` are the logarithms of the sums
// of exponentials, `[batch, heads, queries]`, contiguous.
struct Inputs {
  at::Tensor q, k, v;
  std::optional<at::Tensor> mask, shifts;
  bool is_causal;
  float scale;
};

struct Call : Inputs {
  at::Tensor dy, output, sums, dq, dk, dv;
};

}  // namespace acc::attention
