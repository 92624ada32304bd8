#include "engine/fused/machine_code/kernel.h"

#include "engine/error.h"

#if defined(__x86_64__) && defined(__linux__)

#include <algorithm>
#include <deque>
#include <optional>

#include "engine/fused/machine_code/kernel_uses.h"
#include "engine/fused/machine_code/operator_code.h"
#include "engine/fused/machine_code/vector_registers.h"

namespace acc::fused::machine_code {
namespace {

using Xbyak::Address;
using Xbyak::Reg64;
using Xbyak::Zmm;

constexpr int kVectorFloats = kSpillFloats;

class Generator : public OperatorCode, public KernelCode {
 public:
  Generator(const Program& program, const Plan& plan, size_t slot_bytes)
      : OperatorCode(code_bytes(program), Xbyak::DontSetProtectRWE), program_(program), plan_(plan), slot_bytes_(slot_bytes) {
    std::vector<const uint8_t*> begins;
    for (const auto& level : plan.levels) {
      begins.push_back(level.steps.empty() ? nullptr : getCurr());
      if (!level.steps.empty()) write_kernel(level);
    }
    for (const auto* begin : begins) kernels_.push_back(reinterpret_cast<Kernel>(reinterpret_cast<uintptr_t>(begin)));
    setProtectModeRE();
  }

  const std::vector<Kernel>& kernels() const override { return kernels_; }

 private:
  // A step takes a few instructions of up to 11 bytes, in the loop and for the last elements.
  static size_t code_bytes(const Program& program) {
    return 8192 + 512 * (program.steps.size() + program.inputs.size() + 2 * program.results.size());
  }

  void write_kernel(const Level& level) {
    level_ = &level;
    uses_.emplace(program_, plan_, level);
    spills_.clear();
    literal_labels_.emplace_back();
    push_all();
    assign_addresses();
    xor_(index_, index_);
    load_pinned(false);
    if (level.has_rows) {
      write_rows();
    } else {
      write_elements();
    }
    pop_all();
    vzeroupper();
    ret();
    align(4);
    L(literal_labels_.back());
    for (const auto bits : uses_->literals()) dd(bits);
    align(64);
  }

  // --- Loops.

  void write_elements() {
    Xbyak::Label next, rest, end;
    mov(row_, count_);
    and_(row_, -kVectorFloats);
    jz(rest, T_NEAR);
    L(next);
    write_body();
    add(index_, kVectorFloats);
    cmp(index_, row_);
    jl(next, T_NEAR);
    L(rest);
    // The shift by the number of elements that are left takes it from cl.
    push(rcx);
    mov(rcx, count_);
    and_(ecx, kVectorFloats - 1);
    mov(eax, 1);
    shl(eax, cl);
    pop(rcx);
    dec(eax);
    jz(end, T_NEAR);
    kmovw(k1, eax);
    write_masked_body();
    L(end);
  }

  void write_rows() {
    const auto length = program_.row, whole = length / kVectorFloats * kVectorFloats, rest = length - whole;
    Xbyak::Label row, next;
    if (rest > 0) {
      mov(eax, (1u << rest) - 1);
      kmovw(k1, eax);
    }
    xor_(row_, row_);
    L(row);
    load_pinned(true);
    xor_(column_, column_);
    if (whole > 0) {
      L(next);
      write_body();
      add(index_, kVectorFloats);
      add(column_, kVectorFloats);
      cmp(column_, static_cast<uint32_t>(whole));
      jl(next, T_NEAR);
    }
    if (rest > 0) {
      write_masked_body();
      add(index_, static_cast<uint32_t>(rest));
    }
    inc(row_);
    cmp(row_, count_);
    jl(row, T_NEAR);
  }

  void write_masked_body() {
    is_masked_ = true;
    write_body();
    is_masked_ = false;
  }

  // The code for one vector of elements.
  void write_body() {
    registers_.begin(&uses_->positions(), uses_->pinned());
    spilled_.clear();
    const auto& steps = level_->steps;
    for (position_ = 0; position_ < static_cast<int>(steps.size()); ++position_) {
      write_step(steps[static_cast<size_t>(position_)]);
      registers_.unlock(position_);
    }
    for (const auto& [id, k] : uses_->last()) {
      write_result(zmm_of(static_cast<int>(id)), plan_.values[id], k);
      registers_.unlock(position_ - 1);
    }
  }

