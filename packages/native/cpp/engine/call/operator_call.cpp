// Calls operators: reads arguments from the call buffer and writes results to it.

#include <c10/core/InferenceMode.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "engine/call/operator_table.h"
#include "engine/error.h"
#include "engine/kernels/product/widened.h"
#include "engine/processor/flush_denormals.h"
#include "engine/recording/recorder.h"

namespace acc {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();
bool is_default(double value) { return std::isnan(value); }
bool is_none(double value) { return value == kNone; }
bool is_undefined_tensor(double value) { return value == -kNone; }

// The tags of results in the buffer.
constexpr double kTensorResult = 0;
constexpr double kUndefinedResult = 1;
constexpr double kNumberResult = 2;
constexpr double kTensorListResult = 3;

template <typename T>
c10::List<T> read_list(const double*& cursor) {
  const auto count = static_cast<size_t>(*cursor++);
  c10::List<T> list;
  list.reserve(count);
  for (size_t i = 0; i < count; ++i) list.push_back(static_cast<T>(*cursor++));
  return list;
}

at::Scalar read_scalar(const double*& cursor) {
  const int tag = static_cast<int>(*cursor++);
  const double value = *cursor++;
  switch (tag) {
    case 0:
      return at::Scalar(static_cast<int64_t>(value));
    case 1:
      return at::Scalar(value);
    default:
      return at::Scalar(value != 0);
  }
}

c10::IValue read_scalar_list(bool of_optional, const double*& cursor) {
  const auto count = static_cast<size_t>(*cursor++);
  c10::List<at::Scalar> scalars;
  c10::List<std::optional<at::Scalar>> optionals;
  for (size_t i = 0; i < count; ++i) {
    const auto scalar = read_scalar(cursor);
    if (of_optional) {
      optionals.push_back(scalar);
    } else {
      scalars.push_back(scalar);
    }
  }
  if (of_optional) return optionals;
  return scalars;
}

std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  std::ostringstream text;
  text << c10::toString(tensor.scalar_type()) << '[';
  for (int64_t i = 0; i < tensor.dim(); ++i) text << (i ? "," : "") << tensor.size(i);
  text << ']';
  return text.str();
}

[[noreturn]] void bad_argument(const Operator& op, const ArgPlan& plan, const char* what) {
  throw Error(kOperatorArgument, op.name + ": The argument '" + plan.name + "' " + what + ".");
}

// The number of numbers that a result takes in the buffer.
size_t result_length(const c10::IValue& value) {
  const auto tensor_length = [](const at::Tensor& tensor) -> size_t {
    return tensor.defined() ? 4 + static_cast<size_t>(tensor.dim()) : 1;
  };
  if (value.isTensor()) return tensor_length(value.toTensor());
  if (!value.isTensorList()) return 2;
  size_t length = 2;
  for (const at::Tensor& tensor : value.toTensorVector()) length += tensor_length(tensor);
  return length;
}

double* write_tensor(const at::Tensor& tensor, double* out, TensorTable& table, Recorder* recorder) {
  if (!tensor.defined()) {
    if (recorder) recorder->made_nothing();
    *out++ = kUndefinedResult;
    return out;
  }
  const double id = table.add(tensor);
  if (recorder) recorder->made(id, tensor);
  *out++ = kTensorResult;
  *out++ = id;
  return write_tensor_meta(tensor, out);
}

// Empties the stack, also after an exception, so that it keeps no tensor alive.
class StackScope {
 public:
  explicit StackScope(torch::jit::Stack& stack) : stack_(stack) { stack_.clear(); }
  ~StackScope() { stack_.clear(); }
  StackScope(const StackScope&) = delete;
  StackScope& operator=(const StackScope&) = delete;

 private:
  torch::jit::Stack& stack_;
};

}  // namespace

double* write_tensor_meta(const at::Tensor& tensor, double* out) {
  *out++ = static_cast<double>(static_cast<int>(tensor.scalar_type()));
  const auto sizes = tensor.sizes();
  *out++ = static_cast<double>(sizes.size());
  for (const auto size : sizes) *out++ = static_cast<double>(size);
  return out;
}

const at::Tensor& OperatorTable::tensor_at(const double* place) const {
  const at::Tensor& tensor = tensors_.get(*place);
  if (recorder) recorder->saw(place, *place, tensor);
  return tensor;
}

c10::IValue OperatorTable::read_tensor_list(const ArgPlan& plan, const double*& cursor) const {
  const auto count = static_cast<size_t>(*cursor++);
  if (plan.list_of_optional) {
    c10::List<std::optional<at::Tensor>> list;
    list.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      const double* place = cursor++;
      list.push_back(is_none(*place) ? std::nullopt : std::optional(tensor_at(place)));
    }
    return list;
  }
  c10::List<at::Tensor> list;
  list.reserve(count);
  for (size_t i = 0; i < count; ++i) list.push_back(tensor_at(cursor++));
  return list;
}

