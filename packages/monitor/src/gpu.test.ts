import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { GpuClock } from './gpu.js';

afterEach(() => vi.unstubAllEnvs());

const until = (isSo: () => boolean) => vi.waitFor(() => expect(isSo()).toBe(true), { timeout: 240_000 });

/** A program that says what nvidia-smi says, for machines without a GPU. */
function standIn(): string {
  const folder = mkdtempSync(join(tmpdir(), 'acc-smi-'));
  const path = join(folder, 'nvidia-smi');
  const lines = ['echo "$@" > "${0%/*}/args"', 'echo $$ > "${0%/*}/pid"', 'echo "37, 2048"', 'exec sleep 60'];
  writeFileSync(path, ['#!/bin/sh', ...lines].join('\n'));
  chmodSync(path, 0o755);
  return folder;
}

const isAlive = (pid: number) =>
  existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

it('reads from nvidia-smi the figures of the GPU that CUDA uses, until it is closed', async () => {
  const folder = standIn();
  vi.stubEnv('PATH', `${folder}:${process.env['PATH']}`);
  vi.stubEnv('CUDA_VISIBLE_DEVICES', '5, 3');
  const clock = new GpuClock('cuda:1', () => undefined);
  expect(clock.latest).toBeUndefined();
  await until(() => clock.latest !== undefined);
  expect(clock.latest).toEqual({ percent: 37, memoryMib: 2048 });
  expect(readFileSync(join(folder, 'args'), 'utf8')).toContain(
    '--id=3 --query-gpu=utilization.gpu,memory.used',
  );
  const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
  expect(isAlive(pid)).toBe(true);
  clock.close();
  await until(() => !isAlive(pid));
});

it('reports that there is no nvidia-smi, and has no figures', async () => {
  vi.stubEnv('PATH', '/no/such/folder');
  const said: string[] = [];
  const clock = new GpuClock('cuda:0', (message) => said.push(message));
  await until(() => said.length === 1);
  expect(said[0]).toContain('nvidia-smi');
  expect(clock.latest).toBeUndefined();
  clock.close();
});
