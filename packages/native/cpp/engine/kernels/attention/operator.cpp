// The operators acc::attention, acc::attention_where and their gradients, for tensors in host memory
// of any layout. On vectors of AVX-512 all are in attention/vectors.h. On matrix units the first is
// libtorch's, and the gradient in bfloat16 is in attention/matrix_units.h: libtorch's own multiplies
// number by number. All else is libtorch's, except for masks with shifts, which it does not know:
// those are in attention/all_scores.h.
//
// No other way keeps the scores, so memory grows linearly with the length, not with its square.
// Scores, weights and all sums are float32. Letters in shapes: T queries, S keys, D width of a head.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/native/CPUBlas.h>
#include <torch/library.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "engine/kernels/attention/all_scores.h"
#include "engine/kernels/attention/call.h"
#include "engine/kernels/attention/mask_shifts.h"
#include "engine/kernels/attention/matrix_units.h"
#include "engine/kernels/attention/vectors.h"
#include "engine/kernels/product/widened.h"

namespace acc::attention {
namespace {

using at::Tensor;

using Gradients = std::tuple<Tensor, Tensor, Tensor>;

Tensor with_rows(const Tensor& x) { return x.stride(3) == 1 ? x : x.contiguous(); }

// An empty tensor with the shape of x. In memory it is `[batch, length, heads, D]`, the layout that
// the operators before attention produce.
Tensor gradient_like(const Tensor& x) {
  return at::empty({x.size(0), x.size(2), x.size(1), x.size(3)}, x.options()).transpose(1, 2);
}

void on_matrix_units(const Call& call) {
  const int64_t heads = call.q.size(1);
  at::parallel_for(0, call.q.size(0) * heads, 1, [&](int64_t begin, int64_t end) {
    matrix_units::Head state(call.q.size(2), call.k.size(2), call.q.size(3));
    for (int64_t i = begin; i < end; ++i) state.compute(call, i / heads, i % heads);
    at::native::cpublas::brgemm_release();
  });
}

bool fits_matrix_units(const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& mask) {
  return q.is_cpu() && q.scalar_type() == at::kBFloat16 && at::native::cpublas::could_pack(at::kBFloat16) && !mask &&
         k.size(1) == q.size(1) && v.size(3) == q.size(3) && q.size(3) % matrix_units::kColumns == 0 && q.numel() > 0 &&
         k.numel() > 0;
}

// `[length, D]` of each head as `[batch, heads, length, D]`. Lists of heads have 3 dims.
Tensor with_batch(const Tensor& x) {
  const auto four = x.dim() == 3 ? x.unsqueeze(0) : x;
  TORCH_CHECK(four.dim() == 4, "attention takes [batch, heads, length, D] or [heads, length, D], but got ", x.sizes());
  return with_rows(four);
}

std::optional<Tensor> with_all_dims(const std::optional<Tensor>& mask) {
  if (!mask) return mask;
  auto all = *mask;
  while (all.dim() < 4) all = all.unsqueeze(0);
  return all;
}

Tensor like(const Tensor& result, const Tensor& x) { return x.dim() == 3 ? result.squeeze(0) : result; }

// The shifts are left out for a part of the keys.
Inputs with_shifts(Inputs inputs, bool is_part) {
  if (!is_part) inputs.shifts = shifts_of(inputs);
  return inputs;
}

// softmax(scale · q·kᵀ + mask) · v, and the logarithms of the sums of exponentials. q, k and v have
// one dtype. The mask is broadcast to `[batch, heads, queries, keys]`; it is float32 or has the same
// dtype. The logarithms are of scores less mask_shifts.h. Of a part of the keys they are of whole
// scores, so that those of all parts can be combined.
std::tuple<Tensor, Tensor> attention(const Tensor& given_q, const Tensor& given_k, const Tensor& given_v, bool is_causal,
                                     const std::optional<Tensor>& given_mask, double scale, bool is_part) {
  const auto q = with_batch(given_q), k = with_batch(given_k), v = with_batch(given_v);
  const auto mask = with_all_dims(given_mask);
  const auto inputs = with_shifts({q, k, v, mask, std::nullopt, is_causal, static_cast<float>(scale)}, is_part);
  if (!vectors::fits(q, k, v, mask)) {
    if (inputs.shifts) {
      auto [output, sums] = all_scores::forward(inputs);
      return {like(output, given_q), sums};
    }
    const auto wide_mask = mask ? std::optional(widened(*mask)) : std::nullopt;
    auto [output, sums] = at::_scaled_dot_product_flash_attention_for_cpu(widened(q), widened(k), widened(v), 0,
                                                                          is_causal, wide_mask, scale);
    return {like(output.to(q.scalar_type()), given_q), sums};
  }
  auto output = at::empty_like(q);
  if (output.stride(3) != 1) output = at::empty(q.sizes(), q.options());
  auto sums = at::empty({q.size(0), q.size(1), q.size(2)}, q.options().dtype(at::kFloat));
  vectors::forward(inputs, output, sums);
  return {like(output, given_q), sums};
}

Gradients wide_backward(const Tensor& dy, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& output,
                        const Tensor& sums, bool is_causal, const std::optional<Tensor>& mask, double scale) {
  // Computes in float32 also for 16-bit tensors, because libtorch takes more than twice as long on
  // those.
  const auto wide = [](const Tensor& x) { return x.to(at::kFloat); };
  const auto wide_mask = mask ? std::optional(wide(*mask)) : std::nullopt;
  auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      wide(dy), wide(q), wide(k), wide(v), wide(output), sums, 0, is_causal, wide_mask, scale);
  const auto dtype = q.scalar_type();
  return {dq.to(dtype), dk.to(dtype), dv.to(dtype)};
}

// `sums` are those of the forward pass. All tensors but `sums` and the mask have one dtype.
Gradients attention_backward(const Tensor& given_dy, const Tensor& given_q, const Tensor& given_k,
                             const Tensor& given_v, const Tensor& given_output, const Tensor& sums, bool is_causal,
                             const std::optional<Tensor>& given_mask, double scale, bool is_part) {
  const auto dy = with_batch(given_dy), q = with_batch(given_q), k = with_batch(given_k), v = with_batch(given_v);
  const auto output = with_batch(given_output);
  const auto mask = with_all_dims(given_mask);
  const auto inputs = with_shifts({q, k, v, mask, std::nullopt, is_causal, static_cast<float>(scale)}, is_part);
  const bool fits_vectors = vectors::fits(q, k, v, mask);
  if (!fits_vectors && !fits_matrix_units(q, k, v, mask)) {
    auto [dq, dk, dv] = inputs.shifts ? all_scores::backward(dy, inputs)
                                      : wide_backward(dy, q, k, v, output, sums, is_causal, mask, scale);
    return {like(dq, given_q), like(dk, given_k), like(dv, given_v)};
  }
  const Call call{inputs,
                  dy,
                  output,
                  sums.contiguous(),
                  gradient_like(q),
                  gradient_like(k),
                  gradient_like(v)};
  if (fits_vectors) vectors::backward(call);
  else on_matrix_units(call);
  return {like(call.dq, given_q), like(call.dk, given_k), like(call.dv, given_v)};
}

// A number that leaves nothing of a score's weight beside others.
constexpr float kHidden = -1e9f;

// The mask of a condition, and what each query is multiplied by, if some see no key.
struct Hiding {
  Tensor mask;
  std::optional<Tensor> factors;
};

// `hidden` takes the place of the scores where queries do not see keys. A query that sees no key has
// equal weights, or NaN if `hidden` is -infinity, and its scores have no gradient: where() stops it.
// The factor 0 or NaN does the same.
Hiding hiding_of(const Tensor& condition, bool is_seen, double hidden, const Tensor& q) {
  const auto truth = condition.to(at::kBool);
  const auto seen = is_seen ? truth : truth.logical_not();
  const auto floats = q.options().dtype(at::kFloat);
  const auto sees = seen.any(-1, true);
  // Where a query sees no key, the factor decides.
  const auto mask = at::where(seen.logical_or(sees.logical_not()), at::zeros({}, floats), at::full({}, kHidden, floats));
  if (sees.all().item<bool>()) return {mask, std::nullopt};
  const auto blind = at::full({}, std::isfinite(hidden) ? 0.f : std::nanf(""), q.options());
  return {mask, at::where(sees, at::ones({}, q.options()), blind)};
}

// softmax(where(condition, scale · q·kᵀ, hidden)) · v, or with `is_seen` false where the condition is
// false. The condition is broadcast to the scores.
std::tuple<Tensor, Tensor> attention_where(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& condition,
                                           bool is_seen, double hidden, double scale) {
  const auto [mask, factors] = hiding_of(condition, is_seen, hidden, q);
  return attention(factors ? q * *factors : q, k, v, false, mask, scale, false);
}

Gradients attention_where_backward(const Tensor& dy, const Tensor& q, const Tensor& k, const Tensor& v,
                                   const Tensor& output, const Tensor& sums, const Tensor& condition, bool is_seen,
                                   double hidden, double scale) {
  const auto [mask, factors] = hiding_of(condition, is_seen, hidden, q);
  auto [dq, dk, dv] = attention_backward(dy, factors ? q * *factors : q, k, v, output, sums, false, mask, scale,
                                         false);
  return {factors ? dq * *factors : dq, dk, dv};
}

}  // namespace
}  // namespace acc::attention

