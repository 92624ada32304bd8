/**
 * Undefined in a direct run of vitest. Under the queue (scripts/queue/prepare.mjs), which has done
 * what the global set-ups do, the folder of libtorch.
 */
export const preparedLibtorch: string | undefined = process.env['ACC_TESTS_PREPARED'];
