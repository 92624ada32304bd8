import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Tracker } from '@acc/contract';
import { newFolder, startBus, until } from './testing/bus.js';
import { Service, trackerOf } from './testing/service.js';

const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, i) => ({ x: from + i }));

describe('what is logged arrives', () => {
  it('in order, once, at its step, and the run is finished', async () => {
    const service = new Service();
    const { bus } = await startBus([{ tracker: trackerOf(service) }], { config: { lr: 0.1 } });
    for (let i = 0; i < 1_200; i++) bus.log({ x: i }, { step: 2 * i });
    bus.logText({ note: 'hello' }, { step: 7 });
    bus.log({ x: NaN, y: -Infinity });
    await bus.finish('completed');
    expect(service.rows).toEqual([...numbers(1_200), { x: NaN, y: -Infinity }]);
    expect(service.taken.slice(0, 2)).toMatchObject([
      { method: 'logConfig', values: { lr: 0.1 } },
      { step: 0 },
    ]);
    expect(service.taken.at(-2)).toMatchObject({ method: 'logText', step: 7, values: { note: 'hello' } });
    expect(service.sequences.slice(1)).toEqual(Array.from({ length: 1_202 }, (_, i) => i + 1));
    expect(service.status).toBe('completed');
  });

  it('in batches of at most 500 if the tracker accepts them, otherwise one by one', async () => {
    const [inBatches, single] = [new Service(), new Service()];
    const { bus } = await startBus([
      { tracker: trackerOf(inBatches, { name: 'a' }) },
      { tracker: trackerOf(single, { name: 'b', batches: false }) },
    ]);
    for (const row of numbers(1_000)) bus.log(row);
    await bus.finish('completed');
    expect([inBatches.rows, single.rows]).toEqual([numbers(1_000), numbers(1_000)]);
    expect(inBatches.calls).toBeLessThan(single.calls / 2);
    expect(single.calls).toBe(1_002);
  });

  it('not before a batch is due, however fast the service answers', async () => {
    const sizes: number[] = [];
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const tracker: Tracker = {
      ...trackerOf(new Service()),
      async logBatch(rows) {
        sizes.push(rows.length);
        for (let i = 0; i < 3; i++) await turn();
      },
    };
    const { bus } = await startBus([{ tracker }], { limits: { batchMs: 60_000, batchRows: 10 } });
    for (const row of numbers(100)) {
      bus.log(row);
      await turn();
    }
    await bus.finish('completed');
    expect(sizes).toEqual(Array.from({ length: 10 }, () => 10));
  });

  it('soon, also without the end of a run', async () => {
    const service = new Service();
    const { bus } = await startBus([{ tracker: trackerOf(service) }]);
    bus.log({ x: 1 });
    await until(() => service.rows.length === 1);
    expect([service.rows, service.status]).toEqual([[{ x: 1 }], undefined]);
    await bus.finish('completed');
  });

  it('at once if the tracker does not wait, even while the event loop is blocked', async () => {
    const steps: number[] = [];
    const tracker: Tracker = {
      name: 'sync',
      start: () => Promise.resolve(),
      log: (step) => void steps.push(step),
      finish: () => Promise.resolve(),
    };
    const { bus } = await startBus([{ tracker }]);
    for (let step = 0; step < 10; step++) bus.log({ x: 1 }, { step });
    expect(steps).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await bus.finish('completed');
  });

  it('with the number of optimizer steps if no step is given', async () => {
    const service = new Service();
    const { bus } = await startBus([{ tracker: trackerOf(service) }]);
    for (let i = 0; i < 3; i++) bus.beat();
    bus.log({ x: 1 });
    await bus.finish('completed');
    expect(service.taken[0]).toMatchObject({ step: 3 });
  });

  it('with the values at the time of the call', async () => {
    const service = new Service();
    const { bus } = await startBus([{ tracker: trackerOf(service) }]);
    const values = { x: 1 };
    bus.log(values);
    values.x = 2;
    await bus.finish('completed');
    expect(service.rows).toEqual([{ x: 1 }]);
  });
});

