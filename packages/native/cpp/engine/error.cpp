#include "engine/error.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <iterator>

namespace acc {
namespace {

constexpr int32_t kNoMemory = 2;  // cudaErrorMemoryAllocation

// After these errors of CUDA, every later call of the process fails: uncorrectable errors of memory and
// links, wrong addresses, time-outs, a destroyed context, failed assertions, exceptions of the hardware.
constexpr int32_t kLasting[] = {214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719};

}  // namespace

const char* code_of_device_error(int32_t number, const char* fallback) {
  if (number == kNoMemory) return kOutOfMemory;
  const bool is_lasting = std::find(std::begin(kLasting), std::end(kLasting), number) != std::end(kLasting);
  return is_lasting ? kDeviceFailed : fallback;
}

const char* code_or(const ErrorInfo& info, const char* fallback) {
  if (info.code == kOutOfMemory) return kOutOfMemory;
  return info.code == kDeviceFailed ? kDeviceFailed : fallback;
}

ErrorInfo describe_current_exception(const char* fallback) {
  try {
    throw;
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const c10::OutOfMemoryError& error) {
    return {kOutOfMemory, error.what_without_backtrace()};
  } catch (const c10::AcceleratorError& error) {
    return {code_of_device_error(error.get_error_code(), fallback), error.what_without_backtrace()};
  } catch (const c10::Error& error) {
    return {fallback, error.what_without_backtrace()};
  } catch (const std::bad_alloc&) {
    return {kOutOfMemory, "out of memory"};
  } catch (const std::exception& error) {
    return {fallback, error.what()};
  } catch (...) {
    return {fallback, "unknown exception"};
  }
}

}  // namespace acc