  void write_step(uint32_t id) {
    const auto& value = plan_.values[id];
    int operands[3] = {};
    for (int k = 0; k < value.operand_count; ++k) operands[k] = register_of(uses_->key_of(value.operands[k]));
    for (int k = value.operand_count; k < 3; ++k) operands[k] = operands[0];
    const Zmm out(take(static_cast<int>(id)));
    compute(value.step->op, out, Zmm(operands[0]), Zmm(operands[1]), Zmm(operands[2]));
    if (value.place != Place::kNone) store(address_of(id), out);
    for (const auto k : value.written) {
      if (plan_.taken[k] < 0) write_result(out, value, k);
    }
  }

  // --- Memory.

  void store(const Address& to, const Zmm& from) {
    if (is_masked_) {
      vmovups(to | k1, from);
    } else {
      vmovups(to, from);
    }
  }

  void load(const Zmm& to, const Address& from) {
    if (is_masked_) {
      vmovups(to | k1 | T_z, from);
    } else {
      vmovups(to, from);
    }
  }

  void write_result(const Zmm& from, const Value& value, uint32_t k) {
    const auto dtype = program_.results[k].dtype;
    const Reg64 base = address(address_of_result(plan_, k));
    if (dtype == at::kFloat) return store(ptr[base + index_ * 4], from);
    const Zmm narrow(temporary());
    if (dtype == at::kBool) {
      vcmpps(k2, from, literal(kZero), kIsNotEqual);
      vmovdqa32(narrow | k2 | T_z, literal(kLowBit));
      is_masked_ ? vpmovdb(ptr[base + index_] | k1, narrow) : vpmovdb(ptr[base + index_], narrow);
      return;
    }
    if (value.step->op == Op::kRoundToBfloat16) {
      vpsrld(narrow, from, 16);
    } else {
      round_to_bfloat16(narrow, from);
      vpsrld(narrow, narrow, 16);
    }
    is_masked_ ? vpmovdw(ptr[base + index_ * 2] | k1, narrow) : vpmovdw(ptr[base + index_ * 2], narrow);
  }

  // The elements or the number of the row of a value that is in memory.
  Address address_of(uint32_t id) {
    const auto& value = plan_.values[id];
    const Xbyak::RegExp at = value.extent == Extent::kRows ? row_ * 4 : index_ * 4;
    if (value.place == Place::kSlot) return ptr[address(0) + at + value.index * slot_bytes_];
    return ptr[address(value.place == Place::kResult ? address_of_result(plan_, value.index) : address_of_input(value.index)) + at];
  }

  void load_value(const Zmm& to, uint32_t id) {
    const auto& value = plan_.values[id];
    if (is_row_number(plan_, id) || is_number(plan_, id)) return load_number(to, id);
    if (value.place == Place::kInput && plan_.inputs[id] == Access::kColumns) {
      return load(to, ptr[address(address_of_input(id)) + column_ * 4]);
    }
    if (value.place != Place::kInput || plan_.inputs[id] != Access::kBfloat16) return load(to, address_of(id));
    const Address from = ptr[address(address_of_input(id)) + index_ * 2];
    is_masked_ ? vpmovzxwd(to | k1 | T_z, from) : vpmovzxwd(to, from);
    vpslld(to, to, 16);
  }

  void load_number(const Zmm& to, uint32_t id) {
    if (is_number(plan_, id)) return vbroadcastss(to, ptr[address(address_of_input(id))]);
    if (plan_.values[id].place == Place::kInput) return vbroadcastss(to, ptr[address(address_of_input(id)) + row_ * 4]);
    vbroadcastss(to, address_of(id));
  }

  // --- Addresses in general registers.

  // The register of an address. The last one is free for those that have none.
  Reg64 address(uint32_t entry) {
    const auto found = address_registers_.find(entry);
    if (found != address_registers_.end()) return found->second;
    mov(rax, ptr[memory_ + entry * 8]);
    return rax;
  }

