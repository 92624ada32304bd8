import type { Optimizer } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';

/** The error for values in a file that was removed by `freeMemory`. */
export function storeClosed(): AccError {
  return new AccError(
    'ACC_SHARD_FREED',
    'The Accelerator that kept this value in a file was freed, and the value with it.',
    { help: 'Save the run, or read its values, before freeMemory() or endTraining().' },
  );
}

/** The error for an optimizer whose state was in a file that was removed by `freeMemory`. */
export function stateLost(optimizer: Optimizer): AccError {
  const kind = optimizer.getClassName();
  return new AccError(
    'ACC_SHARD_FREED',
    `The state of this ${kind} was in a file of an Accelerator that was freed, and is lost.`,
    {
      help: 'Create a new optimizer. To go on from its state, call saveState() before freeMemory(), and loadState() with the new one.',
      details: { optimizer: kind },
    },
  );
}

/** The error for a device whose memory the addon cannot read and write files from. */
export function needsHost(device: string): AccError {
  return new AccError(
    'ACC_STRATEGY_CANNOT',
    `fsdp.offload to a folder is only available on CPUs. The device is '${device}'.`,
    { help: "Leave out fsdp.offload.to, to keep the values in host memory, or create with device: 'cpu'." },
  );
}

/** The error for a backend that updates all variables at once. */
export function needsAcc(backendName: string): AccError {
  return new AccError(
    'ACC_STRATEGY_CANNOT',
    `fsdp.offload to a folder updates variables piece by piece. The tfjs backend '${backendName}' cannot do that.`,
    { help: "Use the engine 'acc'." },
  );
}

/** The error for an optimizer whose state is in members of its own. */
export function unknownState(optimizer: Optimizer): AccError {
  const kind = optimizer.getClassName();
  return new AccError(
    'ACC_STRATEGY_CANNOT',
    `fsdp.offload.optimizer moves the state of an optimizer to a file. It is not known where ${kind} keeps its state.`,
    {
      help: 'Use an optimizer of tfjs, adafactor, adamw, lamb, lion or sgdw, or leave out offload.optimizer.',
      details: { optimizer: kind },
    },
  );
}