describe('a service that is down', () => {
  it('gets everything once after it is back, and the user is told once', async () => {
    const service = new Service();
    const { bus, said, runDir } = await startBus([{ tracker: trackerOf(service) }]);
    // The training's stream of random numbers, which an outage must not shift.
    const draws = vi.spyOn(Math, 'random');
    onTestFinished(() => draws.mockRestore());
    for (const row of numbers(100)) bus.log(row);
    service.behaviour = 'down';
    for (const row of numbers(5_000, 100)) bus.log(row);
    await until(() => service.calls > 5);
    expect(draws).not.toHaveBeenCalled();
    expect(existsSync(join(runDir, 'unsent', 'service.jsonl'))).toBe(true);
    for (const row of numbers(1_000, 5_100)) bus.log(row);
    service.behaviour = 'fine';
    await bus.finish('completed');
    expect(service.rows).toEqual(numbers(6_100));
    expect(said).toHaveLength(2);
    expect(existsSync(join(runDir, 'unsent', 'service.jsonl'))).toBe(false);
  });

  it('at the start delays nothing', async () => {
    const service = new Service();
    service.behaviour = 'down';
    const { bus } = await startBus([{ tracker: trackerOf(service) }], { config: { a: 1 } });
    for (const row of numbers(10)) bus.log(row);
    service.behaviour = 'fine';
    await bus.finish('completed');
    expect([service.starts, service.rows, service.status]).toEqual([1, numbers(10), 'completed']);
  });

  it('to the end: missing entries are kept, and the next run with the same tracker sends them', async () => {
    const [service, projectDir] = [new Service(), newFolder()];
    const { bus, said, runDir } = await startBus([{ tracker: trackerOf(service) }], { projectDir });
    for (const row of numbers(10)) bus.log(row);
    await until(() => service.rows.length === 10);
    service.behaviour = 'down';
    for (const row of numbers(2_000, 10)) bus.log(row);
    await bus.finish('aborted');
    expect(service.rows).toHaveLength(10);
    expect(said.at(-1)).toContain(join(runDir, 'unsent'));

    service.behaviour = 'fine';
    const next = new Service();
    const make = () => trackerOf(service);
    const second = await startBus([{ tracker: trackerOf(next), make }], { projectDir });
    second.bus.log({ x: -1 });
    await second.bus.finish('completed');
    expect(service.rows).toEqual(numbers(2_010));
    expect([service.starts, service.status]).toEqual([1, 'aborted']);
    expect(next.rows).toEqual([{ x: -1 }]);

    const third = new Service();
    const { bus: last } = await startBus([{ tracker: trackerOf(third), make }], { projectDir });
    await last.finish('completed');
    expect(service.rows).toEqual(numbers(2_010));
  });

  it('fills memory and then the disk up to their limits, and the loss is reported', async () => {
    const service = new Service();
    const limits = { memoryEntries: 100, diskBytes: 100_000 };
    const { bus, said } = await startBus([{ tracker: trackerOf(service) }], { limits });
    service.behaviour = 'down';
    for (const row of numbers(5_000)) bus.log(row);
    service.behaviour = 'fine';
    await bus.finish('completed');
    const arrived = service.rows.length;
    expect(arrived).toBeGreaterThan(500);
    expect(service.rows.slice(0, 500)).toEqual(numbers(500));
    const values = service.rows.map((row) => (row as { x: number }).x);
    expect(values).toEqual([...new Set(values)].sort((a, b) => a - b));
    expect(said.at(-1)).toContain(`${5_000 - arrived} entries are lost`);
  });
});