c10::IValue OperatorTable::read_argument(const Operator& op, const ArgPlan& plan, const double*& cursor) const {
  const double first = *cursor;
  if (is_default(first)) {
    ++cursor;
    if (plan.kind == ArgKind::kDevice) return default_device;
    if (plan.default_value) return *plan.default_value;
    if (plan.optional) return {};
    bad_argument(op, plan, "is missing");
  }
  if (is_none(first)) {
    ++cursor;
    if (!plan.optional) bad_argument(op, plan, "is null, which the operator does not accept");
    return {};
  }
  switch (plan.kind) {
    case ArgKind::kTensor:
      ++cursor;
      return is_undefined_tensor(first) ? at::Tensor() : tensor_at(cursor - 1);
    case ArgKind::kTensorList:
      return read_tensor_list(plan, cursor);
    case ArgKind::kInt:
    case ArgKind::kScalarType:
      return static_cast<int64_t>(*cursor++);
    case ArgKind::kIntList:
      return read_list<int64_t>(cursor);
    case ArgKind::kFloat:
      ++cursor;  // skips the tag: the value itself may be NaN or infinite
      return *cursor++;
    case ArgKind::kFloatList:
      return read_list<double>(cursor);
    case ArgKind::kBool:
      return *cursor++ != 0;
    case ArgKind::kBoolList:
      return read_list<bool>(cursor);
    case ArgKind::kScalar:
      return read_scalar(cursor);
    case ArgKind::kScalarList:
      return read_scalar_list(plan.list_of_optional, cursor);
    case ArgKind::kString:
      return strings_.get(*cursor++);
    case ArgKind::kDevice:
      return c10::Device(strings_.get(*cursor++));
    case ArgKind::kUnsupported:
      break;
  }
  bad_argument(op, plan, "has a type that JavaScript cannot pass");
}

void OperatorTable::write_results(const Operator& op, double* out, size_t capacity) {
  // Checks everything before any tensor gets a handle, so a failure leaves no handles behind.
  size_t needed = 1;
  for (const auto& value : stack_) {
    const bool is_known = value.isTensor() || value.isTensorList() || value.isScalar() || value.isNone();
    if (!is_known) throw Error(kOperatorFailed, op.name + ": A result has a type that JavaScript cannot receive.");
    needed += result_length(value);
  }
  if (needed > capacity) {
    throw Error(kOperatorFailed, op.name + ": The results do not fit into one call. The limit is " +
                                     std::to_string(capacity) + " numbers.");
  }

  double* cursor = out + 1;
  int count = 0;
  for (size_t i = 0; i < stack_.size(); ++i) {
    if (op.result_is_argument[i]) continue;
    const auto& value = stack_[i];
    ++count;
    if (value.isTensor()) {
      cursor = write_tensor(value.toTensor(), cursor, tensors_, recorder);
    } else if (value.isTensorList()) {
      const auto list = value.toTensorVector();
      *cursor++ = kTensorListResult;
      *cursor++ = static_cast<double>(list.size());
      for (const auto& tensor : list) cursor = write_tensor(tensor, cursor, tensors_, recorder);
    } else if (value.isNone()) {
      if (recorder) recorder->made_nothing();
      *cursor++ = kUndefinedResult;
    } else {
      if (recorder) recorder->made_number();
      *cursor++ = kNumberResult;
      *cursor++ = value.toScalar().toDouble();
    }
  }
  out[0] = count;
}

void OperatorTable::call(int index, const double* in, double* out, size_t capacity) {
  const Operator& op = at(index);
  const auto given = static_cast<size_t>(*in++);
  if (given > op.args.size()) {
    throw Error(kOperatorArgument, op.name + ": " + std::to_string(given) +
                                       " arguments were given, but the operator has " +
                                       std::to_string(op.args.size()) + ".");
  }
  const StackScope scope(stack_);
  if (recorder) recorder->begin(op, in);
  const double missing = std::nan("");
  for (size_t i = 0; i < op.args.size(); ++i) {
    const double* absent = &missing;
    if (recorder && i < given) recorder->starts_argument(in);
    stack_.push_back(read_argument(op, op.args[i], i < given ? in : absent));
  }
  if (recorder) recorder->arguments(stack_, in);
  const c10::InferenceMode guard;
  const FlushDenormals flush;
  call_on(stack_, op);
  write_results(op, out, capacity);
  if (recorder) recorder->end();
}

std::string OperatorTable::describe_call(int index, const double* in) const {
  const Operator& op = at(index);
  std::ostringstream text;
  text << op.name << '(';
  const auto given = std::min(static_cast<size_t>(*in++), op.args.size());
  for (size_t i = 0; i < given; ++i) {
    const auto& plan = op.args[i];
    c10::IValue value;
    try {
      value = read_argument(op, plan, in);
    } catch (const std::exception&) {
      // The text of a device, for example, may be none.
      text << (i ? ", " : "") << plan.name << ": ?";
      break;
    }
    text << (i ? ", " : "") << plan.name << ": ";
    if (value.isTensor()) {
      text << describe(value.toTensor());
    } else if (value.isTensorList()) {
      const auto list = value.toTensorVector();
      text << '[';
      for (size_t k = 0; k < list.size(); ++k) text << (k ? ", " : "") << describe(list[k]);
      text << ']';
    } else {
      text << value;
    }
  }
  text << ')';
  return text.str();
}

}  // namespace acc
