import type { Variable } from '@tensorflow/tfjs-core';
import type { StoredReference, Want } from '@acc/checkpoint';
import { AccError } from '@acc/contract';
import type { NamedTensors } from './named-tensors.js';
import { assignTaken, type Restoration } from './restoration.js';

/** A parameter in a checkpoint, in the order in which parameters were prepared. */
export interface ParameterEntry<T> {
  readonly name: string;
  readonly value: T;
}

/** What the names of parameters begin with in a checkpoint. */
export const PARAMETERS = 'parameters';

export function parameterEntries(
  parameters: readonly Variable[],
  names: NamedTensors,
  root: string,
): ParameterEntry<Variable>[] {
  return parameters.map((variable) => {
    names.addParameter(variable, root + PARAMETERS);
    return { name: names.nameOf(variable), value: variable };
  });
}

/** @throws AccError `ACC_CHECKPOINT_MISMATCH`. */
export function restoreParameters(
  parameters: readonly Variable[],
  entries: readonly ParameterEntry<StoredReference>[],
  names: NamedTensors,
  root: string,
): Restoration {
  const matched = matchParameters(
    parameters.map((variable) => names.nameOf(variable)),
    entries,
  );
  const wants = parameters.map((variable, i): Want => {
    const parts = names.partsOf(variable, variable, root + PARAMETERS);
    return { name: matched[i]!.name, held: { shape: variable.shape, parts } };
  });
  return {
    wants,
    dtypes: parameters.map(({ dtype }) => dtype),
    apply: (tensors) => parameters.forEach((variable, i) => assignTaken(variable, tensors[i]!)),
  };
}

/** For each parameter here the one in the checkpoint. */
function matchParameters(
  names: readonly string[],
  entries: readonly ParameterEntry<StoredReference>[],
): StoredReference[] {
  const stored = new Map(entries.map(({ name, value }) => [name, value]));
  if (entries.length === names.length) {
    // By name where all are there, else by place: tfjs counts the layers of a process, so that names may differ in a new one.
    const byName = names.flatMap((name) => stored.get(name) ?? []);
    return byName.length === names.length ? byName : entries.map(({ value }) => value);
  }
  const here = new Set(names);
  throw new AccError(
    'ACC_CHECKPOINT_MISMATCH',
    `The checkpoint has ${entries.length} parameters, ${names.length} are prepared.`,
    {
      help: 'Prepare the same models and lists of variables, in the same order, before loadState.',
      details: {
        onlyStored: [...stored.keys()].filter((name) => !here.has(name)),
        onlyHere: [...here].filter((name) => !stored.has(name)),
      },
    },
  );
}
