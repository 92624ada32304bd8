#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "engine/fused/cuda_driver.h"
#include "engine/fused/program.h"

namespace acc::fused {

// Runs a program with kernels of CUDA, on `device`, where its inputs are. Results are new tensors. The
// work is queued on libtorch's current stream of the device.
std::vector<at::Tensor> run_on_cuda(const Program& program, const std::vector<at::Tensor>& inputs, c10::Device device,
                                    CudaDriver& driver);

}  // namespace acc::fused
