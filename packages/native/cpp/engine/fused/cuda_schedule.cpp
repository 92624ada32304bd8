#include "engine/fused/cuda_schedule.h"

#include <algorithm>

namespace acc::fused {

CudaSchedule::CudaSchedule(const Program& program) : at_(program.register_count, -1) {
  using Value = CudaSchedule::Value;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const auto kind = program.inputs[i].extent == Extent::kRows ? Value::kRow : Value::kElement;
    at_[i] = add({kind, static_cast<int>(i)});
  }
  for (const auto& constant : program.constants) at_[constant.reg] = add({Value::kNumber, -1, constant.number});
  for (const auto& step : program.steps) add_step(step);
  for (const auto& result : program.results) {
    const int value = at_[result.reg];
    results_.push_back(value);
    use(value, values_[static_cast<size_t>(value)].time);
    if (result.extent != Extent::kRows) loops_ = std::max(loops_, values_[static_cast<size_t>(value)].time + 1);
  }
}

int CudaSchedule::add(Value value) {
  values_.push_back(value);
  return static_cast<int>(values_.size()) - 1;
}

void CudaSchedule::add_step(const Step& step) {
  if (step.op == Op::kSpread) {
    // A number of a row is known in all loops that follow.
    at_[step.out] = at_[step.a];
    return;
  }
  Task task{step.op, -1, {at_[step.a], at_[step.b], at_[step.c]}};
  int time = 0;
  for (int k = 0; k < operands_of(step.op); ++k) time = std::max(time, values_[static_cast<size_t>(task.operands[k])].time);
  const bool is_in_loop = step.extent == Extent::kElements || task.is_reduction();
  if (is_in_loop) {
    for (int k = 0; k < operands_of(step.op); ++k) use(task.operands[k], time);
    loops_ = std::max(loops_, time + 1);
  }
  const auto kind = step.extent == Extent::kElements ? Value::kElement : Value::kRow;
  task.out = add({kind, -1, 0.f, task.is_reduction() ? time + 1 : time});
  at_[step.out] = task.out;
  tasks_.push_back(task);
}

void CudaSchedule::use(int value, int loop) {
  auto& used = values_[static_cast<size_t>(value)];
  used.first = used.is_used ? std::min(used.first, loop) : loop;
  used.last = used.is_used ? std::max(used.last, loop) : loop;
  used.is_used = true;
}

}  // namespace acc::fused
