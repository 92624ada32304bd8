#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engine/fused/machine_code/plan.h"

namespace acc::fused::machine_code {

// What a vector register has: the value of that number, or a literal from `kLiteral` on.
using Key = int;
inline constexpr Key kLiteral = 1 << 20;

// What the kernel of a level reads and writes. A position is the place of a step in it. The position
// after the last step is that of results which are written when the inputs have been read.
class KernelUses {
 public:
  KernelUses(const Program& program, const Plan& plan, const Level& level);

  // The positions at which each key is read, in ascending order.
  const std::map<Key, std::vector<int>>& positions() const { return positions_; }
  // The registers of numbers that stay in them through the whole loop.
  const std::map<Key, int>& pinned() const { return pinned_; }
  const std::vector<uint32_t>& literals() const { return literals_; }
  // The addresses that the kernel uses, as places in its memory.
  const std::vector<uint32_t>& addresses() const { return addresses_; }
  // Values and results that are written after the last step.
  const std::vector<std::pair<uint32_t, uint32_t>>& last() const { return last_; }

  Key key_of(uint32_t id) const;
  Key literal_key(uint32_t bits) const;

 private:
  void add_literal(uint32_t bits, int position);
  void add_operand(uint32_t id, int position);
  void add_result(uint32_t id, uint32_t k, int position);
  void add_address(uint32_t address);
  void choose_pinned();

  const Program& program_;
  const Plan& plan_;
  const int end_;
  std::map<Key, std::vector<int>> positions_;
  std::map<Key, int> pinned_;
  std::vector<uint32_t> literals_, addresses_;
  std::vector<std::pair<uint32_t, uint32_t>> last_;
};

// The place of the address of an input or a result in the memory of a kernel. That of slots is 0.
inline uint32_t address_of_input(uint32_t input) { return 1 + input; }
inline uint32_t address_of_result(const Plan& plan, uint32_t k) { return 1 + static_cast<uint32_t>(plan.inputs.size()) + k; }

// Whether a value has a number for each row, or one for all.
bool is_row_number(const Plan& plan, uint32_t id);
bool is_number(const Plan& plan, uint32_t id);

}  // namespace acc::fused::machine_code
