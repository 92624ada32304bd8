#pragma once

#include <ATen/core/Tensor.h>

#include "engine/kernels/recurrent/cell_rows.h"

// Recurrent layers on CPUs with AVX-512, for float32 and bfloat16: the cell is one pass over the rows of
// the recurrent product's sums. It computes in float32, and rounds what it stores in bfloat16 once.
// Letters in shapes: T steps, B batch, H width of the state.
namespace acc::recurrent {

// Whether this code applies to `gates` [T, B, G] and the recurrent weight.
bool has_vectors(const at::Tensor& gates, const at::Tensor& weight);

// `h` and `c` [T + 1, B, H] hold the states before the first step. `starts_at_zero` tells that h is 0.
struct LstmSteps {
  at::Tensor gates, weight, h, c;
  bool starts_at_zero;
};
void run(const LstmSteps& steps, Activations activations);

// `dh` [B, H] is the gradient of the last state on entry, and of the first on exit. `dc` likewise, in
// float32. `bias` is float32 [4H], or empty if its gradient is not asked for.
struct LstmGradients {
  at::Tensor gates, weight, c, dh, dc, grads, bias;
  const SequenceGradient& dy;
};
void run(const LstmGradients& gradients, Activations activations);

struct GruSteps {
  at::Tensor gates, weight, h, resets;
  bool starts_at_zero;
};
void run(const GruSteps& steps, Activations activations);

struct GruGradients {
  at::Tensor gates, weight, h, dh, grads, bias;
  const SequenceGradient& dy;
};
void run(const GruGradients& gradients, Activations activations);

}  // namespace acc::recurrent
