// Operators for whole recurrent layers. libtorch has such operators only with fixed activations and
// with gates that differ from tfjs's.
//
// The caller computes one matrix product of all steps' inputs before these operators, and the
// products for the weights' gradients after them. This file computes the recurrence from step to
// step: a product, and the arithmetic of the cell. The cells are code on rows (cell_rows.h), or
// at:: operators, which run on any device. Letters in shapes: T steps, B batch, H width of the state.

#include <ATen/ATen.h>
#include <torch/library.h>

#include <optional>
#include <tuple>
#include <utility>

#include "engine/kernels/product/packed_matrix.h"
#include "engine/kernels/recurrent/activation.h"
#include "engine/kernels/recurrent/cell_rows.h"
#include "engine/kernels/recurrent/vectors.h"

namespace acc {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

void start(const Tensor& state, const OptionalTensor& value) {
  if (value) state.copy_(*value);
  else state.zero_();
}

Tensor gradient_of_last(const OptionalTensor& grad, const Tensor& like) {
  return grad ? grad->clone(at::MemoryFormat::Contiguous) : at::zeros_like(like);
}

// The gradient of the bias: the sum of the gates' gradients [T, B, G], or an empty tensor if it is not
// asked for. Adding each step after its computation reads memory that is still in a cache.
class BiasGradient {
 public:
  BiasGradient(bool is_asked, const Tensor& grads)
      : is_asked_(is_asked), grads_(grads),
        sum_(is_asked && has_rows(grads) ? at::zeros({grads.size(2)}, grads.options().dtype(at::kFloat))
                                         : at::empty({0}, grads.options())) {}

  void add(int64_t t) {
    if (is_asked_ && has_rows(grads_)) add_rows_to(sum_, grads_[t]);
  }
  Tensor get() const { return is_asked_ && !has_rows(grads_) ? grads_.sum(at::IntArrayRef{0, 1}) : sum_; }

