import { DEFAULT_TIMEOUT_MS, patienceOf } from '@acc/collective';
import { ACCELERATOR_FIELDS, valueFrom, type Field, type FieldValue } from '@acc/config';
import { resolveAmpOptions } from '@acc/amp';
import { resolveCheckpointOptions } from '@acc/checkpoint';
import { resolveContextOptions } from '@acc/context-parallel';
import { isAccError, isRecord } from '@acc/contract';
import { resolveDdpOptions } from '@acc/ddp';
import { resolveFsdpOptions } from '@acc/fsdp';
import { describe, expect, it } from 'vitest';
import { resolveOptions, type AcceleratorOptions } from './options.js';
import { resolvePipelineOptions } from './pipelined/options.js';
import {
  CONFIG_README,
  defaultsInComments,
  defaultsInTables,
  type Interface,
  type Table,
} from './testing/documented-defaults.js';

/** Options with one value at a path. */
function optionsWith(name: string, value: unknown): AcceleratorOptions {
  return name
    .split('.')
    .reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as AcceleratorOptions;
}

function samples(field: Field): readonly FieldValue[] {
  if (field.kind === 'choice') return field.choices;
  if (field.kind === 'whole') return [Math.max(field.least, 1)];
  if (field.kind === 'number') return [/growthFactor|initial/.test(field.name) ? 2 : 0.5];
  if (field.kind === 'switch') return [true, false];
  return field.kind === 'text' ? ['a folder'] : [['console']];
}

/** The tables of options in READMEs. */
const TABLES: readonly Table[] = [
  ['core', 'option', ''],
  ['ddp', 'option', 'ddp.'],
  ['fsdp', 'option', 'fsdp.'],
  ['fsdp', 'member', 'fsdp.mixedPrecision.'],
  ['amp', '`amp.lossScale`', 'amp.lossScale.'],
  ['amp', '`amp.fp8`', 'amp.fp8.'],
  ['checkpoint', 'option', 'checkpoint.'],
  ['pipeline', 'option', 'pipeline.'],
  ['context-parallel', 'option', 'context.'],
  ['collective', 'option of `joinGroup`', 'collective.'],
];

/** The interfaces whose comments have the defaults of options. */
const INTERFACES: readonly Interface[] = [
  ['', 'core/src/options.ts', 'AcceleratorOptions'],
  ['gradientClipping.', 'core/src/options.ts', 'GradientClippingOptions'],
  ['dataLoader.', 'core/src/data-loader-options.ts', 'DataLoaderOptions'],
  ['mesh.', 'core/src/mesh-options.ts', 'MeshOptions'],
  ['pipeline.', 'core/src/pipelined/options.ts', 'PipelineOptions'],
  ['collective.', 'core/src/collective-options.ts', 'CollectiveOptions'],
  ['context.', 'context-parallel/src/options.ts', 'ContextOptions'],
  ['ddp.', 'ddp/src/options.ts', 'DdpOptions'],
  ['fsdp.', 'fsdp/src/options.ts', 'FsdpOptions'],
  ['fsdp.mixedPrecision.', 'fsdp/src/options.ts', 'FsdpMixedPrecision'],
  ['amp.', 'amp/src/options.ts', 'AmpOptions'],
  ['amp.lossScale.', 'amp/src/options.ts', 'LossScaleOptions'],
  ['amp.fp8.', 'amp/src/options.ts', 'Float8Options'],
  ['checkpoint.', 'checkpoint/src/options.ts', 'CheckpointOptions'],
  ['checkpoint.', 'checkpoint/src/retention.ts', 'RetentionOptions'],
];

/** Options that files and variables cannot give. */
const IN_PROGRAMS_ONLY = [
  'ddp.syncBatchNorm',
  'fsdp.wrap',
  'fsdp.mixedPrecision.buffer',
  'fsdp.offload',
  'pipeline.stages',
  'amp.lower',
  'amp.float32',
  'checkpoint.storage',
  'checkpoint.keepBest',
  'plugins',
];

/** The options whose schema accepts them. `prefix` is the path of a record, with a dot at its end. */
function namesBelow(prefix: string): string[] {
  return knownKeys(prefix).flatMap((key) => {
    const name = prefix + key;
    const isRecordOfFields = ACCELERATOR_FIELDS.some((field) => field.name.startsWith(`${name}.`));
    return isRecordOfFields ? namesBelow(`${name}.`) : [name];
  });
}

