#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace acc {

// A tensor whose elements are those in a file from byte `start` on. Pages come from the file when they are looked at; one that is
// written into becomes memory of its own. Nothing where the file can't be mapped, or ends too early.
std::optional<at::Tensor> map_tensor(const std::string& path, size_t start, c10::ScalarType dtype,
                                     const std::vector<int64_t>& shape);

// Brings mapped pages in from their file. False where it can't be read: looking at them would then end the process.
bool load_pages(const void* data, size_t size);

}  // namespace acc
