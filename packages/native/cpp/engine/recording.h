#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/operator_table.h"

namespace acc {

// Where values go into the stack of a call.
struct Fill {
  enum Kind { kTensor, kTensorList, kOptionalTensorList };
  Kind kind;
  uint32_t argument;
  uint32_t first;  // in the call's uses
  uint32_t count;
};

struct Use {
  int value;     // -1: None
  bool is_last;  // then the value is given away
};

struct RecordedCall {
  const Operator* op = nullptr;
  // The arguments as they lay in the call buffer, with values in place of handles: what two recordings are compared by.
  std::vector<double> numbers;
  // Where each argument begins in `numbers`.
  std::vector<uint32_t> starts;
  // The arguments without their tensors.
  torch::jit::Stack stack;
  std::vector<Fill> fills;
  std::vector<Use> uses;
  // The value of each tensor that the call gives, lists of them one by one; -1 for one that nobody needs.
  std::vector<int> results;
  // Results that were undefined tensors count, too.
  bool writes = false;
  bool is_kept = false;  // writes in place, or draws random numbers
};

struct Output {
  Use use;
  c10::ScalarType dtype;
  std::vector<int64_t> sizes;
};

struct Segment {
  size_t first_call = 0;
  size_t end_call = 0;
  // Values that are given at the start.
  std::vector<int> inputs;
  std::vector<Output> outputs;
};

// Values that JavaScript made of numbers: the same at each replay.
struct Upload {
  int value;
  size_t segment;
  c10::ScalarType dtype;
  std::vector<int64_t> sizes;
  std::string bytes;
  bool is_written = false;  // then each replay takes a copy
  at::Tensor tensor;
};

struct CallList {
  std::vector<RecordedCall> calls;
  std::vector<Segment> segments;
  std::vector<Upload> uploads;
  int value_count = 0;
};

// The calls of a step, to be repeated. A value is dropped after its last use.
class Recording {
 public:
  explicit Recording(CallList list) : list_(std::move(list)) {}

  // In words, the first thing in which `other` differs from this one; empty where both are the same.
  std::string difference(const Recording& other) const;

  // Makes it ready for replays; it can no longer be compared.
  void seal(c10::Device device);

  // Runs one segment: takes the handles of its inputs from `in`, and writes those of its outputs to `out`. Segments are run
  // in their order. After an error, and when the last one has run, nothing but uploads is held.
  void run(size_t segment, TensorTable& tensors, const double* in, double* out, size_t capacity);

  // Lets go of what segments that ran hold for those that did not.
  void reset();

  size_t segment_count() const { return list_.segments.size(); }

 private:
  void drop_unneeded();
  void find_last_uses();
  void run_call(const RecordedCall& call);
  at::Tensor take(const Use& use);
  void give(const RecordedCall& call);

  CallList list_;
  std::vector<at::Tensor> slots_;
  std::vector<bool> is_constant_;
  std::vector<bool> is_used_;
  torch::jit::Stack stack_;
};

}  // namespace acc
