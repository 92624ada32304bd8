#include "engine/shm/call_queue.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/error.h"

namespace acc::shm {

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
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

CallQueue::Turn::~Turn() {
  {
    const std::lock_guard guard(queue_.mutex_);
    queue_.is_running_ = false;
  }
  queue_.changed_.notify_all();
}

std::shared_ptr<CallQueue::Call> CallQueue::start(Body body) {
  auto call = std::make_shared<Call>();
  call->body = std::move(body);
  {
    const std::lock_guard guard(mutex_);
    calls_.push_back(call);
    if (!thread_.joinable() && !is_closed_) thread_ = std::thread([this] { run_in_background(); });
  }
  changed_.notify_all();
  return call;
}

bool CallQueue::is_done(const std::shared_ptr<Call>& call) {
  const std::lock_guard guard(mutex_);
  return call->is_done;
}

void CallQueue::wait(const std::shared_ptr<Call>& call) {
  std::unique_lock lock(mutex_);
  while (!call->is_done) {
    if (is_running_) changed_.wait(lock);
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
  is_running_ = false;
  changed_.notify_all();
}

void CallQueue::run_in_background() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 19);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_closed_ || (!is_running_ && !calls_.empty()); });
    if (is_closed_) return;
    run_front(lock);
  }
}

}  // namespace acc::shm
