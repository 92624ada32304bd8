import type { KernelLayer, Plugin, PrecisionPlugin } from '@acc/contract';
import { float32Precision } from '@acc/amp';
import { BACKEND_NAME } from '@acc/kernels';
import { monitor, resolveAutoLog, type MonitorSink } from '@acc/monitor';
import { amp } from '#platform/mixed-precision';
import { contextParallel } from '#platform/strategies';
import { schedules } from '@acc/schedule';
import { backendWatch } from '../backend/backend-watch.js';
import type { ResolvedOptions } from '../options.js';

/** Returns the plugin for mixed precision. Undefined if the options do not ask for it. */
export function precisionOf({
  mixedPrecision,
  amp: options,
  seed,
}: ResolvedOptions): PrecisionPlugin | undefined {
  switch (mixedPrecision) {
    case 'no':
      return undefined;
    case 'bf16':
      return amp('bfloat16', options);
    case 'fp16':
      return amp('float16', options);
    case 'int8':
      return amp('int8', options, { seed });
    case 'fp8':
      return amp('fp8', options);
  }
}

const DTYPES = {
  no: 'float32',
  bf16: 'bfloat16',
  fp16: 'float16',
  int8: 'bfloat16',
  fp8: 'bfloat16',
} as const;

/** The dtype of products in training. With `int8` and `fp8`, it is that of products without a weight. */
export const dtypeOfProducts = ({ mixedPrecision }: ResolvedOptions) => DTYPES[mixedPrecision];

/** The plugins of every Accelerator. They come before those of the options. */
export function builtInPlugins(
  { amp: options, mixedPrecision, context }: ResolvedOptions,
  kernels: KernelLayer,
  isMain: boolean,
): Plugin[] {
  const without = mixedPrecision === 'no' ? undefined : 'computes in float32 instead of 16 bits';
  const watch = backendWatch({ engine: BACKEND_NAME, kernels, isMain, without });
  return [watch, schedules(), float32Precision(options), contextParallel(context)];
}

/** Returns the plugin that logs figures automatically, if the options ask for it. */
export function monitorOf({ autoLog }: ResolvedOptions, sink: MonitorSink, size: number): Plugin[] {
  if (autoLog === false) return [];
  return [monitor(resolveAutoLog(autoLog === true ? {} : autoLog), sink, size)];
}
