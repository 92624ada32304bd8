#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace acc {

// A tensor whose elements are mapped from a file, from byte `start` on. A page is read from the
// file on first access. A page that is written becomes private memory; the file does not change.
// Returns nothing if the file cannot be mapped or is too short.
std::optional<at::Tensor> map_tensor(const std::string& path, size_t start, c10::ScalarType dtype,
                                     const std::vector<int64_t>& shape);

// Reads mapped pages from their file. Returns false if they cannot be read; an access would then
// end the process.
bool load_pages(const void* data, size_t size);

}  // namespace acc
