/** Functions of Node's module `util` that tfjs-node 4.22 calls. */
interface LegacyUtil {
  isNullOrUndefined?: (value: unknown) => boolean;
  isArray?: (value: unknown) => boolean;
}

/**
 * Lets @tensorflow/tfjs-node 4.22 compute on Node.js 23 and newer. Node.js 23 removed
 * `util.isNullOrUndefined`, which tfjs-node calls for most operators (tensorflow/tfjs issue 8609);
 * the correction (pull request 8425) was never released. `util.isArray`, which it also calls, is
 * deprecated and may be removed next. tfjs-node looks both up in each call, so this also works
 * after it was loaded. Where `util` has them, or without Node.js, it does nothing.
 */
export function mendTfjsNode(): void {
  const { process } = globalThis as { process?: Partial<NodeJS.Process> };
  const util = process?.getBuiltinModule?.('node:util') as LegacyUtil | undefined;
  if (!util) return;
  util.isNullOrUndefined ??= (value) => value === null || value === undefined;
  util.isArray ??= Array.isArray;
}
