#pragma once

#include <napi.h>

#include <ATen/core/Tensor.h>

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "binding/convert.h"

namespace acc {

// The typed arrays whose memory tensors use. Each is referenced until the last tensor over it is
// gone, which may happen on any thread. Only the thread of JavaScript may drop a reference, so
// other threads leave theirs here.
class LentArrays final : public std::enable_shared_from_this<LentArrays> {
 public:
  LentArrays() : script_thread_(std::this_thread::get_id()) {}

  // A tensor of `shape` in the memory of a typed array, in host memory. Throws ACC_INVALID_ARGUMENT
  // if the numbers of bytes differ.
  at::Tensor tensor_over(const Napi::Value& array, Bytes bytes, c10::ScalarType dtype,
                         const std::vector<int64_t>& shape);

  // Drops the references that other threads left.
  void drop_returned();

  // From here on no reference is dropped, because the environment ends and drops all of them.
  void close();

 private:
  void give_back(Napi::ObjectReference array);

  const std::thread::id script_thread_;
  std::mutex mutex_;
  std::vector<Napi::ObjectReference> returned_;
  bool is_closed_ = false;
};

}  // namespace acc
