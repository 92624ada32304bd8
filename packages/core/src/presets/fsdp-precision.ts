import { AccError, type Strategy } from '@acc/contract';
import { precisionOf } from '#platform/strategies';
import type { FsdpOptions } from '@acc/fsdp';

interface Chosen {
  readonly strategy: 'auto' | 'single' | 'ddp' | 'fsdp' | Strategy;
  readonly fsdp?: FsdpOptions | undefined;
  readonly mixedPrecision: 'no' | 'bf16' | 'fp16' | 'fp8' | 'int8';
}

/**
 * The options with `fsdp.mixedPrecision.param` as the precision of the Accelerator.
 *
 * @throws AccError `ACC_INVALID_OPTION` if both are given and differ.
 */
export function withFsdpPrecision<O extends Chosen>(
  resolved: O,
  given: Partial<Pick<Chosen, 'mixedPrecision'>>,
): O {
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
    {
      help:
        given.mixedPrecision === 'int8' || given.mixedPrecision === 'fp8'
          ? `Leave out fsdp.mixedPrecision.param: with ${given.mixedPrecision}, parameters are gathered in float32.`
          : 'Both are the type of products. Give one of them, or the same type.',
    },
  );
}
