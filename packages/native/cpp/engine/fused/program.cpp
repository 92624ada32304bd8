#include "engine/fused/program.h"

#include <algorithm>
#include <optional>

#include "engine/error.h"
#include "engine/fused/row_steps.h"
#include "engine/fused/steps.h"

namespace acc::fused {
namespace {

constexpr size_t kMaxCount = 1 << 16;
constexpr int64_t kMaxElements = int64_t{1} << 53;
// Registers of whole rows must fit into a core's cache.
constexpr int64_t kMaxRow = 1 << 14;

class ProgramReader {
 public:
  explicit ProgramReader(NumberReader& in) : in_(in) {}

  Program read() {
    program_.count = in_.integer(0, kMaxElements, "number of elements");
    program_.row = in_.integer(0, kMaxRow + 1, "length of a row");
    if (program_.row > 0 && program_.count % program_.row != 0) refuse("has rows of different lengths");
    program_.register_count = in_.below(kMaxCount, "number of registers");
    extents_.resize(program_.register_count);
    each(program_.register_count + 1, "number of inputs", [this] { read_input(); });
    is_constant_.resize(program_.register_count);
    each(kMaxCount, "number of constants", [this] { read_constant(); });
    each(kMaxCount, "number of steps", [this] { read_step(); });
    each(kMaxCount, "number of results", [this] { read_result(); });
    return std::move(program_);
  }

 private:
  [[noreturn]] static void refuse(const char* what) { throw Error(kInvalidArgument, std::string("A fused program ") + what + "."); }

  template <typename Read>
  void each(size_t limit, const char* what, const Read& read) {
    for (size_t n = in_.below(limit, what); n > 0; --n) read();
  }

  uint16_t reg() { return static_cast<uint16_t>(in_.below(program_.register_count, "register")); }

  Extent extent() {
    const auto extent = static_cast<Extent>(in_.below(static_cast<size_t>(Extent::kCount), "extent"));
    if (extent != Extent::kElements && program_.row == 0) refuse("has no rows and a register for each");
    return extent;
  }

  std::vector<int64_t> shape(Extent extent) {
    std::vector<int64_t> sizes(in_.below(kMaxCount, "number of dims"));
    for (auto& size : sizes) size = in_.integer(0, kMaxElements, "size");
    int64_t count = program_.count;
    if (extent == Extent::kRows) count /= program_.row;
    if (extent == Extent::kColumns) count = program_.row;
    if (c10::multiply_integers(sizes) != count) refuse("has an invalid shape");
    return sizes;
  }

  void read_input() {
    const auto of = extent();
    if (of == Extent::kColumns) refuse("has an input for its columns");
    // The largest number of inputs is the number of registers.
    extents_[program_.inputs.size()] = of;
    program_.inputs.push_back({of, shape(of)});
  }

  void read_constant() {
    const auto place = reg();
    if (place < program_.inputs.size()) refuse("has a constant in the place of an input");
    is_constant_[place] = true;
    program_.constants.push_back({place, static_cast<float>(in_.number())});
  }

  void read_step() {
    const auto op = static_cast<Op>(in_.below(static_cast<size_t>(Op::kCount), "operator"));
    const auto of = extent();
    const auto out = reg(), a = reg(), b = reg(), c = reg();
    if (out < program_.inputs.size() || is_constant_[out]) refuse("writes one of its inputs");
    if (of == Extent::kColumns || extents_[out].value_or(of) != of) refuse("uses a register for two things");
    if (const auto row_loop = row_loop_of(op)) {
      const auto taken = op == Op::kSpread ? Extent::kRows : Extent::kElements;
      const auto given = op == Op::kSpread ? Extent::kElements : Extent::kRows;
      if (program_.row == 0 || of != given) refuse("has an operator on rows without rows");
      check_operand(a, taken);
      read_as_block(a);
      program_.steps.push_back({op, nullptr, row_loop, out, a, a, a, of});
    } else if (const auto loops = pair_loops_of(op)) {
      program_.steps.push_back(pair_step(*loops, {op, nullptr, nullptr, out, a, b, b, of}));
    } else {
      for (const auto operand : {a, b, c}) {
        check_operand(operand, of);
        read_as_block(operand);
      }
      program_.steps.push_back({op, loop_of(op), nullptr, out, a, b, c, of});
    }
    extents_[out] = of;
  }

  // Of two operands, at most one is read as a number. The other one is a block.
  Step pair_step(const PairLoops& loops, Step step) {
    if (step.extent == Extent::kElements && has_rows(step.a) != has_rows(step.b)) {
      const bool is_first = has_rows(step.a);
      step.row_loop = is_first ? loops.first_of_rows : loops.second_of_rows;
      check_operand(is_first ? step.b : step.a, step.extent);
      read_as_block(is_first ? step.b : step.a);
      return step;
    }
    for (const auto operand : {step.a, step.b}) check_operand(operand, step.extent);
    const bool is_first_number = is_constant_[step.a], is_second_number = is_constant_[step.b];
    step.loop = loop_beside(loops, is_first_number, is_second_number);
    if (is_first_number == is_second_number) {
      for (const auto operand : {step.a, step.b}) read_as_block(operand);
    }
    return step;
  }

  bool has_rows(uint16_t operand) const { return extents_[operand] == Extent::kRows; }

  void read_as_block(uint16_t operand) {
    for (auto& constant : program_.constants) {
      if (constant.reg == operand) constant.is_block = true;
    }
  }

  void check_operand(uint16_t operand, Extent of) const {
    if (!is_constant_[operand] && extents_[operand] != of) refuse("reads a register before it is written, or of another extent");
  }

  void read_result() {
    const auto place = reg();
    const bool is_known = std::any_of(program_.results.begin(), program_.results.end(), [place](const Result& result) {
      return result.reg == place && result.extent != Extent::kColumns;
    });
    const auto of = extent();
    const bool is_sum = of == Extent::kColumns;
    if (!is_sum && (place < program_.inputs.size() || is_known)) refuse("has a result that is an input or another result");
    check_operand(place, is_sum ? Extent::kElements : of);
    read_as_block(place);
    const auto dtype = static_cast<c10::ScalarType>(in_.below(kMaxCount, "dtype"));
    if (dtype != at::kFloat && dtype != at::kBFloat16 && (dtype != at::kBool || is_sum)) {
      refuse("has a result of an unsupported dtype");
    }
    program_.results.push_back({place, of, dtype, shape(of)});
  }

  NumberReader& in_;
  Program program_;
  // Of registers that were written.
  std::vector<std::optional<Extent>> extents_;
  std::vector<bool> is_constant_;
};

}  // namespace

Program read_program(NumberReader& in) { return ProgramReader(in).read(); }

}  // namespace acc::fused
