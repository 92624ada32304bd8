#include "engine/fused/machine_code/code.h"

#include <algorithm>
#include <exception>

#include "engine/fused/registers.h"

namespace acc::fused::machine_code {
namespace {

// A program that is replayed has one layout, or two if memory is taken over in some replays only.
constexpr size_t kMostLayouts = 4;

std::shared_ptr<const Code> make_code(const Program& program, const Layout& layout, int64_t block) {
  if (!has_kernels()) return nullptr;
  auto plan = make_plan(program, layout);
  if (!plan) return nullptr;
  auto code = std::make_shared<Code>(Code{std::move(*plan), Registers::stride(block), nullptr});
  try {
    code->kernels = compile(program, code->plan, code->stride * sizeof(float));
  } catch (const std::exception&) {
    return nullptr;
  }
  return code;
}

class CodeRunner : public BlockRunner {
 public:
  CodeRunner(const Program& program, std::shared_ptr<const Code> code, const std::vector<Source>& sources,
             const std::vector<Output>& outputs, int64_t block)
      : program_(program),
        code_(std::move(code)),
        plan_(code_->plan),
        sources_(sources),
        outputs_(outputs),
        memory_(registers_of(*code_), block),
        addresses_(1 + sources.size() + outputs.size()) {
    addresses_[0] = memory_.at(0);
    for (const auto id : plan_.constants) std::fill_n(memory_.at(plan_.values[id].index), block, plan_.values[id].number);
  }

  void run(const Range& range) override {
    for (size_t i = 0; i < sources_.size(); ++i) addresses_[1 + i] = const_cast<void*>(input(i, range));
    for (size_t k = 0; k < outputs_.size(); ++k) {
      const auto& tensor = outputs_[k].tensor;
      const auto first = static_cast<size_t>(range.first_of(program_.results[k].extent));
      addresses_[1 + sources_.size() + k] = static_cast<char*>(tensor.mutable_data_ptr()) + first * tensor.element_size();
    }
    for (size_t level = 0; level < plan_.levels.size(); ++level) {
      if (const auto kernel = code_->kernels->kernels()[level]) {
        kernel(addresses_.data(), plan_.levels[level].has_rows ? range.rows : range.count);
      }
      for (const auto id : plan_.levels[level].loops) run_loop(plan_.values[id], range, at(id));
    }
    for (const auto k : plan_.written_last) {
      const auto extent = program_.results[k].extent;
      write_block(at(plan_.results[k]), outputs_[k].tensor, range.first_of(extent), range.count_of(extent));
    }
  }

  const float* numbers_of(size_t result) const override { return at(plan_.results[result]); }

 private:
  // Slots, what kernels keep beyond them, and a register for each input.
  static size_t registers_of(const Code& code) {
    return first_buffer(code) + code.plan.inputs.size();
  }

  static size_t first_buffer(const Code& code) {
    return code.plan.slots + (kSpills * kSpillFloats + code.stride - 1) / code.stride;
  }

  const void* input(size_t i, const Range& range) const {
    const auto& source = sources_[i];
    const auto extent = program_.inputs[i].extent;
    const auto* data = static_cast<const char*>(source.tensor().const_data_ptr());
    switch (plan_.inputs[i]) {
      case Access::kBlock:
        return source.read(range.first_of(extent), range.count_of(extent), memory_.at(first_buffer(*code_) + i));
      case Access::kBfloat16: return data + static_cast<size_t>(range.first) * sizeof(uint16_t);
      case Access::kRows: return data + static_cast<size_t>(range.first_row) * sizeof(float);
      default: return data;
    }
  }

  void run_loop(const Value& value, const Range& range, float* out) const {
    const auto& step = *value.step;
    const float* operands[3];
    for (int k = 0; k < 3; ++k) operands[k] = at(value.operands[std::min(k, value.operand_count - 1)]);
    if (step.row_loop) {
      step.row_loop(operands[0], operands[1], out, range.rows, program_.row);
    } else {
      step.loop(operands[0], operands[1], operands[2], out, range.count_of(step.extent));
    }
  }

  // Where a value that is not only in vector registers is.
  float* at(uint32_t id) const {
    const auto& value = plan_.values[id];
    if (value.place == Place::kSlot) return memory_.at(value.index);
    return static_cast<float*>(addresses_[1 + value.index + (value.place == Place::kResult ? sources_.size() : 0)]);
  }

  const Program& program_;
  const std::shared_ptr<const Code> code_;
  const Plan& plan_;
  const std::vector<Source>& sources_;
  const std::vector<Output>& outputs_;
  const Registers memory_;
  // As kernels take them.
  std::vector<void*> addresses_;
};

}  // namespace

Layout layout_of(const Program& program, const std::vector<Source>& sources, const std::vector<Output>& outputs) {
  Layout layout;
  for (size_t i = 0; i < sources.size(); ++i) {
    const bool has_elements = program.inputs[i].extent == Extent::kElements;
    layout.inputs.push_back(has_elements ? sources[i].access(program.row) : Access::kBlock);
  }
  for (const auto& output : outputs) layout.taken.push_back(output.taken);
  return layout;
}

std::shared_ptr<const Code> CodeCache::find(const Program& program, const Layout& layout, int64_t block) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(codes_.begin(), codes_.end(), [&](const auto& entry) { return entry.first == layout; });
  if (found != codes_.end()) return found->second;
  if (codes_.size() >= kMostLayouts) return nullptr;
  return codes_.emplace_back(layout, make_code(program, layout, block)).second;
}

std::unique_ptr<BlockRunner> run_code(const Program& program, std::shared_ptr<const Code> code,
                                      const std::vector<Source>& sources, const std::vector<Output>& outputs, int64_t block) {
  return std::make_unique<CodeRunner>(program, std::move(code), sources, outputs, block);
}

}  // namespace acc::fused::machine_code
