#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

// Max pooling of 2-D images in host memory whose channels lie next to each other: float32 and
// bfloat16. libtorch moves the channels of a gradient one by one. NaN needs no second pass.

namespace acc {

struct PoolWindows {
  at::IntArrayRef window, stride, padding;
};

// True if the code on rows applies to images [N, C, H, W].
bool has_pool_rows(const at::Tensor& images);

// Returns the maxima [N, C, outputs...] and their indices in an image. NaN counts as the smallest value.
std::tuple<at::Tensor, at::Tensor> max_pool_rows(const at::Tensor& images, at::IntArrayRef outputs, const PoolWindows& of);

// The gradient of images of the sizes of `images`.
at::Tensor max_pool_backward_rows(const at::Tensor& dy, const at::Tensor& images, const at::Tensor& indices,
                                  const PoolWindows& of);

}  // namespace acc
