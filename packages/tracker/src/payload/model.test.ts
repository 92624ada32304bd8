import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { startBus } from '../testing/bus.js';
import { Service, trackerOf } from '../testing/service.js';

const write = (path: string) =>
  mkdir(path, { recursive: true }).then(() => writeFile(join(path, 'model.json'), '{}'));
const REGISTERED = { registeredName: 'digits', aliases: ['best'] };

it('a registry gets a model, and the others get its files', async () => {
  const models: unknown[] = [];
  const logModel = (...args: unknown[]) => void models.push(args);
  const registry = { ...trackerOf(new Service(), { name: 'registry' }), logModel };
  const logged: [number, { files: { path: string }[] }][] = [];
  const logArtifact = (...args: unknown[]) => void logged.push(args as (typeof logged)[number]);
  const plain = { ...trackerOf(new Service()), logArtifact };
  const { bus, said } = await startBus([{ tracker: registry }, { tracker: plain }]);
  await bus.logModel('net', {}, write);
  // Two models of one step have files of their own.
  for (const step of [1, 1]) await bus.logModel('net', { step, ...REGISTERED }, write);
  await bus.finish('completed');
  expect(said).toEqual([]);
  const files = [expect.objectContaining({ name: 'model.json', bytes: 2 })];
  const net = { name: 'net', type: 'model', files };
  expect(models).toEqual([
    [0, { ...net, registeredName: undefined, aliases: [] }, expect.anything()],
    [1, { ...net, ...REGISTERED }, expect.anything()],
    [1, { ...net, ...REGISTERED }, expect.anything()],
  ]);
  expect(logged).toEqual([0, 1, 1].map((step) => [step, net, expect.anything()]));
  const folders = logged.map(
    ([
      ,
      {
        files: [file],
      },
    ]) => file!.path.match(/models\/(.*)\/model/)![1],
  );
  expect(folders).toEqual(['net/0', 'net/1', 'net/1-2']);
});

it('warns once if a model is to be registered and no tracker has a registry', async () => {
  const plain = { ...trackerOf(new Service()), logArtifact: () => undefined };
  const { bus, said } = await startBus([{ tracker: plain }]);
  await bus.logModel('net', {}, write);
  expect(said).toEqual([]);
  for (const _ of [1, 2]) await bus.logModel('net', REGISTERED, write);
  await bus.finish('completed');
  expect(said).toEqual([expect.stringMatching(/no tracker of this run \(service\) has a registry/)]);
});

it.each([
  [{ name: 'a/b' }, 'the name is the string'],
  [{ registeredName: '' }, 'registeredName is'],
  [{ aliases: 'best' }, 'aliases is'],
  [{ aliases: ['best'] }, 'aliases need a registered model'],
])(
  'logModel refuses %j before a model is written',
  async ({ name = 'net', ...options }: Record<string, unknown>, text) => {
    const { bus } = await startBus([{ tracker: trackerOf(new Service()) }]);
    const write = vi.fn();
    const logged = bus.logModel(name as string, options as never, write);
    await expect(logged).rejects.toMatchObject({
      code: 'ACC_INVALID_ARGUMENT',
      message: expect.stringContaining(text) as unknown,
    });
    expect(write).not.toHaveBeenCalled();
    await bus.finish('completed');
  },
);
