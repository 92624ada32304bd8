import { AccError } from '@acc/contract';
import { operatorInPlace } from '@acc/native';
import { backendForLists } from '../fused/fused-apply.js';
import type { StepChunk } from '../fused/native-step.js';
import type { Packing } from './packing.js';
import type { PackedRule } from './rules.js';

const OPERATORS = {
  adamw: operatorInPlace('acc::adamw_packed_'),
  lion: operatorInPlace('acc::lion_packed_'),
  momentum: operatorInPlace('acc::momentum_packed_'),
};

/**
 * Updates weights and packed moments in place, block by block.
 *
 * @param packings Those of the state.
 * @throws AccError `ACC_STRATEGY_CANNOT` on a GPU, for which there are no operators.
 */
export function packedStep(
  { weights, grads, state }: StepChunk,
  packings: readonly Packing[],
  { name, constants }: PackedRule,
): void {
  if (weights.length === 0) return;
  requireHost(backendForLists()!.device);
  const codebooks = packings.map(({ values }) => [...values]);
  OPERATORS[name](weights, grads, ...state, ...codebooks, ...constants);
}

function requireHost(device: string): void {
  if (device === 'cpu') return;
  throw new AccError(
    'ACC_STRATEGY_CANNOT',
    `The optimizer packs its state in 8 or 4 bits, which works on the CPU, but the weights are on '${device}'.`,
    { help: 'Leave out stateBits, or train on the CPU.' },
  );
}
