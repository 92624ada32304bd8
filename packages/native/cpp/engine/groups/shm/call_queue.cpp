#include "engine/groups/shm/call_queue.h"

#include <chrono>

#include "engine/error.h"

namespace acc::shm {
namespace {

// Waking the thread takes as long as a call. So it polls while calls keep coming, for this many
// intervals after the last one.
constexpr int kAwakeIntervals = 20;
// After this time a call is run even if nobody asks for it.
constexpr std::chrono::seconds kLongest(1);

}  // namespace

CallQueue::~CallQueue() { close(); }

void CallQueue::close() {
  {
    const std::lock_guard guard(mutex_);
    is_closed_ = true;
    for (auto& call : calls_) {
      call->error = std::make_exception_ptr(Error(kPeerLost, "this rank has left the group"));
      call->is_done = true;
    }
    calls_.clear();
  }
  ended_.notify_all();
  waiting_.notify_all();
  if (thread_.joinable()) thread_.join();
}

CallQueue::Turn::~Turn() {
  const std::lock_guard guard(queue_.mutex_);
  queue_.end_turn();
}

// `mutex_` is held. Wakes the queue's thread only if calls are left.
void CallQueue::end_turn() {
  is_running_ = false;
  ended_.notify_all();
  if (!calls_.empty() && is_asleep_) waiting_.notify_one();
}

std::shared_ptr<CallQueue::Call> CallQueue::start(Body body) {
  auto call = std::make_shared<Call>();
  call->body = std::move(body);
  call->started = std::chrono::steady_clock::now();
  const auto interval = background_.interval();
  bool is_to_wake;
  {
    const std::lock_guard guard(mutex_);
    calls_.push_back(call);
    last_start_ = call->started;
    interval_ = interval;
    is_to_wake = is_asleep_;
    if (!thread_.joinable() && !is_closed_) thread_ = std::thread([this] { run_in_background(); });
  }
  if (is_to_wake) waiting_.notify_one();
  return call;
}

bool CallQueue::is_done(const std::shared_ptr<Call>& call) {
  const std::lock_guard guard(mutex_);
  if (call->is_done) return true;
  for (const auto& one : calls_) {
    one->is_asked_for = true;
    if (one == call) break;
  }
  if (is_asleep_) waiting_.notify_one();
  return false;
}

void CallQueue::wait(const std::shared_ptr<Call>& call) {
  std::unique_lock lock(mutex_);
  while (!call->is_done) {
    if (is_running_) ended_.wait(lock);
    else run_front(lock);
  }
  if (call->error) std::rethrow_exception(call->error);
}

void CallQueue::run_front(std::unique_lock<std::mutex>& lock) {
  const auto call = calls_.front();
  calls_.pop_front();
  is_running_ = true;
  lock.unlock();
  std::exception_ptr error;
  try {
    call->body();
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  call->error = error;
  call->is_done = true;
  call->body = nullptr;
  end_turn();
}

bool CallQueue::is_due(const Call& call, std::chrono::steady_clock::time_point now) const {
  return call.is_asked_for || now - call.started > kLongest || background_.is_wanted();
}

void CallQueue::run_in_background() {
  on_thread_();
  std::unique_lock lock(mutex_);
  for (;;) {
    if (std::chrono::steady_clock::now() - last_start_ > kAwakeIntervals * interval_) {
      is_asleep_ = true;
      waiting_.wait(lock, [this] { return is_closed_ || (!is_running_ && !calls_.empty()); });
      is_asleep_ = false;
    }
    // Meanwhile another thread may run the calls that are left.
    waiting_.wait_for(lock, interval_, [this] { return is_closed_; });
    if (is_closed_) return;
    const bool runs = !is_running_ && !calls_.empty() && is_due(*calls_.front(), std::chrono::steady_clock::now());
    if (runs) run_front(lock);
  }
}

}  // namespace acc::shm
