#include "engine/tensors/tensors.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <cstring>
#include <string>

#include "engine/device/lost_values.h"
#include "engine/device/upload.h"
#include "engine/error.h"
#include "engine/memory/frozen_memory.h"

namespace acc {
namespace {

void require_bytes(const at::Tensor& tensor, size_t bytes) {
  if (tensor.nbytes() == bytes) return;
  throw Error(kInvalidArgument, std::to_string(bytes) + " bytes were given for a tensor of " +
                                    std::to_string(tensor.numel()) + " elements, which has " +
                                    std::to_string(tensor.nbytes()) + " bytes.");
}

}  // namespace

at::Tensor tensor_from_bytes(const void* data, size_t bytes, c10::ScalarType dtype,
                             const std::vector<int64_t>& shape, c10::Device device) {
  const c10::InferenceMode guard;
  // Pinned memory is copied to a device asynchronously. Its allocator keeps it until the copy is
  // done.
  auto tensor = at::empty(shape, at::TensorOptions().dtype(dtype).pinned_memory(!device.is_cpu()));
  require_bytes(tensor, bytes);
  if (bytes > 0) std::memcpy(tensor.mutable_data_ptr(), data, bytes);
  return device.is_cpu() ? tensor : upload(tensor, device);
}

at::Tensor tensor_over_bytes(void* data, size_t bytes, c10::ScalarType dtype, const std::vector<int64_t>& shape,
                             const std::function<void(void*)>& release) {
  const c10::InferenceMode guard;
  const auto tensor = at::from_blob(data, shape, release, dtype);
  require_bytes(tensor, bytes);
  return tensor;
}

at::Tensor tensor_for_reading(const at::Tensor& tensor, c10::ScalarType dtype) {
  const c10::InferenceMode guard;
  auto values = tensor.to(at::TensorOptions().dtype(dtype).device(at::kCPU)).contiguous();
  if (!tensor.is_cpu()) require_values();
  return values;
}

void* row_major_memory(const at::Tensor& tensor) {
  if (!tensor.device().is_cpu() || !tensor.is_contiguous()) {
    throw Error(kInvalidArgument, "The bytes of a tensor can only be accessed if it is row-major and in host memory.");
  }
  return tensor.mutable_data_ptr();
}

at::Tensor shadow_of(const at::Tensor& tensor) {
  const c10::InferenceMode guard;
  return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta));
}

at::Tensor memory_part(const at::Tensor& tensor, int64_t start, int64_t length) {
  const c10::InferenceMode guard;
  if (!tensor.is_contiguous() || start < 0 || length < 0 || length > tensor.numel() - start) {
    throw Error(kInvalidArgument, "A part of " + std::to_string(length) + " elements from element " +
                                      std::to_string(start) + " on is not within the memory of a row-major tensor of " +
                                      std::to_string(tensor.numel()) + " elements.");
  }
  auto* data = static_cast<char*>(tensor.mutable_data_ptr()) + static_cast<size_t>(start) * tensor.element_size();
  return at::from_blob(data, {length}, [tensor](void*) {}, tensor.options());
}

uint8_t memory_flags(const at::Tensor& tensor) {
  uint8_t flags = 0;
  if (tensor.is_contiguous()) flags |= kContiguous;
  const bool is_only = tensor.use_count() == 1 && tensor.has_storage() && tensor.storage().use_count() == 1;
  if (is_only && !FrozenMemory::has(tensor)) flags |= kExclusive;
  return flags;
}

c10::ScalarType scalar_type_from(int code) {
  if (code < 0 || code >= static_cast<int>(c10::ScalarType::Undefined)) {
    throw Error(kInvalidArgument, "The element type has the unknown number " + std::to_string(code) + ".");
  }
  return static_cast<c10::ScalarType>(code);
}

}  // namespace acc
