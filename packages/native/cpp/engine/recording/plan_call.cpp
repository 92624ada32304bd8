#include "engine/recording/plan_call.h"

#include <algorithm>
#include <cmath>

namespace acc {
namespace {

constexpr double kNoneTag = 0, kValueTag = 1, kValuesTag = 2, kNumberTag = 3, kNumbersTag = 4;

[[noreturn]] void bad_plan_argument(const Operator& op, const ArgPlan& plan, const char* what) {
  throw Error(kInvalidArgument,
              "The plan of a recording gives " + op.name + " an argument '" + plan.name + "' that " + what + ".");
}

// Whether a number is an int64 without loss. -0 and large numbers are floats.
bool is_integer(double number) {
  constexpr double kLimit = int64_t{1} << 53;
  return std::fabs(number) <= kLimit && number == std::floor(number) && !(number == 0 && std::signbit(number));
}

void check_has_no_effect(const Operator& op) {
  const auto& arguments = op.handle.schema().arguments();
  const bool writes = std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& argument) {
    return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
  });
  if (writes || op.handle.hasTag(at::Tag::nondeterministic_seeded)) {
    throw Error(kInvalidArgument,
                "The plan of a recording calls " + op.name + ", which writes in place or draws random numbers.");
  }
}

}  // namespace

RecordedCall PlanCallReader::call(const Operator& op) {
  check_has_no_effect(op);
  call_ = RecordedCall();
  call_.op = &op;
  const size_t given = in_.below(op.args.size() + 1, "number of arguments");
  for (size_t i = 0; i < op.args.size(); ++i) {
    const auto& plan = op.args[i];
    if (i < given) {
      argument(op, plan);
    } else if (plan.default_value || plan.optional) {
      call_.stack.push_back(plan.default_value ? *plan.default_value : c10::IValue());
    } else {
      bad_plan_argument(op, plan, "is missing");
    }
  }
  return std::move(call_);
}

void PlanCallReader::argument(const Operator& op, const ArgPlan& plan) {
  const bool is_list = plan.kind == ArgKind::kTensorList;
  const double tag = in_.number();
  if (tag == kNoneTag && plan.optional) {
    call_.stack.emplace_back();
  } else if (tag == kValueTag && plan.kind == ArgKind::kTensor) {
    tensors(Fill::kTensor, 1);
  } else if (tag == kValuesTag && is_list) {
    tensors(plan.list_of_optional ? Fill::kOptionalTensorList : Fill::kTensorList,
            in_.below(value_count_ + 1, "number of values"));
  } else if (tag == kNumberTag) {
    call_.stack.push_back(number(op, plan));
  } else if (tag == kNumbersTag) {
    call_.stack.push_back(numbers(op, plan));
  } else {
    bad_plan_argument(op, plan, "has another type");
  }
}

c10::IValue PlanCallReader::number(const Operator& op, const ArgPlan& plan) {
  const double value = in_.number();
  switch (plan.kind) {
    case ArgKind::kInt:
    case ArgKind::kScalarType:
      if (is_integer(value)) return static_cast<int64_t>(value);
      bad_plan_argument(op, plan, "is no integer");
    case ArgKind::kFloat:
      return value;
    case ArgKind::kBool:
      if (value == 0 || value == 1) return value == 1;
      bad_plan_argument(op, plan, "is neither 0 nor 1");
    case ArgKind::kScalar:
      return is_integer(value) ? at::Scalar(static_cast<int64_t>(value)) : at::Scalar(value);
    default:
      bad_plan_argument(op, plan, "is a number");
  }
}

c10::IValue PlanCallReader::numbers(const Operator& op, const ArgPlan& plan) {
  constexpr size_t kMaxNumbers = 1 << 16;
  std::vector<double> list(in_.below(kMaxNumbers, "number of numbers"));
  for (double& item : list) item = in_.number();
  if (plan.kind == ArgKind::kFloatList) return c10::List<double>(list);
  if (!std::all_of(list.begin(), list.end(), is_integer)) bad_plan_argument(op, plan, "contains no integers");
  if (plan.kind == ArgKind::kIntList) return c10::List<int64_t>(std::vector<int64_t>(list.begin(), list.end()));
  if (plan.kind != ArgKind::kBoolList) bad_plan_argument(op, plan, "is a list of numbers");
  c10::List<bool> bools;
  for (const double item : list) bools.push_back(item != 0);
  return bools;
}

// None in a list of optional tensors is -1.
void PlanCallReader::tensors(Fill::Kind kind, size_t count) {
  const auto first = static_cast<uint32_t>(call_.uses.size());
  const int64_t least = kind == Fill::kOptionalTensorList ? -1 : 0;
  for (size_t k = 0; k < count; ++k) {
    const auto value = in_.integer(least, static_cast<int64_t>(value_count_), "value");
    call_.uses.push_back({static_cast<int>(value), false});
  }
  call_.fills.push_back({kind, static_cast<uint32_t>(call_.stack.size()), first, static_cast<uint32_t>(count)});
  call_.stack.emplace_back();
}

}  // namespace acc
