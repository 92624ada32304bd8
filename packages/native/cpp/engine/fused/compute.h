#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "engine/fused/program.h"

namespace acc::fused {

// Whether `compute` takes tensors: floats and bools in host memory that give float32 or bfloat16.
bool is_for_programs(const std::vector<at::Tensor>& inputs);

// A step for `compute`.
Step step(Op op, uint16_t out, uint16_t a, uint16_t b);
inline Step step(Op op, uint16_t out, uint16_t a) { return step(op, out, a, a); }

// Runs steps on the elements of operands. The registers of operands come first, followed by those of
// the constants, and by one for each step in their order. A step of two operands reads a constant as at
// most one of them. The last step gives the result. Operands are converted and broadcast, and the order of
// elements in memory is kept, as libtorch's operators do. `code` belongs to these steps and a dtype of
// results; by default the interpreter runs.
at::Tensor compute(std::vector<at::Tensor> inputs, const std::vector<float>& constants, std::vector<Step> steps,
                   std::shared_ptr<machine_code::CodeCache> code = nullptr);

// The dtype of a result of floats, as libtorch promotes the operands.
c10::ScalarType common_dtype(const std::vector<at::Tensor>& inputs);

}  // namespace acc::fused
