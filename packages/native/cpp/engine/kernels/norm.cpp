// The operators acc::norm and acc::norm_backward: layer and RMS normalization of float32. For the
// gradient they keep the normalized values in 16 bits instead of x. Normalized values are of the
// order of 1 for any mean of x, so 16 bits represent them as well as they represent the result.
//
// Letters in shapes: R rows, C columns; normalization is over the columns.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include "engine/processor/bfloat16_rows.h"
#include "engine/processor/row_math.h"
#include "engine/processor/thread_elements.h"

namespace acc::norm {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;
using Bits = uint16_t;
using Results = std::tuple<Tensor, Tensor, Tensor>;

// A sum is computed in this many parts, so that the compiler vectorizes it.
constexpr int64_t kParts = 16;

template <typename Term>
ACC_INLINE float sum_of(int64_t count, const Term& term) {
  float parts[kParts] = {};
  const int64_t whole = count / kParts * kParts;
  for (int64_t first = 0; first < whole; first += kParts) {
    for (int64_t k = 0; k < kParts; ++k) parts[k] += term(first + k);
  }
  float sum = std::accumulate(parts, parts + kParts, 0.f);
  for (int64_t j = whole; j < count; ++j) sum += term(j);
  return sum;
}

struct Weights {
  const float* gain;
  const float* bias;
};

// Normalizes one row. Returns 1 / √(variance + ε), or 1 / √(mean square + ε) for RMS normalization.
ACC_EVERY_CPU float normalize_row(const float* __restrict x, int64_t count, bool is_centred, float epsilon,
                                  const Weights& weights, float* __restrict y, Bits* __restrict normalized) {
  const auto size = static_cast<float>(count);
  const float mean = is_centred ? sum_of(count, [x](int64_t j) { return x[j]; }) / size : 0.f;
  const float squares = sum_of(count, [x, mean](int64_t j) { return (x[j] - mean) * (x[j] - mean); });
  const float rstd = 1.f / std::sqrt(squares / size + epsilon);
  const float* gain = weights.gain;
  const float* bias = weights.bias;
  for (int64_t j = 0; j < count; ++j) {
    const float value = (x[j] - mean) * rstd;
    y[j] = value;
    normalized[j] = rows::bfloat16_bits(value);
  }
  if (gain) for (int64_t j = 0; j < count; ++j) y[j] *= gain[j];
  if (bias) for (int64_t j = 0; j < count; ++j) y[j] += bias[j];
  return rstd;
}

// With g = dy · gain: dx = rstd · (g − mean(g) − n · mean(g · n)). RMS normalization omits mean(g).
ACC_EVERY_CPU void gradient_of_row(const float* __restrict dy, const Bits* __restrict normalized, float rstd,
                                   int64_t count, bool is_centred, const float* __restrict gain, float* __restrict g,
                                   float* __restrict dx, float* __restrict dgain, float* __restrict dbias) {
  const auto size = static_cast<float>(count);
  for (int64_t j = 0; j < count; ++j) g[j] = gain ? dy[j] * gain[j] : dy[j];
  const float mean = is_centred ? sum_of(count, [g](int64_t j) { return g[j]; }) / size : 0.f;
  const float product =
      sum_of(count, [&](int64_t j) { return g[j] * rows::of_bfloat16_bits(normalized[j]); }) / size;
  for (int64_t j = 0; j < count; ++j) {
    const float n = rows::of_bfloat16_bits(normalized[j]);
    dx[j] = rstd * (g[j] - mean - n * product);
    dgain[j] += dy[j] * n;
  }
  for (int64_t j = 0; j < count; ++j) dbias[j] += dy[j];
}

const float* data_or_null(const OptionalTensor& x) { return x ? x->const_data_ptr<float>() : nullptr; }

OptionalTensor in_rows(const OptionalTensor& x) { return x ? std::optional(x->contiguous()) : std::nullopt; }

bool is_plain(const Tensor& x, at::ScalarType dtype) { return x.is_cpu() && x.scalar_type() == dtype && x.numel() > 0; }

// The number of elements in the last `dims` dims.
int64_t columns_of(const Tensor& x, int64_t dims) { return c10::multiply_integers(x.sizes().slice(x.dim() - dims)); }

std::vector<int64_t> rows_shape(const Tensor& x, int64_t dims) {
  auto shape = x.sizes().vec();
  std::fill(shape.end() - dims, shape.end(), 1);
  return shape;
}

Results forward_in_rows(const Tensor& given, int64_t dims, const OptionalTensor& gain, const OptionalTensor& bias,
                        bool is_centred, double epsilon) {
  const auto x = given.contiguous();
  const int64_t columns = columns_of(x, dims), rows = x.numel() / columns;
  auto y = at::empty(x.sizes(), x.options());
  auto normalized = at::empty(x.sizes(), x.options().dtype(at::kBFloat16));
  auto rstd = at::empty(rows_shape(x, dims), x.options());
  const auto gains = in_rows(gain), biases = in_rows(bias);
  const Weights weights{data_or_null(gains), data_or_null(biases)};
  const auto* from = x.const_data_ptr<float>();
  auto* to = y.mutable_data_ptr<float>();
  auto* kept = static_cast<Bits*>(normalized.mutable_data_ptr());
  auto* factors = rstd.mutable_data_ptr<float>();
  at::parallel_for(0, rows, std::max<int64_t>(1, kThreadElements / columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t start = row * columns;
      factors[row] = normalize_row(from + start, columns, is_centred, static_cast<float>(epsilon), weights, to + start,
                                   kept + start);
    }
  });
  return {y, normalized, rstd};
}

