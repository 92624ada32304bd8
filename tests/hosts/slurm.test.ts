import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { TestNetwork } from '@acc/testkit';
import { scriptArguments } from '@acc/transpile';
import { SlurmCluster } from './slurm-cluster.js';

const meet = fileURLToPath(new URL('./ranks/meet.ts', import.meta.url));
const acc = fileURLToPath(new URL('../../packages/cli/bin/acc.js', import.meta.url));
const program = [process.execPath, ...(await scriptArguments(meet))];

let network: TestNetwork;
let cluster: SlurmCluster;
beforeAll(async () => {
  network = await TestNetwork.create({ hosts: 2 });
  cluster = await SlurmCluster.start(network);
});
afterAll(async () => {
  await cluster?.dispose();
  await network?.dispose();
});

it('srun on one node', async () => {
  const output = await cluster.run('srun', ['-N1', '-n2', ...program]);
  expect(output).toContain('met 0/2 local 0/2 sum 3');
  expect(output).toContain('met 1/2 local 1/2 sum 3');
});

it('srun on two nodes with different numbers of tasks', async () => {
  const output = await cluster.run('srun', ['-N2', '-n3', ...program]);
  expect(output).toContain('met 0/3 local 0/2 sum 6');
  expect(output).toContain('met 1/3 local 1/2 sum 6');
  expect(output).toContain('met 2/3 local 0/1 sum 6');
});

it('several steps of one job at the same time', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-batch-'));
  const [script, log, end] = ['job.sh', 'log', 'end'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const step = `srun --overlap -N2 -n2 ${program.join(' ')}`;
  // The script itself has the variables of a task, but is not a task. A program in it runs alone.
  writeFileSync(script, `#!/bin/sh\n${program.join(' ')}\n${step} &\n${step} &\nwait\ntouch ${end}\n`, {
    mode: 0o755,
  });
  // sbatch with --wait would only poll every half minute.
  await cluster.run('sbatch', ['-N2', '-n4', '-o', log, script]);
  await vi.waitUntil(() => existsSync(end), { timeout: 240_000, interval: 200 });
  const output = readFileSync(log, 'utf8');
  rmSync(folder, { recursive: true });
  expect(output).toContain('met 0/1 local 0/1 sum 1');
  for (const rank of [0, 1]) expect(output.split(`met ${rank}/2 local 0/1 sum 3`), output).toHaveLength(3);
});

it('the script of acc launch --print slurm', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-printed-'));
  const [script, log, end] = ['job.sh', 'log', 'end'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  // The program has an argument that a shell would split, and the script is run as it is printed,
  // from a folder with node_modules: the working directory.
  const args = ['launch', '--print', 'slurm', '-n', '2', '--nnodes', '2', '--no-prefix', meet, "it's one"];
  const { stdout } = spawnSync(process.execPath, [acc, ...args], { encoding: 'utf8' });
  writeFileSync(script, stdout);
  // Options of sbatch replace those of the script. sbatch with --wait would only poll every half
  // minute, so a further job waits for this one.
  const submitted = await cluster.run('sbatch', ['--parsable', '--cpus-per-task=2', '-o', log, script]);
  const after = ['-N1', '-n1', `--dependency=afterany:${submitted.trim()}`, '-o', '/dev/null'];
  await cluster.run('sbatch', [...after, '--wrap', `touch ${end}`]);
  await vi.waitUntil(() => existsSync(end), { timeout: 240_000, interval: 200 });
  const output = readFileSync(log, 'utf8');
  rmSync(folder, { recursive: true });
  for (let rank = 0; rank < 4; rank++) expect(output).toContain(`met ${rank}/4 local ${rank % 2}/2 sum 10`);
});

it('acc launch under srun, once on each node', async () => {
  const launch = `exec "${process.execPath}" "${acc}" launch -n 2 --nnodes 2 --node-rank "$SLURM_NODEID" --rdzv-endpoint host0:29600 "${meet}"`;
  const output = await cluster.run('srun', ['-N2', '-n2', '-c2', 'sh', '-c', launch]);
  for (let rank = 0; rank < 4; rank++) expect(output).toContain(`met ${rank}/4 local ${rank % 2}/2 sum 10`);
});
