#include <algorithm>

#include "engine/fused/block_runner.h"
#include "engine/fused/registers.h"

namespace acc::fused {
namespace {

class Interpreter : public BlockRunner {
 public:
  Interpreter(const Program& program, const std::vector<Source>& sources, const std::vector<Output>& outputs, int64_t block)
      : program_(program),
        sources_(sources),
        outputs_(outputs),
        memory_(program.register_count, block),
        from_(program.register_count),
        to_(program.register_count) {
    for (size_t r = 0; r < program.register_count; ++r) from_[r] = to_[r] = memory_.at(r);
    for (const auto& [reg, number, is_block] : program.constants) std::fill_n(to_[reg], is_block ? block : 1, number);
  }

  void run(const Range& range) override {
    for (size_t i = 0; i < sources_.size(); ++i) {
      const auto extent = program_.inputs[i].extent;
      from_[i] = sources_[i].read(range.first_of(extent), range.count_of(extent), memory_.at(i));
    }
    for (size_t k = 0; k < outputs_.size(); ++k) {
      if (!is_written_directly(k)) continue;
      const auto& result = program_.results[k];
      from_[result.reg] = to_[result.reg] = outputs_[k].tensor.mutable_data_ptr<float>() + range.first_of(result.extent);
    }
    for (const auto& step : program_.steps) {
      if (step.row_loop) {
        step.row_loop(from_[step.a], from_[step.b], to_[step.out], range.rows, program_.row);
      } else {
        step.loop(from_[step.a], from_[step.b], from_[step.c], to_[step.out], range.count_of(step.extent));
      }
    }
    for (size_t k = 0; k < outputs_.size(); ++k) {
      const auto& result = program_.results[k];
      if (is_written_directly(k) || result.extent == Extent::kColumns) continue;
      write_block(from_[result.reg], outputs_[k].tensor, range.first_of(result.extent), range.count_of(result.extent));
    }
  }

  const float* numbers_of(size_t result) const override { return from_[program_.results[result].reg]; }

 private:
  // A register of a step can lie in the memory of the result.
  bool is_written_directly(size_t k) const {
    const auto& result = program_.results[k];
    return outputs_[k].taken < 0 && result.dtype == at::kFloat && result.extent != Extent::kColumns;
  }

  const Program& program_;
  const std::vector<Source>& sources_;
  const std::vector<Output>& outputs_;
  const Registers memory_;
  // Where the numbers of each register are read and written.
  std::vector<const float*> from_;
  std::vector<float*> to_;
};

}  // namespace

std::unique_ptr<BlockRunner> interpret(const Program& program, const std::vector<Source>& sources,
                                       const std::vector<Output>& outputs, int64_t block) {
  return std::make_unique<Interpreter>(program, sources, outputs, block);
}

}  // namespace acc::fused
