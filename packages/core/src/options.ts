import {
  AccError,
  checkKeys,
  isRecord,
  nearestName,
  parseOptions,
  PLUGIN_KEYS,
  TAPE_HOOK_KEYS,
  showValue,
  type Collective,
  type Plugin,
  type Strategy,
  type Tracker,
  MESH_AXES,
  type MeshAxis,
} from '@acc/contract';
import { checkStrategy } from './check-strategy.js';
import { GROUP_OPTIONS, resolveCollective, type CollectiveOptions } from './collective-options.js';
import { resolveAmpOptions, type AmpOptions } from '@acc/amp';
import { resolveCheckpointOptions, type CheckpointOptions } from '@acc/checkpoint';
import { resolveContextOptions, type ContextOptions } from '@acc/context-parallel';
import { resolveDdpOptions, type DdpOptions } from '@acc/ddp';
import { resolveFsdpOptions, type FsdpOptions } from '@acc/fsdp';
import type { DeterministicOptions } from '@acc/deterministic';
import { resolveAutoLog, type AutoLogOptions } from '@acc/monitor';
import { featuresOf, OPTION_HELP, requireAvailable, requireTogether } from '#platform/requirements';
import { resolveDeterministicOptions } from '#platform/strategies';
import * as z from 'zod';
import { dataLoaderSchema, type DataLoaderOptions } from './data-loader-options.js';
import type { MeshOptions } from './mesh-options.js';
import { pipelineSchema, type PipelineOptions } from './pipelined/options.js';
import { withFsdpPrecision } from './presets/fsdp-precision.js';
import { withShardedAxis } from './presets/sharded-axis.js';

export type { CollectiveOptions } from './collective-options.js';
export type { DataLoaderOptions } from './data-loader-options.js';
export type { MeshOptions } from './mesh-options.js';
export type { ContextOptions } from '@acc/context-parallel';
export type { PipelineOptions } from './pipelined/options.js';
export type { Alert, AutoLogOptions } from '@acc/monitor';
export type {
  BucketVariable,
  CommHook,
  CommHookName,
  CommHookState,
  GradientBucket,
  NamedCommHook,
  OneBitOptions,
  PowerSgdOptions,
  StateValues,
  TopKOptions,
} from '@acc/ddp';

