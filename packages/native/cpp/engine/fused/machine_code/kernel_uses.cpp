#include "engine/fused/machine_code/kernel_uses.h"

#if defined(__x86_64__) && defined(__linux__)

#include <algorithm>
#include <bit>
#include <functional>

#include "engine/fused/machine_code/operator_code.h"
#include "engine/fused/machine_code/vector_registers.h"

namespace acc::fused::machine_code {
namespace {

// The other registers are for values of elements.
constexpr size_t kMostPinned = 14;

}  // namespace

KernelUses::KernelUses(const Program& program, const Plan& plan, const Level& level)
    : program_(program), plan_(plan), end_(static_cast<int>(level.steps.size())), addresses_{0} {
  for (int position = 0; position < end_; ++position) {
    const auto id = level.steps[static_cast<size_t>(position)];
    const auto& value = plan.values[id];
    for (int k = 0; k < value.operand_count; ++k) add_operand(value.operands[k], position);
    for (const auto bits : literals_of(value.step->op)) add_literal(bits, position);
    if (value.place == Place::kResult) add_address(address_of_result(plan, value.index));
    for (const auto k : value.written) add_result(id, k, position);
  }
  for (auto& [key, positions] : positions_) std::sort(positions.begin(), positions.end());
  choose_pinned();
}

Key KernelUses::key_of(uint32_t id) const {
  const auto& value = plan_.values[id];
  const bool is_constant = !value.step && id >= plan_.inputs.size();
  return is_constant ? literal_key(std::bit_cast<uint32_t>(value.number)) : static_cast<Key>(id);
}

Key KernelUses::literal_key(uint32_t bits) const {
  return kLiteral + static_cast<Key>(std::find(literals_.begin(), literals_.end(), bits) - literals_.begin());
}

void KernelUses::add_literal(uint32_t bits, int position) {
  if (std::find(literals_.begin(), literals_.end(), bits) == literals_.end()) literals_.push_back(bits);
  positions_[literal_key(bits)].push_back(position);
}

void KernelUses::add_operand(uint32_t id, int position) {
  const auto& operand = plan_.values[id];
  if (!operand.step && id >= plan_.inputs.size()) return add_literal(std::bit_cast<uint32_t>(operand.number), position);
  positions_[static_cast<Key>(id)].push_back(position);
  if (operand.place == Place::kInput) add_address(address_of_input(id));
  if (operand.place == Place::kResult) add_address(address_of_result(plan_, operand.index));
}

// A result that takes over the memory of an input is written when the input has been read.
void KernelUses::add_result(uint32_t id, uint32_t k, int position) {
  add_address(address_of_result(plan_, k));
  if (plan_.taken[k] >= 0) {
    last_.emplace_back(id, k);
    position = end_;
    positions_[static_cast<Key>(id)].push_back(position);
  }
  for (const auto bits : literals_of_writing(program_.results[k].dtype)) add_literal(bits, position);
}

void KernelUses::add_address(uint32_t address) {
  if (std::find(addresses_.begin(), addresses_.end(), address) == addresses_.end()) addresses_.push_back(address);
}

// Numbers that are read most often.
void KernelUses::choose_pinned() {
  std::vector<std::pair<size_t, Key>> candidates;
  for (const auto& [key, positions] : positions_) {
    const auto id = static_cast<uint32_t>(key);
    if (key >= kLiteral || is_row_number(plan_, id) || is_number(plan_, id)) candidates.emplace_back(positions.size(), key);
  }
  std::sort(candidates.begin(), candidates.end(), std::greater<>());
  candidates.resize(std::min(candidates.size(), kMostPinned));
  int reg = VectorRegisters::kCount;
  for (const auto& [count, key] : candidates) pinned_[key] = --reg;
}

bool is_row_number(const Plan& plan, uint32_t id) {
  const auto& value = plan.values[id];
  return value.extent == Extent::kRows || (value.place == Place::kInput && plan.inputs[id] == Access::kRows);
}

bool is_number(const Plan& plan, uint32_t id) {
  return plan.values[id].place == Place::kInput && plan.inputs[id] == Access::kNumber;
}

}  // namespace acc::fused::machine_code

#endif
