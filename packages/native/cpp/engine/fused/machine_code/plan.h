#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/fused/blocks.h"
#include "engine/fused/program.h"

namespace acc::fused::machine_code {

// What code depends on besides the program.
struct Layout {
  std::vector<Access> inputs;
  // For each result, the input whose memory it takes, or -1.
  std::vector<int> taken;

  bool operator==(const Layout&) const = default;
};

// Where the numbers of a value are while a block is computed.
enum class Place : uint8_t {
  kNone,    // in a vector register of one kernel only
  kInput,   // as the access of the input says
  kSlot,    // in a block of elements that kernels and loops share
  kResult,  // in the memory of a float32 result
};

// An input, a constant, or what a step computes.
struct Value {
  Extent extent = Extent::kElements;
  // Null for an input or a constant.
  std::optional<Step> step;
  // Whether a loop of the interpreter computes it, and not a kernel.
  bool is_loop = false;
  uint32_t operands[3] = {};
  int operand_count = 0;
  // The kernel of a step has the number of its level. The loops of a level run after its kernel.
  int level = 0;
  Place place = Place::kNone;
  // Of the input, the slot or the result.
  uint32_t index = 0;
  // Results that the kernel writes.
  std::vector<uint32_t> written;
  float number = 0.f;
};

struct Level {
  std::vector<uint32_t> steps;  // of the kernel
  std::vector<uint32_t> loops;
  // Whether the kernel reads numbers of rows or columns.
  bool has_rows = false;
};

// The order in which the steps of a program run as kernels, which keep values in vector registers, and
// as loops of the interpreter, for functions and operators on rows.
struct Plan {
  // Inputs, constants, steps.
  std::vector<Value> values;
  std::vector<Access> inputs;
  std::vector<int> taken;  // as in the layout
  std::vector<Level> levels;
  uint32_t slots = 0;
  // The value of each result.
  std::vector<uint32_t> results;
  // Constants that loops read, which have slots.
  std::vector<uint32_t> constants;
  // Results that are written after all levels.
  std::vector<uint32_t> written_last;
};

// Whether kernels compute an operator on elements.
bool is_in_kernels(Op op);

// Returns none if the program has nothing for kernels.
std::optional<Plan> make_plan(const Program& program, const Layout& layout);

}  // namespace acc::fused::machine_code
