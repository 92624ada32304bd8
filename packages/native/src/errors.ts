import { AccError, isAccError } from '@acc/contract';

const HELP: Readonly<Record<string, string>> = {
  ACC_TENSOR_DISPOSED: 'Keep the tensor with tf.keep(), or use it before tidy or dispose() frees it.',
  ACC_TOO_MANY_TENSORS: 'Dispose tensors that are not needed, or compute within tf.tidy.',
  ACC_DEVICE_UNAVAILABLE: 'Run `npx acc env` to see which libtorch is used, and whether it is a CUDA build.',
  ACC_DEVICE_FAILED:
    'Start the program again: the device can no longer be used. Run it with CUDA_LAUNCH_BLOCKING=1, and the error names the operator.',
  ACC_OUT_OF_MEMORY: 'Use a smaller batch, gradient accumulation or more ranks.',
  ACC_STORAGE_DENIED: 'Give a folder on a local disk that this process may write.',
  ACC_STORAGE_FULL: 'Free space on the disk, or give a folder on another one.',
  ACC_STORAGE_FAILED: 'Check the disk, or give a folder on another one.',
  ACC_OFFLOAD_DAMAGED:
    'The file belongs to this process. Load the last checkpoint, and keep other programs away from the folder.',
  ACC_OPERATOR_FAILED: 'Check the shapes and dtypes of its inputs.',
  ACC_OPERATOR_ARGUMENT: 'Check the types of its arguments.',
  ACC_NATIVE_FAILED: 'Run `npx acc env`, and report the error with what that prints.',
  ACC_OPERATOR_UNKNOWN: 'The installed libtorch may be older than this package: run `npx acc env`.',
};

/** Converts an error of the addon to an {@link AccError} with the code that C++ set. */
export function toAccError(error: unknown): AccError {
  if (isAccError(error)) return error;
  const { code, message } = error as { code?: string; message?: string };
  const known = typeof code === 'string' && code.startsWith('ACC_') ? code : 'ACC_NATIVE_FAILED';
  const help = HELP[known] ?? message?.split('\n→ ')[1];
  return new AccError(known, message ?? String(error), { cause: error, ...(help ? { help } : {}) });
}

/** Runs `call` and converts errors of the addon to {@link AccError}s. */
export function guarded<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw toAccError(error);
  }
}

/** Converts errors of asynchronous work of the addon to {@link AccError}s. */
export async function converted<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw toAccError(error);
  }
}
