#include "engine/fused/compute.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/fused/blocks.h"
#include "engine/fused/steps.h"

namespace acc::fused {
namespace {

// Whether the elements of all tensors lie in the same order, without gaps.
bool is_one_layout(const std::vector<at::Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const at::Tensor& tensor) {
    return tensor.is_non_overlapping_and_dense() && tensor.sizes() == tensors[0].sizes() &&
           tensor.strides() == tensors[0].strides();
  });
}

// Reads a constant beside a register as one number.
Loop loop_for(const Step& step, size_t first_constant, size_t end_of_constants) {
  const auto pair = pair_loops_of(step.op);
  if (!pair) return loop_of(step.op);
  const auto is_constant = [&](uint16_t reg) { return reg >= first_constant && reg < end_of_constants; };
  return loop_beside(*pair, is_constant(step.a), is_constant(step.b));
}

// Gives the result of a step the register of a step that nobody reads any more, so that all registers
// stay in the L1 cache. `first` is the first register of a step. The last step has its own.
uint16_t reuse_registers(std::vector<Step>& steps, uint16_t first) {
  std::vector<size_t> last_read(first + steps.size());
  for (size_t i = 0; i < steps.size(); ++i) last_read[steps[i].a] = last_read[steps[i].b] = i;
  std::vector<uint16_t> renamed(first + steps.size()), free;
  std::iota(renamed.begin(), renamed.end(), uint16_t{0});
  uint16_t count = first;
  for (size_t i = 0; i < steps.size(); ++i) {
    auto& [op, loop, row_loop, out, a, b, c, extent] = steps[i];
    for (const auto operand : {a, a == b ? uint16_t{0} : b}) {
      if (operand >= first && last_read[operand] == i) free.push_back(renamed[operand]);
    }
    a = renamed[a], b = renamed[b], c = a;
    if (free.empty() || i + 1 == steps.size()) free.push_back(count++);
    out = renamed[out] = free.back();
    free.pop_back();
  }
  return count;
}

}  // namespace

c10::ScalarType common_dtype(const std::vector<at::Tensor>& inputs) {
  const auto dtype = inputs.size() == 1 ? inputs[0].scalar_type() : at::result_type(inputs[0], inputs[1]);
  return c10::isIntegralType(dtype, /*includeBool=*/true) ? at::kFloat : dtype;
}

bool is_for_programs(const std::vector<at::Tensor>& inputs) {
  const auto dtype = common_dtype(inputs);
  return (dtype == at::kFloat || dtype == at::kBFloat16) &&
         std::all_of(inputs.begin(), inputs.end(), [](const at::Tensor& input) { return input.is_cpu(); });
}

Step step(Op op, uint16_t out, uint16_t a, uint16_t b) { return {op, nullptr, nullptr, out, a, b, a, Extent::kElements}; }

at::Tensor compute(std::vector<at::Tensor> inputs, const std::vector<float>& constants, std::vector<Step> steps,
                   std::shared_ptr<machine_code::CodeCache> code) {
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
  for (const auto number : constants) {
    program.constants.push_back({static_cast<uint16_t>(inputs.size() + program.constants.size()), number});
  }
  const size_t first = inputs.size() + constants.size();
  for (auto& step : steps) step.loop = loop_for(step, inputs.size(), first);
  program.register_count = reuse_registers(steps, static_cast<uint16_t>(first));
  program.results = {{steps.back().out, Extent::kElements, dtype, work_shape}};
  program.steps = std::move(steps);
  // Code is for whole blocks.
  if (program.count >= kBlock) program.code = std::move(code);
  const auto device = inputs[0].device();
  const at::Tensor result = run(program, std::move(inputs), device).front();
  return is_flat ? result.as_strided(shape, strides) : result;
}

}  // namespace acc::fused
