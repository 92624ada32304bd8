import { expect, it } from 'vitest';
import { hostSettings } from './host-settings.js';
import { completeOptions } from './options.js';
import { supposedPlacement } from './placement.js';
import { rankCommands } from './rank-commands.js';

it('leaves the variables of the options as they are, as those of the launcher', async () => {
  const given = { OMP_NUM_THREADS: '7', TF_NUM_INTRAOP_THREADS: '3', ACC_LIBTORCH: '/mine', OTHER: 'x' };
  const seen = async (env: Record<string, string>, ofLauncher: Record<string, string>) => {
    const plan = completeOptions({ script: 'a.mjs', nproc: 2, env });
    const host = await hostSettings(plan, ofLauncher);
    const commands = rankCommands(plan, supposedPlacement(plan), host, ['node', 'a.mjs']);
    return commands.map((command): Record<string, string | undefined> => ({
      ...command.env,
      ...command.variables,
    }));
  };
  const fromOptions = await seen(given, { OMP_NUM_THREADS: '1', ACC_LIBTORCH: '/theirs' });
  expect(fromOptions).toHaveLength(2);
  for (const variables of fromOptions) {
    expect(variables).toMatchObject(given);
    expect(variables['TF_NUM_INTEROP_THREADS']).toBeUndefined();
  }
  expect(await seen({}, given)).toEqual(fromOptions);
});
