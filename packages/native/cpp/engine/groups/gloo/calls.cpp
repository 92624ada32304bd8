#include "engine/groups/gloo/calls.h"

#include <ATen/core/ivalue.h>

#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "engine/current_device.h"
#include "engine/error.h"

namespace acc {
namespace {

[[noreturn]] void throw_cut() { throw Error(kPeerLost, "The connections of the group were closed within the call."); }

}  // namespace

// A call that runs on a thread of Gloo.
class GlooCalls::Collective final : public Pending {
 public:
  Collective(std::shared_ptr<GlooCalls> calls, Work work)
      : calls_(std::move(calls)), work_(std::move(work)), future_(work_->getFuture()) {
    {
      const std::lock_guard guard(calls_->mutex_);
      ++calls_->running_;
    }
    future_->addCallback([calls = calls_](c10::ivalue::Future&) {
      const std::lock_guard guard(calls->mutex_);
      --calls->running_;
      calls->changed_.notify_all();
    });
  }

  bool is_done() override { return future_->completed() || calls_->is_cut(); }

  void wait() override {
    {
      std::unique_lock lock(calls_->mutex_);
      const auto has_ended = [&] { return future_->completed(); };
      calls_->changed_.wait_for(lock, calls_->timeout_, [&] { return has_ended() || calls_->is_cut_; });
      if (calls_->is_cut_ && !calls_->changed_.wait_for(lock, calls_->grace_, has_ended)) throw_cut();
      if (!has_ended()) throw Error(kCollectiveTimeout, "The call did not end in time.");
    }
    // Rethrows the error of the call.
    work_->wait(calls_->timeout_);
  }

 private:
  const std::shared_ptr<GlooCalls> calls_;
  const Work work_;
  const c10::intrusive_ptr<c10::ivalue::Future> future_;
};

// A message from one rank to another, which Gloo's device thread transfers.
class GlooCalls::Message final : public Pending {
 public:
  Message(std::shared_ptr<GlooCalls> calls, Work work) : calls_(std::move(calls)), work_(std::move(work)) {}

  bool is_done() override { return work_->isCompleted() || calls_->is_cut(); }

  void wait() override {
    if (!has_ended() && !has_arrived()) throw_cut();
  }

 private:
  // Waits for the message. False if a cut comes first.
  bool has_ended() {
    {
      const std::lock_guard guard(calls_->mutex_);
      if (calls_->is_cut_) return false;
      calls_->awaited_.insert(work_.get());
    }
    const Awaited awaited(*this);
    return work_->wait(calls_->timeout_);
  }

  // Whether the message had arrived before the cut. Until the device thread has read the end of the
  // connection, the buffer must exist.
  bool has_arrived() {
    try {
      return work_->wait(calls_->grace_);
    } catch (const std::exception&) {
      return false;
    }
  }

  // Hides the message from cut() when the wait has ended.
  class Awaited {
   public:
    explicit Awaited(Message& message) : message_(message) {}
    ~Awaited() {
      const std::lock_guard guard(message_.calls_->mutex_);
      message_.calls_->awaited_.erase(message_.work_.get());
    }

   private:
    Message& message_;
  };

  const std::shared_ptr<GlooCalls> calls_;
  const Work work_;
};

std::shared_ptr<Pending> GlooCalls::pending(Work work) {
  using Gloo = c10d::ProcessGroupGloo;
  const auto* started = work.get();
  if (dynamic_cast<const Gloo::AsyncWork*>(started) != nullptr) {
    return std::make_shared<Collective>(shared_from_this(), std::move(work));
  }
  const bool is_message = dynamic_cast<const Gloo::SendWork*>(started) != nullptr ||
                          dynamic_cast<const Gloo::RecvWork*>(started) != nullptr;
  if (is_message) return std::make_shared<Message>(shared_from_this(), std::move(work));
  throw Error(kCollectiveFailed, "Gloo made a work of an unknown kind.");
}

void GlooCalls::cut() {
  const std::lock_guard guard(mutex_);
  if (is_cut_) return;
  is_cut_ = true;
  for (auto* work : awaited_) work->abort();
  changed_.notify_all();
}

bool GlooCalls::is_cut() {
  const std::lock_guard guard(mutex_);
  return is_cut_;
}

void GlooCalls::outlive(c10::intrusive_ptr<c10d::Backend> backend) {
  std::unique_lock lock(mutex_);
  const auto have_ended = [this] { return running_ == 0; };
  if (changed_.wait_for(lock, grace_, have_ended)) return;
  thread_on_device([calls = shared_from_this(), backend = std::move(backend)] {
    std::unique_lock lock(calls->mutex_);
    calls->changed_.wait(lock, [&] { return calls->running_ == 0; });
  }).detach();
}

}  // namespace acc
