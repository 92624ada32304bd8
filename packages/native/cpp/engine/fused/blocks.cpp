#include "engine/fused/blocks.h"

#include <algorithm>
#include <cstring>

#include "engine/error.h"
#include "engine/row_math.h"

namespace acc::fused {
namespace {

ACC_EVERY_CPU void widen(const uint16_t* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = rows::of_bfloat16_bits(from[i]);
}

ACC_EVERY_CPU void shorten(const float* from, int64_t count, uint16_t* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = rows::bfloat16_bits(from[i]);
}

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
      widen(reinterpret_cast<const uint16_t*>(from), count, to);
      return;
    }
  }
  for (int64_t i = 0; i < count; ++i) to[i] = number_of(from[i * stride]);
}

}  // namespace

Source::Source(at::Tensor tensor, at::IntArrayRef shape)
    : tensor_(std::move(tensor)), dtype_(tensor_.scalar_type()), data_(static_cast<const char*>(tensor_.const_data_ptr())) {
  const auto broadcast = tensor_.expand(shape);
  is_whole_ = tensor_.numel() == broadcast.numel() && broadcast.is_contiguous();
  for (int64_t d = 0; d < broadcast.dim(); ++d) {
    const int64_t size = broadcast.size(d), stride = broadcast.stride(d);
    if (size == 1) continue;
    if (!sizes_.empty() && strides_.back() == stride * size) {
      sizes_.back() *= size;
      strides_.back() = stride;
    } else {
      sizes_.push_back(size);
      strides_.push_back(stride);
    }
  }
  if (sizes_.empty()) {
    sizes_.push_back(1);
    strides_.push_back(0);
  }
}

Access Source::access(int64_t row) const {
  if (dtype_ == at::kBFloat16 && is_whole_) return Access::kBfloat16;
  if (dtype_ != at::kFloat || is_whole_) return Access::kBlock;
  if (sizes_.size() == 1 && strides_[0] == 0) return Access::kNumber;
  if (row == 0 || sizes_.size() != 2 || sizes_[1] != row) return Access::kBlock;
  if (strides_[0] == 1 && strides_[1] == 0) return Access::kRows;
  if (strides_[0] == 0 && strides_[1] == 1) return Access::kColumns;
  return Access::kBlock;
}

int64_t Source::offset_of(int64_t element) const {
  int64_t offset = 0;
  for (size_t d = sizes_.size(); d-- > 0;) {
    offset += element % sizes_[d] * strides_[d];
    element /= sizes_[d];
  }
  return offset;
}

template <typename T>
void Source::gather(int64_t first, int64_t count, float* buffer) const {
  const auto* data = reinterpret_cast<const T*>(data_);
  const int64_t length = sizes_.back();
  while (count > 0) {
    const int64_t run = std::min(count, length - first % length);
    copy_run(data + offset_of(first), strides_.back(), run, buffer);
    buffer += run;
    first += run;
    count -= run;
  }
}

const float* Source::read(int64_t first, int64_t count, float* buffer) const {
  if (dtype_ == at::kFloat && (is_whole_ || is_one_run(first, count))) {
    return reinterpret_cast<const float*>(data_) + (is_whole_ ? first : offset_of(first));
  }
  switch (dtype_) {
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
      shorten(from, count, static_cast<uint16_t*>(data) + first);
      return;
    default: {
      auto* to = static_cast<bool*>(data) + first;
      for (int64_t i = 0; i < count; ++i) to[i] = from[i] != 0.f;
    }
  }
}

}  // namespace acc::fused
