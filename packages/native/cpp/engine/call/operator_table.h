#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/call/string_table.h"
#include "engine/tensors/tensor_table.h"

namespace acc {

class Recorder;

// How an argument is encoded in the call buffer. src/call-buffer.ts uses the same numbers.
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
  bool list_of_optional; // the elements may be None: Tensor?[], Scalar?[]
  std::optional<c10::IValue> default_value;
  std::string name;
};

struct Operator {
  c10::OperatorHandle handle;
  std::string name;
  std::vector<ArgPlan> args;
  // True for each result that is an argument written in place: JavaScript already holds its handle.
  std::vector<bool> result_is_argument;
  // See widened.h.
  bool is_product = false;
};

// The operators that JavaScript has resolved by name, each with an index. Calls them with arguments
// from a buffer.
//
// Input buffer: the number of arguments, then each argument in the encoding of its kind. The first
// number of an argument may be NaN (use the schema's default), -Infinity (None) or, for a tensor,
// Infinity (an undefined tensor). Output buffer: the number of results, then a tag and the numbers
// of each result. src/call-buffer.ts implements the other side.
class OperatorTable {
 public:
  OperatorTable(TensorTable& tensors, StringTable& strings) : tensors_(tensors), strings_(strings) {}

  // The index of `name`, for example `aten::add.Tensor`. Throws ACC_OPERATOR_UNKNOWN.
  int resolve(const std::string& name);
  const Operator& at(int index) const;
  size_t size() const { return operators_.size(); }

  // Runs an operator on the arguments in `in`. Writes its results to `out`, at most `capacity`
  // numbers.
  void call(int index, const double* in, double* out, size_t capacity);

  // The operator's name with the dtypes and shapes of its tensor arguments, for error messages.
  std::string describe_call(int index, const double* in) const;

  // Is told of every call; null while nothing is recorded.
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

// Writes a tensor's dtype, number of dims and dims to `out`. Returns the next free position.
double* write_tensor_meta(const at::Tensor& tensor, double* out);

}  // namespace acc
