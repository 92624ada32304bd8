#include "engine/kernels/recurrent/cell_rows.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

#include "engine/processor/bfloat16_rows.h"
#include "engine/processor/row_math.h"

namespace acc {
namespace {

using at::Tensor;
using c10::BFloat16;

// The number of gate elements that justifies a separate thread.
constexpr int64_t kGateThreadElements = 16384;

using rows::edit_row, rows::place_row, rows::read_row, rows::write_row;

template <typename T>
T* memory_of(const Tensor& x) {
  return x.mutable_data_ptr<T>();
}

// Scratch memory in rows of the state's width. A thread keeps it for the next step.
class Scratch {
 public:
  Scratch(int64_t rows, int64_t width) : width_(width) {
    static thread_local std::vector<float> memory;
    if (memory.size() < static_cast<size_t>(rows * width)) memory.resize(rows * width);
    memory_ = memory.data();
  }
  float* row(int64_t index) { return memory_ + index * width_; }

 private:
  int64_t width_;
  float* memory_;
};

// Calls compute(row, scratch) for each row, with `scratch_rows` rows of scratch memory.
template <typename Compute>
void for_rows(const Tensor& state, int64_t scratch_rows, const Compute& compute) {
  const auto width = state.size(1);
  const auto grain = std::max<int64_t>(1, kGateThreadElements / std::max<int64_t>(1, 4 * width));
  at::parallel_for(0, state.size(0), grain, [&](int64_t begin, int64_t end) {
    Scratch scratch(scratch_rows, width);
    for (int64_t row = begin; row < end; ++row) compute(row, scratch);
  });
}

// Calls compute with a null pointer of the dtype's type.
template <typename Compute>
void for_dtype(const Tensor& x, const Compute& compute) {
  if (x.scalar_type() == at::kFloat) compute(static_cast<float*>(nullptr));
  else compute(static_cast<BFloat16*>(nullptr));
}

ACC_EVERY_CPU void add_row(const float* x, const float* y, float* out, int64_t width) {
  ACC_INDEPENDENT
  for (int64_t j = 0; j < width; ++j) out[j] = x[j] + y[j];
}

ACC_EVERY_CPU void multiply_row(const float* x, const float* y, float* out, int64_t width) {
  ACC_INDEPENDENT
  for (int64_t j = 0; j < width; ++j) out[j] = x[j] * y[j];
}

// Adds the columns from `begin` to `end` of all rows. The sum of each step is added to that of the
// others, which adds fewer numbers of the same size to a large one than a single sum would.
template <typename T>
void add_columns(const T* grads, int64_t rows, int64_t width, float* sum, int64_t begin, int64_t end) {
  const auto count = end - begin;
  Scratch scratch(2, count);
  float* const total = scratch.row(0);
  std::fill(total, total + count, 0.f);
  for (int64_t row = 0; row < rows; ++row) {
    add_row(total, read_row(grads + row * width + begin, scratch.row(1), count), total, count);
  }
  add_row(sum + begin, total, sum + begin, count);
}

// The gradient of the state after a step: `dh` and that of the sequence.
template <typename T>
const float* with_sequence(const T* dh, const void* dy, float* sum, float* scratch, int64_t width) {
  const float* const own = read_row(dh, sum, width);
  if (dy == nullptr) return own;
  add_row(own, read_row(static_cast<const T*>(dy), scratch, width), sum, width);
  return sum;
}

// A row of an LSTM has the four gates one after the other: i, f, candidate, o.

// Also writes c to `h`, where the activation follows.
ACC_EVERY_CPU void lstm_state_row(const float* gate, const float* before, float* c, float* h, int64_t width) {
  ACC_INDEPENDENT
  for (int64_t j = 0; j < width; ++j) {
    const float state = gate[width + j] * before[j] + gate[j] * gate[2 * width + j];
    c[j] = state;
    h[j] = state;
  }
}

// `of_c` is the activation of c. `through` is the gradient of that.
ACC_EVERY_CPU void lstm_out_backward_row(const float* dh, const float* of_c, const float* out, float* d_out, float* through,
                                         int64_t width) {
  ACC_INDEPENDENT
  for (int64_t j = 0; j < width; ++j) {
    d_out[j] = dh[j] * of_c[j];
    through[j] = dh[j] * out[j];
  }
}

ACC_EVERY_CPU void lstm_state_backward_row(const float* gate, const float* before, const float* through, float* dc, float* grad,
                                           int64_t width) {
  ACC_INDEPENDENT
  for (int64_t j = 0; j < width; ++j) {
    const float of_cell = dc[j] + through[j];
    grad[j] = of_cell * gate[2 * width + j];
    grad[width + j] = of_cell * before[j];
    grad[2 * width + j] = of_cell * gate[j];
    dc[j] = of_cell * gate[width + j];
  }
}

// In libtorch's form of a linear interpolation (lerp), which is exact at both ends.
ACC_EVERY_CPU void gru_state_row(const float* update, const float* candidate, const float* before, float* h, int64_t width) {
  ACC_INDEPENDENT
  for (int64_t j = 0; j < width; ++j) {
    const float weight = update[j], change = before[j] - candidate[j];
    h[j] = weight < 0.5f ? candidate[j] + weight * change : before[j] + (weight - 1.f) * change;
  }
}

struct GruGradients {
  float *kept, *update, *candidate;
};

ACC_EVERY_CPU void gru_state_backward_row(const float* dh, const float* gate, const float* before, GruGradients grad,
                                          int64_t width) {
  ACC_INDEPENDENT
  for (int64_t j = 0; j < width; ++j) {
    const float kept = dh[j] * gate[j];
    grad.kept[j] = kept;
    grad.candidate[j] = dh[j] - kept;
    grad.update[j] = (before[j] - gate[2 * width + j]) * dh[j];
  }
}

ACC_EVERY_CPU void gru_reset_backward_row(const float* of_reset, const float* reset, const float* before, float* d_reset,
                                          float* kept, int64_t width) {
  ACC_INDEPENDENT
  for (int64_t j = 0; j < width; ++j) {
    d_reset[j] = of_reset[j] * before[j];
    kept[j] += of_reset[j] * reset[j];
  }
}

}  // namespace

bool has_rows(const Tensor& x) {
  return x.is_cpu() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

SequenceGradient::SequenceGradient(const std::optional<Tensor>& grad) {
  if (grad) grad_ = grad->size(2) < 2 || grad->stride(2) == 1 ? *grad : grad->contiguous();
}

Tensor SequenceGradient::add_to(Tensor dh, int64_t t) const {
  return grad_.defined() ? dh.add_(grad_[t]) : dh;
}

const void* SequenceGradient::row(int64_t t, int64_t row) const {
  if (!grad_.defined()) return nullptr;
  const auto at = t * grad_.stride(0) + row * grad_.stride(1);
  return static_cast<const char*>(grad_.const_data_ptr()) + at * static_cast<int64_t>(grad_.element_size());
}

void lstm_rows(const LstmStep& step, Activations activations) {
  for_dtype(step.gates, [&]<typename T>(T*) {
    const auto width = step.c.size(1);
    T* const gates = memory_of<T>(step.gates);
    T* const after = memory_of<T>(step.c_after);
    T* const states = memory_of<T>(step.h_after);
    const T* const before = step.c.const_data_ptr<T>();
    for_rows(step.c, 7, [&](int64_t row, Scratch& scratch) {
      const auto at = row * width;
      float* const gate = edit_row(gates + 4 * at, scratch.row(0), 4 * width);
      float* const c = place_row(after + at, scratch.row(4));
      float* const h = place_row(states + at, scratch.row(5));
      activate(activations.of_gates, gate, 2 * width);
      activate(activations.of_state, gate + 2 * width, width);
      activate(activations.of_gates, gate + 3 * width, width);
      lstm_state_row(gate, read_row(before + at, scratch.row(6), width), c, h, width);
      activate(activations.of_state, h, width);
      multiply_row(h, gate + 3 * width, h, width);
      write_row(gate, gates + 4 * at, 4 * width);
      write_row(c, after + at, width);
      write_row(h, states + at, width);
    });
  });
}

void lstm_backward_rows(const LstmBackwardStep& step, Activations activations) {
  for_dtype(step.gates, [&]<typename T>(T*) {
    const auto width = step.c.size(1);
    const T* const gates = step.gates.const_data_ptr<T>();
    const T* const before = step.c.const_data_ptr<T>();
    const T* const after = step.c_after.const_data_ptr<T>();
    const T* const dh = step.dh.const_data_ptr<T>();
    float* const dc = memory_of<float>(step.dc);
    T* const grads = memory_of<T>(step.grads);
    for_rows(step.c, 13, [&](int64_t row, Scratch& scratch) {
      const auto at = row * width;
      const float* const gate = read_row(gates + 4 * at, scratch.row(0), 4 * width);
      float* const grad = place_row(grads + 4 * at, scratch.row(4));
      float *const of_c = scratch.row(8), *const through = scratch.row(9);
      const float* const dy = with_sequence(dh + at, step.dy.row(step.t, row), scratch.row(10), scratch.row(11), width);
      const float* const c = read_row(after + at, of_c, width);
      if (c != of_c) std::copy(c, c + width, of_c);
      activate(activations.of_state, of_c, width);
      lstm_out_backward_row(dy, of_c, gate + 3 * width, grad + 3 * width, through, width);
      activate_backward(activations.of_state, through, of_c, width);
      lstm_state_backward_row(gate, read_row(before + at, scratch.row(12), width), through, dc + at, grad, width);
      activate_backward(activations.of_gates, grad, gate, 2 * width);
      activate_backward(activations.of_state, grad + 2 * width, gate + 2 * width, width);
      activate_backward(activations.of_gates, grad + 3 * width, gate + 3 * width, width);
      write_row(grad, grads + 4 * at, 4 * width);
    });
  });
}

void add_rows_to(const Tensor& sum, const Tensor& grads) {
  for_dtype(grads, [&]<typename T>(T*) {
    const auto rows = grads.size(0), width = grads.size(1);
    const T* const from = grads.const_data_ptr<T>();
    float* const to = memory_of<float>(sum);
    at::parallel_for(0, width, std::max<int64_t>(1, kGateThreadElements / std::max<int64_t>(1, rows)),
                     [&](int64_t begin, int64_t end) { add_columns(from, rows, width, to, begin, end); });
  });
}

void gru_reset_rows(const GruStep& step, Activations activations) {
  for_dtype(step.gates, [&]<typename T>(T*) {
    const auto width = step.h.size(1);
    T* const gates = memory_of<T>(step.gates);
    T* const resets = memory_of<T>(step.reset);
    const T* const before = step.h.const_data_ptr<T>();
    for_rows(step.h, 4, [&](int64_t row, Scratch& scratch) {
      const auto at = row * width;
      float* const gate = edit_row(gates + 3 * at, scratch.row(0), 2 * width);
      float* const reset = place_row(resets + at, scratch.row(2));
      activate(activations.of_gates, gate, 2 * width);
      multiply_row(gate + width, read_row(before + at, scratch.row(3), width), reset, width);
      write_row(gate, gates + 3 * at, 2 * width);
      write_row(reset, resets + at, width);
    });
  });
}

void gru_state_rows(const GruStep& step, Activations activations) {
  for_dtype(step.gates, [&]<typename T>(T*) {
    const auto width = step.h.size(1);
    T* const gates = memory_of<T>(step.gates);
    T* const states = memory_of<T>(step.h_after);
    const T* const before = step.h.const_data_ptr<T>();
    for_rows(step.h, 4, [&](int64_t row, Scratch& scratch) {
      const auto at = row * width;
      T* const candidates = gates + 3 * at + 2 * width;
      float* const candidate = edit_row(candidates, scratch.row(0), width);
      float* const h = place_row(states + at, scratch.row(1));
      activate(activations.of_state, candidate, width);
      gru_state_row(read_row(gates + 3 * at, scratch.row(2), width), candidate, read_row(before + at, scratch.row(3), width), h, width);
      write_row(candidate, candidates, width);
      write_row(h, states + at, width);
    });
  });
}

void gru_candidate_backward_rows(const GruBackwardStep& step, Activations activations) {
  for_dtype(step.gates, [&]<typename T>(T*) {
    const auto width = step.h.size(1);
    const T* const gates = step.gates.const_data_ptr<T>();
    const T* const before = step.h.const_data_ptr<T>();
    const T* const dh = step.dh.const_data_ptr<T>();
    T* const grads = memory_of<T>(step.grads);
    T* const kept_rows = memory_of<T>(step.kept);
    for_rows(step.h, 10, [&](int64_t row, Scratch& scratch) {
      const auto at = row * width;
      const float* const gate = read_row(gates + 3 * at, scratch.row(0), 3 * width);
      T *const d_update = grads + 3 * at, *const d_candidate = d_update + 2 * width;
      const GruGradients grad{place_row(kept_rows + at, scratch.row(3)), place_row(d_update, scratch.row(4)),
                              place_row(d_candidate, scratch.row(5))};
      const float* const dy = with_sequence(dh + at, step.dy.row(step.t, row), scratch.row(6), scratch.row(7), width);
      gru_state_backward_row(dy, gate, read_row(before + at, scratch.row(8), width), grad, width);
      activate_backward(activations.of_gates, grad.update, gate, width);
      activate_backward(activations.of_state, grad.candidate, gate + 2 * width, width);
      write_row(grad.kept, kept_rows + at, width);
      write_row(grad.update, d_update, width);
      write_row(grad.candidate, d_candidate, width);
    });
  });
}

void gru_reset_backward_rows(const GruBackwardStep& step, Activations activations) {
  for_dtype(step.gates, [&]<typename T>(T*) {
    const auto width = step.h.size(1);
    const T* const gates = step.gates.const_data_ptr<T>();
    const T* const before = step.h.const_data_ptr<T>();
    const T* const of_resets = step.of_reset.const_data_ptr<T>();
    T* const grads = memory_of<T>(step.grads);
    T* const kept_rows = memory_of<T>(step.kept);
    for_rows(step.h, 5, [&](int64_t row, Scratch& scratch) {
      const auto at = row * width;
      const float* const reset = read_row(gates + 3 * at + width, scratch.row(0), width);
      float* const d_reset = place_row(grads + 3 * at + width, scratch.row(1));
      float* const kept = edit_row(kept_rows + at, scratch.row(2), width);
      gru_reset_backward_row(read_row(of_resets + at, scratch.row(3), width), reset, read_row(before + at, scratch.row(4), width),
                             d_reset, kept, width);
      activate_backward(activations.of_gates, d_reset, reset, width);
      write_row(d_reset, grads + 3 * at + width, width);
      write_row(kept, kept_rows + at, width);
    });
  });
}

}  // namespace acc
