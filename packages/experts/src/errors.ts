import type { Variable } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';

/** The error for experts that ranks cannot share equally. */
export function unevenExperts({ name, shape }: Pick<Variable, 'name' | 'shape'>, ranks: number): AccError {
  return new AccError(
    'ACC_EXPERTS_UNEVEN',
    `The ${shape[0]} experts of '${name}' cannot be shared equally by the ${ranks} ranks of the axis expert.`,
    {
      help: `Use a number of experts that ${ranks} divides, or another size of mesh.expert.`,
      details: { name, experts: shape[0], ranks },
    },
  );
}

/** The error for gradients that are reduced where the optimizer is called. */
export function syncsAtApply(): AccError {
  return new AccError(
    'ACC_STRATEGY_CANNOT',
    "mesh.expert does not support ddp.syncAt: 'apply'. Gradients of experts are summed during backward.",
    { help: 'Leave syncAt out, or use a mesh without the axis expert.' },
  );
}