/** The keys that the error for an unknown one names. */
function knownKeys(prefix: string): readonly string[] {
  try {
    resolveOptions(optionsWith(`${prefix}?`, 1));
  } catch (error) {
    if (isAccError(error) && error.code === 'ACC_UNKNOWN_OPTION') return error.details!['known'] as string[];
    throw error;
  }
  return expect.unreachable(`${prefix}? is accepted`);
}

/** The values that hold where no option is given, as far as they do not depend on the job. */
const DEFAULTS = {
  ...resolveOptions({}),
  ddp: resolveDdpOptions(),
  // The size of a bucket depends on the stage.
  fsdp: {
    ...resolveFsdpOptions(),
    bucketBytes: undefined,
    cpuOffload: resolveFsdpOptions().offload ?? false,
    // Without an option, gradients travel in float32.
    mixedPrecision: { reduce: 'float32' },
  },
  amp: resolveAmpOptions(),
  checkpoint: resolveCheckpointOptions(),
  context: resolveContextOptions(),
  pipeline: resolvePipelineOptions({}, {}),
  // An axis that is not given has one rank.
  mesh: { tensor: 1, context: 1, pipeline: 1, expert: 1 },
  // A group chooses its engine by itself.
  collective: { engine: 'auto', streamWaits: false, timeoutMs: DEFAULT_TIMEOUT_MS, ...patienceOf({}) },
};

function defaultOf({ name }: Field): unknown {
  return name
    .split('.')
    .reduce<unknown>((at, key) => (isRecord(at) ? (at as never)[key] : undefined), DEFAULTS);
}

describe('options of config files', () => {
  it('are those of the Accelerator', () => {
    for (const field of ACCELERATOR_FIELDS) {
      for (const value of samples(field)) {
        const besides = field.name === 'checkpoint.keepEvery' ? { keepLast: 1 } : undefined;
        const options = optionsWith(field.name, value);
        const given = besides ? { checkpoint: { ...options.checkpoint, ...besides } } : options;
        expect(() => resolveOptions(given), `${field.name}: ${String(value)}`).not.toThrow();
      }
    }
    const configurable = ACCELERATOR_FIELDS.map(({ name }) => name);
    expect(namesBelow('').sort()).toEqual([...configurable, ...IN_PROGRAMS_ONLY].sort());
    expect(IN_PROGRAMS_ONLY.filter((name) => !CONFIG_README.includes(`\`${name}\``))).toEqual([]);
  });

  it('have the defaults of the Accelerator', () => {
    const wrong = ACCELERATOR_FIELDS.flatMap((field) => {
      const value = defaultOf(field);
      const { name, fallback } = field;
      if (value !== undefined)
        return String(value) === fallback ? [] : [`${name}: ${fallback}, not ${String(value)}`];
      // A default that is no value is described.
      const isValue = !field.kind.startsWith('text') && valueFrom(field, fallback) !== undefined;
      return isValue ? [`${name}: ${fallback}, but there is no default`] : [];
    });
    expect(wrong).toEqual([]);
  });

  it('are in tables of the READMEs, with their defaults', () => {
    const documented = defaultsInTables(TABLES);
    const wrong = ACCELERATOR_FIELDS.flatMap((field) => {
      const texts = documented.get(field.name) ?? [];
      if (texts.length === 0) return [`${field.name} is in no table`];
      const stated = texts.filter((text) => text !== 'see there');
      const isStated = defaultOf(field) === undefined || stated.some((text) => text === field.fallback);
      const isOther = (text: string) => defaultOf(field) !== undefined && text !== field.fallback;
      return stated
        .filter(isOther)
        .map((text) => `${field.name}: ${text}, not ${field.fallback}`)
        .concat(isStated ? [] : [`${field.name}: no default`]);
    });
    expect(wrong).toEqual([]);
  });

  it('have comments with their defaults', () => {
    const inComments = defaultsInComments(INTERFACES);
    const wrong = ACCELERATOR_FIELDS.flatMap((field) => {
      if (!inComments.has(field.name)) return [`${field.name} is in no interface`];
      const words = inComments.get(field.name)!;
      if (defaultOf(field) === undefined || words.includes(field.fallback.toLowerCase())) return [];
      return [`${field.name}: ${words.join(' ')}, not ${field.fallback}`];
    });
    expect(wrong).toEqual([]);
  });
});
