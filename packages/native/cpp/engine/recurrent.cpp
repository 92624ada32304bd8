// Operators for whole recurrent layers. libtorch has such operators only with fixed activations and
// with gates that differ from tfjs's.
//
// The caller computes one matrix product of all steps' inputs before these operators, and the
// products for the weights' gradients after them. This file computes the recurrence from step to
// step: a product, and the arithmetic of the cell. It uses at:: operators, which run on any device.
// For float32 in host memory, the LSTM cell is one pass over each row. Letters in shapes: T steps,
// B batch, H width of the state.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/library.h>

#include <optional>
#include <tuple>
#include <utility>

#include "engine/activation.h"
#include "engine/packed_matrix.h"
#include "engine/row_math.h"

namespace acc {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

struct Activations {
  Activation of_state;
  Activation of_gates;
};

void start(const Tensor& state, const OptionalTensor& value) {
  if (value) state.copy_(*value);
  else state.zero_();
}

Tensor gradient_of_last(const OptionalTensor& grad, const Tensor& like) {
  return grad ? grad->clone(at::MemoryFormat::Contiguous) : at::zeros_like(like);
}

// True for float32 in host memory. Then the code on rows applies. It requires contiguous tensors.
bool has_rows(const Tensor& x) { return x.is_cpu() && x.scalar_type() == at::kFloat; }

// The number of gate elements that justifies a separate thread.
constexpr int64_t kThreadElements = 16384;

template <typename Compute>
void for_rows(int64_t batch, int64_t width, const Compute& compute) {
  const auto grain = std::max<int64_t>(1, kThreadElements / (4 * width));
  at::parallel_for(0, batch, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) compute(row);
  });
}

// A row holds the four gates one after the other: i, f, candidate, o.

ACC_EVERY_CPU void cell_row(const float* gate, const float* before, float* c, float* h, int64_t width) {
  for (int64_t j = 0; j < width; ++j) c[j] = gate[width + j] * before[j] + gate[j] * gate[2 * width + j];
  for (int64_t j = 0; j < width; ++j) h[j] = c[j];
}

ACC_EVERY_CPU void multiply_row(float* x, const float* by, int64_t width) {
  for (int64_t j = 0; j < width; ++j) x[j] *= by[j];
}

ACC_EVERY_CPU void out_backward_row(const float* dh, const float* of_c, const float* out, float* d_out, float* through,
                                    int64_t width) {
  for (int64_t j = 0; j < width; ++j) {
    d_out[j] = dh[j] * of_c[j];
    through[j] = dh[j] * out[j];
  }
}

ACC_EVERY_CPU void cell_backward_row(const float* gate, const float* before, const float* through, float* dc, float* grad,
                                     int64_t width) {
  for (int64_t j = 0; j < width; ++j) {
    const float of_cell = dc[j] + through[j];
    grad[j] = of_cell * gate[2 * width + j];
    grad[width + j] = of_cell * before[j];
    grad[2 * width + j] = of_cell * gate[j];
    dc[j] = of_cell * gate[width + j];
  }
}

void lstm_rows(const Tensor& gates, const Tensor& before, const Tensor& c, const Tensor& h, Activations activations) {
  const auto width = c.size(1);
  float* const gate = gates.mutable_data_ptr<float>();
  float* const c_out = c.mutable_data_ptr<float>();
  float* const h_out = h.mutable_data_ptr<float>();
  const float* const c_before = before.const_data_ptr<float>();
  for_rows(c.size(0), width, [&](int64_t row) {
    float* const g = gate + row * 4 * width;
    float* const hidden = h_out + row * width;
    activate(activations.of_gates, g, 2 * width);
    activate(activations.of_state, g + 2 * width, width);
    activate(activations.of_gates, g + 3 * width, width);
    cell_row(g, c_before + row * width, c_out + row * width, hidden, width);
    activate(activations.of_state, hidden, width);
    multiply_row(hidden, g + 3 * width, width);
  });
}

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
struct LstmStep {
  Tensor gates, before, c, dh, dc, grads, of_c, through;
};

