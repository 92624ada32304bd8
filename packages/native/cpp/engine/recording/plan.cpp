// Rewrites the calls of a recording by a plan from JavaScript: numbers, for each segment its calls
// and then 0. A call begins with its kind:
//   1 a recorded call: its index, and the list of its uses
//   2 a fused program: the list of its inputs, the list of its results, and the program
//   3 an operator: its index in the table of operators, its arguments (plan_call.h), and the list of
//     its results. Each is -1, or a value with its dtype, number of dims and sizes. A value that was
//     not recorded is a new one.
// A program can return new values, too. Where a call begins, there can also be
//   4 and a value: it is computed now instead of in each replay
//   5 and the list of the segment's outputs, which have the dtypes and shapes of the recorded ones
// Lists begin with their length.

#include "engine/error.h"
#include "engine/fused/machine_code/code.h"
#include "engine/recording/number_reader.h"
#include "engine/recording/plan_call.h"
#include "engine/recording/recording.h"

namespace acc {
namespace {

constexpr double kEndOfSegment = 0, kKeptCall = 1, kFusedCall = 2, kOperatorCall = 3, kConstant = 4, kOutputs = 5;

class PlanReader {
 public:
  PlanReader(const std::vector<double>& plan, const CallList& list, const OperatorTable& operators)
      : in_(plan), list_(list), operators_(operators), values_(list.values), value_limit_(values_.size() + plan.size()) {}

  bool is_at_end() const { return in_.is_at_end(); }

  // `outputs` are the recorded ones. The plan may put other values in their place.
  void read_segment(std::vector<Output>& outputs) {
    for (double kind = in_.number(); kind != kEndOfSegment; kind = in_.number()) {
      if (kind == kKeptCall) {
        calls_.push_back(kept_call());
      } else if (kind == kFusedCall) {
        calls_.push_back(fused_call());
      } else if (kind == kOperatorCall) {
        calls_.push_back(operator_call());
      } else if (kind == kConstant) {
        constants_.push_back(static_cast<int>(in_.below(list_.values.size(), "value")));
      } else if (kind == kOutputs) {
        read_outputs(outputs);
      } else {
        throw Error(kInvalidArgument, "The plan of a recording contains an unknown kind of call.");
      }
    }
  }

  const std::vector<int>& constants() const { return constants_; }
  std::vector<RecordedCall>& calls() { return calls_; }
  std::vector<ValueMeta>& values() { return values_; }

 private:
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

  void read_outputs(std::vector<Output>& outputs) {
    if (in_.below(outputs.size() + 1, "number of outputs") != outputs.size()) {
      throw Error(kInvalidArgument, "The plan of a recording changes the number of outputs.");
    }
    for (auto& output : outputs) {
      output.use.value = value();
      const auto& meta = values_[static_cast<size_t>(output.use.value)];
      if (meta.dtype != output.dtype || meta.sizes != output.sizes) {
        throw Error(kInvalidArgument, "The plan of a recording changes the dtype or shape of an output.");
      }
    }
  }

  RecordedCall fused_call() {
    RecordedCall call;
    for (size_t n = count_of_values(); n > 0; --n) call.uses.push_back({value(), false});
    for (size_t n = count_of_values(); n > 0; --n) {
      call.results.push_back(static_cast<int>(in_.below(value_limit_, "value")));
    }
    auto program = fused::read_program(in_);
    if (program.inputs.size() != call.uses.size() || program.results.size() != call.results.size()) {
      throw Error(kInvalidArgument, "The plan of a recording gives a program other values than it takes.");
    }
    for (size_t i = 0; i < program.results.size(); ++i) {
      const auto& made = program.results[i];
      define(call.results[i], {made.dtype, made.shape, true});
    }
    program.code = std::make_shared<fused::machine_code::CodeCache>();
    call.program = std::make_shared<const fused::Program>(std::move(program));
    return call;
  }

  RecordedCall operator_call() {
    const auto& op = operators_.at(static_cast<int>(in_.below(operators_.size(), "index of an operator")));
    auto call = PlanCallReader(in_, values_.size()).call(op);
    const size_t count = op.handle.schema().returns().size();
    if (in_.below(count + 1, "number of results") != count) {
      throw Error(kInvalidArgument, "The plan of a recording changes the number of results of " + op.name + ".");
    }
    for (size_t i = 0; i < count; ++i) call.results.push_back(result());
    return call;
  }

  int result() {
    const auto value = in_.integer(-1, static_cast<int64_t>(value_limit_), "result");
    if (value < 0) return -1;
    constexpr int64_t kMaxSize = int64_t{1} << 53, kMaxDims = 64;
    const auto dtype = in_.below(static_cast<size_t>(c10::ScalarType::NumOptions), "dtype");
    ValueMeta meta{static_cast<c10::ScalarType>(dtype), {}, false};
    for (auto dims = in_.integer(0, kMaxDims, "number of dims"); dims > 0; --dims) {
      meta.sizes.push_back(in_.integer(0, kMaxSize, "size"));
    }
    define(static_cast<int>(value), std::move(meta));
    return static_cast<int>(value);
  }

  // A recorded value has the type that it had, and any other value gets it.
  void define(int value, ValueMeta meta) {
    const auto index = static_cast<size_t>(value);
    if (index >= list_.values.size()) {
      if (index >= values_.size()) values_.resize(index + 1, meta);
      values_[index] = std::move(meta);
    } else if (values_[index].dtype != meta.dtype || values_[index].sizes != meta.sizes) {
      throw Error(kInvalidArgument, "The plan of a recording changes the dtype or shape of a value.");
    }
  }

  int value() { return static_cast<int>(in_.below(values_.size(), "value")); }
  size_t count_of_values() { return in_.below(values_.size() + 1, "number of values"); }

  NumberReader in_;
  const CallList& list_;
  const OperatorTable& operators_;
  std::vector<RecordedCall> calls_;
  std::vector<ValueMeta> values_;
  std::vector<int> constants_;
  size_t value_limit_;
};

}  // namespace

void Recording::rewrite(const std::vector<double>& plan, const OperatorTable& operators, c10::Device device) {
  PlanReader in(plan, list_, operators);
  auto segments = list_.segments;
  for (auto& segment : segments) {
    segment.first_call = in.calls().size();
    in.read_segment(segment.outputs);
    segment.end_call = in.calls().size();
  }
  if (!in.is_at_end()) throw Error(kInvalidArgument, "The plan of a recording has too many segments.");
  auto constant_calls = part_for(in.constants()).calls;
  const auto constants = this->constants(in.constants(), device);
  for (size_t i = 0; i < constants.size(); ++i) {
    const auto& tensor = constants[i];
    list_.uploads.push_back({in.constants()[i], 0, tensor.scalar_type(), tensor.sizes().vec(), {}, false, true, tensor});
  }
  for (auto& input : fixed_) input.second.reset();
  list_.calls = std::move(in.calls());
  list_.values = std::move(in.values());
  list_.constant_calls = std::move(constant_calls);
  list_.segments = std::move(segments);
}

}  // namespace acc
