import { invalid } from './errors.js';
import { isOnCpu } from './on-cpu.js';
import type { Granularity, StorageDtype } from '@acc/kernels';
import type { Activations, Algorithm, WeightSettings } from './options.js';

const DEFAULTS: Readonly<Record<StorageDtype, Granularity>> = {
  bf16: 'tensor',
  fp16: 'tensor',
  int8: 'row',
  int4: { group: 128 },
  nf4: { group: 64 },
};

interface Given {
  readonly weights: StorageDtype;
  readonly granularity?: Granularity | undefined;
  readonly algorithm: Algorithm;
  readonly activations: Activations;
}

/**
 * Fills in defaults, and refuses options that do not go together.
 *
 * @param isHost Whether tensors are in host memory.
 * @throws AccError `ACC_INVALID_OPTION`.
 */
export function settingsOf(
  caller: string,
  { granularity, ...given }: Given,
  isHost = isOnCpu(),
): WeightSettings {
  const { weights, algorithm, activations } = given;
  const settings = { ...given, granularity: granularity ?? DEFAULTS[weights] };
  const isGrouped = typeof settings.granularity === 'object';
  const is4Bit = weights === 'int4' || weights === 'nf4';
  if (granularity !== undefined && (weights === 'bf16' || weights === 'fp16')) {
    throw invalid(caller, `${weights} has no scales.`, 'Leave granularity out.');
  }
  if (is4Bit && !isGrouped) {
    throw invalid(
      caller,
      `${weights} needs groups.`,
      'Write granularity: { group: 32 }, 64 or 128, or leave it out.',
    );
  }
  if (algorithm === 'hqq' && weights !== 'int4') {
    throw invalid(
      caller,
      `'hqq' moves zero points, which ${weights} does not have.`,
      "Write weights: 'int4', or algorithm: 'nearest'.",
    );
  }
  if (activations !== 'none')
    requireIntProducts(caller, activations, weights === 'int8' && !isGrouped, isHost);
  return settings;
}

function requireIntProducts(
  caller: string,
  activations: Activations,
  hasOneScale: boolean,
  isHost: boolean,
): void {
  if (!hasOneScale) {
    throw invalid(
      caller,
      `activations: '${activations}' multiplies whole numbers, which needs int8 weights with one scale for each row.`,
      "Write weights: 'int8' with granularity 'row' or 'tensor', or activations: 'none'.",
    );
  }
  if (isHost) return;
  throw invalid(
    caller,
    `activations: '${activations}' is for CPUs. On a GPU, products take the unpacked weights.`,
    'Leave activations out.',
  );
}
