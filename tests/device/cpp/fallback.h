#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace late {

/** Runs an operator by its kernel for CPUs, on the addresses that kernels use. */
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

bool is_on_device(const at::Tensor& tensor);

/** A CPU tensor over the memory of a device's tensor, with the same sizes, strides and offset. */
at::Tensor over_memory(const at::Tensor& tensor);

}  // namespace late
