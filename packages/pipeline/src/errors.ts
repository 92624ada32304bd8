import type { Variable } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';

export function cannotDefer(backendName: string): AccError {
  return new AccError(
    'ACC_STRATEGY_CANNOT',
    `Pipeline parallel frees the weights of other ranks' stages. The tfjs backend '${backendName}' cannot do that.`,
    { help: "Use the engine 'acc', or a mesh without the axis pipeline." },
  );
}

/** The error for an inner strategy whose state or shards differ between stages. */
export function cannotCombine(what: string): AccError {
  return new AccError('ACC_STRATEGY_CANNOT', `${what} cannot be combined with the mesh axis pipeline.`, {
    help: 'Leave one of the two out.',
  });
}

export function freed(variable: Variable): AccError {
  return new AccError(
    'ACC_SHARD_FREED',
    `'${variable.name}' has no values: its Accelerator was freed, and this rank did not hold it.`,
    { help: 'Read weights, or save the model, before freeMemory.' },
  );
}

export function outdated(variable: Variable): AccError {
  return new AccError(
    'ACC_SHARD_OUTDATED',
    `A tensor shared the values of '${variable.name}', which have changed since and lie on one rank.`,
    { help: 'Copy values that are needed after a step: tf.mul(variable, 1).' },
  );
}

/** The error for a gradient of a weight that is on one rank, outside of a pipelined step. */
export function outsideStep({ name }: Variable): AccError {
  return new AccError(
    'ACC_PIPELINE_OUTSIDE',
    `A gradient of '${name}' was requested outside of the pipelined step of its model, whose stages are on different ranks.`,
    { help: 'Train the model by model.fit or by the function that accelerator.pipelined returned.' },
  );
}

/** The error for a step in which the ranks of the pipeline would each train a copy of the model. */
export function notDivided({ name }: Variable, ranks: number): AccError {
  return new AccError(
    'ACC_PIPELINE_OUTSIDE',
    `mesh.pipeline has no effect on '${name}': its model is not divided into stages, so each of the ${ranks} ranks would train a copy of its own.`,
    {
      help: 'Train by the function that accelerator.pipelined(model, loss) returns, in place of minimize and applyGradients, or by model.fit. Or leave the axis pipeline out.',
      details: { variable: name, ranks },
    },
  );
}

/** The error for a weight of another stage that is used within a step. */
export function elsewhere({ name }: Variable): AccError {
  return new AccError(
    'ACC_PIPELINE_WEIGHT',
    `'${name}' is used in a stage that has no layer with this weight, and lies on another rank.`,
    {
      help: 'A loss cannot use weights. A layer that uses the weights of another needs them among its own, or calls that layer again.',
      details: { variable: name },
    },
  );
}

/** The error for a trained variable of the loss, or of a layer's code, that is no weight of the model. */
export function foreignVariable({ name }: Variable): AccError {
  return new AccError(
    'ACC_PIPELINE_WEIGHT',
    `'${name}' is used in a pipelined step, but it is no weight of the model's layers, so it would not be trained.`,
    {
      help: 'Freeze it (trainable = false), or make it a weight of a layer with addWeight.',
      details: { variable: name },
    },
  );
}