/** Options of `Accelerator.create`. Unknown keys are errors that name the nearest key. */
export interface AcceleratorOptions {
  /**
   * How ranks share the work. `auto` (default): `fsdp` if `mesh` has the axis `fsdp`, else `ddp` for
   * several ranks, `single` for one. `fsdp` divides parameters, gradients and optimizer state over
   * ranks.
   */
  readonly strategy?: 'auto' | 'single' | 'ddp' | 'fsdp' | Strategy;
  readonly ddp?: DdpOptions;
  readonly fsdp?: FsdpOptions;
  /**
   * How ranks are laid out. `auto` (default): one axis, `fsdp` under that strategy, else `data`. It
   * does not look at the model, so axes that cut a model are given by their sizes.
   */
  readonly mesh?: MeshOptions | 'auto';
  /** Attention to sequences that are cut over the axis `context` of the mesh. */
  readonly context?: ContextOptions;
  /**
   * How models are trained on the ranks of the mesh axis `pipeline`: defaults of `fit` and
   * `pipelined`.
   */
  readonly pipeline?: PipelineOptions;
  /**
   * Options of the group of all ranks, or the group itself: a collective that passes the cases of
   * @acc/testkit. The Accelerator then joins no other group, and `endTraining` closes this one.
   */
  readonly collective?: CollectiveOptions | Collective;
  /**
   * 16-bit computation with float32 weights. `int8` and `fp8` are `bf16` with products of 8-bit integers
   * or floats for the weights of dense layers. Default `no`.
   */
  readonly mixedPrecision?: 'no' | 'bf16' | 'fp16' | 'fp8' | 'int8';
  readonly amp?: AmpOptions;
  /**
   * `acc` is libtorch, `tfjs` is the active tfjs backend. `auto` (default): `acc` if libtorch is
   * found.
   */
  readonly engine?: 'auto' | 'acc' | 'tfjs';
  /**
   * The place of checkpoints, how many are kept, and the handling of signals. If it is given, even
   * as `{}`, signals cause a save.
   */
  readonly checkpoint?: CheckpointOptions;
  /**
   * The device of tensors of the `acc` engine. `auto` (default): a GPU if libtorch has one. An
   * unavailable device is an error.
   */
  readonly device?: 'auto' | 'cpu' | 'cuda';
  /** The seed for the order of shuffled data, and for random rounding with `int8`. Default 0. */
  readonly seed?: number;
  readonly dataLoader?: DataLoaderOptions;
  /**
   * The number of micro-batches per optimizer step, for `accumulate` and for the batches of `fit`.
   * Default 1.
   */
  readonly gradientAccumulationSteps?: number;
  /**
   * Clips the gradient that is applied, which combines all ranks and micro-batches. Default: no
   * clipping.
   */
  readonly gradientClipping?: GradientClippingOptions;
  /**
   * The number of layers in a section. Prepared models keep only the tensors between sections for
   * backward and recompute the rest there. That needs much less memory and a third more time.
   * Default: all activations are kept.
   */
  readonly checkpointEvery?: number;
  /**
   * Gives the same weights, bit for bit, on any number of ranks. Random operators draw as for the
   * batch of all ranks, batch normalization uses the samples of all ranks, sums have a fixed tree
   * order, and each rank computes with one thread. Default false.
   */
  readonly deterministic?: boolean | DeterministicOptions;
  readonly plugins?: readonly Plugin[];
  /**
   * The trackers of `log` and similar methods: `console`, `jsonl`, `csv`, `tensorboard`, `mlflow`,
   * `wandb`, `clearml`, `comet`, `dvclive`, `prometheus`, `trackio`, names of installed packages (`acc-tracker-…`), or tracker objects. `initTrackers`
   * starts them.
   */
  readonly logWith?: readonly (string | Tracker)[];
  /**
   * Logs loss, rates, times of the parts of a step and use of the machine automatically, and raises
   * alerts. Default false.
   */
  readonly autoLog?: boolean | AutoLogOptions;
  /** The folder in which runs are recorded. Default `.`, the working directory. */
  readonly projectDir?: string;
}

/** If both are given, clipping by norm precedes clipping by value. */
export interface GradientClippingOptions {
  /** The largest Euclidean norm of all gradients of a step together. */
  readonly norm?: number;
  /** The largest absolute value of an element. */
  readonly value?: number;
}

const STRATEGIES: readonly string[] = ['auto', 'single', 'ddp', 'fsdp'];
const STRATEGY_MEMBERS: readonly (keyof Strategy)[] = [
  'name',
  'traits',
  'attach',
  'prepareVariables',
  'beginReduction',
];

const axisSize = z.number().int().min(-1).optional();