 private:
  bool is_asked_;
  Tensor grads_, sum_;
};

void lstm_cell(const Tensor& gates, const Tensor& before, Tensor c, Tensor h, Activations activations) {
  const auto width = c.size(1);
  const auto candidate = gates.narrow(1, 2 * width, width), out = gates.narrow(1, 3 * width, width);
  activate(activations.of_gates, gates.narrow(1, 0, 2 * width));
  activate(activations.of_state, candidate);
  activate(activations.of_gates, out);
  at::mul_out(c, gates.narrow(1, width, width), before);
  c.addcmul_(gates.narrow(1, 0, width), candidate);
  activate_to(activations.of_state, h, c);
  h.mul_(out);
}

// `of_c` and `through` are scratch memory.
struct LstmTensors {
  Tensor gates, before, c, dh, dc, grads, of_c, through;
};

void lstm_backward_cell(LstmTensors step, Activations activations) {
  const auto width = step.c.size(1);
  const auto gate = [&](int64_t index, int64_t count = 1) { return step.gates.narrow(1, index * width, count * width); };
  const auto grad = [&](int64_t index, int64_t count = 1) { return step.grads.narrow(1, index * width, count * width); };
  auto d_in = grad(0), d_forget = grad(1), d_candidate = grad(2), d_out = grad(3);
  activate_to(activations.of_state, step.of_c, step.c);
  at::mul_out(d_out, step.dh, step.of_c);
  at::mul_out(step.through, step.dh, gate(3));
  activate_backward(activations.of_state, step.through, step.of_c);
  step.dc.add_(step.through);
  at::mul_out(d_in, step.dc, gate(2));
  at::mul_out(d_forget, step.dc, step.before);
  at::mul_out(d_candidate, step.dc, gate(0));
  step.dc.mul_(gate(1));
  activate_backward(activations.of_gates, grad(0, 2), gate(0, 2));
  activate_backward(activations.of_state, d_candidate, gate(2));
  activate_backward(activations.of_gates, d_out, gate(3));
}

// `gates` [T, B, 4H] holds the inputs' part with bias on entry, and the results of the activations
// on exit. Returns h and c [T + 1, B, H]. Their first entries are the initial states.
std::tuple<Tensor, Tensor> lstm(Tensor gates, const Tensor& recurrent, const OptionalTensor& h0,
                                const OptionalTensor& c0, std::string activation, std::string gate_activation) {
  const Activations activations{activation_of(activation), activation_of(gate_activation)};
  const auto steps = gates.size(0);
  const auto h = at::empty({steps + 1, gates.size(1), recurrent.size(0)}, gates.options());
  const auto c = at::empty_like(h);
  start(h[0], h0);
  start(c[0], c0);
  if (recurrent::has_vectors(gates, recurrent)) {
    recurrent::run(recurrent::LstmSteps{gates, recurrent, h, c, !h0}, activations);
    return {h, c};
  }
  PackedMatrix packed(recurrent, gates.size(1), steps);
  for (int64_t t = 0; t < steps; ++t) {
    const auto step = gates[t];
    packed.add_product(step, h[t]);
    if (has_rows(gates)) lstm_rows({step, c[t], c[t + 1], h[t + 1]}, activations);
    else lstm_cell(step, c[t], c[t + 1], h[t + 1], activations);
  }
  return {h, c};
}

// Returns the gradients [T, B, 4H] of the gates before their activations, those of the initial h and c,
// and with `of_bias` that of the bias. `grad_sequence` [T, B, H] is the gradient of every step's h.
// `grad_h` and `grad_c` are the gradients of the last states.
std::tuple<Tensor, Tensor, Tensor, Tensor> lstm_backward(const OptionalTensor& grad_sequence, const OptionalTensor& grad_h,
                                                         const OptionalTensor& grad_c, const Tensor& gates, const Tensor& c,
                                                         const Tensor& recurrent, std::string activation,
                                                         std::string gate_activation, bool of_bias) {
  const Activations activations{activation_of(activation), activation_of(gate_activation)};
  const auto grads = at::empty_like(gates);
  auto dh = gradient_of_last(grad_h, c[0]);
  const bool by_rows = has_rows(gates);
  // The code on rows keeps dc in float32 from step to step.
  const auto dc = gradient_of_last(grad_c, c[0]).to(by_rows ? at::kFloat : c.scalar_type());
  const SequenceGradient dy(grad_sequence);
  BiasGradient bias(of_bias, grads);
  if (recurrent::has_vectors(gates, recurrent)) {
    recurrent::run(recurrent::LstmGradients{gates, recurrent, c, dh, dc, grads, bias.get(), dy}, activations);
    return {grads, dh, dc.to(c.scalar_type()), bias.get()};
  }
  const auto of_c = at::empty_like(dc), through = at::empty_like(dc);
  PackedMatrix turned(recurrent.t(), gates.size(1), gates.size(0));
  for (int64_t t = gates.size(0) - 1; t >= 0; --t) {
    const auto d_gates = grads[t];
    if (by_rows) lstm_backward_rows({gates[t], c[t], c[t + 1], dh, dc, d_gates, dy, t}, activations);
    else lstm_backward_cell({gates[t], c[t], c[t + 1], dy.add_to(dh, t), dc, d_gates, of_c, through}, activations);
    bias.add(t);
    dh = turned.product(d_gates);
  }
  return {grads, dh, dc.to(c.scalar_type()), bias.get()};
}

// The columns z, r and candidate of gates [B, 3H], or of their gradients.
struct GruColumns {
  explicit GruColumns(const Tensor& gates, int64_t width)
      : both(gates.narrow(1, 0, 2 * width)), update(gates.narrow(1, 0, width)), reset(gates.narrow(1, width, width)),
        candidate(gates.narrow(1, 2 * width, width)) {}
  // `both` are z and r.
  Tensor both, update, reset, candidate;
};

void gru_reset_cell(const GruColumns& gate, const GruStep& step, Activations activations) {
  auto reset = step.reset;
  activate(activations.of_gates, gate.both);
  at::mul_out(reset, gate.reset, step.h);
}

void gru_state_cell(const GruColumns& gate, const GruStep& step, Activations activations) {
  auto after = step.h_after;
  activate(activations.of_state, gate.candidate);
  at::lerp_out(after, gate.candidate, step.h, gate.update);
}

// Like tfjs, it applies the reset gate to the state before the matrix product. `gates` [T, B, 3H]
// has the columns z, r, candidate, with the same meaning as in `lstm`. Returns h [T + 1, B, H] and
// r·h [T, B, H].
std::tuple<Tensor, Tensor> gru(Tensor gates, const Tensor& recurrent, const OptionalTensor& h0, std::string activation,
                               std::string gate_activation) {
  const Activations activations{activation_of(activation), activation_of(gate_activation)};
  const auto steps = gates.size(0), batch = gates.size(1), width = recurrent.size(0);
  const auto h = at::empty({steps + 1, batch, width}, gates.options());
  const auto resets = at::empty({steps, batch, width}, gates.options());
  start(h[0], h0);
  if (recurrent::has_vectors(gates, recurrent)) {
    recurrent::run(recurrent::GruSteps{gates, recurrent, h, resets, !h0}, activations);
    return {h, resets};
  }
  PackedMatrix of_gates(recurrent.narrow(1, 0, 2 * width), batch, steps);
  PackedMatrix of_candidate(recurrent.narrow(1, 2 * width, width), batch, steps);
  const bool by_rows = has_rows(gates);
  for (int64_t t = 0; t < steps; ++t) {
    const GruStep step{gates[t], h[t], resets[t], h[t + 1]};
    GruColumns gate(step.gates, width);
    of_gates.add_product(gate.both, step.h);
    if (by_rows) gru_reset_rows(step, activations);
    else gru_reset_cell(gate, step, activations);
    of_candidate.add_product(gate.candidate, step.reset);
    if (by_rows) gru_state_rows(step, activations);
    else gru_state_cell(gate, step, activations);
  }
  return {h, resets};
}

void gru_candidate_backward_cell(const GruColumns& gate, GruColumns& grad, const GruBackwardStep& step,
                                 Activations activations) {
  auto kept = step.kept;
  at::mul_out(kept, step.dh, gate.update);
  at::sub_out(grad.candidate, step.dh, kept);
  at::sub_out(grad.update, step.h, gate.candidate);
  grad.update.mul_(step.dh);
  activate_backward(activations.of_state, grad.candidate, gate.candidate);
}

void gru_reset_backward_cell(const GruColumns& gate, GruColumns& grad, const GruBackwardStep& step,
                             Activations activations) {
  at::mul_out(grad.reset, step.of_reset, step.h);
  step.kept.addcmul_(step.of_reset, gate.reset);
  activate_backward(activations.of_gates, grad.both, gate.both);
}

// Returns the gradients [T, B, 3H] of the gates before their activations, that of the initial state, and
// with `of_bias` that of the bias.
std::tuple<Tensor, Tensor, Tensor> gru_backward(const OptionalTensor& grad_sequence, const OptionalTensor& grad_h,
                                                const Tensor& gates, const Tensor& h, const Tensor& recurrent,
                                                std::string activation, std::string gate_activation, bool of_bias) {
  const Activations activations{activation_of(activation), activation_of(gate_activation)};
  const auto width = recurrent.size(0);
  const auto grads = at::empty_like(gates);
  auto dh = gradient_of_last(grad_h, h[0]);
  const SequenceGradient dy(grad_sequence);
  BiasGradient bias(of_bias, grads);
  if (recurrent::has_vectors(gates, recurrent)) {
    recurrent::run(recurrent::GruGradients{gates, recurrent, h, dh, grads, bias.get(), dy}, activations);
    return {grads, dh, bias.get()};
  }
  PackedMatrix of_gates(recurrent.narrow(1, 0, 2 * width).t(), gates.size(1), gates.size(0));
  PackedMatrix of_candidate(recurrent.narrow(1, 2 * width, width).t(), gates.size(1), gates.size(0));
  const bool by_rows = has_rows(gates);
  auto kept = at::empty_like(dh), of_reset = at::empty_like(dh);
  for (int64_t t = gates.size(0) - 1; t >= 0; --t) {
    const GruBackwardStep step{gates[t], h[t], by_rows ? dh : dy.add_to(dh, t), kept, of_reset, grads[t], dy, t};
    const GruColumns gate(step.gates, width);
    GruColumns grad(step.grads, width);
    if (by_rows) gru_candidate_backward_rows(step, activations);
    else gru_candidate_backward_cell(gate, grad, step, activations);
    of_candidate.product_to(of_reset, grad.candidate);
    if (by_rows) gru_reset_backward_rows(step, activations);
    else gru_reset_backward_cell(gate, grad, step, activations);
    bias.add(t);
    of_gates.add_product(kept, grad.both);
    std::swap(dh, kept);
  }
  return {grads, dh, bias.get()};
}

TORCH_LIBRARY(acc, library) {
  library.def("lstm(Tensor(a!) gates, Tensor recurrent, Tensor? h0, Tensor? c0, str activation, str gate_activation)"
              " -> (Tensor, Tensor)", &lstm);
  library.def("lstm_backward(Tensor? grad_sequence, Tensor? grad_h, Tensor? grad_c, Tensor gates, Tensor c, "
              "Tensor recurrent, str activation, str gate_activation, bool of_bias) -> (Tensor, Tensor, Tensor, Tensor)",
              &lstm_backward);
  library.def("gru(Tensor(a!) gates, Tensor recurrent, Tensor? h0, str activation, str gate_activation)"
              " -> (Tensor, Tensor)", &gru);
  library.def("gru_backward(Tensor? grad_sequence, Tensor? grad_h, Tensor gates, Tensor h, Tensor recurrent, "
              "str activation, str gate_activation, bool of_bias) -> (Tensor, Tensor, Tensor)", &gru_backward);
}

}  // namespace
}  // namespace acc