  void assign_addresses() {
    const std::vector<Reg64> registers = {rdx, r10, r11, rbx, rbp, r12, r13, r14, r15};
    const auto& entries = uses_->addresses();
    address_registers_.clear();
    for (size_t i = 0; i < std::min(entries.size(), registers.size()); ++i) {
      mov(registers[i], ptr[memory_ + entries[i] * 8]);
      address_registers_.emplace(entries[i], registers[i]);
    }
  }

  void push_all() {
    for (const auto& reg : {rbx, rbp, r12, r13, r14, r15}) push(reg);
  }

  void pop_all() {
    for (const auto& reg : {r15, r14, r13, r12, rbp, rbx}) pop(reg);
  }

  // --- Vector registers.

  int temporary() override { return take(VectorRegisters::kTemporary); }
  Zmm literal(uint32_t bits) override { return zmm_of(uses_->literal_key(bits)); }
  Zmm zmm_of(int key) { return Zmm(register_of(key)); }

  int register_of(int key) {
    if (const auto reg = registers_.find(key)) {
      registers_.lock(*reg);
      return *reg;
    }
    const int reg = take(key);
    load_key(Zmm(reg), key);
    return reg;
  }

  void load_key(const Zmm& to, int key) {
    if (key >= kLiteral) return vbroadcastss(to, ptr[rip + literal_labels_.back() + 4 * (key - kLiteral)]);
    if (const auto spill = spilled_.find(key); spill != spilled_.end()) return vmovups(to, spill_address(spill->second));
    load_value(to, static_cast<uint32_t>(key));
  }

  // A value that is given up and is nowhere in memory gets a place beyond the slots.
  int take(int key) {
    std::optional<VectorRegisters::GivenUp> given_up;
    const int reg = registers_.take(key, position_, given_up);
    if (given_up && given_up->key < kLiteral && is_only_here(given_up->key) && !spilled_.contains(given_up->key)) {
      const auto place = spills_.emplace(given_up->key, spills_.size()).first->second;
      if (place >= kSpills) throw Error(kInvalidArgument, "A kernel needs too many registers.");
      spilled_[given_up->key] = place;
      vmovups(spill_address(place), Zmm(given_up->reg));
    }
    return reg;
  }

  bool is_only_here(int key) const { return plan_.values[static_cast<size_t>(key)].place == Place::kNone; }

  Address spill_address(size_t place) {
    return ptr[address(0) + plan_.slots * slot_bytes_ + place * kVectorFloats * sizeof(float)];
  }

  void load_pinned(bool of_rows) {
    for (const auto& [key, reg] : uses_->pinned()) {
      const bool is_of_row = key < kLiteral && is_row_number(plan_, static_cast<uint32_t>(key));
      if (is_of_row == of_rows) load_key(Zmm(reg), key);
    }
  }

  const Program& program_;
  const Plan& plan_;
  const size_t slot_bytes_;
  std::vector<Kernel> kernels_;

  const Reg64 memory_ = rdi, count_ = rsi, index_ = rcx, row_ = r8, column_ = r9;
  const Level* level_ = nullptr;
  bool is_masked_ = false;
  int position_ = 0;
  VectorRegisters registers_;
  std::optional<KernelUses> uses_;
  std::map<uint32_t, Reg64> address_registers_;
  // The places of values that a kernel gave up, and those that have been given up in this loop.
  std::map<int, size_t> spills_, spilled_;
  // Where the literals of each kernel are.
  std::deque<Xbyak::Label> literal_labels_;
};

}  // namespace

bool has_kernels() { return __builtin_cpu_supports("avx512f"); }

std::unique_ptr<KernelCode> compile(const Program& program, const Plan& plan, size_t slot_bytes) {
  return std::make_unique<Generator>(program, plan, slot_bytes);
}

}  // namespace acc::fused::machine_code

#else

namespace acc::fused::machine_code {

bool has_kernels() { return false; }

std::unique_ptr<KernelCode> compile(const Program&, const Plan&, size_t) {
  throw Error(kInvalidArgument, "There are no kernels for this CPU.");
}

}  // namespace acc::fused::machine_code

#endif
