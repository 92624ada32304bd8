#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "engine/kernels/int8_product/product.h"
#include "engine/kernels/int8_product/rounding.h"
#include "engine/kernels/product/blocking.h"

// Products in 8 bits without the CPU's instructions for them: the integers are multiplied as float32. Sums of so
// few products are integers below 2^24, which float32 represents, so they are exact in any order.
namespace acc::int8 {
namespace {

using at::Tensor;

constexpr int64_t kExactDepth = 1024;

float number_at(const Operand& x, int64_t index) {
  if (x.is_float) return static_cast<const float*>(x.data)[index];
  return rows::of_bfloat16_bits(static_cast<const uint16_t*>(x.data)[index]);
}

struct Rounded {
  // [lanes, depth]
  Tensor integers;
  std::vector<LaneScale> scales;
};

Rounded rounded(const Operand& x, int64_t depth) {
  Rounded result{at::empty({x.lanes, depth}, at::kFloat), std::vector<LaneScale>(static_cast<size_t>(x.lanes))};
  auto* to = result.integers.mutable_data_ptr<float>();
  for (int64_t i = 0; i < x.lanes; ++i) {
    uint32_t largest = 0;
    for (int64_t k = 0; k < depth; ++k) {
      largest = std::max(largest, magnitude_bits(number_at(x, i * x.lane_stride + k * x.stride)));
    }
    const auto lane = result.scales[static_cast<size_t>(i)] = lane_scale(largest, x.seed);
    for (int64_t k = 0; k < depth; ++k) {
      const auto number = number_at(x, i * x.lane_stride + k * x.stride);
      *to++ = static_cast<float>(x.is_stochastic ? stochastic(number, static_cast<uint32_t>(k), lane) : nearest(number, lane));
    }
  }
  return result;
}

Tensor exact_product(const Tensor& left, const Tensor& right, int64_t first, int64_t end) {
  auto sums = at::zeros({left.size(0), right.size(0)}, at::kInt);
  for (int64_t k = first; k < end; k += kExactDepth) {
    const auto count = std::min(kExactDepth, end - k);
    sums.add_(at::mm(left.narrow(1, k, count), right.narrow(1, k, count).t()).to(at::kInt));
  }
  return sums;
}

}  // namespace

void multiply_plainly(const Operand& left, const Operand& right, int64_t depth, const Ending& ending, const Out& out) {
  const auto a = rounded(left, depth), b = rounded(right, depth);
  const auto blocks = product::parts_of(depth, kDepth);
  Tensor sums;
  for (int64_t block = 0; block < blocks.count; ++block) {
    const auto part = exact_product(a.integers, b.integers, blocks.begin(block), blocks.begin(block + 1)).to(at::kFloat);
    sums = sums.defined() ? sums.add_(part) : part;
  }
  const auto* sum = sums.const_data_ptr<float>();
  for (int64_t i = 0; i < left.lanes; ++i) {
    for (int64_t j = 0; j < right.lanes; ++j) {
      const auto at = i * right.lanes + j;
      float x = sum[at] * a.scales[static_cast<size_t>(i)].scale;
      const float scale = b.scales[static_cast<size_t>(j)].scale;
      x = ending.bias ? std::fma(x, scale, ending.bias[j]) : x * scale;
      if (ending.is_relu && x < 0.f) x = 0.f;
      if (out.is_float) static_cast<float*>(out.data)[at] = x;
      else static_cast<uint16_t*>(out.data)[at] = rows::bfloat16_bits(x);
    }
  }
}

}  // namespace acc::int8
