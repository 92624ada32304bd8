#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/fused/blocks.h"
#include "engine/fused/program.h"

namespace acc::fused {

// The threads of a block: `lanes` for each of `rows` rows. Each computes at most `each` elements of its
// row. It depends on the length of a row alone, so that reductions give the same bits in all programs.
struct CudaBlock {
  int64_t lanes, rows, each;
};

// `row` is 0 for programs without rows. These have a thread for each element.
CudaBlock cuda_block_of(int64_t row);

// The largest number of parts into which rows are divided for sums of columns. Each part has a sum in
// memory, and these are added in their order.
int64_t max_column_parts(int64_t row);

// A program in CUDA C++, for NVRTC. It has the kernel `program`. Its parameters are pointers to the inputs
// and to the results other than sums of columns, the number of rows (of elements, if there are no rows)
// as unsigned long long and, if there are sums of columns, a double* for the sums of the parts. Then it
// also has the kernel `add_columns`: the pointers to the sums of columns, the number of parts and the
// double*.
std::string cuda_source(const Program& program, const std::vector<ElementLayout>& inputs);

}  // namespace acc::fused
