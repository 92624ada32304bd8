// Elementwise operators outside of recordings: a program, and operators that alone give the same bits
// as in a program.

#include <ATen/ATen.h>
#include <torch/library.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/fused/blocks.h"
#include "engine/fused/compute.h"
#include "engine/fused/cuda_run.h"
#include "engine/fused/machine_code/code.h"
#include "engine/fused/program.h"
#include "engine/fused/repeated_programs.h"

namespace acc::fused {
namespace {

c10::Device device_of(at::TensorList inputs) { return inputs.empty() ? c10::Device(c10::kCPU) : inputs[0].device(); }

// `program` as `read_program` takes it, with one result.
at::Tensor elementwise(at::TensorList inputs, at::ArrayRef<double> program) {
  static RepeatedPrograms repeated;
  const std::vector<double> numbers = program.vec();
  NumberReader reader(numbers);
  Program read = read_program(reader);
  if (read.results.size() != 1 || !reader.is_at_end()) {
    throw Error(kInvalidArgument, "The operator acc::elementwise takes a program with one result.");
  }
  // A smaller program takes less time than the look-up.
  if (read.count >= kBlock && machine_code::has_kernels()) {
    read.code = repeated.find({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double)});
  }
  return run(read, inputs.vec(), device_of(inputs)).front();
}

// `program` as `read_program` takes it. `driver` is a library with the functions of CUDA and NVRTC that
// runs the program, on the device of the inputs. By default the device's own way is taken; on a CPU that
// is machine code if `compiles`, and else the interpreter.
std::vector<at::Tensor> program_of(at::TensorList inputs, at::ArrayRef<double> program, std::optional<std::string_view> driver,
                                   bool compiles) {
  const std::vector<double> numbers = program.vec();
  NumberReader reader(numbers);
  Program read = read_program(reader);
  if (!reader.is_at_end()) throw Error(kInvalidArgument, "The operator acc::program takes one program.");
  if (compiles && !machine_code::has_kernels()) {
    throw Error(kInvalidArgument, "There is no machine code for this CPU: it has no AVX-512.");
  }
  if (compiles) read.code = std::make_shared<machine_code::CodeCache>();
  const auto device = device_of(inputs);
  if (!driver) return run(read, inputs.vec(), device);
  check_inputs(read, inputs.vec(), device);
  return run_on_cuda(read, inputs.vec(), device, CudaDriver::in_library(std::string(*driver)));
}

// Operators of one operand. Its register is 0, that of the result 1.
template <Op op, at::Tensor (*libtorch)(const at::Tensor&)>
at::Tensor unary(const at::Tensor& x) {
  return is_for_programs({x}) ? compute({x}, {}, {step(op, 1, 0, 0)}) : libtorch(x);
}

// Operators of two operands, with registers 0 and 1.
template <Op op, at::Tensor (*libtorch)(const at::Tensor&, const at::Tensor&)>
at::Tensor binary(const at::Tensor& x, const at::Tensor& y) {
  return is_for_programs({x, y}) ? compute({x, y}, {}, {step(op, 2, 0, 1)}) : libtorch(x, y);
}

at::Tensor tanh_backward(const at::Tensor& dy, const at::Tensor& y) {
  if (!is_for_programs({dy, y})) return at::tanh_backward(dy, y);
  return compute({dy, y}, {1.f}, {step(Op::kMul, 3, 1, 1), step(Op::kSub, 4, 2, 3), step(Op::kMul, 5, 0, 4)});
}

at::Tensor sigmoid_backward(const at::Tensor& dy, const at::Tensor& y) {
  if (!is_for_programs({dy, y})) return at::sigmoid_backward(dy, y);
  return compute({dy, y}, {1.f}, {step(Op::kSub, 3, 2, 1), step(Op::kMul, 4, 3, 1), step(Op::kMul, 5, 0, 4)});
}

// Operators on integers keep their dtype where libtorch's do.
template <Op op, at::Tensor (*libtorch)(const at::Tensor&)>
at::Tensor unary_of_floats(const at::Tensor& x) {
  return x.is_floating_point() ? unary<op, libtorch>(x) : libtorch(x);
}

template <Op op, at::Tensor (*libtorch)(const at::Tensor&, const at::Tensor&)>
at::Tensor binary_of_floats(const at::Tensor& x, const at::Tensor& y) {
  return x.is_floating_point() || y.is_floating_point() ? binary<op, libtorch>(x, y) : libtorch(x, y);
}

}  // namespace
}  // namespace acc::fused

TORCH_LIBRARY_FRAGMENT(acc, library) {
  using namespace acc::fused;
  library.def("elementwise(Tensor[] inputs, float[] program) -> Tensor", elementwise);
  library.def("program(Tensor[] inputs, float[] program, str? driver=None, bool compiles=False) -> Tensor[]", program_of);
  library.def("tanh(Tensor x) -> Tensor", unary<Op::kTanh, at::tanh>);
  library.def("sigmoid(Tensor x) -> Tensor", unary<Op::kSigmoid, at::sigmoid>);
  library.def("exp(Tensor x) -> Tensor", unary<Op::kExp, at::exp>);
  library.def("log(Tensor x) -> Tensor", unary<Op::kLog, at::log>);
  library.def("erf(Tensor x) -> Tensor", unary<Op::kErf, at::erf>);
  library.def("sqrt(Tensor x) -> Tensor", unary<Op::kSqrt, at::sqrt>);
  library.def("rsqrt(Tensor x) -> Tensor", unary<Op::kRsqrt, at::rsqrt>);
  library.def("relu(Tensor x) -> Tensor", unary_of_floats<Op::kRelu, at::relu>);
  library.def("maximum(Tensor x, Tensor y) -> Tensor", binary_of_floats<Op::kMax, at::maximum>);
  library.def("minimum(Tensor x, Tensor y) -> Tensor", binary_of_floats<Op::kMin, at::minimum>);
  library.def("tanh_backward(Tensor dy, Tensor y) -> Tensor", tanh_backward);
  library.def("sigmoid_backward(Tensor dy, Tensor y) -> Tensor", sigmoid_backward);
}
