import { COMM_HOOKS, ENGINE_CHOICES } from '@acc/contract';
import type { Field } from './field.js';

const DTYPES = ['float32', 'bf16', 'fp16'] as const;

const FIELDS = [
  choice('strategy', ['auto', 'single', 'ddp', 'fsdp'], 'how ranks share the work', 'auto'),
  choice(
    'mixedPrecision',
    ['no', 'bf16', 'fp16', 'int8', 'fp8'],
    '16-bit computation with float32 weights; int8, fp8: products of 8-bit integers or floats',
    'no',
  ),
  whole('gradientAccumulationSteps', 1, 'micro-batches of an optimizer step', '1'),
  number('gradientClipping.norm', 'the largest norm of all gradients of a step', 'none'),
  number('gradientClipping.value', 'the largest absolute value of an element', 'none'),
  whole('checkpointEvery', 1, 'activation checkpointing: layers of a section', 'none'),
  flag('deterministic', 'the same weights, bit for bit, on any number of ranks', 'false'),
  choice('engine', ['auto', 'acc', 'tfjs'], 'libtorch (acc) or the active tfjs backend', 'auto'),
  choice('device', ['auto', 'cpu', 'cuda'], 'the device of tensors', 'auto'),
  whole('seed', 0, 'the seed for the order of shuffled data', '0'),
  text('projectDir', 'the folder in which runs are recorded', '.'),
  texts('logWith', 'the trackers, for example [console, jsonl]', 'none'),
  flag('autoLog', 'logs losses, rates, times and use of the machine', 'false'),
  flag('dataLoader.splitBatches', 'the batch size is that of all ranks together', 'false'),
  flag('dataLoader.evenBatches', 'fills the last step from the start of the data', 'true'),
  flag('dataLoader.shuffle', 'shuffles tensors that are given as data', 'true'),
  flag('dataLoader.dispatchBatches', 'rank 0 reads all batches and sends them', 'false'),
  whole('dataLoader.prefetch', 0, 'steps of data that are read ahead of the loop', '0'),
  flag('dataLoader.uploadStream', 'copies to a GPU run on a stream of their own', 'false'),
  choice('collective.engine', ENGINE_CHOICES, 'the transport between ranks', 'auto'),
  flag('collective.streamWaits', "with NCCL, the GPU's stream waits, and not the program", 'false'),
  whole('collective.timeoutMs', 1, 'the longest time of a collective, in milliseconds', '300000'),
  whole('collective.joinTimeoutMs', 1, 'the longest time of the rendezvous, in milliseconds', 'timeoutMs'),
  whole(
    'collective.noticeMs',
    1,
    'how long a wait lasts before other ranks are told, in milliseconds',
    '1000',
  ),
  whole('collective.graceMs', 1, 'how long a call may end after a lost connection, in milliseconds', '1000'),
  whole(
    'collective.silenceMs',
    2_000,
    'how long a host may not answer before it is lost, in milliseconds',
    '5000',
  ),
  whole(
    'collective.deadlockMs',
    1,
    'how long a wait lasts before a deadlock is looked for, in milliseconds',
    '2000',
  ),
  whole('mesh.data', -1, 'groups of ranks that have all parameters', 'all ranks'),
  whole('mesh.fsdp', -1, 'ranks over which fsdp divides parameters', 'all ranks, under fsdp'),
  whole('mesh.tensor', -1, 'ranks over which single operators are cut', '1'),
  whole('mesh.context', -1, 'ranks over which sequences are cut', '1'),
  choice('context.attention', ['auto', 'ring', 'heads'], 'how attention over shards is computed', 'auto'),
  whole('mesh.pipeline', -1, 'ranks over which layers are divided', '1'),
  whole('mesh.expert', -1, 'ranks over which experts are divided', '1'),
  whole('pipeline.microBatches', 1, 'the parts of a batch that go through a pipeline', 'the stages'),
  choice(
    'pipeline.schedule',
    ['gpipe', '1f1b', 'interleaved', 'zeroBubble'],
    'the order of forward and backward passes in a pipeline',
    '1f1b',
  ),
  text('checkpoint.dir', 'the folder of checkpoints', 'checkpoints in projectDir'),
  flag('checkpoint.async', 'training continues while a save writes', 'false'),
  choice('checkpoint.onError', ['throw', 'warn'], 'what happens if a save fails', 'throw'),
  flag('checkpoint.preemption', 'SIGTERM, SIGUSR1 and Ctrl-C cause a save', 'true, if checkpoint is given'),
  flag('checkpoint.rescue', 'ranks that survive a failure keep their state for the restart', 'true'),
  whole('checkpoint.keepLast', 1, 'the number of newest checkpoints to keep', 'all'),
  whole('checkpoint.keepEvery', 1, 'also keeps checkpoints whose step is a multiple', 'none'),
  whole('ddp.bucketBytes', 1, 'the size of a bucket of gradients', '26214400'),
  choice('ddp.commHook', Object.keys(COMM_HOOKS), 'compression of gradients', 'none'),
  choice('ddp.batchNorm', ['broadcast', 'sync', 'local'], 'statistics of batch normalization', 'broadcast'),
  choice('ddp.syncAt', ['backward', 'apply'], 'when gradients are reduced', 'backward'),
  flag('ddp.syncEachBatch', 'each micro-batch reduces its gradients', 'false'),
  flag('ddp.findUnused', 'variables without a gradient are permitted', 'true'),
  choice(
    'fsdp.stage',
    [1, 2, 3, 'NO_SHARD', 'SHARD_GRAD_OP', 'FULL_SHARD', 'HYBRID_SHARD'],
    'what is divided: optimizer state (1), gradients (2), parameters (3)',
    '3',
  ),
  whole('fsdp.bucketBytes', 1, 'the size of a bucket', '4 MiB in stage 3, else 25 MiB'),
  choice('fsdp.backwardPrefetch', ['pre', 'post', 'none'], 'when the next unit is gathered', 'pre'),
  flag('fsdp.reshardAfterForward', 'releases gathered parameters after forward', 'true'),
  flag('fsdp.limitAllGathers', 'limits the gathered units', 'true'),
  choice('fsdp.mixedPrecision.param', DTYPES, 'the type of parameters in products', 'as mixedPrecision'),
  choice('fsdp.mixedPrecision.reduce', DTYPES, 'the type of sums over ranks', 'float32'),
  flag('fsdp.cpuOffload', 'parameters and optimizer state stay on the host', 'false'),
  choice(
    'amp.float32Precision',
    ['ieee', 'tf32', 'bf16'],
    'float32 products inside of libtorch',
    'that of libtorch',
  ),
  texts('amp.exclude', 'weights that int8 and fp8 leave in 16 bits', 'first, last and small matrices'),
  choice('amp.fp8.recipe', ['tensorwise', 'rowwise'], 'what each scale of fp8 is for', 'tensorwise'),
  choice(
    'amp.fp8.gradients',
    ['e4m3', 'e5m2'],
    'the type of gradients of results; e4m3 if recipe is rowwise',
    'e5m2',
  ),
  flag('amp.fp8.powerOfTwoScales', 'scales of fp8 are powers of two; true if recipe is rowwise', 'false'),
  choice('amp.fp8.scaling', ['current', 'delayed'], 'what scales of fp8 are computed from', 'current'),
  whole('amp.fp8.amaxHistory', 1, 'the steps that delayed scales are computed from', '16'),
  flag('amp.lossScale.dynamic', 'false: the loss scale of fp16 stays as it is', 'true'),
  number('amp.lossScale.initial', 'the first loss scale of fp16', '65536'),
  number('amp.lossScale.growthFactor', 'factor of growth, above 1', '2'),
  number('amp.lossScale.backoffFactor', 'factor after an overflow, below 1', '0.5'),
  whole('amp.lossScale.growthInterval', 1, 'steps without overflow before the scale grows', '2000'),
  whole('amp.lossScale.hysteresis', 1, 'overflows before the scale shrinks', '1'),
  number('amp.lossScale.minimum', 'the smallest loss scale', '1'),
] as const;

type Named<N extends string> = Field & { readonly name: N };

/** The options of `Accelerator.create` that are plain values. The type has their names. */
export const ACCELERATOR_FIELDS: readonly Named<(typeof FIELDS)[number]['name']>[] = FIELDS;

function choice<N extends string>(
  name: N,
  choices: readonly (string | number)[],
  meaning: string,
  fallback: string,
): Named<N> {
  return { kind: 'choice', name, choices, meaning, fallback };
}

function whole<N extends string>(name: N, least: number, meaning: string, fallback: string): Named<N> {
  return { kind: 'whole', name, least, meaning, fallback };
}

function number<N extends string>(name: N, meaning: string, fallback: string): Named<N> {
  return { kind: 'number', name, meaning, fallback };
}

function flag<N extends string>(name: N, meaning: string, fallback: string): Named<N> {
  return { kind: 'switch', name, meaning, fallback };
}

function text<N extends string>(name: N, meaning: string, fallback: string): Named<N> {
  return { kind: 'text', name, meaning, fallback };
}

function texts<N extends string>(name: N, meaning: string, fallback: string): Named<N> {
  return { kind: 'texts', name, meaning, fallback };
}
