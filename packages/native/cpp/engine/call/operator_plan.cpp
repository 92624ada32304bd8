// Turns an operator's schema into the plan for reading its arguments.

#include <ATen/core/jit_type.h>

#include "engine/call/operator_table.h"
#include "engine/error.h"
#include "engine/kernels/product/widened.h"

namespace acc {
namespace {

ArgKind kind_of_element(const c10::Type& type, const c10::Type& real_type) {
  if (real_type.kind() == c10::TypeKind::ScalarTypeType) return ArgKind::kScalarType;
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
      return ArgKind::kTensor;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::LayoutType:
    case c10::TypeKind::MemoryFormatType:
      return ArgKind::kInt;
    case c10::TypeKind::FloatType:
      return ArgKind::kFloat;
    case c10::TypeKind::BoolType:
      return ArgKind::kBool;
    case c10::TypeKind::NumberType:
      return ArgKind::kScalar;
    case c10::TypeKind::StringType:
      return ArgKind::kString;
    case c10::TypeKind::DeviceObjType:
      return ArgKind::kDevice;
    default:
      return ArgKind::kUnsupported;
  }
}

ArgKind list_of(ArgKind element) {
  switch (element) {
    case ArgKind::kTensor:
      return ArgKind::kTensorList;
    case ArgKind::kInt:
      return ArgKind::kIntList;
    case ArgKind::kFloat:
      return ArgKind::kFloatList;
    case ArgKind::kBool:
      return ArgKind::kBoolList;
    case ArgKind::kScalar:
      return ArgKind::kScalarList;
    default:
      return ArgKind::kUnsupported;
  }
}

c10::TypePtr element_of_optional(const c10::TypePtr& type, bool& optional) {
  if (auto inner = type->cast<c10::OptionalType>()) {
    optional = true;
    return inner->getElementType();
  }
  return type;
}

ArgPlan plan_argument(const c10::Argument& argument) {
  ArgPlan plan{ArgKind::kUnsupported, false, false, argument.default_value(), argument.name()};
  bool real_optional = false;
  const auto type = element_of_optional(argument.type(), plan.optional);
  const auto real_type = element_of_optional(argument.real_type(), real_optional);
  if (auto list = type->cast<c10::ListType>()) {
    const auto element = element_of_optional(list->getElementType(), plan.list_of_optional);
    plan.kind = list_of(kind_of_element(*element, *element));
  } else {
    plan.kind = kind_of_element(*type, *real_type);
  }
  return plan;
}

}  // namespace

int OperatorTable::resolve(const std::string& name) {
  if (const auto known = index_by_name_.find(name); known != index_by_name_.end()) return known->second;
  const auto dot = name.find('.', name.find("::"));
  const auto base = name.substr(0, dot);
  const auto overload = dot == std::string::npos ? std::string() : name.substr(dot + 1);
  const auto handle = c10::Dispatcher::singleton().findSchema({base, overload});
  if (!handle) throw Error(kOperatorUnknown, "libtorch has no operator '" + name + "'.");

  Operator op{*handle, name, {}, {}, is_product(name)};
  const auto& schema = handle->schema();
  for (const auto& argument : schema.arguments()) op.args.push_back(plan_argument(argument));
  for (const auto& result : schema.returns()) {
    op.result_is_argument.push_back(result.alias_info() != nullptr && result.alias_info()->isWrite());
  }
  operators_.push_back(std::move(op));
  const int index = static_cast<int>(operators_.size()) - 1;
  index_by_name_.emplace(name, index);
  return index;
}

const Operator& OperatorTable::at(int index) const {
  if (index < 0 || index >= static_cast<int>(operators_.size())) {
    throw Error(kOperatorUnknown, "The operator has the unknown index " + std::to_string(index) + ".");
  }
  return operators_[static_cast<size_t>(index)];
}

}  // namespace acc
