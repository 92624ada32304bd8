#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <string>

#include "engine/call/operator_table.h"

namespace acc {

// Products of 16-bit floats on CPUs that have no instructions for them. Libtorch's own loops for these
// take 10 to 200 times as long as BLAS in float32. So factors are widened to float32, and the result is
// rounded once. Libtorch's loops add in float32, too.

// Whether libtorch multiplies tensors of this dtype on this device without such loops.
bool has_products_of(const at::Tensor& tensor);

// The tensor in float32 if products of its dtype would be slow, and as it is otherwise.
at::Tensor widened(const at::Tensor& tensor);

// Whether an operator is a product or a convolution, by its name.
bool is_product(const std::string& name);

// Runs an operator on the arguments in `stack`, which then has the results.
void call_on(torch::jit::Stack& stack, const Operator& op);

}  // namespace acc
