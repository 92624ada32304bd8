#pragma once

#include "engine/recording/number_reader.h"
#include "engine/recording/recording.h"

namespace acc {

// Reads a call of an operator from a plan. The arguments are a list. Each begins with its tag:
//   0 None
//   1 a value
//   2 a list of values
//   3 a number, also for bools
//   4 a list of numbers
// Arguments that are left out have their defaults. Lists begin with their length.
class PlanCallReader {
 public:
  // Values below `value_count` are known.
  PlanCallReader(NumberReader& in, size_t value_count) : in_(in), value_count_(value_count) {}

  // Throws ACC_INVALID_ARGUMENT if the arguments are not those of the operator, or if the operator
  // writes in place or draws random numbers.
  RecordedCall call(const Operator& op);

 private:
  void argument(const Operator& op, const ArgPlan& plan);
  c10::IValue number(const Operator& op, const ArgPlan& plan);
  c10::IValue numbers(const Operator& op, const ArgPlan& plan);
  void tensors(Fill::Kind kind, size_t count);

  NumberReader& in_;
  size_t value_count_;
  RecordedCall call_;
};

}  // namespace acc
