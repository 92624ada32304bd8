import { AccError } from '@acc/contract';
import {
  PRESETS,
  readClusterFile,
  type ClusterOptions,
  type ModelSizesOptions,
  type SearchOptions,
} from '@acc/planner';

/** The options of the command, as commander gives them. */
export interface PlanFlags {
  readonly layers?: number;
  readonly hidden?: number;
  readonly heads?: number;
  readonly kvHeads?: number;
  readonly ffn?: number;
  readonly vocab?: number;
  readonly gated?: boolean;
  readonly sequence?: number;
  readonly cluster: string;
  readonly devices?: number;
  readonly memoryFraction?: number;
  readonly batch: number;
  readonly microBatch?: number;
  readonly accumulation?: number;
  readonly data?: number;
  readonly fsdp?: number;
  readonly tensor?: number;
  readonly context?: number;
  readonly pipeline?: number;
  readonly chunks?: number;
  readonly checkpointEvery?: number | null;
  readonly stage?: '0' | '1' | '2' | '3';
  readonly precision?: 'float32' | 'tf32' | 'fp16' | 'bf16' | 'fp8';
  readonly schedule?: 'gpipe' | '1f1b' | 'interleaved' | 'zeroBubble';
  readonly offload?: 'none' | 'optimizer' | 'all';
  readonly offloadTo?: 'cpu' | 'nvme';
  readonly sequenceParallel?: boolean;
  readonly flashAttention: boolean;
  readonly targetTokens?: number;
  readonly criticalBatch?: number;
  readonly price?: number;
  readonly watts?: number;
  readonly count: number;
  readonly json?: boolean;
  readonly details?: boolean;
}

/** @throws AccError `ACC_USAGE`, `ACC_MISSING_OPTION`, `ACC_PLAN_CLUSTER`. */
export function searchOptions(model: string | undefined, flags: PlanFlags): SearchOptions {
  const { sequence, memoryFraction, count, batch } = flags;
  return {
    model: model === undefined ? sizesOf(flags) : requireAlone(model, flags),
    cluster: clusterOf(flags),
    globalBatch: batch,
    constraints: constraintsOf(flags),
    count,
    ...(sequence !== undefined && { sequence }),
    ...(memoryFraction !== undefined && { memoryFraction }),
  };
}

const SIZES = ['layers', 'hidden', 'heads', 'kvHeads', 'ffn', 'vocab', 'gated'] as const;
const NEEDED = ['layers', 'hidden', 'heads', 'vocab', 'sequence'] as const;

function requireAlone(model: string, flags: PlanFlags): string {
  const given = SIZES.filter((name) => flags[name] !== undefined).map(dashed);
  if (given.length === 0) return model;
  throw new AccError('ACC_USAGE', `${given[0]} is for plans without a model.`, {
    help: `Leave out ${given.join(', ')}, or the model.`,
  });
}

function sizesOf(flags: PlanFlags): ModelSizesOptions {
  const { layers, hidden, heads, vocab: vocabulary, sequence, kvHeads, ffn, gated } = flags;
  if (layers && hidden && heads && vocabulary && sequence) {
    return {
      ...{ layers, hidden, heads, vocabulary, sequence },
      ...(kvHeads !== undefined && { kvHeads }),
      ...(ffn !== undefined && { ffn }),
      ...(gated !== undefined && { gated }),
    };
  }
  const missing = NEEDED.filter((name) => flags[name] === undefined).map(dashed);
  if (SIZES.every((name) => flags[name] === undefined))
    throw new AccError('ACC_USAGE', 'Neither a model nor --layers and other sizes are given.', {
      help: 'Give a model, for example: npx acc plan gpt3 --cluster a100-sxm --devices 1024 --batch 1536',
    });
  throw new AccError('ACC_MISSING_OPTION', `A plan without a model needs ${missing.join(', ')} too.`, {
    help: 'Time and memory depend on all of them.',
    details: { missing },
  });
}

const dashed = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** A preset with its devices, or a file, in which `--devices` replaces those of the file. */
function clusterOf({ cluster, devices }: PlanFlags): ClusterOptions | string {
  const isFile = /[/\\]|\.json$/.test(cluster);
  if (!isFile && (devices !== undefined || !Object.hasOwn(PRESETS, cluster)))
    // `findPlans` refuses an unknown preset.
    return { preset: cluster, devices: devices ?? 1 };
  if (!isFile)
    throw new AccError('ACC_MISSING_OPTION', `--cluster ${cluster} needs --devices.`, {
      help: 'Give the number of devices of the cluster, for example: --devices 64',
    });
  return devices === undefined ? cluster : ({ ...readClusterFile(cluster), devices } as ClusterOptions);
}

function constraintsOf(flags: PlanFlags): NonNullable<SearchOptions['constraints']> {
  const { data, fsdp, tensor, context, pipeline, stage, offload, offloadTo = 'cpu' } = flags;
  const { microBatch, accumulation, chunks, checkpointEvery, precision, schedule, sequenceParallel } = flags;
  if (flags.offloadTo !== undefined && (offload ?? 'none') === 'none')
    throw new AccError('ACC_USAGE', '--offload-to is for plans with --offload.', {
      help: 'Add --offload optimizer or --offload all.',
    });
  const given = {
    mesh: withoutAbsent({ data, fsdp, tensor, context, pipeline }),
    ...{ microBatch, accumulation, chunks, precision, schedule, sequenceParallel },
    stage: stage === undefined ? undefined : (Number(stage) as 0 | 1 | 2 | 3),
    offload: offloadOf(offload, offloadTo),
    ...(checkpointEvery === null ? { recompute: 'none' as const } : { checkpointEvery }),
    flashAttention: flags.flashAttention,
  };
  return withoutAbsent(given);
}

function offloadOf(offload: PlanFlags['offload'], to: 'cpu' | 'nvme') {
  if (offload === undefined || offload === 'none') return undefined;
  return { optimizer: true, params: offload === 'all', to };
}

type Present<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> };

const withoutAbsent = <T extends object>(options: T): Present<T> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Present<T>;
