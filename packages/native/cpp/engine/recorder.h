#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "engine/recording.h"

namespace acc {

// Writes down the operator calls of one run of a step, for `Recording` to repeat them.
//
// Every tensor is a value with a number of its own. A handle (a number of the tensor table) that no recorded call gave
// comes from outside: whoever replays gives it anew at the start of its segment. A segment ends where the step does
// something that is not recorded; what that gives is from outside, too.
class Recorder {
 public:
  Recorder() { list_.segments.emplace_back(); }

  // One operator call, in this order: begin, saw for each tensor, arguments, made for each result, end. A call that
  // throws never ends, and is left out.
  void begin(const Operator& op, const double* in);
  void saw(const double* place, double id, const at::Tensor& tensor);
  void starts_argument(const double* place) { pending_starts_.push_back(place); }
  void arguments(const torch::jit::Stack& stack, const double* end);
  void made(double id);
  void made_nothing() { pending_.results.push_back(-1); }
  void made_number();
  void end();

  // A tensor that JavaScript made of `bytes`.
  void upload(double id, const at::Tensor& tensor, const void* data, size_t bytes);
  // A second handle of `id`.
  void alias(double made, double id, const at::Tensor& tensor);

  // The step cannot be repeated from a list of calls. The first reason stays.
  void refuse(const std::string& reason);
  const std::string& refusal() const { return refusal_; }

  // Ends the segment, of which the values of `outputs` are needed outside; gives the handles that came from outside, in
  // the order in which a replay is to be given them (after those of the last `resume`).
  std::vector<double> cut(const std::vector<double>& outputs, const TensorTable& tensors);
  // Begins the next one: `given` are new from outside, `forgotten` are no longer what recorded calls gave.
  void resume(const std::vector<double>& given, const std::vector<double>& forgotten, const TensorTable& tensors);
  // To be called after the last cut.
  std::shared_ptr<Recording> finish() { return std::make_shared<Recording>(std::move(list_)); }

 private:
  int new_value() { return list_.value_count++; }
  int value_of(double id, const at::Tensor& tensor);
  void take_from_outside(double id, int value, const at::Tensor& tensor);
  void note_writes(const torch::jit::Stack& stack);
  void note_write(const at::Tensor& tensor);

  // What the memory of a tensor from outside or of an upload is known by. Weak: it may go, but its address stays taken.
  struct Memory {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    int upload;  // in the list's uploads, or -1
  };
  void remember(const at::Tensor& tensor, int upload);

  CallList list_;
  RecordedCall pending_;
  const double* pending_in_ = nullptr;
  std::vector<const double*> pending_starts_;
  struct Seen {
    size_t place;
    int value;
  };
  std::vector<Seen> pending_seen_;
  std::unordered_map<double, int> value_of_;
  std::vector<double> outside_ids_;
  std::unordered_map<c10::StorageImpl*, Memory> memory_;
  std::string refusal_;
};

}  // namespace acc