describe('a tracker that fails', () => {
  it('by throwing at once loses its own entries, is reported once, and affects no other tracker', async () => {
    const [bad, good] = [new Service(), new Service()];
    const { bus, said } = await startBus([
      { tracker: trackerOf(bad, { name: 'bad' }) },
      { tracker: trackerOf(good, { name: 'good' }) },
    ]);
    bad.behaviour = 'throwing';
    for (const row of numbers(300)) bus.log(row);
    await bus.finish('completed');
    expect(good.rows).toEqual(numbers(300));
    expect(said.filter((line) => line.includes('bad'))).toHaveLength(2);
    expect(said.at(-1)).toContain('300 entries are lost');
  });

  it('by refusing one row of a batch loses only that row', async () => {
    const service = new Service();
    service.refuses = (metrics) => metrics?.['x'] === 123;
    const { bus } = await startBus([{ tracker: trackerOf(service) }]);
    for (const row of numbers(400)) bus.log(row);
    await bus.finish('completed');
    expect(service.rows).toEqual(numbers(400).filter(({ x }) => x !== 123));
  });

  it('by hanging is called again after the time limit for a call', async () => {
    const service = new Service();
    const { bus, said } = await startBus([{ tracker: trackerOf(service) }], { limits: { callMs: 300 } });
    service.behaviour = 'hanging';
    bus.log({ x: 1 });
    await until(() => said.length > 0);
    service.behaviour = 'fine';
    await bus.finish('completed');
    expect(service.rows).toEqual([{ x: 1 }]);
  });

  it('by hanging to the end delays the end no longer than one that is down', async () => {
    const service = new Service();
    const { bus, said } = await startBus([{ tracker: trackerOf(service) }], { limits: { callMs: 300 } });
    service.behaviour = 'hanging';
    bus.log({ x: 1 });
    await bus.finish('completed');
    expect(said.at(-1)).toContain('kept');
  });

  it('to start is an error of initTrackers', async () => {
    const service = new Service();
    service.behaviour = 'refusing';
    const starting = startBus([{ tracker: trackerOf(service) }]);
    await expect(starting).rejects.toMatchObject({ code: 'ACC_TRACKER_START' });
  });

  it('to start leaves the runs of other trackers finished', async () => {
    const [refusing, fine] = [new Service(), new Service()];
    refusing.behaviour = 'refusing';
    const trackers = [trackerOf(refusing, { name: 'refusing' }), trackerOf(fine, { name: 'fine' })];
    const starting = startBus(trackers.map((tracker) => ({ tracker })));
    await expect(starting).rejects.toMatchObject({ code: 'ACC_TRACKER_START' });
    expect([fine.starts, fine.status]).toEqual([1, 'failed']);
  });
});

describe('support for an entry kind', () => {
  it('is not required: the first entry of a kind warns once of trackers that lack it', async () => {
    const minimal = (name: string): Tracker => ({
      name,
      start: () => Promise.resolve(),
      log: () => undefined,
      finish: () => Promise.resolve(),
    });
    const { bus, said: saidOfNone } = await startBus([{ tracker: minimal('a') }], { config: { lr: 0.1 } });
    for (const _ of [1, 2]) {
      bus.logText({ a: 'b' });
      bus.logTable('t', [{ a: 1 }]);
      bus.logHistogram({ h: [1, 2] });
      bus.logArtifact('file', import.meta.filename);
      bus.logImages({ i: new Uint8Array() });
    }
    await bus.finish('completed');
    const methods = saidOfNone.map((line) => /not recorded\. These trackers lack (\w+): a\./.exec(line)?.[1]);
    const all = ['logConfig', 'logText', 'logTable', 'logHistogram', 'logArtifact', 'logImage'];
    expect(methods).toEqual(all);

    const service = new Service();
    const both = await startBus([{ tracker: minimal('a') }, { tracker: trackerOf(service) }]);
    both.bus.logText({ a: 'b' });
    both.bus.logText({ c: 'd' });
    await both.bus.finish('completed');
    expect(service.taken).toHaveLength(2);
    expect(both.said).toHaveLength(1);
  });

  it("on other ranks, only trackers with ranks 'all' run", async () => {
    const [main, all] = [new Service(), new Service()];
    const trackers = [
      { tracker: trackerOf(main, { name: 'main' }) },
      { tracker: { ...trackerOf(all, { name: 'all' }), ranks: 'all' as const } },
    ];
    const { bus } = await startBus(trackers, { rank: 1 });
    bus.log({ x: 1 });
    expect(bus.getTracker('main')).toBeUndefined();
    expect(bus.getTracker('all')?.name).toBe('all');
    await bus.finish('completed');
    expect([main.calls, all.rows]).toEqual([0, [{ x: 1 }]]);
  });
});

