#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace acc {

// The codes, as in AccError.code in JavaScript.
inline constexpr const char* kTensorDisposed = "ACC_TENSOR_DISPOSED";
inline constexpr const char* kTooManyTensors = "ACC_TOO_MANY_TENSORS";
inline constexpr const char* kOperatorUnknown = "ACC_OPERATOR_UNKNOWN";
inline constexpr const char* kOperatorFailed = "ACC_OPERATOR_FAILED";
inline constexpr const char* kOperatorArgument = "ACC_OPERATOR_ARGUMENT";
inline constexpr const char* kDeviceFailed = "ACC_DEVICE_FAILED";
inline constexpr const char* kOutOfMemory = "ACC_OUT_OF_MEMORY";
inline constexpr const char* kInvalidArgument = "ACC_INVALID_ARGUMENT";
inline constexpr const char* kDeviceUnavailable = "ACC_DEVICE_UNAVAILABLE";
inline constexpr const char* kNativeFailed = "ACC_NATIVE_FAILED";
inline constexpr const char* kStorageDenied = "ACC_STORAGE_DENIED";
inline constexpr const char* kStorageFull = "ACC_STORAGE_FULL";
inline constexpr const char* kStorageFailed = "ACC_STORAGE_FAILED";
inline constexpr const char* kOffloadDamaged = "ACC_OFFLOAD_DAMAGED";
inline constexpr const char* kPortTaken = "ACC_PORT_TAKEN";
inline constexpr const char* kRendezvousFailed = "ACC_RENDEZVOUS_FAILED";
inline constexpr const char* kCollectiveFailed = "ACC_COLLECTIVE_FAILED";
inline constexpr const char* kCollectiveTimeout = "ACC_COLLECTIVE_TIMEOUT";
inline constexpr const char* kPeerLost = "ACC_PEER_LOST";
inline constexpr const char* kCollectiveMismatch = "ACC_COLLECTIVE_MISMATCH";
inline constexpr const char* kCollectiveDeadlock = "ACC_COLLECTIVE_DEADLOCK";
inline constexpr const char* kEngineUnavailable = "ACC_ENGINE_UNAVAILABLE";

// An error with a stable code.
class Error : public std::runtime_error {
 public:
  Error(const char* code, const std::string& message) : std::runtime_error(message), code_(code) {}
  const char* code() const noexcept { return code_; }

 private:
  const char* code_;
};

// A caught exception as code and message for JavaScript. Call describe_current_exception inside a
// catch block. `fallback` is the code for exceptions without a code.
struct ErrorInfo {
  std::string code;
  std::string message;
};
ErrorInfo describe_current_exception(const char* fallback);

// The code for an error that a device reports, perhaps of an operator that was called earlier. CUDA and its
// driver have the same numbers. `fallback` is the code for errors after which the device can be used.
const char* code_of_device_error(int32_t number, const char* fallback);

// The code of `info` if it is that of memory or of a failed device, whatever was called. Else `fallback`.
const char* code_or(const ErrorInfo& info, const char* fallback);

}  // namespace acc
