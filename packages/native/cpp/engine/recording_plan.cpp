// Rewrites the calls of a recording by a plan from JavaScript: numbers, for each segment its calls
// and then 0. A call is either 1, the index of a recorded call, and the list of its uses; or 2, the
// list of a program's inputs, the list of its results, and the program. Lists begin with their
// length.

#include "engine/error.h"
#include "engine/recording.h"

namespace acc {
namespace {

constexpr double kEndOfSegment = 0, kKeptCall = 1, kFusedCall = 2;

class PlanReader {
 public:
  PlanReader(const std::vector<double>& plan, const CallList& list)
      : at_(plan.data()), end_(plan.data() + plan.size()), list_(list) {}

  bool is_at_end() const { return at_ == end_; }

  double number() {
    if (at_ == end_) throw Error(kInvalidArgument, "The plan of a recording ends too early.");
    return *at_++;
  }

  size_t index(size_t limit) {
    const double value = number();
    if (!(value >= 0 && value < static_cast<double>(limit))) {
      throw Error(kInvalidArgument, "The plan of a recording contains an invalid index.");
    }
    return static_cast<size_t>(value);
  }

  // A value, or -1 for None.
  int value() {
    const double given = number();
    if (!(given >= -1 && given < static_cast<double>(list_.values.size()))) {
      throw Error(kInvalidArgument, "The plan of a recording contains an unknown value.");
    }
    return static_cast<int>(given);
  }

  RecordedCall kept_call() {
    auto call = list_.calls[index(list_.calls.size())];
    if (index(call.uses.size() + 1) != call.uses.size()) {
      throw Error(kInvalidArgument, "The plan of a recording changes the number of arguments.");
    }
    for (auto& use : call.uses) use.value = value();
    return call;
  }

  RecordedCall fused_call() {
    RecordedCall call;
    for (size_t n = index(list_.values.size() + 1); n > 0; --n) call.uses.push_back({value(), false});
    for (size_t n = index(list_.values.size() + 1); n > 0; --n) call.results.push_back(value());
    auto program = fused::read_program(at_, end_);
    if (program.inputs.size() != call.uses.size() || program.results.size() != call.results.size()) {
      throw Error(kInvalidArgument, "The plan of a recording gives a program other values than it takes.");
    }
    call.program = std::make_shared<const fused::Program>(std::move(program));
    return call;
  }

 private:
  const double* at_;
  const double* end_;
  const CallList& list_;
};

}  // namespace

void Recording::rewrite(const std::vector<double>& plan) {
  PlanReader in(plan, list_);
  std::vector<RecordedCall> calls;
  auto segments = list_.segments;
  for (auto& segment : segments) {
    segment.first_call = calls.size();
    for (double kind = in.number(); kind != kEndOfSegment; kind = in.number()) {
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
