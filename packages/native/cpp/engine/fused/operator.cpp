// Elementwise operators outside of recordings: a program, and operators that alone give the same bits
// as in a program.

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/fused/cuda_run.h"
#include "engine/fused/machine_code/code.h"
#include "engine/fused/program.h"
#include "engine/fused/steps.h"

namespace acc::fused {
namespace {

c10::Device device_of(at::TensorList inputs) { return inputs.empty() ? c10::Device(c10::kCPU) : inputs[0].device(); }

// `program` as `read_program` takes it, with one result.
at::Tensor elementwise(at::TensorList inputs, at::ArrayRef<double> program) {
  const std::vector<double> numbers = program.vec();
  NumberReader reader(numbers);
  const Program read = read_program(reader);
  if (read.results.size() != 1 || !reader.is_at_end()) {
    throw Error(kInvalidArgument, "The operator acc::elementwise takes a program with one result.");
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

// The dtype of a result of floats, as libtorch promotes the operands. Others are not for programs.
c10::ScalarType common_dtype(const std::vector<at::Tensor>& inputs) {
  const auto dtype = inputs.size() == 1 ? inputs[0].scalar_type() : at::result_type(inputs[0], inputs[1]);
  return c10::isIntegralType(dtype, /*includeBool=*/true) ? at::kFloat : dtype;
}

bool is_for_programs(const std::vector<at::Tensor>& inputs) {
  const auto dtype = common_dtype(inputs);
  return (dtype == at::kFloat || dtype == at::kBFloat16) &&
         std::all_of(inputs.begin(), inputs.end(), [](const at::Tensor& input) { return input.is_cpu(); });
}

// Whether the elements of all tensors lie in the same order, without gaps.
bool is_one_layout(const std::vector<at::Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const at::Tensor& tensor) {
    return tensor.is_non_overlapping_and_dense() && tensor.sizes() == tensors[0].sizes() &&
           tensor.strides() == tensors[0].strides();
  });
}

// Runs steps on the elements of operands, whose registers come first, followed by one for the constant 1.
// The last step gives the result. Operands are converted and broadcast, and the order of elements in
// memory is kept, as libtorch's operators do.
at::Tensor compute(std::vector<at::Tensor> inputs, std::vector<Step> steps) {
  const auto dtype = common_dtype(inputs);
  for (auto& input : inputs) input = input.to(dtype);
  const bool is_flat = is_one_layout(inputs);
  auto shape = inputs[0].sizes().vec();
  for (const auto& input : inputs) shape = at::infer_size(shape, input.sizes());
  const auto strides = inputs[0].strides().vec();
  if (is_flat) {
    for (auto& input : inputs) input = input.as_strided({input.numel()}, {1});
  }
  Program program;
  program.count = c10::multiply_integers(shape);
  const auto work_shape = is_flat ? std::vector<int64_t>{program.count} : shape;
  program.inputs.assign(inputs.size(), {Extent::kElements, work_shape});
  // Only programs of several steps read it.
  program.constants = {{static_cast<uint16_t>(inputs.size()), 1.f, steps.size() > 1}};
  const uint16_t last = steps.back().out;
  program.register_count = last + size_t{1};
  program.steps = std::move(steps);
  program.results = {{last, Extent::kElements, dtype, work_shape}};
  const auto device = inputs[0].device();
  const at::Tensor result = run(program, std::move(inputs), device).front();
  return is_flat ? result.as_strided(shape, strides) : result;
}

Step step(Op op, uint16_t out, uint16_t a, uint16_t b) {
  const auto pair = pair_loops_of(op);
  return {op, pair ? pair->blocks : loop_of(op), nullptr, out, a, b, a, Extent::kElements};
}

// Operators of one operand. Its register is 0, that of the constant 1, that of the result 2.
template <Op op, at::Tensor (*libtorch)(const at::Tensor&)>
at::Tensor unary(const at::Tensor& x) {
  return is_for_programs({x}) ? compute({x}, {step(op, 2, 0, 0)}) : libtorch(x);
}

// Operators of two operands, with registers 0 and 1. That of the constant is 2.
template <Op op, at::Tensor (*libtorch)(const at::Tensor&, const at::Tensor&)>
at::Tensor binary(const at::Tensor& x, const at::Tensor& y) {
  return is_for_programs({x, y}) ? compute({x, y}, {step(op, 3, 0, 1)}) : libtorch(x, y);
}

at::Tensor tanh_backward(const at::Tensor& dy, const at::Tensor& y) {
  if (!is_for_programs({dy, y})) return at::tanh_backward(dy, y);
  return compute({dy, y}, {step(Op::kMul, 3, 1, 1), step(Op::kSub, 4, 2, 3), step(Op::kMul, 5, 0, 4)});
}

at::Tensor sigmoid_backward(const at::Tensor& dy, const at::Tensor& y) {
  if (!is_for_programs({dy, y})) return at::sigmoid_backward(dy, y);
  return compute({dy, y}, {step(Op::kSub, 3, 2, 1), step(Op::kMul, 4, 3, 1), step(Op::kMul, 5, 0, 4)});
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
  library.def("sqrt(Tensor x) -> Tensor", unary<Op::kSqrt, at::sqrt>);
  library.def("rsqrt(Tensor x) -> Tensor", unary<Op::kRsqrt, at::rsqrt>);
  library.def("relu(Tensor x) -> Tensor", unary_of_floats<Op::kRelu, at::relu>);
  library.def("maximum(Tensor x, Tensor y) -> Tensor", binary_of_floats<Op::kMax, at::maximum>);
  library.def("minimum(Tensor x, Tensor y) -> Tensor", binary_of_floats<Op::kMin, at::minimum>);
  library.def("tanh_backward(Tensor dy, Tensor y) -> Tensor", tanh_backward);
  library.def("sigmoid_backward(Tensor dy, Tensor y) -> Tensor", sigmoid_backward);
}
