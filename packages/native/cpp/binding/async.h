#pragma once

#include <napi.h>

#include <functional>

#include "binding/convert.h"

namespace acc {

// Runs `work` on a thread of Node's pool. `finish` then creates the promise's value on the main
// thread.
class AsyncCall final : public Napi::AsyncWorker {
 public:
  using Work = std::function<void()>;
  using Finish = std::function<Napi::Value(Napi::Env)>;

  static Napi::Value start(Napi::Env env, Work work, Finish finish) {
    auto* call = new AsyncCall(env, std::move(work), std::move(finish));  // deletes itself when done
    const auto promise = call->deferred_.Promise();
    call->Queue();
    return promise;
  }

 protected:
  void Execute() override {
    try {
      work_();
    } catch (...) {
      info_ = describe_current_exception(kNativeFailed);
      SetError(info_.message);
    }
  }
  void OnOK() override { deferred_.Resolve(finish_(Env())); }
  void OnError(const Napi::Error&) override { deferred_.Reject(to_js_error(Env(), info_).Value()); }

 private:
  AsyncCall(Napi::Env env, Work work, Finish finish)
      : Napi::AsyncWorker(env),
        deferred_(Napi::Promise::Deferred::New(env)),
        work_(std::move(work)),
        finish_(std::move(finish)) {}

  Napi::Promise::Deferred deferred_;
  Work work_;
  Finish finish_;
  ErrorInfo info_;
};

}  // namespace acc
