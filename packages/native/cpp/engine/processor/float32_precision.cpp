#include "engine/processor/float32_precision.h"

#include <ATen/Context.h>

namespace acc {

void set_float32_precision(const std::string& backend_name, const std::string& name) {
  const auto backend = at::str2backend(backend_name);
  const bool is_default = name == "default";
  auto& libtorch = at::globalContext();
  const auto precision = is_default ? at::Float32Precision::NONE : at::str2precision(name);
  // By default cuDNN may use TF32 for convolutions and recurrent layers, according to libtorch's
  // documentation.
  const bool may_round = is_default && backend == at::Float32Backend::CUDA;
  const auto of_images = may_round ? at::Float32Precision::TF32 : precision;
  libtorch.setFloat32Precision(backend, at::Float32Op::MATMUL, precision);
  libtorch.setFloat32Precision(backend, at::Float32Op::CONV, of_images);
  libtorch.setFloat32Precision(backend, at::Float32Op::RNN, of_images);
}

}  // namespace acc
