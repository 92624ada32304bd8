#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/call/operator_table.h"
#include "engine/fused/program.h"
#include "engine/memory/frozen_memory.h"
#include "engine/memory/replay_memory.h"
#include "engine/recording/call_times.h"
#include "engine/recording/sizes.h"

namespace acc {

// Places values into one argument on the stack of a call.
struct Fill {
  enum Kind { kTensor, kTensorList, kOptionalTensorList };
  Kind kind;
  uint32_t argument;
  uint32_t first;  // index in the call's uses
  uint32_t count;
};

struct Use {
  int value;     // -1: None
  bool is_last;  // the last use moves the value out of its slot
};

struct RecordedCall {
  const Operator* op = nullptr;
  // Set in calls that `Recording::rewrite` put in place of others. They have no operator.
  std::shared_ptr<const fused::Program> program;
  // The arguments as they were in the call buffer, with values instead of handles. Two recordings
  // are compared by them.
  std::vector<double> numbers;
  // The index in `numbers` at which each argument begins.
  std::vector<uint32_t> starts;
  // The arguments. Tensors and lists of tensors are left out.
  torch::jit::Stack stack;
  std::vector<Fill> fills;
  std::vector<Use> uses;
  // The value of each result; a list of tensors has one entry per tensor. -1 for results that
  // nobody needs, undefined tensors and numbers.
  std::vector<int> results;
  // Whether the schema marks an argument as written in place.
  bool writes = false;
  bool is_kept = false;  // writes in place, or draws random numbers for a tensor
  int place = -1;        // JavaScript's number of a place in the program; -1: none
  size_t number = 0;     // its place among the calls at the time of seal()
};

struct Output {
  Use use;
  c10::ScalarType dtype;
  std::vector<int64_t> sizes;
};

struct Segment {
  size_t first_call = 0;
  size_t end_call = 0;
  // The values that the caller gives at the start.
  std::vector<int> inputs;
  std::vector<Output> outputs;
};

// A tensor that JavaScript created from numbers, or a constant of a plan. It has the same elements in
// each replay.
struct Upload {
  int value;
  size_t segment;
  c10::ScalarType dtype;
  std::vector<int64_t> sizes;
  std::string bytes;
  bool is_written = false;  // set if a call writes it in place: each replay then takes a copy
  bool is_computed = false;  // set in constants of a plan, which have no bytes
  at::Tensor tensor;         // set by seal(), and in constants of a plan
};

// The dtype, shape and layout of a value.
struct ValueMeta {
  c10::ScalarType dtype;
  std::vector<int64_t> sizes;
  bool is_contiguous;
};

struct CallList {
  std::vector<RecordedCall> calls;
  std::vector<Segment> segments;
  std::vector<Upload> uploads;
  // By value number.
  std::vector<ValueMeta> values;
  // Computed the constants of a plan. join() compares them.
  std::vector<RecordedCall> constant_calls;
};

// The recorded calls of a step, for replay. A value is released after its last use.
class Recording {
 public:
  explicit Recording(CallList list);

  // Describes the first difference between `other` and this recording; the text is empty if both are
  // equal. `place` is that of the call of this recording, or -1. Call it before seal().
  struct Difference {
    std::string text;
    int place = -1;
  };
  Difference difference(const Recording& other) const;

  // The input with the index `input` of a segment, which is always the tensor `id`.
  struct FixedInput {
    size_t segment;
    size_t input;
    double id;
  };
  // Makes inputs constants, and freezes their memory while the recording lives: replays must give the
  // same tensors. Leaves out what was released, and what cannot be frozen. Call it before describe().
  void fix_inputs(const std::vector<FixedInput>& inputs, const TensorTable& tensors);

  // The calls as JSON, which packages/kernels/src/fusion/graph.ts reads. Call it before seal().
  std::string describe() const;

  // Replaces the calls by those of a plan, which plan.cpp describes. Call it before seal().
  // Throws ACC_INVALID_ARGUMENT, and then changes nothing. The constants of the plan are computed on
  // `device`.
  void rewrite(const std::vector<double>& plan, const OperatorTable& operators, c10::Device device);

  // Computes values that are the same in every replay: they depend on uploads and fixed inputs. Call it before
  // seal(). No call may write into their memory. Throws ACC_INVALID_ARGUMENT for other values.
  std::vector<at::Tensor> constants(const std::vector<int>& wanted, c10::Device device) const;

  // A number that recordings with the same calls on the same values share, whatever the sizes. Others
  // hardly ever do.
  double shape_of_calls() const { return shape_of_calls_; }

  struct Joined {
    size_t sizes;
    // The numbers that differ: this recording's, the other's, and so on.
    std::vector<double> pairs;
  };
  // Makes this sealed recording also replay `other`, a recording of the same step with arguments of
  // other sizes, which is not sealed. Of `other` it keeps only what differs. Returns nothing if the
  // calls are not the same. `other` can then still be sealed, but no longer be compared.
  std::optional<Joined> join(Recording& other, c10::Device device);

  // Forgets sizes that `join` returned.
  void release_sizes(size_t sizes);

  // Prepares the recording for replays on `device`. After that it can no longer be compared.
  void seal(c10::Device device);

  // Replays `sizes`, which `join` returned, from now on. 0 stands for the recorded ones. Call it
  // before the first segment.
  void use_sizes(size_t sizes);

  // Runs one segment: reads the handles of its inputs from `in` and writes the handles of its
  // outputs to `out`, at most `capacity`. Segments are run in order. After an error, and after the
  // last segment, the recording holds only the uploads.
  void run(size_t segment, TensorTable& tensors, const double* in, double* out, size_t capacity);

  // The calls that replays run, with their mean times, as JSON. Call it after seal().
  std::string times() const;
  // The begin and the end of each of these calls in the last replay, see CallTimes.
  std::vector<double> last_times() const { return times_.last_ms(); }

  // Releases the values that earlier segments keep for segments that have not run.
  void reset();

  size_t segment_count() const { return list_.segments.size(); }

  // The memory of replays with these sizes.
  ReplayMemory& memory_of(size_t sizes) { return sizes == 0 ? memory_ : sizes_.at(sizes)->memory; }
  // The memory of replays with the sizes in use.
  ReplayMemory& memory() { return memory_of(current_sizes_); }

 private:
  // The calls, uploads and fixed inputs on which constants depend, with these as outputs.
  CallList part_for(const std::vector<int>& wanted) const;
  void swap_with(SizeSet& sizes);
  void drop_unneeded();
  void find_last_uses();
  std::vector<at::Tensor> run_segment(size_t index);
  void run_call(const RecordedCall& call);
  void run_operator(const RecordedCall& call);
  void run_program(const RecordedCall& call);
  at::Tensor take(const Use& use);
  void give(const RecordedCall& call);

  CallList list_;
  // The values of fixed inputs. Their tensors are here until rewrite() or seal().
  std::unordered_map<int, at::Tensor> fixed_;
  std::vector<std::unique_ptr<FrozenMemory>> frozen_;
  c10::Device device_ = c10::kCPU;
  double shape_of_calls_ = 0;
  std::unordered_map<size_t, std::unique_ptr<SizeSet>> sizes_;
  size_t last_sizes_ = 0;
  size_t current_sizes_ = 0;
  CallTimes times_;
  std::vector<at::Tensor> slots_;
  std::vector<bool> is_constant_;
  std::vector<bool> is_used_;
  torch::jit::Stack stack_;
  ReplayMemory memory_;
};

}  // namespace acc
