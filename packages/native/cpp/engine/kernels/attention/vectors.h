#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/native/CPUBlas.h>

#include "engine/kernels/attention/call.h"
#include "engine/kernels/attention/vector_backward.h"

// Attention by vector_forward.h and vector_backward.h, of tensors.
namespace acc::attention::vectors {

#ifdef ACC_HAS_AVX512

inline bool has_kernels(at::ScalarType dtype) {
  if (dtype == at::kFloat) return avx512::is_supported();
  // Matrix units are faster.
  return dtype == at::kBFloat16 && avx512::has_bfloat16() && !at::native::cpublas::could_pack(dtype);
}

template <class Number>
Rows<Number> rows_of(const at::Tensor& x, int64_t batch, int64_t head) {
  auto* data = static_cast<Number*>(const_cast<void*>(x.const_data_ptr()));
  return {data + batch * x.stride(0) + head * x.stride(1), x.size(2), x.stride(2)};
}

// The mask with all dims of the scores, and contiguous keys or one number for all. No mask is
// undefined.
inline at::Tensor expanded_mask(const Inputs& inputs, bool is_float32) {
  if (!inputs.mask) return {};
  const auto& q = inputs.q;
  const auto mask = is_float32 ? inputs.mask->to(at::kFloat) : *inputs.mask;
  const bool is_ready = mask.size(3) == 1 || mask.stride(3) <= 1;
  return (is_ready ? mask : mask.contiguous()).expand({q.size(0), q.size(1), q.size(2), inputs.k.size(2)});
}

// The shifts of all queries. None are undefined.
inline at::Tensor expanded_shifts(const Inputs& inputs) {
  const auto& q = inputs.q;
  return inputs.shifts ? inputs.shifts->expand({q.size(0), q.size(1), q.size(2), 1}) : at::Tensor();
}

struct Masks {
  at::Tensor mask, shifts;

  Mask of(int64_t batch, int64_t head) const {
    if (!mask.defined()) return {};
    const auto* data = static_cast<const char*>(mask.const_data_ptr());
    const int64_t at = batch * mask.stride(0) + head * mask.stride(1);
    Mask found{data + at * mask.element_size(), mask.scalar_type() == at::kFloat, mask.stride(2), mask.stride(3)};
    if (!shifts.defined()) return found;
    found.shifts = shifts.const_data_ptr<float>() + batch * shifts.stride(0) + head * shifts.stride(1);
    found.shift_stride = shifts.stride(2);
    return found;
  }
};

template <class Type>
void forward_of(const Inputs& inputs, const at::Tensor& output, const at::Tensor& sums) {
  using Number = typename Type::Number;
  const auto& q = inputs.q;
  const Masks masks{expanded_mask(inputs, false), expanded_shifts(inputs)};
  const int64_t heads = q.size(1), group = heads / inputs.k.size(1), queries = q.size(2);
  const int64_t parts = (queries + kQueries - 1) / kQueries;
  float* of_sums = sums.mutable_data_ptr<float>();
  at::parallel_for(0, q.size(0) * heads * parts, 1, [&](int64_t begin, int64_t end) {
    Forward<Type> state(queries, inputs.k.size(2), q.size(3));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = i / parts / heads, head = i / parts % heads;
      const int64_t key_head = head / group;
      state.compute({rows_of<const Number>(q, batch, head), rows_of<const Number>(inputs.k, batch, key_head),
                     rows_of<const Number>(inputs.v, batch, key_head), rows_of<Number>(output, batch, head),
                     of_sums + i / parts * queries, masks.of(batch, head), inputs.is_causal, inputs.scale},
                    i % parts * kQueries);
    }
  });
}

template <class Type>
void backward_of(const Call& call) {
  using Number = typename Type::Number;
  const int64_t heads = call.q.size(1), key_heads = call.k.size(1), group = heads / key_heads;
  const Masks masks{expanded_mask(call, true), expanded_shifts(call)};
  const float* sums = call.sums.const_data_ptr<float>();
  at::parallel_for(0, call.q.size(0) * key_heads, 1, [&](int64_t begin, int64_t end) {
    Backward<Type> state(call.q.size(2), call.k.size(2), call.q.size(3));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = i / key_heads, key_head = i % key_heads;
      for (int64_t g = 0; g < group; ++g) {
        const int64_t head = key_head * group + g;
        const BackwardHead<Type> work{
            rows_of<const Number>(call.dy, batch, head), rows_of<const Number>(call.q, batch, head),
            rows_of<const Number>(call.k, batch, key_head), rows_of<const Number>(call.v, batch, key_head),
            rows_of<const Number>(call.output, batch, head), sums + (batch * heads + head) * call.q.size(2),
            rows_of<Number>(call.dq, batch, head), rows_of<Number>(call.dk, batch, key_head),
            rows_of<Number>(call.dv, batch, key_head), masks.of(batch, head), call.is_causal, call.scale};
        if (g == 0) state.begin(work);
        state.add(work);
        if (g == group - 1) state.finish(work);
      }
    }
  });
}

inline bool has_kernels(at::ScalarType dtype, int64_t width) { return has_kernels(dtype) && width % kLanes == 0; }

// Left to libtorch: widths that are no multiple of a vector, and in float32 fewer queries than a tile has,
// where it is faster to multiply k and v as they are.
inline bool fits(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const std::optional<at::Tensor>& mask) {
  const auto dtype = q.scalar_type();
  const auto is_mask = [&] { return mask->scalar_type() == at::kFloat || mask->scalar_type() == dtype; };
  return q.is_cpu() && has_kernels(dtype, q.size(3)) && k.scalar_type() == dtype && v.scalar_type() == dtype &&
         v.size(3) == q.size(3) && q.numel() > 0 && k.numel() > 0 && q.size(1) % k.size(1) == 0 &&
         (dtype == at::kBFloat16 || q.size(2) >= kRows) && (!mask || is_mask());
}

inline void forward(const Inputs& inputs, const at::Tensor& output, const at::Tensor& sums) {
  if (inputs.q.scalar_type() == at::kFloat) forward_of<Float32>(inputs, output, sums);
  else forward_of<BFloat16>(inputs, output, sums);
}

inline void backward(const Call& call) {
  if (call.q.scalar_type() == at::kFloat) backward_of<Float32>(call);
  else backward_of<BFloat16>(call);
}

#else

inline bool has_kernels(at::ScalarType, int64_t) { return false; }
inline bool fits(const at::Tensor&, const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&) {
  return false;
}
inline void forward(const Inputs&, const at::Tensor&, const at::Tensor&) {}
inline void backward(const Call&) {}

#endif

}  // namespace acc::attention::vectors
