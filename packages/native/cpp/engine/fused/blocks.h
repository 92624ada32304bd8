#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace acc::fused {

// The number of elements of a register. Some ten registers fit into the L1 cache.
inline constexpr int64_t kBlock = 1024;

// Where the elements of a broadcast tensor lie, in elements. Dims that lie contiguously are merged,
// and there is at least one.
struct ElementLayout {
  c10::ScalarType dtype;
  std::vector<int64_t> sizes, strides;

  bool operator==(const ElementLayout&) const = default;
};

ElementLayout layout_of(const at::Tensor& broadcast);

// How an input can be read without copying it.
enum class Access : uint8_t {
  kBlock,     // float32, or what `Source::read` makes of it
  kBfloat16,  // bfloat16, where it lies
  kRows,      // a float32 for each row
  kColumns,   // a float32 for each column, the same for all rows
  kNumber,    // one float32
};

// Reads the elements of a tensor, broadcast to the shape of a program, block by block.
class Source {
 public:
  Source(at::Tensor tensor, at::IntArrayRef shape);

  // Elements `first` to `first + count` of the broadcast tensor, in row-major order, as float32:
  // either where they are or in `buffer`.
  const float* read(int64_t first, int64_t count, float* buffer) const;

  // How code for blocks of whole rows of length `row` reads it. `row` is 0 if there are no rows.
  Access access(int64_t row) const;

  // Whether every element is read once, from contiguous memory.
  bool is_whole() const { return is_whole_; }
  const at::Tensor& tensor() const { return tensor_; }

 private:
  // Whether elements lie one after the other.
  bool is_one_run(int64_t first, int64_t count) const {
    return layout_.strides.back() == 1 && first % layout_.sizes.back() + count <= layout_.sizes.back();
  }

  // Of an element of the broadcast tensor, in the memory of the tensor.
  int64_t offset_of(int64_t element) const;

  template <typename T>
  void gather(int64_t first, int64_t count, float* buffer) const;

  at::Tensor tensor_;
  const char* data_;
  bool is_whole_;
  ElementLayout layout_;
};

// Writes `count` numbers to the elements of `tensor`, which is contiguous, from element `first` on.
void write_block(const float* from, const at::Tensor& tensor, int64_t first, int64_t count);

}  // namespace acc::fused
