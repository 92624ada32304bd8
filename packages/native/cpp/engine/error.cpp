#include "engine/error.h"

#include <c10/util/Exception.h>

namespace acc {

ErrorInfo describe_current_exception(const char* fallback) {
  try {
    throw;
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const c10::OutOfMemoryError& error) {
    return {kOutOfMemory, error.what_without_backtrace()};
  } catch (const c10::AcceleratorError& error) {
    // A device reports errors of earlier operators in whatever call comes next.
    return {kDeviceFailed, error.what_without_backtrace()};
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
