#pragma once

#include <ATen/core/Tensor.h>

namespace acc {

// Copies a tensor in page-locked memory to a device. The host does not wait.
at::Tensor upload(const at::Tensor& from, c10::Device device);

// Whether larger uploads run on a stream of their own, beside the work that is queued. Work that is
// queued later waits for them. False at first.
void set_upload_stream(bool is_own);

}  // namespace acc
