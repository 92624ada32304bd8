import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { startBus } from '../testing/bus.js';
import { Service, trackerOf } from '../testing/service.js';

it('a registry gets a model, the others get its files and are named once if it is to be registered', async () => {
  const service = new Service();
  const models: unknown[] = [];
  const registry = {
    ...trackerOf(new Service(), { name: 'registry' }),
    logModel: (...args: unknown[]) => void models.push(args),
  };
  const files: unknown[] = [];
  const plain = { ...trackerOf(service), logArtifact: (...args: unknown[]) => void files.push(args) };
  const { bus, said } = await startBus([{ tracker: registry }, { tracker: plain }]);
  const write = (path: string) =>
    mkdir(path, { recursive: true }).then(() => writeFile(join(path, 'model.json'), '{}'));
  await bus.logModel('net', {}, write);
  expect(said).toEqual([]);
  for (const step of [1, 2]) {
    await bus.logModel('net', { step, registeredName: 'digits', aliases: ['best'] }, write);
  }
  await bus.finish('completed');
  expect(said).toEqual([
    'acc: service: models are not registered, only their files are logged. These trackers lack logModel: service.',
  ]);
  const net = {
    name: 'net',
    type: 'model',
    files: [expect.objectContaining({ name: 'model.json', bytes: 2 })],
  };
  const registered = { ...net, registeredName: 'digits', aliases: ['best'] };
  expect(models).toEqual([
    [0, { ...net, registeredName: undefined, aliases: [] }, expect.anything()],
    [1, registered, expect.anything()],
    [2, registered, expect.anything()],
  ]);
  expect(files).toEqual([0, 1, 2].map((step) => [step, net, expect.anything()]));
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
