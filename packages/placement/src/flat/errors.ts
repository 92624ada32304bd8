import type { Optimizer, Variable } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';

/** The error for a backend whose tensors always have their values in memory. */
export function cannotDefer(backendName: string): AccError {
  return new AccError(
    'ACC_STRATEGY_CANNOT',
    `Sharded parameters are freed between their uses. The tfjs backend '${backendName}' cannot do that.`,
    { help: "Use the engine 'acc', or the strategy 'ddp' on a mesh without the axis expert." },
  );
}

/** The error for an optimizer that may need whole tensors. */
export function needsWhole(optimizer: Optimizer): AccError {
  const kind = optimizer.getClassName();
  return new AccError(
    'ACC_STRATEGY_CANNOT',
    `An optimizer gets this rank's elements of each sharded weight. ${kind} may need all of them.`,
    {
      help: 'Use an optimizer of tfjs, adafactor, adamw, lamb, lion or sgdw. If an optimizer of your own computes each element by itself, give it a member elementwise: true.',
      details: { optimizer: kind },
    },
  );
}

/**
 * The error for a unit for which there is no memory.
 *
 * @param act What is done with the unit: "gather".
 */
export function unitTooLarge(
  unit: { readonly name: string; readonly bytes: number },
  act: string,
  cause: AccError,
): AccError {
  return new AccError(
    'ACC_OUT_OF_MEMORY',
    `Ranks cannot ${act} the unit '${unit.name}' of ${unit.bytes} bytes. ${cause.message.split('\n')[0]}`,
    {
      help: 'Make units smaller (fsdp.wrap, fsdp.bucketBytes), gather fewer ahead (fsdp.limitAllGathers: true, fsdp.reshardAfterForward: true), use stage 3, fsdp.offload, more ranks, a smaller batch or activation checkpointing.',
      details: { unit: unit.name, bytes: unit.bytes },
      cause,
    },
  );
}

/** The error for a tensor that shared values with a variable before a step. */
export function outdated({ name }: Variable): AccError {
  return new AccError(
    'ACC_SHARD_OUTDATED',
    `A tensor shares its values with the variable '${name}'. The variable is sharded and has changed since, so no rank has the earlier values.`,
    { help: 'Copy the values that a later step needs: tf.tidy(() => variable.mul(1)), on every rank.' },
  );
}

/** The error for a sharded variable whose packed values a program has moved to another backend. */
export function unpacked({ name }: Variable): AccError {
  return new AccError(
    'ACC_QUANTIZED_PLACE',
    `Ranks have shares of the packed values of '${name}', but an operator on another backend has moved the variable there.`,
    {
      help: "Stay on the backend 'acc' while packed weights are sharded, or use fsdp stage 2 or ddp.",
      details: { name },
    },
  );
}

/** The error for two variables that are one in memory. */
export function sharedPacked({ name }: Variable, other: Variable): AccError {
  return new AccError(
    'ACC_QUANTIZED_PLACE',
    `'${name}' shares its packed values with '${other.name}', so ranks cannot divide them apart.`,
    {
      help: 'Make one variable of them, or quantize each from float32 values of its own.',
      details: { name, other: other.name },
    },
  );
}

/** The error for a variable whose Accelerator was freed. */
export function freed({ name }: Variable): AccError {
  return new AccError(
    'ACC_SHARD_FREED',
    `The Accelerator that sharded the variable '${name}' was freed, and its values with it.`,
    {
      help: 'Save the model, or read its weights, before freeMemory() or endTraining().',
      details: { variable: name },
    },
  );
}
