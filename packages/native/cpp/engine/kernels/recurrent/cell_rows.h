#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "engine/kernels/recurrent/activation.h"

// The arithmetic of the cells of recurrent layers, row by row, for float32 and bfloat16 in host
// memory. It computes in float32, and rounds what it stores in bfloat16 once. Tensors are contiguous,
// except the gradients of a sequence. Letters in shapes: T steps, B batch, H width of the state.

namespace acc {

struct Activations {
  Activation of_state;
  Activation of_gates;
};

// True if the code on rows applies.
bool has_rows(const at::Tensor& x);

// The gradients [T, B, H] of the states after each step. May be strided in its first two dims.
class SequenceGradient {
 public:
  explicit SequenceGradient(const std::optional<at::Tensor>& grad);

  // Adds the gradient of a step to `dh` and returns it.
  at::Tensor add_to(at::Tensor dh, int64_t t) const;
  // The gradient of a step's state in one sequence of the batch. Null if there is none.
  const void* row(int64_t t, int64_t row) const;
  // The distance of rows, in elements. 0 if there is none.
  int64_t row_stride() const { return grad_.defined() ? grad_.stride(1) : 0; }

 private:
  at::Tensor grad_;
};

// `gates` [B, 4H] has the arguments of the activations of i, f, candidate and o on entry, and their
// results on exit. `c` is the state before the step, [B, H].
struct LstmStep {
  at::Tensor gates, c, c_after, h_after;
};
void lstm_rows(const LstmStep& step, Activations activations);

// `dh` [B, H] comes from the next step, `dc` [B, H] is float32 and goes from step to step. `grads`
// [B, 4H] gets the gradients of the gates before their activations.
struct LstmBackwardStep {
  at::Tensor gates, c, c_after, dh, dc, grads;
  const SequenceGradient& dy;
  int64_t t;
};
void lstm_backward_rows(const LstmBackwardStep& step, Activations activations);

// Adds the sum of the rows of `grads` [B, G] to `sum` [G], which is float32: the gradient of the bias.
void add_rows_to(const at::Tensor& sum, const at::Tensor& grads);

// `gates` [B, 3H] has the columns z, r and candidate, as in LstmStep. The first function computes z, r
// and `reset` = r·h; the product with it follows. The second computes the candidate and the state.
struct GruStep {
  at::Tensor gates, h, reset, h_after;
};
void gru_reset_rows(const GruStep& step, Activations activations);
void gru_state_rows(const GruStep& step, Activations activations);

// `dh` [B, H] comes from the next step. The first function computes the gradients of z and of the
// candidate, and `kept`, the part of dh that passes by the candidate. The product with the gradient
// of the candidate follows, which is `of_reset` [B, H]. The second computes the gradient of r, and adds
// to `kept`.
struct GruBackwardStep {
  at::Tensor gates, h, dh, kept, of_reset, grads;
  const SequenceGradient& dy;
  int64_t t;
};
void gru_candidate_backward_rows(const GruBackwardStep& step, Activations activations);
void gru_reset_backward_rows(const GruBackwardStep& step, Activations activations);

}  // namespace acc
