// The operator that runs a fused program outside of recordings.

#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <vector>

#include "engine/error.h"
#include "engine/fused/program.h"

namespace acc::fused {
namespace {

// `program` as `read_program` takes it, with one result.
at::Tensor elementwise(at::TensorList inputs, at::ArrayRef<double> program) {
  const std::vector<double> numbers = program.vec();
  NumberReader reader(numbers);
  const Program read = read_program(reader);
  if (read.results.size() != 1 || !reader.is_at_end()) {
    throw Error(kInvalidArgument, "The operator acc::elementwise takes a program with one result.");
  }
  return run(read, inputs.vec()).front();
}

}  // namespace
}  // namespace acc::fused

TORCH_LIBRARY_FRAGMENT(acc, library) {
  library.def("elementwise(Tensor[] inputs, float[] program) -> Tensor", acc::fused::elementwise);
}
