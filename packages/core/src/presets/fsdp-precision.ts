import { AccError } from '@acc/contract';
import { precisionOf } from '#platform/strategies';
import type { AcceleratorOptions, ResolvedOptions } from '../options.js';

/**
 * The options with `fsdp.mixedPrecision.param` as the precision of the Accelerator.
 *
 * @throws AccError `ACC_INVALID_OPTION` if both are given and differ.
 */
export function withFsdpPrecision(resolved: ResolvedOptions, given: AcceleratorOptions): ResolvedOptions {
  const { strategy, fsdp } = resolved;
  const byName = strategy === 'fsdp' ? fsdp?.mixedPrecision?.param : undefined;
  const param = typeof strategy === 'object' ? precisionOf(strategy) : byName;
  if (param === undefined) return resolved;
  const mixedPrecision = param === 'float32' ? 'no' : param;
  if (given.mixedPrecision === undefined || given.mixedPrecision === mixedPrecision)
    return { ...resolved, mixedPrecision };
  throw new AccError(
    'ACC_INVALID_OPTION',
    `fsdp.mixedPrecision.param is '${param}', but mixedPrecision is '${given.mixedPrecision}'.`,
    { help: 'Both are the type of products. Give one of them, or the same type.' },
  );
}
