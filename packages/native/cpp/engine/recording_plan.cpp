// Rewrites the calls of a recording by a plan from JavaScript: numbers, for each segment its calls
// and then 0. A call is either 1, the index of a recorded call, and the list of its uses; or 2, the
// list of a program's inputs, the list of its results, and the program. Lists begin with their
// length.

#include "engine/error.h"
#include "engine/number_reader.h"
#include "engine/recording.h"

namespace acc {
namespace {

constexpr double kEndOfSegment = 0, kKeptCall = 1, kFusedCall = 2;

class PlanReader {
 public:
  PlanReader(const std::vector<double>& plan, const CallList& list) : in_(plan), list_(list) {}

  bool is_at_end() const { return in_.is_at_end(); }

  double kind() { return in_.number(); }

  RecordedCall kept_call() {
    auto call = list_.calls[in_.below(list_.calls.size(), "index of a call")];
    if (in_.below(call.uses.size() + 1, "number of arguments") != call.uses.size()) {
      throw Error(kInvalidArgument, "The plan of a recording changes the number of arguments.");
    }
    for (auto& use : call.uses) {
      // None stays None.
      use.value = use.value < 0 ? static_cast<int>(in_.integer(-1, 0, "value")) : value();
    }
    return call;
  }

  RecordedCall fused_call() {
    RecordedCall call;
    for (size_t n = count_of_values(); n > 0; --n) call.uses.push_back({value(), false});
    for (size_t n = count_of_values(); n > 0; --n) call.results.push_back(value());
    auto program = fused::read_program(in_);
    if (program.inputs.size() != call.uses.size() || program.results.size() != call.results.size()) {
      throw Error(kInvalidArgument, "The plan of a recording gives a program other values than it takes.");
    }
    call.program = std::make_shared<const fused::Program>(std::move(program));
    return call;
  }

 private:
  int value() { return static_cast<int>(in_.below(list_.values.size(), "value")); }
  size_t count_of_values() { return in_.below(list_.values.size() + 1, "number of values"); }

  NumberReader in_;
  const CallList& list_;
};

}  // namespace

void Recording::rewrite(const std::vector<double>& plan) {
  PlanReader in(plan, list_);
  std::vector<RecordedCall> calls;
  auto segments = list_.segments;
  for (auto& segment : segments) {
    segment.first_call = calls.size();
    for (double kind = in.kind(); kind != kEndOfSegment; kind = in.kind()) {
      if (kind != kKeptCall && kind != kFusedCall) {
        throw Error(kInvalidArgument, "The plan of a recording contains an unknown kind of call.");
      }
      calls.push_back(kind == kKeptCall ? in.kept_call() : in.fused_call());
    }
    segment.end_call = calls.size();
  }
  if (!in.is_at_end()) throw Error(kInvalidArgument, "The plan of a recording has too many segments.");
  list_.calls = std::move(calls);
  list_.segments = std::move(segments);
}

}  // namespace acc