void lstm_backward_rows(const LstmStep& step, Activations activations) {
  const auto width = step.c.size(1);
  const float* const gate = step.gates.const_data_ptr<float>();
  const float* const before = step.before.const_data_ptr<float>();
  const float* const c = step.c.const_data_ptr<float>();
  const float* const dh = step.dh.const_data_ptr<float>();
  float* const dc = step.dc.mutable_data_ptr<float>();
  float* const grads = step.grads.mutable_data_ptr<float>();
  float* const of_c = step.of_c.mutable_data_ptr<float>();
  float* const through = step.through.mutable_data_ptr<float>();
  for_rows(step.c.size(0), width, [&](int64_t row) {
    const auto at = row * width;
    const float* const g = gate + 4 * at;
    float* const d = grads + 4 * at;
    std::copy(c + at, c + at + width, of_c + at);
    activate(activations.of_state, of_c + at, width);
    out_backward_row(dh + at, of_c + at, g + 3 * width, d + 3 * width, through + at, width);
    activate_backward(activations.of_state, through + at, of_c + at, width);
    cell_backward_row(g, before + at, through + at, dc + at, d, width);
    activate_backward(activations.of_gates, d, g, 2 * width);
    activate_backward(activations.of_state, d + 2 * width, g + 2 * width, width);
    activate_backward(activations.of_gates, d + 3 * width, g + 3 * width, width);
  });
}

void lstm_backward_cell(LstmStep& step, Activations activations) {
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
  PackedMatrix packed(recurrent, gates.size(1), steps);
  for (int64_t t = 0; t < steps; ++t) {
    const auto step = gates[t];
    packed.add_product(step, h[t]);
    if (has_rows(gates)) lstm_rows(step, c[t], c[t + 1], h[t + 1], activations);
    else lstm_cell(step, c[t], c[t + 1], h[t + 1], activations);
  }
  return {h, c};
}

// Returns the gradients [T, B, 4H] of the gates before their activations, and the gradients of the
// initial h and c. `grad_sequence` [T, B, H] is the gradient of every step's h. `grad_h` and
// `grad_c` are the gradients of the last states.
std::tuple<Tensor, Tensor, Tensor> lstm_backward(const OptionalTensor& grad_sequence, const OptionalTensor& grad_h,
                                                 const OptionalTensor& grad_c, const Tensor& gates, const Tensor& c,
                                                 const Tensor& recurrent, std::string activation,
                                                 std::string gate_activation) {
  const Activations activations{activation_of(activation), activation_of(gate_activation)};
  const auto grads = at::empty_like(gates);
  PackedMatrix turned(recurrent.t(), gates.size(1), gates.size(0));
  auto dh = gradient_of_last(grad_h, c[0]);
  const auto dc = gradient_of_last(grad_c, c[0]);
  const auto of_c = at::empty_like(dc), through = at::empty_like(dc);
  for (int64_t t = gates.size(0) - 1; t >= 0; --t) {
    if (grad_sequence) dh.add_((*grad_sequence)[t]);
    LstmStep step{gates[t], c[t], c[t + 1], dh, dc, grads[t], of_c, through};
    if (has_rows(gates)) lstm_backward_rows(step, activations);
    else lstm_backward_cell(step, activations);
    dh = turned.product(step.grads);
  }
  return {grads, dh, dc};
}

