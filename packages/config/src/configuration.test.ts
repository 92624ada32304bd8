import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  ACCELERATOR_FIELDS,
  configText,
  LAUNCH_FIELDS,
  LAUNCH_OPTIONS,
  parseConfig,
  readConfiguration,
  variableOf,
  withConfiguration,
  type CommandOption,
  type Field,
  type FieldValue,
} from './index.js';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'acc-config-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** Variables of a user without a config file of their own. */
const env = (more: Record<string, string> = {}) => ({ XDG_CONFIG_HOME: join(folder, 'xdg'), ...more });
const write = (text: string, path = join(folder, 'acc.yaml')): string => {
  writeFileSync(path, text);
  return path;
};
const coded = (code: string) => expect.objectContaining({ code }) as Error;

/** Some value that the option takes. */
function sample(field: Field): FieldValue {
  switch (field.kind) {
    case 'choice':
      return field.choices.at(-1)!;
    case 'whole':
      return Math.max(3, field.least);
    case 'number':
      return 0.5;
    case 'switch':
      return true;
    case 'text':
      return 'no: "a" # text';
    case 'texts':
      return ['console', 'no'];
  }
}

describe('a config file', () => {
  it('is written so that it is read back, with each option', async () => {
    const all = (fields: readonly Field[]) =>
      Object.fromEntries(fields.map((one) => [one.name, sample(one)]));
    const values = { launch: all(LAUNCH_FIELDS), accelerator: all(ACCELERATOR_FIELDS) };
    const read = await parseConfig(configText(values), 'acc.yaml');
    const plain = (found: typeof read.launch) =>
      Object.fromEntries([...found].map(([name, { value }]) => [name, value]));
    expect(plain(read.launch)).toEqual(values.launch);
    expect(plain(read.accelerator)).toEqual(values.accelerator);
    const empty = await parseConfig(configText({ launch: {}, accelerator: {} }), 'acc.yaml');
    expect([empty.launch.size, empty.accelerator.size]).toEqual([0, 0]);
  });

  it('that is written has the defaults in its comments, which hold without the #, too', async () => {
    const lines = configText({ launch: {}, accelerator: {} }).split('\n').reverse();
    const indentOf = (line: string | undefined) => line?.search(/\S/) ?? 0;
    const kept: string[] = [];
    for (const line of lines) {
      const plain = line.replace('# ', '');
      const hasInner = indentOf(kept[0]) > indentOf(line);
      if (/^ +# \w+: \S+ {2}#/.test(line) || (/^ *(# )?\w+:$/.test(line) && hasInner)) kept.unshift(plain);
    }
    const read = await parseConfig(kept.join('\n'), 'acc.yaml');
    const found = [...read.launch, ...read.accelerator].map(
      ([name, { value }]) => `${name} ${String(value)}`,
    );
    const fields: readonly Field[] = [...LAUNCH_FIELDS, ...ACCELERATOR_FIELDS];
    const fallbacks = fields.map(({ name, fallback }) => `${name} ${fallback}`);
    expect(fallbacks).toEqual(expect.arrayContaining(found));
    // Options of other records have an effect with every value: they have no value to uncomment.
    const isOneValue = ({ name, kind, fallback }: Field) =>
      /^(\w+|(dataLoader|collective)\.\w+)$/.test(name) &&
      kind !== 'texts' &&
      !/\s/.test(fallback) &&
      !['none', 'all', 'timeoutMs'].includes(fallback);
    expect(found.filter((line) => !line.endsWith(' none'))).toHaveLength(fields.filter(isOneValue).length);
  });

  it.each([
    ['accelerator:\n  mixedPrecison: bf16', 'ACC_UNKNOWN_OPTION', 'acc.yaml:2', "'mixedPrecision'"],
    ['accelerators: {}', 'ACC_UNKNOWN_OPTION', 'acc.yaml:1', "'accelerator'"],
    ['accelerator:\n  fsdp:\n    stages: 2', 'ACC_UNKNOWN_OPTION', 'acc.yaml:3', "'stage'"],
    ['accelerator:\n  mixedPrecision: bf61', 'ACC_INVALID_OPTION', 'acc.yaml:2', "'bf16'"],
    ['launch:\n  nproc: 0', 'ACC_INVALID_OPTION', 'acc.yaml:2', 'whole number from 1'],
    ['accelerator:\n  seed: true', 'ACC_INVALID_OPTION', 'acc.yaml:2', 'whole number from 0'],
    ['accelerator: [1]', 'ACC_INVALID_OPTION', 'acc.yaml:1', 'strategy'],
    ['accelerator: {', 'ACC_CONFIG_INVALID', 'acc.yaml', 'npx acc config --force'],
  ])('with a mistake is refused with its line: %j', async (text, code, place, help) => {
    const refused = parseConfig(text, 'acc.yaml');
    await expect(refused).rejects.toThrow(coded(code));
    await expect(refused).rejects.toThrow(place);
    await expect(refused).rejects.toThrow(help);
  });
});

describe('withConfiguration', () => {
  it('takes the program first, then variables, then the file, option by option', async () => {
    const path = write(
      'accelerator:\n  seed: 1\n  mixedPrecision: fp16\n  dataLoader: { shuffle: false, evenBatches: false }\n  checkpoint: { dir: kept }',
    );
    const variables = env({
      ACC_SEED: '2',
      ACC_LOG_WITH: 'console, csv',
      ACC_DATA_LOADER_SPLIT_BATCHES: '1',
    });
    const storage = {};
    const program = { mixedPrecision: 'no', dataLoader: { evenBatches: true }, checkpoint: { storage } };
    expect(await withConfiguration(program, variables, folder)).toEqual({
      mixedPrecision: 'no',
      seed: 2,
      logWith: ['console', 'csv'],
      dataLoader: { splitBatches: true, evenBatches: true, shuffle: false },
      checkpoint: { storage },
    });
    expect(program).toEqual({
      mixedPrecision: 'no',
      dataLoader: { evenBatches: true },
      checkpoint: { storage },
    });
    const { options } = await readConfiguration(variables, folder);
    const origin = (name: string) => options.find((option) => option.name === name)!.origin;
    expect([origin('seed'), origin('mixedPrecision'), origin('engine')]).toEqual([
      'ACC_SEED',
      `${path}:3`,
      'default',
    ]);
  });

  it('leaves a collective of the program as it is', async () => {
    const collective = { engine: 'threads', subgroup: () => undefined };
    const variables = env({ ACC_COLLECTIVE_ENGINE: 'gloo', ACC_COLLECTIVE_GRACE_MS: '5' });
    const options = await withConfiguration({ collective }, variables, folder);
    expect(options.collective).toBe(collective);
    expect(await withConfiguration({}, variables, folder)).toEqual({
      collective: { engine: 'gloo', graceMs: 5 },
    });
  });

  it('leaves the options as they are without a file and variables', async () => {
    const options = { seed: 1 };
    expect(await withConfiguration(options, env(), folder)).toEqual(options);
    expect(await withConfiguration('x' as never, env(), folder)).toBe('x');
  });

  it('refuses a program that contradicts the command line, and no other', async () => {
    const variables = env({ ACC_STRATEGY: 'ddp', ACC_SEED: '1', ACC_COMMAND_LINE: 'ACC_STRATEGY' });
    const disagreeing = withConfiguration({ strategy: 'fsdp' }, variables, folder);
    await expect(disagreeing).rejects.toThrow(coded('ACC_OPTIONS_DISAGREE'));
    const options = { strategy: 'ddp', seed: 5 };
    expect(await withConfiguration(options, variables, folder)).toEqual(options);
  });

  it('takes a word for a record as the value of each option in it', async () => {
    const options = { mesh: 'auto' };
    expect(await withConfiguration(options, env({ ACC_MESH_TENSOR: '2' }), folder)).toEqual(options);
    const variables = env({ ACC_MESH_TENSOR: '2', ACC_COMMAND_LINE: 'ACC_MESH_TENSOR' });
    await expect(withConfiguration(options, variables, folder)).rejects.toThrow(
      coded('ACC_OPTIONS_DISAGREE'),
    );
  });

  it('uses one file: the given one, that of the project, or that of the user', async () => {
    const seedOf = async (more = {}) =>
      (await withConfiguration<{ seed?: number }>({}, env(more), folder)).seed;
    mkdirSync(join(folder, 'xdg/acc'), { recursive: true });
    write('accelerator: { seed: 1, device: cpu }', join(folder, 'xdg/acc/config.yaml'));
    expect(await seedOf()).toBe(1);
    write('accelerator: { seed: 2 }');
    expect(await withConfiguration({}, env(), folder)).toEqual({ seed: 2 });
    write('accelerator: { seed: 3 }', join(folder, 'other.yaml'));
    expect(await seedOf({ ACC_CONFIG_FILE: 'other.yaml' })).toBe(3);
    expect(await seedOf({ ACC_CONFIG_FILE: 'none' })).toBeUndefined();
    await expect(seedOf({ ACC_CONFIG_FILE: 'not.yaml' })).rejects.toThrow(coded('ACC_CONFIG_MISSING'));
  });

  it('refuses variables with wrong values and near misses, and leaves those of others alone', async () => {
    const given = (more: Record<string, string>) => withConfiguration({}, env(more), folder);
    await expect(given({ ACC_SEED: '-1' })).rejects.toThrow(coded('ACC_INVALID_OPTION'));
    await expect(given({ ACC_MIXED_PRECISON: 'bf16' })).rejects.toThrow('ACC_MIXED_PRECISION');
    expect(await given({ ACC_OF_ANOTHER_TOOL: 'x', ACC_SEED: '', ACC_KERNELS_TUNE: '0' })).toEqual({});
  });
});

it('each option has a variable of its own', () => {
  const variables = ACCELERATOR_FIELDS.map(variableOf);
  expect(new Set(variables).size).toBe(variables.length);
  expect(variables).toContain('ACC_COLLECTIVE_ENGINE');
  expect(variables).toContain('ACC_FSDP_MIXED_PRECISION_PARAM');
});

it('the comment on each option of acc launch has its default', () => {
  const source = readFileSync(new URL('launch-options.ts', import.meta.url), 'utf8');
  const comments = [...source.matchAll(/\/\*\*((?:(?!\*\/)[^])*)\*\/\s*(\w+): \{/g)];
  expect(comments.map(([, , name]) => name)).toEqual(Object.keys(LAUNCH_OPTIONS));
  const inComments = comments.map(
    ([, text]) => /Default(?: |:\s)`?(\w+)/.exec(text!.replace(/\s*\*?\s+/g, ' '))?.[1],
  );
  const wrong = Object.entries<CommandOption>(LAUNCH_OPTIONS).filter(
    ([, option], i) => option.default !== undefined && String(option.default) !== inComments[i],
  );
  expect(wrong).toEqual([]);
});
