#include "engine/fused/machine_code/plan.h"

#include <algorithm>
#include <limits>

namespace acc::fused::machine_code {
namespace {

constexpr int kForever = std::numeric_limits<int>::max();

class Planner {
 public:
  Planner(const Program& program, const Layout& layout) : program_(program), layout_(layout) {}

  std::optional<Plan> plan() {
    plan_.inputs = layout_.inputs;
    plan_.taken = layout_.taken;
    add_values();
    if (!has_kernels() || has_constant_result()) return std::nullopt;
    place_on_levels();
    while (move_to_later_levels()) {
    }
    add_levels();
    find_readers();
    place_inputs();
    place_results();
    place_slots();
    return std::move(plan_);
  }

 private:
  // The kernel of a level, then its loops.
  static int kernel_time(int level) { return 2 * level; }
  int time_of(const Value& value) const { return kernel_time(value.level) + (value.is_loop ? 1 : 0); }

  bool is_input(uint32_t id) const { return id < program_.inputs.size(); }
  bool is_constant(uint32_t id) const { return !is_input(id) && !plan_.values[id].step; }
  bool is_kernel_step(uint32_t id) const { return plan_.values[id].step && !plan_.values[id].is_loop; }

  void add_values() {
    std::vector<uint32_t> of_register(program_.register_count);
    const auto add = [&](uint16_t reg, Value value) {
      of_register[reg] = static_cast<uint32_t>(plan_.values.size());
      plan_.values.push_back(std::move(value));
    };
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      Value value;
      value.extent = program_.inputs[i].extent;
      add(static_cast<uint16_t>(i), std::move(value));
    }
    for (const auto& constant : program_.constants) {
      Value value;
      value.number = constant.number;
      add(constant.reg, std::move(value));
    }
    for (const auto& step : program_.steps) {
      Value value;
      value.extent = step.extent;
      value.step = step;
      value.is_loop = step.extent != Extent::kElements || !is_in_kernels(step.op);
      value.operand_count = operands_of(step.op);
      const uint16_t registers[] = {step.a, step.b, step.c};
      for (int k = 0; k < value.operand_count; ++k) value.operands[k] = of_register[registers[k]];
      add(step.out, std::move(value));
    }
    for (const auto& result : program_.results) plan_.results.push_back(of_register[result.reg]);
  }

  bool has_kernels() const {
    for (uint32_t id = 0; id < plan_.values.size(); ++id) {
      if (is_kernel_step(id)) return true;
    }
    return false;
  }

  bool has_constant_result() const {
    return std::any_of(plan_.results.begin(), plan_.results.end(), [this](uint32_t id) { return is_constant(id); });
  }

  template <typename Each>
  void for_each_operand(const Value& value, const Each& each) const {
    for (int k = 0; k < value.operand_count; ++k) each(value.operands[k]);
  }

  void place_on_levels() {
    for (auto& value : plan_.values) {
      for_each_operand(value, [&](uint32_t id) {
        const auto& operand = plan_.values[id];
        value.level = std::max(value.level, operand.level + (operand.is_loop && !value.is_loop ? 1 : 0));
      });
    }
  }

  // A step of a kernel moves to the level that needs it first, if that does not keep more values in
  // memory. Returns whether any moved.
  bool move_to_later_levels() {
    find_readers();
    bool has_moved = false;
    for (uint32_t id = static_cast<uint32_t>(plan_.values.size()); id-- > 0;) {
      auto& value = plan_.values[id];
      if (!is_kernel_step(id) || is_result(id) || readers_[id].empty()) continue;
      int first = kForever;
      for (const auto reader : readers_[id]) first = std::min(first, plan_.values[reader].level);
      if (first <= value.level || added_crossings(value, first) > (is_in_memory_from(id, first) ? 0 : 1)) continue;
      value.level = first;
      has_moved = true;
    }
    return has_moved;
  }

  // Whether a step on a level would be read by loops or on later levels.
  bool is_in_memory_from(uint32_t id, int level) const {
    return std::any_of(readers_[id].begin(), readers_[id].end(), [&](uint32_t reader) {
      return plan_.values[reader].is_loop || plan_.values[reader].level > level;
    });
  }

  // The number of operands that a later level would need, and does not need anyway.
  int added_crossings(const Value& value, int level) const {
    int count = 0;
    for_each_operand(value, [&](uint32_t id) {
      if (!is_kernel_step(id) || plan_.values[id].level == level) return;
      const auto& readers = readers_[id];
      const bool crosses = std::any_of(readers.begin(), readers.end(), [&](uint32_t reader) {
        return plan_.values[reader].level >= level && !plan_.values[reader].is_loop;
      });
      if (!crosses) ++count;
    });
    return count;
  }

  bool is_result(uint32_t id) const { return std::find(plan_.results.begin(), plan_.results.end(), id) != plan_.results.end(); }

  void find_readers() {
    readers_.assign(plan_.values.size(), {});
    for (uint32_t id = 0; id < plan_.values.size(); ++id) {
      for_each_operand(plan_.values[id], [&](uint32_t operand) { readers_[operand].push_back(id); });
    }
  }

  void add_levels() {
    for (uint32_t id = 0; id < plan_.values.size(); ++id) {
      const auto& value = plan_.values[id];
      if (!value.step) continue;
      const auto level = static_cast<size_t>(value.level);
      if (plan_.levels.size() <= level) plan_.levels.resize(level + 1);
      (value.is_loop ? plan_.levels[level].loops : plan_.levels[level].steps).push_back(id);
    }
  }

