#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/recording/recording.h"

namespace acc {

// Records the operator calls of one run of a step, so that `Recording` can repeat them.
//
// Every tensor is a value with a number. A handle (a number of the tensor table) that no recorded
// call returned is an outside input: each replay must give its tensor anew at the start of the
// segment. A segment ends where the step does something that is not recorded. Tensors that such
// code returns are outside inputs, too.
class Recorder {
 public:
  // `on_refused` is called at the first reason for which the step cannot be replayed. It must not throw.
  explicit Recorder(std::function<void()> on_refused = {}) : on_refused_(std::move(on_refused)) {
    list_.segments.emplace_back();
  }

  // Recording one operator call takes these calls in this order: begin, saw for each tensor,
  // arguments, made for each result, end. A call that throws never reaches end, and is not
  // recorded.
  void begin(const Operator& op, const double* in);
  void saw(const double* place, double id, const at::Tensor& tensor);
  void starts_argument(const double* place) { pending_starts_.push_back(place); }
  void arguments(const torch::jit::Stack& stack, const double* end);
  void made(double id, const at::Tensor& tensor);
  void made_nothing() { pending_.results.push_back(-1); }
  void made_number();
  void end();

  // The place in the program of the calls that follow.
  void at_place(int place) { place_ = place; }

  // Records a tensor that JavaScript created from `bytes` bytes at `data`.
  void upload(double id, const at::Tensor& tensor, const void* data, size_t bytes);
  // Records `made` as a second handle of the tensor `id`.
  void alias(double made, double id, const at::Tensor& tensor);

  // Declares that the step cannot be replayed. Only the first reason is kept.
  void refuse(const std::string& reason);
  const std::string& refusal() const { return refusal_; }

  // Ends the segment. The tensors `outputs` are needed outside. Returns the handles of the outside
  // inputs in the order in which a replay must give them; they follow the inputs given by the last
  // `resume`.
  std::vector<double> cut(const std::vector<double>& outputs, const TensorTable& tensors);
  // Begins the next segment. The handles `given` are new outside inputs. The handles `forgotten` no
  // longer refer to results of recorded calls.
  void resume(const std::vector<double>& given, const std::vector<double>& forgotten, const TensorTable& tensors);
  // Call it after the last cut.
  std::shared_ptr<Recording> finish() { return std::make_shared<Recording>(std::move(list_)); }

 private:
  int new_value(const at::Tensor& tensor);
  int value_of(double id, const at::Tensor& tensor);
  void take_from_outside(double id, int value, const at::Tensor& tensor);
  void note_writes(const torch::jit::Stack& stack);
  void note_write(const at::Tensor& tensor);

  // Identifies the memory of an outside input or of an upload. The reference is weak: the memory
  // may be freed, but its StorageImpl's address is not reused.
  struct Memory {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    int upload;  // index in the list's uploads, or -1
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
  std::function<void()> on_refused_;
  std::string refusal_;
  int place_ = -1;
};

}  // namespace acc
