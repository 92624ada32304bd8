#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/fused/blocks.h"
#include "engine/fused/program.h"

namespace acc::fused {

struct Output {
  at::Tensor tensor;
  // The input whose memory it has, or -1. Such memory is written when the input was read.
  int taken = -1;
};

// The elements, and rows if there are any, of a block.
struct Range {
  int64_t first, count;
  int64_t first_row, rows;

  int64_t first_of(Extent extent) const { return extent == Extent::kRows ? first_row : first; }
  int64_t count_of(Extent extent) const { return extent == Extent::kRows ? rows : count; }
};

// Computes blocks of a program, in one thread.
class BlockRunner {
 public:
  virtual ~BlockRunner() = default;
  virtual void run(const Range& range) = 0;
  // The numbers of a result in the block that ran last.
  virtual const float* numbers_of(size_t result) const = 0;
};

// Runs each step as a loop over the block. `block` is the number of elements of the longest one.
std::unique_ptr<BlockRunner> interpret(const Program& program, const std::vector<Source>& sources,
                                       const std::vector<Output>& outputs, int64_t block);

}  // namespace acc::fused
