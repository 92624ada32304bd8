#pragma once

#include <cstdint>
#include <vector>

#include "engine/fused/program.h"

namespace acc::fused {

// The order in which a thread of a GPU computes a program. Loops over the elements of a row alternate
// with numbers of the row: stage 0, loop 0, stage 1, … A reduction is accumulated in a loop, and its
// result is ready in the stage that follows. Each value is as early as its operands permit.
class CudaSchedule {
 public:
  explicit CudaSchedule(const Program& program);

  struct Value {
    enum Kind { kNumber, kRow, kElement } kind = kNumber;
    int input = -1;  // its index; -1: a step computes the value
    float number = 0.f;
    // The loop that computes an element, or the stage of another value. So it is known in the loop of
    // the same number. 0 for inputs.
    int time = 0;
    // The first and the last loop that take an element.
    int first = 0, last = 0;
    bool is_used = false;

    // Whether a thread keeps its elements from loop to loop.
    bool is_kept() const { return kind == kElement && last > (input < 0 ? time : first); }
  };

  struct Task {
    Op op;
    int out;
    int operands[3];
    bool is_reduction() const { return op == Op::kSumRow || op == Op::kMaxRow; }
  };

  const std::vector<Value>& values() const { return values_; }
  // In the order of the program.
  const std::vector<Task>& tasks() const { return tasks_; }
  // The value of each result.
  const std::vector<int>& results() const { return results_; }
  // The loops, of which there is at least one.
  int loops() const { return loops_; }

 private:
  int add(Value value);
  void add_step(const Step& step);
  // Marks an element as used in a loop.
  void use(int value, int loop);

  std::vector<Value> values_;
  std::vector<Task> tasks_;
  std::vector<int> results_;
  // The value that each register has now.
  std::vector<int> at_;
  int loops_ = 1;
};

}  // namespace acc::fused
