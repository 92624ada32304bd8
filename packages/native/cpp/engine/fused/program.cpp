#include "engine/fused/program.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/fused/steps.h"

namespace acc::fused {
namespace {

constexpr size_t kMaxCount = 1 << 16;
constexpr int64_t kMaxElements = int64_t{1} << 53;

}  // namespace

Program read_program(NumberReader& in) {
  Program program;
  program.count = in.integer(0, kMaxElements, "number of elements");
  program.register_count = in.below(kMaxCount, "number of registers");
  const auto shape = [&] {
    std::vector<int64_t> sizes(in.below(kMaxCount, "number of dims"));
    for (auto& size : sizes) size = in.integer(0, kMaxElements, "size");
    if (c10::multiply_integers(sizes) != program.count) throw Error(kInvalidArgument, "A fused program has an invalid shape.");
    return sizes;
  };
  for (size_t n = in.below(program.register_count + 1, "number of inputs"); n > 0; --n) program.inputs.push_back(shape());
  const auto reg = [&] { return static_cast<uint16_t>(in.below(program.register_count, "register")); };
  for (size_t n = in.below(kMaxCount, "number of constants"); n > 0; --n) {
    const auto place = reg();
    program.constants.push_back({place, static_cast<float>(in.number())});
  }
  for (size_t n = in.below(kMaxCount, "number of steps"); n > 0; --n) {
    const auto op = static_cast<Op>(in.below(static_cast<size_t>(Op::kCount), "operator"));
    const auto out = reg(), a = reg(), b = reg(), c = reg();
    if (out < program.inputs.size()) throw Error(kInvalidArgument, "A fused program writes one of its inputs.");
    program.steps.push_back({loop_of(op), out, a, b, c});
  }
  for (size_t n = in.below(kMaxCount, "number of results"); n > 0; --n) {
    const auto place = reg();
    const bool is_known = std::any_of(program.results.begin(), program.results.end(),
                                      [place](const Result& result) { return result.reg == place; });
    if (place < program.inputs.size() || is_known) {
      throw Error(kInvalidArgument, "A fused program has a result that is an input or another result.");
    }
    const auto dtype = static_cast<c10::ScalarType>(in.below(kMaxCount, "dtype"));
    if (dtype != at::kFloat && dtype != at::kBFloat16 && dtype != at::kBool) {
      throw Error(kInvalidArgument, "A fused program has a result of an unsupported dtype.");
    }
    program.results.push_back({place, dtype, shape()});
  }
  return program;
}

}  // namespace acc::fused