const schema = z.object({
  strategy: z.custom<NonNullable<AcceleratorOptions['strategy']>>().default('auto'),
  context: z.custom<ContextOptions>((value) => typeof value === 'object').optional(),
  ddp: z.custom<DdpOptions>((value) => typeof value === 'object').optional(),
  fsdp: z.custom<FsdpOptions>((value) => typeof value === 'object').optional(),
  mesh: z
    .object(
      Object.fromEntries(MESH_AXES.map((axis) => [axis, axisSize])) as Record<MeshAxis, typeof axisSize>,
    )
    .optional(),
  pipeline: pipelineSchema.optional(),
  collective: z.custom<CollectiveOptions | Collective>().default({}),
  mixedPrecision: z
    .custom<'no' | 'bf16' | 'fp16' | 'fp8' | 'int8'>(
      (value) => ['no', 'bf16', 'fp16', 'fp8', 'int8'].includes(value as string),
      {
        error: "expected one of 'no', 'bf16', 'fp16', 'int8', 'fp8'",
      },
    )
    .default('no'),
  amp: z.custom<AmpOptions>((value) => typeof value === 'object').optional(),
  checkpoint: z.custom<CheckpointOptions>((value) => typeof value === 'object').optional(),
  engine: z.enum(['auto', 'acc', 'tfjs']).default('auto'),
  device: z.enum(['auto', 'cpu', 'cuda']).default('auto'),
  seed: z.number().int().nonnegative().default(0),
  dataLoader: dataLoaderSchema.prefault({}),
  gradientAccumulationSteps: z.number().int().positive().default(1),
  gradientClipping: z
    .object({ norm: z.number().positive().optional(), value: z.number().positive().optional() })
    .default({}),
  checkpointEvery: z.number().int().positive().optional(),
  deterministic: z
    .custom<boolean | DeterministicOptions>(isSwitch, 'expected true, false or options')
    .default(false),
  plugins: z
    .array(z.custom<Plugin>(isNamed, 'expected a plugin: an object with a name and hooks'))
    .default([]),
  logWith: z.array(z.custom<string | Tracker>(isNameOrObject, 'expected a name or a tracker')).optional(),
  autoLog: z.custom<boolean | AutoLogOptions>(isSwitch, 'expected true, false or options').default(false),
  projectDir: z.string().min(1).default('.'),
});

export type ResolvedOptions = Readonly<z.infer<typeof schema>>;

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveOptions(given: AcceleratorOptions): ResolvedOptions {
  checkKeys('AcceleratorOptions', given, Object.keys(schema.shape));
  const options = { ...given, mesh: given.mesh === 'auto' ? undefined : given.mesh };
  if (options.dataLoader !== undefined) {
    checkKeys('dataLoader', options.dataLoader, Object.keys(dataLoaderSchema.shape));
  }
  if (options.gradientClipping !== undefined) {
    checkKeys('gradientClipping', options.gradientClipping, ['norm', 'value']);
  }
  if (options.mesh !== undefined) checkKeys('mesh', options.mesh, MESH_AXES);
  if (options.pipeline !== undefined) {
    checkKeys('pipeline', options.pipeline, Object.keys(pipelineSchema.shape));
  }
  refuseGroupOptions(options.ddp);
  requireAvailable(options);
  if (options.strategy !== undefined) requireStrategy(options.strategy);
  // Validated even if the chosen strategy does not use them.
  resolveCollective(options.collective);
  resolveDdpOptions(options.ddp);
  resolveFsdpOptions(options.fsdp);
  resolveContextOptions(options.context);
  resolveAmpOptions(options.amp);
  resolveCheckpointOptions(options.checkpoint);
  if (typeof options.autoLog === 'object') resolveAutoLog(options.autoLog);
  const resolved = withFsdpPrecision(
    withShardedAxis(parseOptions('AcceleratorOptions', schema, options, { help: OPTION_HELP })),
    options,
  );
  if (typeof options.deterministic === 'object') resolveDeterministicOptions(options.deterministic);
  if (typeof options.strategy === 'object') checkStrategy(options.strategy);
  requireTogether(featuresOf(resolved));
  for (const plugin of resolved.plugins) {
    checkKeys(`plugin '${plugin.name}'`, plugin, PLUGIN_KEYS);
    if (plugin.tape) checkKeys(`plugin '${plugin.name}'.tape`, plugin.tape, TAPE_HOOK_KEYS);
  }
  return resolved;
}

/** The hooks by which a plugin changes training. Plugins without them only observe. */
const CHANGING_HOOKS = ['gradient', 'lossScale', 'settle', 'transform', 'tape'] as const;

/**
 * The options that must be equal on every rank, with defaults filled in. Paths and functions may
 * differ.
 */
