#include "binding/lent_arrays.h"

#include <c10/core/InferenceMode.h>

#include "engine/tensors/tensors.h"

namespace acc {

at::Tensor LentArrays::tensor_over(const Napi::Value& array, Bytes bytes, c10::ScalarType dtype,
                                   const std::vector<int64_t>& shape) {
  drop_returned();
  // std::function copies the deleter, and a reference cannot be copied.
  const auto held = std::make_shared<Napi::ObjectReference>(Napi::Persistent(array.As<Napi::Object>()));
  const auto arrays = shared_from_this();
  return tensor_over_bytes(const_cast<uint8_t*>(bytes.data), bytes.size, dtype, shape,
                           [held, arrays](void*) { arrays->give_back(std::move(*held)); });
}

void LentArrays::drop_returned() {
  std::vector<Napi::ObjectReference> dropped;
  const std::lock_guard lock(mutex_);
  std::swap(dropped, returned_);
}

void LentArrays::close() {
  drop_returned();
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
}

void LentArrays::give_back(Napi::ObjectReference array) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) {
    array.SuppressDestruct();
  } else if (std::this_thread::get_id() != script_thread_) {
    returned_.push_back(std::move(array));
  }
}

}  // namespace acc