  // Whether the interpreter reads a value: a loop, a sum of columns, or what writes results.
  bool is_read_by_interpreter(uint32_t id) const {
    const auto is_loop = [this](uint32_t reader) { return plan_.values[reader].is_loop; };
    return is_summed(id) || std::any_of(readers_[id].begin(), readers_[id].end(), is_loop);
  }

  bool is_summed(uint32_t id) const {
    for (size_t k = 0; k < plan_.results.size(); ++k) {
      if (plan_.results[k] == id && program_.results[k].extent == Extent::kColumns) return true;
    }
    return false;
  }

  void place_inputs() {
    for (uint32_t id = 0; id < program_.inputs.size(); ++id) {
      auto& value = plan_.values[id];
      value.place = Place::kInput;
      value.index = id;
      auto& access = plan_.inputs[id];
      if (is_read_by_interpreter(id)) access = Access::kBlock;
      const bool has_rows = value.extent == Extent::kRows || access == Access::kRows || access == Access::kColumns;
      for (const auto reader : readers_[id]) {
        if (has_rows && is_kernel_step(reader)) level_of(reader).has_rows = true;
      }
    }
    for (uint32_t id = 0; id < plan_.values.size(); ++id) {
      if (!plan_.values[id].step || plan_.values[id].extent != Extent::kRows) continue;
      for (const auto reader : readers_[id]) {
        if (is_kernel_step(reader)) level_of(reader).has_rows = true;
      }
    }
  }

  Level& level_of(uint32_t id) { return plan_.levels[static_cast<size_t>(plan_.values[id].level)]; }

  void place_results() {
    for (uint32_t k = 0; k < plan_.results.size(); ++k) {
      const auto& result = program_.results[k];
      if (result.extent == Extent::kColumns) continue;
      auto& value = plan_.values[plan_.results[k]];
      const int taken = layout_.taken[k];
      if (taken < 0 && result.dtype == at::kFloat && value.place == Place::kNone) {
        value.place = Place::kResult;
        value.index = k;
      } else if (!value.is_loop && (taken < 0 || last_reading(static_cast<uint32_t>(taken)) <= time_of(value))) {
        value.written.push_back(k);
      } else {
        plan_.written_last.push_back(k);
      }
    }
  }

  int last_reading(uint32_t id) const {
    int last = 0;
    for (const auto reader : readers_[id]) last = std::max(last, time_of(plan_.values[reader]));
    return last;
  }

  bool is_written_last(uint32_t id) const {
    return std::any_of(plan_.written_last.begin(), plan_.written_last.end(), [&](uint32_t k) { return plan_.results[k] == id; });
  }

  // The last time at which a value is read from memory. 0 if it is only in vector registers.
  int end_of(uint32_t id) const {
    const auto& value = plan_.values[id];
    if (is_summed(id) || is_written_last(id)) return kForever;
    int end = value.is_loop ? time_of(value) : 0;
    for (const auto reader : readers_[id]) {
      const auto& by = plan_.values[reader];
      if (value.is_loop || by.is_loop || by.level != value.level) end = std::max(end, time_of(by));
    }
    return end;
  }

  // Slots whose values were read for the last time are used again.
  void place_slots() {
    std::vector<int> free_from;
    for (uint32_t id = 0; id < plan_.values.size(); ++id) {
      if (!is_constant(id) || !is_read_by_interpreter(id)) continue;
      plan_.constants.push_back(id);
      put_in_slot(id, -1, kForever, free_from);
    }
    std::vector<uint32_t> steps;
    for (uint32_t id = 0; id < plan_.values.size(); ++id) {
      const bool is_in_memory = plan_.values[id].step && plan_.values[id].place == Place::kNone && end_of(id) > 0;
      if (is_in_memory) steps.push_back(id);
    }
    const auto time = [this](uint32_t id) { return time_of(plan_.values[id]); };
    std::stable_sort(steps.begin(), steps.end(), [&](uint32_t a, uint32_t b) { return time(a) < time(b); });
    for (const auto id : steps) put_in_slot(id, time(id), end_of(id), free_from);
    plan_.slots = static_cast<uint32_t>(free_from.size());
  }

  // `free_from` has the last time at which each slot is used.
  void put_in_slot(uint32_t id, int begin, int end, std::vector<int>& free_from) {
    const auto found = std::find_if(free_from.begin(), free_from.end(), [begin](int last) { return last < begin; });
    plan_.values[id].place = Place::kSlot;
    plan_.values[id].index = static_cast<uint32_t>(found - free_from.begin());
    if (found == free_from.end()) {
      free_from.push_back(end);
    } else {
      *found = end;
    }
  }

  const Program& program_;
  const Layout& layout_;
  Plan plan_;
  // The steps that read each value.
  std::vector<std::vector<uint32_t>> readers_;
};

}  // namespace

bool is_in_kernels(Op op) {
  switch (op) {
    case Op::kTanh:
    case Op::kSigmoid:
    case Op::kExp:
    case Op::kLog:
    case Op::kErf:
    case Op::kSumRow:
    case Op::kMaxRow:
      return false;
    default:
      return true;
  }
}

std::optional<Plan> make_plan(const Program& program, const Layout& layout) { return Planner(program, layout).plan(); }

}  // namespace acc::fused::machine_code