describe('misuse is an error', () => {
  it.each([
    ['text', { x: 'a' }],
    ['a list', { x: [1] }],
    ['a record', { x: { y: 1 } }],
    ['undefined', { x: undefined }],
  ])('%s is not a metric', async (_name, values) => {
    const { bus } = await startBus([{ tracker: trackerOf(new Service()) }]);
    expect(() => bus.log(values as never)).toThrow(expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' }));
    expect(() => bus.log({ x: 1 }, { stp: 1 } as never)).toThrow(
      expect.objectContaining({ code: 'ACC_UNKNOWN_OPTION' }),
    );
    for (const step of [0.5, -4]) {
      expect(() => bus.log({ x: 1 }, { step })).toThrow(
        expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' }),
      );
    }
    await bus.finish('completed');
    expect(() => bus.log({ x: 1 })).toThrow(expect.objectContaining({ code: 'ACC_TRACKERS_FINISHED' }));
  });

  it('a name that no tracker has, and a folder that cannot be created', async () => {
    const { bus } = await startBus([{ tracker: trackerOf(new Service()) }]);
    expect(() => bus.getTracker('sevice')).toThrow(
      expect.objectContaining({ code: 'ACC_TRACKER_UNKNOWN', help: "Did you mean 'service'?" }),
    );
    await bus.finish('completed');
    const file = join(newFolder(), 'file');
    writeFileSync(file, '');
    const starting = startBus([{ tracker: trackerOf(new Service()) }], { projectDir: file });
    await expect(starting).rejects.toMatchObject({ code: 'ACC_PROJECT_DIR' });
  });

  it('values that are not records or options are named', async () => {
    const service = new Service();
    const { bus } = await startBus([{ tracker: trackerOf(service) }]);
    const refused = (code: string, text: string) =>
      expect.objectContaining({ code, message: expect.stringContaining(text) as unknown }) as Error;
    expect(() => bus.logText('hello' as never)).toThrow(refused('ACC_INVALID_ARGUMENT', "'hello'"));
    expect(() => bus.log({ x: 1 }, 500 as never)).toThrow(refused('ACC_INVALID_OPTION', '{ step: '));
    expect(() => bus.logHistogram({ x: [1] }, 3 as never)).toThrow(refused('ACC_INVALID_OPTION', 'bins'));
    expect(() => bus.logArtifact('a', 'b', null as never)).toThrow(refused('ACC_INVALID_OPTION', 'type'));
    await bus.finish('completed');
    expect(service.taken).toEqual([]);
  });

  it('a config that cannot be stored is named, and no run begins', async () => {
    const service = new Service();
    const config = { model: { layers: [1, () => 1] } } as never;
    const starting = startBus([{ tracker: trackerOf(service) }], { config });
    await expect(starting).rejects.toMatchObject({
      code: 'ACC_INVALID_ARGUMENT',
      message: expect.stringContaining("'model.layers[1]' is a function") as unknown,
    });
    expect(service.starts).toBe(0);
  });

  it('two trackers of one name, two runs at once', async () => {
    const twice = [{ tracker: trackerOf(new Service()) }, { tracker: trackerOf(new Service()) }];
    await expect(startBus(twice)).rejects.toMatchObject({ code: 'ACC_TRACKER_DUPLICATE' });
  });
});

describe('resuming a run', () => {
  it('by its id: the tracker resumes under the name that it had', async () => {
    const [service, projectDir] = [new Service(), newFolder()];
    const first = await startBus([{ tracker: trackerOf(service) }], {
      projectDir,
      run: { name: 'n', tags: ['t'] },
    });
    first.bus.log({ x: 1 });
    await first.bus.finish('aborted');
    const { id } = first.bus.run!;
    const second = await startBus([{ tracker: trackerOf(service) }], { projectDir, run: { resume: id } });
    second.bus.log({ x: 2 });
    await second.bus.finish('completed');
    expect(second.bus.run).toMatchObject({ id, name: 'n', tags: { t: '' } });
    expect([service.starts, service.rows]).toEqual([1, [{ x: 1 }, { x: 2 }]]);
    const record = JSON.parse(readFileSync(join(second.runDir, 'run.json'), 'utf8')) as { status: string };
    expect(record.status).toBe('completed');
  });

  it("by a state, which contains the steps and the trackers' ids of the run", async () => {
    const service = new Service();
    const named = { ...trackerOf(service), runId: 'theirs' };
    const { bus } = await startBus([{ tracker: named }]);
    for (let i = 0; i < 5; i++) bus.beat();
    const state = bus.getState();
    expect(state).toMatchObject({ run: { id: bus.run!.id, earlier: { service: 'theirs' } }, step: 5 });
    await bus.finish('completed');
    const other = await startBus([{ tracker: trackerOf(new Service()) }]);
    other.bus.setState(state);
    expect(other.said.at(-1)).toContain('before initTrackers');
    await other.bus.finish('completed');
    expect([other.bus.loaded?.id, other.bus.step]).toEqual([bus.run!.id, 5]);
    for (const wrong of [{}, { step: 'a', run: null }, { step: 1, run: {} }, null]) {
      expect(() => other.bus.setState(wrong as never)).toThrow(
        expect.objectContaining({ code: 'ACC_STATE_INVALID' }),
      );
    }
  });

  it('by an unknown id is an error', async () => {
    const starting = startBus([{ tracker: trackerOf(new Service()) }], { run: { resume: 'none' } });
    await expect(starting).rejects.toMatchObject({ code: 'ACC_RUN_MISSING' });
  });
});