TORCH_LIBRARY_FRAGMENT(acc, library) {
  // Whether attention takes less time than its products, on matrix units or by attention/vectors.h.
  library.def("has_fast_attention(ScalarType dtype, int width) -> bool", [](at::ScalarType dtype, int64_t width) {
    return at::native::cpublas::could_pack(dtype) || acc::attention::vectors::has_kernels(dtype, width);
  });
  library.def("attention(Tensor q, Tensor k, Tensor v, bool is_causal, Tensor? mask, float scale, "
              "bool is_part=False) -> (Tensor, Tensor)",
              acc::attention::attention);
  library.def("attention_backward(Tensor dy, Tensor q, Tensor k, Tensor v, Tensor output, Tensor sums, bool is_causal, "
              "Tensor? mask, float scale, bool is_part=False) -> (Tensor, Tensor, Tensor)",
              acc::attention::attention_backward);
  library.def("attention_where(Tensor q, Tensor k, Tensor v, Tensor condition, bool is_seen, float hidden, float scale) "
              "-> (Tensor, Tensor)",
              acc::attention::attention_where);
  library.def("attention_where_backward(Tensor dy, Tensor q, Tensor k, Tensor v, Tensor output, Tensor sums, "
              "Tensor condition, bool is_seen, float hidden, float scale) -> (Tensor, Tensor, Tensor)",
              acc::attention::attention_where_backward);
}
