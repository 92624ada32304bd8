import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { expectClose, runRanks } from '@acc/testkit';

interface Result {
  backend: string;
  name: string;
  size: number;
  losses: number[];
}

const script = new URL('./ranks/alone.ts', import.meta.url);
const noLauncher = {
  RANK: undefined,
  LOCAL_RANK: undefined,
  WORLD_SIZE: undefined,
  LOCAL_WORLD_SIZE: undefined,
  MASTER_ADDR: undefined,
  MASTER_PORT: undefined,
};

it('without a launcher the program runs as one process', async () => {
  const [{ result, exitCode, stderr }] = (await runRanks<Result>({ script, ranks: 1, env: noLauncher })) as [
    never,
  ];
  expect(exitCode, stderr).toBe(0);
  expect(result).toMatchObject({ backend: 'acc', name: 'acc', size: 1 });
  expect(stderr).toBe('');
});

const withoutLibtorch = () => {
  const empty = mkdtempSync(join(tmpdir(), 'acc-empty-'));
  return { ...noLauncher, ACC_CACHE_DIR: empty, ACC_LIBTORCH: undefined, PATH: '/nonexistent' };
};

it('without libtorch it trains on the active backend and prints what to install', async () => {
  const env = withoutLibtorch();
  const [without] = await runRanks<Result>({ script, ranks: 1, env });
  const [withIt] = await runRanks<Result>({ script, ranks: 1, env: noLauncher });
  expect(without!.exitCode, without!.stderr).toBe(0);
  expect(without!.result).toMatchObject({ backend: 'cpu', name: 'cpu', size: 1 });
  expect(without!.stderr).toMatch(/^acc: training runs in one process [^]*npx acc setup/);
  expect(without!.stderr).not.toContain('speed things up');
  expectClose(without!.result!.losses, withIt!.result!.losses);
});

it('without libtorch a requested GPU is an error', async () => {
  const args = [JSON.stringify({ device: 'cuda' })];
  const [{ exitCode, stderr }] = (await runRanks({ script, ranks: 1, args, env: withoutLibtorch() })) as [
    never,
  ];
  expect(exitCode, stderr).toBe(1);
  expect(stderr).toContain('ACC_LIBTORCH_MISSING');
});
