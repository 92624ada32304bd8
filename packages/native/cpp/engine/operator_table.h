#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/string_table.h"
#include "engine/tensor_table.h"

namespace acc {

class Recorder;

// How an argument lies in the call buffer. The numbers are shared with src/call-buffer.ts.
enum class ArgKind : int {
  kTensor = 0,
  kTensorList = 1,
  kInt = 2,
  kIntList = 3,
  kFloat = 4,
  kFloatList = 5,
  kBool = 6,
  kBoolList = 7,
  kScalar = 8,
  kString = 9,
  kDevice = 10,
  kScalarType = 11,
  kScalarList = 12,
  kUnsupported = 13,
};

struct ArgPlan {
  ArgKind kind;
  bool optional;         // may be None
  bool list_of_optional; // Tensor?[], Scalar?[]
  std::optional<c10::IValue> default_value;
  std::string name;
};

struct Operator {
  c10::OperatorHandle handle;
  std::string name;
  std::vector<ArgPlan> args;
  // Results that are an argument written in place: JavaScript holds them already.
  std::vector<bool> result_is_argument;
};

// Operators that JavaScript resolved by name, each under its index; calls them with arguments out of a buffer.
//
// Buffer in: the number of arguments, then each by its kind. An argument's first number may be kDefault (take
// the schema's), kNone or, for a tensor, kUndefined. Buffer out: the number of results, then each as a tag and its numbers (src/call-buffer.ts
// holds the other half of this).
class OperatorTable {
 public:
  OperatorTable(TensorTable& tensors, StringTable& strings) : tensors_(tensors), strings_(strings) {}

  // The index of `name`, as `aten::add.Tensor`. Throws ACC_OPERATOR_UNKNOWN.
  int resolve(const std::string& name);
  const Operator& at(int index) const;

  // Runs an operator on `in` and writes its results to `out`, at most `capacity` numbers.
  void call(int index, const double* in, double* out, size_t capacity);

  // The operator with the dtypes and shapes of its tensor arguments, for messages.
  std::string describe_call(int index, const double* in) const;

  // Hears of every call; null while nothing is recorded.
  Recorder* recorder = nullptr;

  c10::Device default_device{c10::DeviceType::CPU};

 private:
  const at::Tensor& tensor_at(const double* place) const;
  c10::IValue read_argument(const Operator& op, const ArgPlan& plan, const double*& cursor) const;
  c10::IValue read_tensor_list(const ArgPlan& plan, const double*& cursor) const;
  void write_results(const Operator& op, double* out, size_t capacity);

  TensorTable& tensors_;
  StringTable& strings_;
  std::deque<Operator> operators_;
  std::unordered_map<std::string, int> index_by_name_;
  torch::jit::Stack stack_;
};

// Writes dtype, number of dims and dims of a tensor; returns the next free place.
double* write_tensor_meta(const at::Tensor& tensor, double* out);

}  // namespace acc
