import { AccError } from '@acc/contract';
import type { WeightReceiver } from './weight-receiver.js';

/**
 * The receivers by name.
 *
 * @throws AccError `ACC_WEIGHTS_MISMATCH` if two have the same name: one stored tensor cannot be the
 * values of both.
 */
export function byDistinctNames(receivers: readonly WeightReceiver[]): Map<string, WeightReceiver> {
  const byName = new Map<string, WeightReceiver>();
  for (const receiver of receivers) {
    const other = byName.get(receiver.name);
    if (other) throw sameName(other, receiver);
    byName.set(receiver.name, receiver);
  }
  return byName;
}

function sameName(first: WeightReceiver, second: WeightReceiver): AccError {
  const { name } = first;
  const text = ({ variable, shape }: WeightReceiver) => `'${variable}' [${shape.join()}]`;
  return new AccError(
    'ACC_WEIGHTS_MISMATCH',
    `Two weights of the model have the name '${name}': the variables ${text(first)} and ${text(second)}.`,
    {
      help: 'Weights are found by name. Give the layers, also those of nested models, names that differ.',
      details: { name, variables: [first.variable, second.variable] },
    },
  );
}
