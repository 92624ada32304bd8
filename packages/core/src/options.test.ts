import { describe, expect, it } from 'vitest';
import { resolveOptions, type AcceleratorOptions } from './options.js';

describe('AcceleratorOptions', () => {
  it('have defaults', () => {
    expect(resolveOptions({})).toEqual({
      strategy: 'auto',
      engine: 'auto',
      device: 'auto',
      seed: 0,
      dataLoader: { splitBatches: false, evenBatches: true, shuffle: true },
      gradientAccumulationSteps: 1,
      gradientClipping: {},
      mixedPrecision: 'no',
      autoLog: false,
      deterministic: false,
      plugins: [],
      projectDir: '.',
    });
  });

  it.each<[string, object, string]>([
    ['an unknown key', { stratgy: 'ddp' }, 'ACC_UNKNOWN_OPTION'],
    ['an unknown key inside', { dataLoader: { evenBatch: true } }, 'ACC_UNKNOWN_OPTION'],
    ['an unknown key of ddp, on one process too', { ddp: { bucketByte: 1 } }, 'ACC_UNKNOWN_OPTION'],
    ['an unknown strategy', { strategy: 'dpp' }, 'ACC_INVALID_OPTION'],
    ['a wrong type', { seed: 'x' }, 'ACC_INVALID_OPTION'],
    ['nothing at all', null as never, 'ACC_INVALID_OPTION'],
    ['a text', 'ddp' as never, 'ACC_INVALID_OPTION'],
    ['null for ddp', { ddp: null }, 'ACC_INVALID_OPTION'],
    ['a number for ddp', { ddp: 3 }, 'ACC_INVALID_OPTION'],
    ['null for amp', { amp: null }, 'ACC_INVALID_OPTION'],
    ['null for checkpoint', { checkpoint: null }, 'ACC_INVALID_OPTION'],
    ['null for autoLog', { autoLog: null }, 'ACC_INVALID_OPTION'],
    ['a list for dataLoader', { dataLoader: [] }, 'ACC_INVALID_OPTION'],
    ['a hook that no plugin has', { plugins: [{ name: 'p', tranform() {} }] }, 'ACC_UNKNOWN_OPTION'],
    ['a plugin without a name', { plugins: [{}] }, 'ACC_INVALID_OPTION'],
    ['a loss scale without precision', { amp: { lossScale: { initial: 8 } } }, 'ACC_INVALID_OPTION'],
    ['kernels in 16 bits without precision', { amp: { lower: ['Add'] } }, 'ACC_INVALID_OPTION'],
    [
      'a loss scale of bf16',
      { mixedPrecision: 'bf16', amp: { lossScale: { initial: 8 } } },
      'ACC_INVALID_OPTION',
    ],
    ['buckets of a single rank', { strategy: 'single', ddp: { bucketBytes: 8 } }, 'ACC_INVALID_OPTION'],
    ['a plugin that was not called', { plugins: [() => ({ name: 'p' })] }, 'ACC_INVALID_OPTION'],
  ])('refuse %s', (_, options, code) => {
    expect(() => resolveOptions(options as AcceleratorOptions)).toThrowError(
      expect.objectContaining({ code }),
    );
  });

  it('hold where they act whatever the others are', () => {
    const options: AcceleratorOptions[] = [
      { amp: { float32Precision: 'ieee' } },
      { strategy: 'single', ddp: { timeoutMs: 5 } },
      { mixedPrecision: 'fp16', amp: { lossScale: { initial: 8 } } },
    ];
    for (const each of options) expect(resolveOptions(each)).toMatchObject(each);
  });

  it.each<[string, unknown, string]>([
    ['seed', 'x', '"x"; expected a number'],
    ['seed', 1.5, '1.5; expected a whole number'],
    ['seed', -1, '-1; expected a number at least 0'],
    ['seed', NaN, 'NaN; expected a number'],
    ['seed', null, 'null; expected a number'],
    [
      'mixedPrecision',
      'bf61',
      "\"bf61\"; expected one of 'no', 'bf16', 'fp16', 'fp8'.\n→ Did you mean 'bf16'?",
    ],
    ['mixedPrecision', true, "true; expected one of 'no', 'bf16'"],
    ['mixedPrecision', ['bf16'], '["bf16"]; expected one of'],
    ['engine', { name: 'acc' }, '{"name":"acc"}; expected one of'],
    ['device', 'gpu', "\"gpu\"; expected one of 'auto', 'cpu', 'cuda'"],
    ['gradientAccumulationSteps', 0, '0; expected a number greater than 0'],
    ['gradientAccumulationSteps', '4', '"4"; expected a number'],
    ['checkpointEvery', 2.5, '2.5; expected a whole number'],
    ['deterministic', 'yes', '"yes"; expected true, false or options'],
    ['deterministic', null, 'null; expected true, false or options'],
    ['plugins', {}, '{}; expected an array'],
    ['plugins.0', Math.sqrt, 'a function; expected a plugin: an object with a name and hooks'],
    ['logWith', 'console', '"console"; expected an array'],
    ['logWith.1', 5, '5; expected a name or a tracker'],
    ['autoLog', 10, '10; expected true, false or options'],
    ['projectDir', '', '""; expected a text that is not empty'],
    ['projectDir', new URL('file:///tmp'), 'an object of the class URL; expected a text'],
    ['dataLoader.splitBatches', 'true', '"true"; expected true or false'],
    ['dataLoader.shuffle', 0, '0; expected true or false'],
    ['gradientClipping.norm', 0, '0; expected a number greater than 0'],
    ['gradientClipping.value', '1', '"1"; expected a number'],
    ['ddp.bucketBytes', '25 MiB', '"25 MiB"; expected a number'],
    [
      'ddp.batchNorm',
      'synced',
      "\"synced\"; expected one of 'broadcast', 'sync', 'local'.\n→ Did you mean 'sync'?",
    ],
    ['ddp.timeoutMs', -5, '-5; expected a number greater than 0'],
    ['ddp.commHook', 'powersgd', '"powersgd"; expected one of bf16, fp16, powerSgd'],
    ['ddp.engine', 'nccl2', '"nccl2"; expected one of'],
    ['amp.lossScale.growthFactor', 1, '1; expected a number greater than 1'],
    ['amp.lossScale', 1024, '1024; expected an object'],
    ['amp.lower', 'MatMul', '"MatMul"; expected an array'],
    ['amp.float32Precision', 'high', '"high"; expected one of'],
    ['checkpoint.keepLast', 0, '0; expected a number greater than 0'],
    ['checkpoint.dir', 3, '3; expected a text'],
    ['checkpoint.onError', 'ignore', "\"ignore\"; expected one of 'throw', 'warn'"],
    ['checkpoint.storage', 's3://x', '"s3://x"; expected a storage with put, get, list and delete'],
    [
      'checkpoint.keepEvery',
      5,
      'checkpoint.keepLast is missing; expected a number with keepBest and keepEvery',
    ],
    ['autoLog.slowFactor', 1, '1; expected a number greater than 1'],
    ['autoLog.onAlert', 'print', '"print"; expected a function'],
    ['deterministic.virtualShards', 3, '3; expected a power of two'],
  ])('say of %s what was given, %j, and what is expected', (path, value, said) => {
    const [first, ...rest] = path.split('.') as [string, ...string[]];
    const nest = (names: string[]): unknown => {
      const [name, ...inner] = names;
      if (name === undefined) return value;
      return /^\d$/.test(name)
        ? [...Array(Number(name)).fill('jsonl'), nest(inner)]
        : { [name]: nest(inner) };
    };
    const where = ['ddp', 'amp', 'checkpoint', 'autoLog', 'deterministic'].includes(first) && rest.length > 0;
    const message = said.includes(' is ')
      ? said
      : `${where ? path : `AcceleratorOptions.${path}`} is ${said}`;
    expect(() => resolveOptions({ [first]: nest(rest) } as AcceleratorOptions)).toThrowError(
      expect.objectContaining({
        code: 'ACC_INVALID_OPTION',
        message: expect.stringContaining(message) as unknown,
      }),
    );
  });

  it.each<[unknown, string]>([
    ['dpp', "'ddp'"],
    ['xyzzy-42', 'a Strategy'],
    [3, 'a Strategy'],
    [null, 'a Strategy'],
    [{}, 'auto, single, ddp'],
  ])('names the strategies in place of %j', (strategy, help) => {
    expect(() => resolveOptions({ strategy } as AcceleratorOptions)).toThrowError(
      expect.objectContaining({
        code: 'ACC_INVALID_OPTION',
        message: expect.stringContaining('AcceleratorOptions.strategy is ') as unknown,
        help: expect.stringContaining(help) as unknown,
      }),
    );
  });
});
