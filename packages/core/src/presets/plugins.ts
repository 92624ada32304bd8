import { AccError, type KernelLayer, type Plugin, type PrecisionPlugin } from '@acc/contract';
import { float32Precision } from '@acc/amp';
import { BACKEND_NAME } from '@acc/kernels';
import { monitor, resolveAutoLog, type MonitorSink } from '@acc/monitor';
import { amp } from '#platform/mixed-precision';
import { contextParallel } from '#platform/strategies';
import { schedules } from '@acc/schedule';
import { backendWatch } from '../backend/backend-watch.js';
import type { ResolvedOptions } from '../options.js';

/**
 * Returns the plugin for mixed precision. Undefined if the options do not ask for it.
 *
 * @throws AccError `ACC_PRECISION_UNSUPPORTED`.
 */
export function precisionOf(
  { mixedPrecision, amp: options, seed }: ResolvedOptions,
  kernels: KernelLayer,
): PrecisionPlugin | undefined {
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
      throw float8Refusal(kernels);
  }
}

/** The dtype of products in training. With `int8`, it is that of products without a weight. */
export const dtypeOfProducts = ({ mixedPrecision }: ResolvedOptions) =>
  mixedPrecision === 'bf16' || mixedPrecision === 'int8'
    ? 'bfloat16'
    : mixedPrecision === 'fp16'
      ? 'float16'
      : 'float32';

/**
 * States what a trial on this device found. Training in 8 bits is not implemented on any device.
 */
function float8Refusal({ backendName, device, precision }: KernelLayer): AccError {
  const problem = precision
    ? precision.float8Problem()
    : `the tfjs backend '${backendName}' computes in float32 only`;
  const found =
    problem === undefined
      ? `The device ${device} multiplies matrices of 8-bit floats (a trial of aten::_scaled_mm succeeded)`
      : `The device ${device} cannot multiply matrices of 8-bit floats: ${problem}`;
  return new AccError(
    'ACC_PRECISION_UNSUPPORTED',
    `mixedPrecision 'fp8' is not implemented on any device yet. ${found}.`,
    { help: "Use mixedPrecision 'bf16'.", details: { device, problem } },
  );
}

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
