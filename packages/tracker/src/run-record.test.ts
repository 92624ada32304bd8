import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { newFolder, startBus } from './testing/bus.js';
import { Service, trackerOf } from './testing/service.js';

const numbers = (count: number) => Array.from({ length: count }, (_, x) => ({ x }));

it('a run with a damaged record cannot be resumed, and its unsent entries are reported and kept', async () => {
  const [service, projectDir] = [new Service(), newFolder()];
  const { bus, runDir } = await startBus([{ tracker: trackerOf(service) }], { projectDir });
  service.behaviour = 'down';
  for (const row of numbers(10)) bus.log(row);
  await bus.finish('completed');
  service.behaviour = 'fine';
  const spool = join(runDir, 'unsent', 'service.jsonl');
  const kept = readFileSync(spool);
  const record = join(runDir, 'run.json');
  const full = readFileSync(record, 'utf8');
  const next = async () => {
    const created = { tracker: trackerOf(new Service()), make: () => trackerOf(service) };
    const { bus: other, said } = await startBus([created], { projectDir });
    await other.finish('completed');
    return said;
  };
  for (const [content, problem] of [
    [full.slice(0, -20), 'it is not JSON'],
    ['', 'it is not JSON'],
    ['{"version":1}', 'it does not contain a run'],
    ['null', 'it does not contain a run'],
    ['{"version":2}', 'its version is 2'],
  ] as const) {
    writeFileSync(record, content);
    expect(await next()).toEqual([expect.stringMatching(`${record} .*${problem}.*: service.jsonl`)]);
    expect(readFileSync(spool)).toEqual(kept);
    const run = { resume: basename(runDir) };
    await expect(startBus([{ tracker: trackerOf(service) }], { projectDir, run })).rejects.toMatchObject({
      code: 'ACC_RUN_MISSING',
      message: expect.stringContaining(problem) as unknown,
    });
  }
  rmSync(record);
  expect(await next()).toEqual([expect.stringMatching('it is missing')]);
  expect(service.rows).toEqual([]);
  writeFileSync(record, full);
  expect(await next()).toEqual([]);
  expect(service.rows).toEqual(numbers(10));
});
