import { describe, expect, it } from 'vitest';
import type { Strategy } from '@acc/contract';
import { fsdp, type FsdpOptions } from '@acc/fsdp';
import { resolveOptions, type AcceleratorOptions } from './options.js';

describe('AcceleratorOptions', () => {
  it('have defaults', () => {
    expect(resolveOptions({})).toEqual({
      strategy: 'auto',
      engine: 'auto',
      device: 'auto',
      seed: 0,
      collective: {},
      dataLoader: {
        splitBatches: false,
        evenBatches: true,
        shuffle: true,
        dispatchBatches: false,
        prefetch: 0,
        uploadStream: false,
      },
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
    ['an unknown key of collective', { collective: { timeout: 1 } }, 'ACC_UNKNOWN_OPTION'],
    ['an unknown collective engine', { collective: { engine: 'glo' } }, 'ACC_INVALID_OPTION'],
    ['no time for collectives', { collective: { timeoutMs: 0 } }, 'ACC_INVALID_OPTION'],
    ['less than two probes of a host', { collective: { silenceMs: 1_999 } }, 'ACC_INVALID_OPTION'],
    ['half a millisecond', { collective: { deadlockMs: 0.5 } }, 'ACC_INVALID_OPTION'],
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
    ['a plugin that was not called', { plugins: [() => ({ name: 'p' })] }, 'ACC_INVALID_OPTION'],
  ])('refuse %s', (_, options, code) => {
    expect(() => resolveOptions(options as AcceleratorOptions)).toThrowError(
      expect.objectContaining({ code }),
    );
  });

  it('take mesh: auto as no mesh, and no other word', () => {
    expect(resolveOptions({ mesh: 'auto' })).toEqual(resolveOptions({}));
    const other = () => resolveOptions({ mesh: 'best' as 'auto' });
    expect(other).toThrowError(expect.objectContaining({ code: 'ACC_INVALID_OPTION' }));
  });

  it('have the strategy fsdp if the mesh has its axis, and keep a strategy that is named', () => {
    const meshes: AcceleratorOptions[] = [
      { mesh: { fsdp: 2 } },
      { mesh: { data: 2, fsdp: 2 }, fsdp: { stage: 1, mixedPrecision: { param: 'bf16' } } },
      { mesh: { data: -1, fsdp: 1 }, strategy: 'auto' },
    ];
    for (const options of meshes) {
      const named = resolveOptions({ ...options, strategy: 'fsdp' });
      expect(resolveOptions(options)).toEqual(named);
      expect(named.strategy).toBe('fsdp');
      expect(resolveOptions({ ...options, strategy: 'ddp' }).strategy).toBe('ddp');
    }
    expect(resolveOptions({ mesh: { data: 2, tensor: 2 } }).strategy).toBe('auto');
  });

  it('have the precision of products that the strategy has, by name and as an object', () => {
    const options: FsdpOptions = { mixedPrecision: { param: 'bf16' } };
    const none: FsdpOptions = { stage: 'NO_SHARD', ...options };
    const ways: AcceleratorOptions[] = [
      { strategy: 'fsdp', fsdp: options },
      { strategy: fsdp(options) },
      { strategy: fsdp(none) },
    ];
    for (const way of ways) {
      expect(resolveOptions(way).mixedPrecision).toBe('bf16');
      expect(() => resolveOptions({ ...way, mixedPrecision: 'no' })).toThrowError(
        expect.objectContaining({ code: 'ACC_INVALID_OPTION' }),
      );
    }
    expect(resolveOptions({ strategy: fsdp(), mixedPrecision: 'bf16' }).mixedPrecision).toBe('bf16');
  });

  describe('that do not go together', () => {
    const deterministic = true;
    const noTraits = { ...fsdp(), traits: undefined };
    it.each<[string, object, string]>([
      ['an axis', { deterministic, mesh: { tensor: 2 } }, 'ACC_DETERMINISTIC_UNSUPPORTED'],
      ['shards', { deterministic, mesh: { fsdp: 2 } }, 'ACC_DETERMINISTIC_UNSUPPORTED'],
      ['experts on all ranks', { deterministic, mesh: { expert: -1 } }, 'ACC_DETERMINISTIC_UNSUPPORTED'],
      [
        'stages on all ranks',
        { mesh: { fsdp: 1, pipeline: -1 }, fsdp: { offload: { params: true, to: 'folder' } } },
        'ACC_STRATEGY_CANNOT',
      ],
      ['a strategy without traits', { strategy: noTraits }, 'ACC_INVALID_OPTION'],
    ])('are refused: %s', (_, options, code) => {
      expect(() => resolveOptions(options)).toThrowError(expect.objectContaining({ code }) as Error);
    });

    it.each<[string, AcceleratorOptions]>([
      ['unsharded', { deterministic, strategy: 'fsdp', fsdp: { stage: 'NO_SHARD' } }],
      ['an axis of all ranks', { deterministic, mesh: { data: -1, tensor: 1 } }],
      ['of another strategy', { deterministic, fsdp: { mixedPrecision: { reduce: 'bf16' } } }],
      ['without effect', { mesh: { fsdp: 1, pipeline: 2 }, ddp: { commHook: 'powerSgd' } }],
    ])('are only these: %s', (_, options) => {
      expect(() => resolveOptions(options)).not.toThrow();
    });
  });

  describe('of a strategy', () => {
    const members = {
      name: 'mine',
      traits: { parameters: 'replicated' },
      attach() {},
      prepareVariables() {},
      beginReduction: () => ({ ready() {}, finish: () => [] }),
    };
    class Mine {
      readonly name = 'mine';
      readonly traits = members.traits;
      readonly counts = 0;
      attach() {}
      prepareVariables() {}
      beginReduction = members.beginReduction;
    }
    class Misspelt extends Mine {
      materialise() {
        return [];
      }
    }
    class Former extends Mine {
      partsOf() {}
    }
    class WithHelpers extends Mine {
      /** A value, not a method. */
      readonly updates = 3;
      #detatch = 1;
      type() {
        return this.#detatch;
      }
      readonly state = { get() {}, set() {} };
      /** Has a former name of a member of this group. */
      getState() {}
      changeGradients() {}
      /** Resembles a member that this class has. */
      changeGradient() {}
      get materialise() {
        throw new Error('called');
      }
    }

    it.each<[string, object, string]>([
      ['a former name', { ...members, partsOf() {} }, 'layout.shardsOf'],
      ['a former place', { ...members, getState() {} }, 'state.get'],
      ['a typing error', { ...members, materialise() {} }, 'materialize'],
      ['a typing error in a class', new Misspelt(), 'materialize'],
      ['a former name in a class', new Former(), 'layout.shardsOf'],
      ['a former name beside an empty group', { ...members, state: undefined, getState() {} }, 'state.get'],
      ['an unknown trait', { ...members, traits: { ...members.traits, isLocl: true } }, 'isLocal'],
      ['an unknown trait in a class', Object.assign(new Mine(), { traits: { parameter: 1 } }), 'parameters'],
      ['an unknown hook', { ...members, tape: { befor() {} } }, 'before'],
      ['an unknown member of a group', { ...members, state: { get() {}, sett() {} } }, 'set'],
    ])('refuse %s and give the right name', (_, strategy, nearest) => {
      expect(() => resolveOptions({ strategy } as AcceleratorOptions)).toThrowError(
        expect.objectContaining({
          code: 'ACC_UNKNOWN_OPTION',
          help: expect.stringContaining(`'${nearest}'`) as unknown,
          details: expect.objectContaining({ nearest }) as unknown,
        }),
      );
    });

    it.each([
      ['gradients', { full() {} }, 'local'],
      ['layout', { localOf() {} }, 'shardsOf'],
      ['state', { get() {} }, 'set'],
    ])('refuse a group %s that lacks a member', (group, given, lacking) => {
      const strategy = { ...members, [group]: given } as unknown as Strategy;
      expect(() => resolveOptions({ strategy })).toThrowError(
        expect.objectContaining({
          code: 'ACC_INVALID_OPTION',
          details: { where: `AcceleratorOptions.strategy.${group}`, lacking: [lacking] },
        }),
      );
    });

    it('accept members of its own', () => {
      const literal = { ...members, keptElements: 3, stats: {}, helper() {} };
      for (const own of [new WithHelpers(), literal]) {
        const strategy = own as unknown as Strategy;
        expect(resolveOptions({ strategy }).strategy).toBe(strategy);
      }
    });
  });

  it('name the new place of group options that ddp had before', () => {
    const ddp = { timeoutMs: 5, engine: 'gloo' } as object;
    expect(() => resolveOptions({ ddp })).toThrowError(
      expect.objectContaining({
        code: 'ACC_UNKNOWN_OPTION',
        help: 'Write collective: { engine: …, timeoutMs: … } instead.',
      }),
    );
  });

  it.each<[unknown, string]>([
    ['dpp', "'ddp'"],
    ['xyzzy-42', 'a Strategy'],
    [3, 'a Strategy'],
    [null, 'a Strategy'],
    [{}, 'auto, single, ddp'],
  ])('names the strategies if given %j', (strategy, help) => {
    expect(() => resolveOptions({ strategy } as AcceleratorOptions)).toThrowError(
      expect.objectContaining({
        code: 'ACC_INVALID_OPTION',
        message: expect.stringContaining('AcceleratorOptions.strategy is ') as unknown,
        help: expect.stringContaining(help) as unknown,
      }),
    );
  });
});