export function comparedOptions(options: ResolvedOptions): Record<string, unknown> {
  const { mixedPrecision, gradientAccumulationSteps, gradientClipping, checkpointEvery } = options;
  const { deterministic, autoLog, seed, dataLoader, plugins, mesh, context, pipeline } = options;
  const { dir: _, storage: __, ...checkpoint } = resolveCheckpointOptions(options.checkpoint);
  return {
    mixedPrecision,
    amp: resolveAmpOptions(options.amp),
    gradientAccumulationSteps,
    gradientClipping,
    checkpointEvery,
    mesh,
    context: resolveContextOptions(context),
    pipeline,
    seed,
    dataLoader,
    deterministic: deterministic !== false && resolveDeterministicOptions(recordOf(deterministic)),
    autoLog: autoLog !== false && { ...resolveAutoLog(recordOf(autoLog)), onAlert: undefined },
    // Ranks use a collective to ask whether a signal requests a save, so the setting must be equal.
    checkpoint: { ...checkpoint, preemption: checkpoint.preemption ?? options.checkpoint !== undefined },
    plugins: plugins.filter((plugin) => CHANGING_HOOKS.some((hook) => plugin[hook])).map(({ name }) => name),
  };
}

/** The options that the records of a run have, for its diagnosis. Functions are left out. */
export function recordedOptions(options: ResolvedOptions): Record<string, unknown> {
  const { ddp, fsdp, strategy } = options;
  const named = typeof strategy === 'string' ? strategy : strategy.name;
  return { ...comparedOptions(options), strategy: named, ddp: ddp ?? {}, fsdp: fsdp ?? {} };
}

function recordOf<O extends object>(given: true | O): O {
  return given === true ? ({} as O) : given;
}

function isSwitch(value: unknown): boolean {
  return typeof value === 'boolean' || (typeof value === 'object' && value !== null);
}

function isNameOrObject(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'object' && value !== null);
}

/** Earlier versions accepted these options in `ddp`. */
function refuseGroupOptions(ddp: unknown): void {
  const moved = isRecord(ddp) ? GROUP_OPTIONS.filter((name) => name in ddp) : [];
  if (moved.length === 0) return;
  throw new AccError('ACC_UNKNOWN_OPTION', `ddp: unknown option '${moved[0]}'.`, {
    help: `Write collective: { ${moved.map((name) => `${name}: …`).join(', ')} } instead.`,
    details: { where: 'ddp', key: moved[0], known: moved.map((name) => `collective.${name}`) },
  });
}

function isNamed(value: unknown): boolean {
  const { name } = (value ?? {}) as Partial<Plugin>;
  return typeof value === 'object' && typeof name === 'string' && name !== '';
}

/**
 * @throws AccError `ACC_INVALID_OPTION` for an unknown name, and for an object that lacks members.
 */
function requireStrategy(value: unknown): void {
  const details = { path: ['strategy'] };
  if (typeof value === 'object' && value !== null) {
    const lacking = STRATEGY_MEMBERS.filter((member) => !(member in value));
    if (lacking.length === 0) return;
    throw new AccError(
      'ACC_INVALID_OPTION',
      `AcceleratorOptions.strategy is an object without ${lacking.join(', ')}; expected a Strategy, or one of ${STRATEGIES.join(', ')}.`,
      { help: `Give one of ${STRATEGIES.join(', ')}, or a Strategy of @acc/contract.`, details },
    );
  }
  if (STRATEGIES.includes(value as string)) return;
  const nearest = nearestName(String(value), STRATEGIES);
  throw new AccError(
    'ACC_INVALID_OPTION',
    `AcceleratorOptions.strategy is ${showValue(value)}; expected a Strategy, or one of ${STRATEGIES.join(', ')}.`,
    {
      help: nearest
        ? `Did you mean '${nearest}'?`
        : 'Give one of these names, or a Strategy of @acc/contract.',
      details,
    },
  );
}
