#include "engine/fused/blocks.h"

#include <algorithm>
#include <cstring>

#include "engine/error.h"
#include "engine/processor/bfloat16_rows.h"

namespace acc::fused {
namespace {

struct Bfloat16 {
  uint16_t bits;
};

float number_of(float x) { return x; }
float number_of(Bfloat16 x) { return rows::of_bfloat16_bits(x.bits); }
float number_of(bool x) { return x ? 1.f : 0.f; }
float number_of(int32_t x) { return static_cast<float>(x); }
float number_of(int64_t x) { return static_cast<float>(x); }

template <typename T>
void copy_run(const T* from, int64_t stride, int64_t count, float* to) {
  if (stride == 0) {
    std::fill_n(to, count, number_of(*from));
    return;
  }
  if (stride == 1) {
    if constexpr (std::is_same_v<T, float>) {
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
      return;
    } else if constexpr (std::is_same_v<T, Bfloat16>) {
      rows::widen(reinterpret_cast<const uint16_t*>(from), to, count);
      return;
    }
  }
  for (int64_t i = 0; i < count; ++i) to[i] = number_of(from[i * stride]);
}

}  // namespace

ElementLayout layout_of(const at::Tensor& broadcast) {
  ElementLayout layout{broadcast.scalar_type(), {}, {}};
  auto& [dtype, sizes, strides] = layout;
  for (int64_t d = 0; d < broadcast.dim(); ++d) {
    const int64_t size = broadcast.size(d), stride = broadcast.stride(d);
    if (size == 1) continue;
    if (!sizes.empty() && strides.back() == stride * size) {
      sizes.back() *= size;
      strides.back() = stride;
    } else {
      sizes.push_back(size);
      strides.push_back(stride);
    }
  }
  if (sizes.empty()) {
    sizes.push_back(1);
    strides.push_back(0);
  }
  return layout;
}

Source::Source(at::Tensor tensor, at::IntArrayRef shape)
    : tensor_(std::move(tensor)), data_(static_cast<const char*>(tensor_.const_data_ptr())) {
  const auto broadcast = tensor_.expand(shape);
  is_whole_ = tensor_.numel() == broadcast.numel() && broadcast.is_contiguous();
  layout_ = layout_of(broadcast);
}

Access Source::access(int64_t row) const {
  const auto& [dtype, sizes, strides] = layout_;
  if (dtype == at::kBFloat16 && is_whole_) return Access::kBfloat16;
  if (dtype != at::kFloat || is_whole_) return Access::kBlock;
  if (sizes.size() == 1 && strides[0] == 0) return Access::kNumber;
  if (row == 0 || sizes.size() != 2 || sizes[1] != row) return Access::kBlock;
  if (strides[0] == 1 && strides[1] == 0) return Access::kRows;
  if (strides[0] == 0 && strides[1] == 1) return Access::kColumns;
  return Access::kBlock;
}

int64_t Source::offset_of(int64_t element) const {
  const auto& [dtype, sizes, strides] = layout_;
  int64_t offset = 0;
  for (size_t d = sizes.size(); d-- > 0;) {
    offset += element % sizes[d] * strides[d];
    element /= sizes[d];
  }
  return offset;
}

template <typename T>
void Source::gather(int64_t first, int64_t count, float* buffer) const {
  const auto* data = reinterpret_cast<const T*>(data_);
  const int64_t length = layout_.sizes.back();
  while (count > 0) {
    const int64_t run = std::min(count, length - first % length);
    copy_run(data + offset_of(first), layout_.strides.back(), run, buffer);
    buffer += run;
    first += run;
    count -= run;
  }
}

const float* Source::read(int64_t first, int64_t count, float* buffer) const {
  if (layout_.dtype == at::kFloat && (is_whole_ || is_one_run(first, count))) {
    return reinterpret_cast<const float*>(data_) + (is_whole_ ? first : offset_of(first));
  }
  switch (layout_.dtype) {
    case at::kFloat:
      gather<float>(first, count, buffer);
      break;
    case at::kBFloat16:
      gather<Bfloat16>(first, count, buffer);
      break;
    case at::kBool:
      gather<bool>(first, count, buffer);
      break;
    case at::kInt:
      gather<int32_t>(first, count, buffer);
      break;
    case at::kLong:
      gather<int64_t>(first, count, buffer);
      break;
    default:
      throw Error(kInvalidArgument, "A fused program has an input of an unsupported dtype.");
  }
  return buffer;
}

void write_block(const float* from, const at::Tensor& tensor, int64_t first, int64_t count) {
  auto* data = tensor.mutable_data_ptr();
  switch (tensor.scalar_type()) {
    case at::kFloat:
      std::memcpy(static_cast<float*>(data) + first, from, static_cast<size_t>(count) * sizeof(float));
      return;
    case at::kBFloat16:
      rows::narrow(from, static_cast<uint16_t*>(data) + first, count);
      return;
    default: {
      auto* to = static_cast<bool*>(data) + first;
      for (int64_t i = 0; i < count; ++i) to[i] = from[i] != 0.f;
    }
  }
}

}  // namespace acc::fused
