#pragma once

#include <napi.h>

#include <functional>

#include "binding/convert.h"
#include "engine/current_device.h"

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
      set_current_device(device_);
      work_();
    } catch (...) {
      info_ = describe_current_exception(kNativeFailed);
      SetError(info_.message);
    }
  }
  void OnOK() override {
    settle([this] {
      try {
        deferred_.Resolve(finish_(Env()));
      } catch (const Napi::Error& error) {
        deferred_.Reject(error.Value());
      } catch (...) {
        deferred_.Reject(to_js_error(Env(), describe_current_exception(kNativeFailed)).Value());
      }
    });
  }
  void OnError(const Napi::Error&) override {
    settle([this] { deferred_.Reject(to_js_error(Env(), info_).Value()); });
  }

 private:
  AsyncCall(Napi::Env env, Work work, Finish finish)
      : Napi::AsyncWorker(env),
        deferred_(Napi::Promise::Deferred::New(env)),
        work_(std::move(work)),
        finish_(std::move(finish)) {}

  // A promise cannot be settled only while its worker thread ends. Nobody waits for it then.
  template <typename Step>
  void settle(Step step) {
    try {
      step();
    } catch (const Napi::Error&) {
    }
  }

  Napi::Promise::Deferred deferred_;
  Work work_;
  Finish finish_;
  // That of the main thread.
  const c10::Device device_ = current_device();
  ErrorInfo info_;
};

}  // namespace acc