// Like tfjs, it applies the reset gate to the state before the matrix product. `gates` [T, B, 3H]
// has the columns z, r, candidate, with the same meaning as in `lstm`. Returns h [T + 1, B, H] and
// r·h [T, B, H].
std::tuple<Tensor, Tensor> gru(Tensor gates, const Tensor& recurrent, const OptionalTensor& h0, std::string activation,
                               std::string gate_activation) {
  const Activations activations{activation_of(activation), activation_of(gate_activation)};
  const auto steps = gates.size(0), batch = gates.size(1), width = recurrent.size(0);
  PackedMatrix of_gates(recurrent.narrow(1, 0, 2 * width), batch, steps);
  PackedMatrix of_candidate(recurrent.narrow(1, 2 * width, width), batch, steps);
  const auto h = at::empty({steps + 1, batch, width}, gates.options());
  const auto resets = at::empty({steps, batch, width}, gates.options());
  start(h[0], h0);
  for (int64_t t = 0; t < steps; ++t) {
    const auto both = gates[t].narrow(1, 0, 2 * width), candidate = gates[t].narrow(1, 2 * width, width);
    const auto before = h[t];
    of_gates.add_product(both, before);
    activate(activations.of_gates, both);
    auto reset = resets[t], after = h[t + 1];
    at::mul_out(reset, both.narrow(1, width, width), before);
    of_candidate.add_product(candidate, reset);
    activate(activations.of_state, candidate);
    at::lerp_out(after, candidate, before, both.narrow(1, 0, width));
  }
  return {h, resets};
}

// Returns the gradients [T, B, 3H] of the gates before their activations, and the gradient of the
// initial state.
std::tuple<Tensor, Tensor> gru_backward(const OptionalTensor& grad_sequence, const OptionalTensor& grad_h,
                                        const Tensor& gates, const Tensor& h, const Tensor& recurrent,
                                        std::string activation, std::string gate_activation) {
  const Activations activations{activation_of(activation), activation_of(gate_activation)};
  const auto width = recurrent.size(0);
  PackedMatrix of_gates(recurrent.narrow(1, 0, 2 * width).t(), gates.size(1), gates.size(0));
  PackedMatrix of_candidate(recurrent.narrow(1, 2 * width, width).t(), gates.size(1), gates.size(0));
  const auto grads = at::empty_like(gates);
  auto dh = gradient_of_last(grad_h, h[0]);
  auto kept = at::empty_like(dh), of_reset = at::empty_like(dh);
  for (int64_t t = gates.size(0) - 1; t >= 0; --t) {
    if (grad_sequence) dh.add_((*grad_sequence)[t]);
    const auto before = h[t], gate = gates[t], grad = grads[t];
    const auto both = gate.narrow(1, 0, 2 * width), d_both = grad.narrow(1, 0, 2 * width);
    const auto candidate = gate.narrow(1, 2 * width, width);
    auto d_update = grad.narrow(1, 0, width), d_reset = grad.narrow(1, width, width);
    auto d_candidate = grad.narrow(1, 2 * width, width);
    at::mul_out(kept, dh, gate.narrow(1, 0, width));
    at::sub_out(d_candidate, dh, kept);
    at::sub_out(d_update, before, candidate);
    d_update.mul_(dh);
    activate_backward(activations.of_state, d_candidate, candidate);
    of_candidate.product_to(of_reset, d_candidate);
    at::mul_out(d_reset, of_reset, before);
    kept.addcmul_(of_reset, gate.narrow(1, width, width));
    activate_backward(activations.of_gates, d_both, both);
    of_gates.add_product(kept, d_both);
    std::swap(dh, kept);
  }
  return {grads, dh};
}

TORCH_LIBRARY(acc, library) {
  library.def("lstm(Tensor(a!) gates, Tensor recurrent, Tensor? h0, Tensor? c0, str activation, str gate_activation)"
              " -> (Tensor, Tensor)", &lstm);
  library.def("lstm_backward(Tensor? grad_sequence, Tensor? grad_h, Tensor? grad_c, Tensor gates, Tensor c, "
              "Tensor recurrent, str activation, str gate_activation) -> (Tensor, Tensor, Tensor)", &lstm_backward);
  library.def("gru(Tensor(a!) gates, Tensor recurrent, Tensor? h0, str activation, str gate_activation)"
              " -> (Tensor, Tensor)", &gru);
  library.def("gru_backward(Tensor? grad_sequence, Tensor? grad_h, Tensor gates, Tensor h, Tensor recurrent, "
              "str activation, str gate_activation) -> (Tensor, Tensor)", &gru_backward);
}

}  // namespace
}  // namespace acc