Results forward(const Tensor& x, int64_t dims, const OptionalTensor& gain, const OptionalTensor& bias, bool is_centred,
                double epsilon, at::ScalarType kept) {
  if (is_plain(x, at::kFloat) && kept == at::kBFloat16) {
    return forward_in_rows(x, dims, gain, bias, is_centred, epsilon);
  }
  std::vector<int64_t> axes(static_cast<size_t>(dims));
  std::iota(axes.begin(), axes.end(), -dims);
  const auto centred = is_centred ? x - x.mean(axes, true) : x;
  const auto rstd = (centred.square().mean(axes, true) + epsilon).rsqrt();
  const auto normalized = centred * rstd;
  auto y = gain ? normalized * *gain : normalized;
  if (bias) y = y + *bias;
  return {y, normalized.to(kept), rstd};
}

// Each part of the rows has its own sums. They are added in the order of the parts.
Results backward_in_rows(const Tensor& given, const Tensor& normalized, const Tensor& rstd, int64_t dims,
                         const OptionalTensor& gain, bool is_centred) {
  const auto dy = given.contiguous();
  const int64_t columns = columns_of(dy, dims), rows = dy.numel() / columns;
  const auto wide = dy.options().dtype(at::kFloat);
  auto dx = at::empty(dy.sizes(), wide);
  const int64_t parts = std::clamp<int64_t>(rows * columns / kThreadElements, 1, at::get_num_threads());
  auto sums = at::zeros({2, parts, columns}, wide);
  const auto gains = in_rows(gain);
  const auto* gain_data = data_or_null(gains);
  const bool is_short = dy.scalar_type() == at::kBFloat16;
  const auto* short_dy = is_short ? static_cast<const Bits*>(dy.const_data_ptr()) : nullptr;
  const auto* wide_dy = is_short ? nullptr : dy.const_data_ptr<float>();
  const auto* kept = static_cast<const Bits*>(normalized.const_data_ptr());
  const auto* factors = rstd.const_data_ptr<float>();
  auto* to = dx.mutable_data_ptr<float>();
  auto* of_gain = sums.mutable_data_ptr<float>();
  auto* of_bias = of_gain + parts * columns;
  at::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> g(static_cast<size_t>(columns)), widened(static_cast<size_t>(is_short ? columns : 0));
    for (int64_t part = begin; part < end; ++part) {
      for (int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) {
        const int64_t start = row * columns;
        if (is_short) rows::widen(short_dy + start, widened.data(), columns);
        gradient_of_row(is_short ? widened.data() : wide_dy + start, kept + start, factors[row], columns, is_centred,
                        gain_data, g.data(), to + start, of_gain + part * columns, of_bias + part * columns);
      }
    }
  });
  const auto shape = dy.sizes().slice(dy.dim() - dims);
  const auto totals = parts == 1 ? sums.select(1, 0) : sums.sum(1);
  return {dx, totals[0].reshape(shape), totals[1].reshape(shape)};
}

// Returns dx and the gradients of gain and bias, all in float32.
Results backward(const Tensor& dy, const Tensor& normalized, const Tensor& rstd, int64_t dims,
                 const OptionalTensor& gain, bool is_centred) {
  const bool has_dy = dy.scalar_type() == at::kFloat || dy.scalar_type() == at::kBFloat16;
  if (is_plain(normalized, at::kBFloat16) && has_dy) {
    return backward_in_rows(dy, normalized, rstd, dims, gain, is_centred);
  }
  std::vector<int64_t> axes(static_cast<size_t>(dims)), others(static_cast<size_t>(dy.dim() - dims));
  std::iota(axes.begin(), axes.end(), -dims);
  std::iota(others.begin(), others.end(), 0);
  const auto n = normalized.to(at::kFloat), wide_dy = dy.to(at::kFloat);
  const auto g = gain ? wide_dy * *gain : wide_dy;
  auto dx = g - n * (g * n).mean(axes, true);
  if (is_centred) dx = dx - g.mean(axes, true);
  const auto over_rows = [&](const Tensor& x) { return others.empty() ? x.clone() : x.sum(others); };
  return {dx * rstd, over_rows(wide_dy * n), over_rows(wide_dy)};
}

}  // namespace
}  // namespace acc::norm

TORCH_LIBRARY_FRAGMENT(acc, library) {
  library.def("norm(Tensor x, int dims, Tensor? gain, Tensor? bias, bool is_centred, float epsilon, ScalarType kept)"
              " -> (Tensor, Tensor, Tensor)", acc::norm::forward);
  library.def("norm_backward(Tensor dy, Tensor normalized, Tensor rstd, int dims, Tensor? gain, bool is_centred)"
              " -> (Tensor, Tensor, Tensor)", acc::norm::backward);
}
