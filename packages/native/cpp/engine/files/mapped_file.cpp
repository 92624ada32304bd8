#include "engine/files/mapped_file.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#if defined(__linux__)
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "engine/files/file_facts.h"

// Added in Linux 5.14. The headers may be older.
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#endif

namespace acc {

#if defined(__linux__)

namespace {

size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

// Maps `size` bytes of the file from `start` on, a multiple of the page size. Returns null if the
// file cannot be mapped or is too short.
void* map_part(const std::string& path, size_t start, size_t size) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* mapped = MAP_FAILED;
  if (const auto facts = facts_of(file); facts && facts->bytes >= start && facts->bytes - start >= size) {
    mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, static_cast<off_t>(start));
  }
  close(file);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

// Returns nothing if no file can have so many bytes.
std::optional<size_t> bytes_of(c10::ScalarType dtype, const std::vector<int64_t>& shape) {
  size_t bytes = c10::elementSize(dtype);
  for (const int64_t length : shape) {
    if (length < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(length), &bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace

std::optional<at::Tensor> map_tensor(const std::string& path, size_t start, c10::ScalarType dtype,
                                     const std::vector<int64_t>& shape) {
  const size_t size = bytes_of(dtype, shape).value_or(0);
  const size_t before = start % page_bytes();
  size_t mapped_size = 0;
  if (size == 0 || __builtin_add_overflow(before, size, &mapped_size)) return std::nullopt;
  void* mapped = map_part(path, start - before, mapped_size);
  if (mapped == nullptr) return std::nullopt;
  const c10::InferenceMode guard;
  return at::from_blob(
      static_cast<char*>(mapped) + before, shape, [mapped, mapped_size](void*) { munmap(mapped, mapped_size); }, dtype);
}

bool load_pages(const void* data, size_t size) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  const size_t before = address % page_bytes();
  void* first = reinterpret_cast<void*>(address - before);
  madvise(first, before + size, MADV_WILLNEED);
  while (madvise(first, before + size, MADV_POPULATE_READ) != 0) {
    if (errno != EINTR && errno != EAGAIN) return false;
  }
  return true;
}

#else

std::optional<at::Tensor> map_tensor(const std::string&, size_t, c10::ScalarType, const std::vector<int64_t>&) {
  return std::nullopt;
}
bool load_pages(const void*, size_t) { return false; }

#endif

}  // namespace acc
