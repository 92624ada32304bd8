import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { ACC, forEach, newFolder, runNode, type Ended } from './run-wrong.js';

/** A wrong command line, its code, and a part of the message or of the next step. */
type Wrong = readonly [line: string, code: string, says: string];

const WRONG: readonly Wrong[] = [
  ['lauch train.mjs', 'ACC_UNKNOWN_COMMAND', 'Did you mean launch?'],
  ['help lauch', 'ACC_UNKNOWN_COMMAND', 'Did you mean launch?'],
  ['--vrsion', 'ACC_UNKNOWN_OPTION', 'Did you mean --version?'],
  ['launch', 'ACC_USAGE', "Missing required argument 'script'"],
  ['launch train.mj', 'ACC_SCRIPT_NOT_FOUND', "Did you mean 'train.mjs'?"],
  ['launch .', 'ACC_SCRIPT_NOT_FILE', 'Name the script itself'],
  ['launch -n 0 train.mjs', 'ACC_BAD_OPTION', 'a whole number from 1'],
  ['launch -n two train.mjs', 'ACC_BAD_OPTION', "'two' is invalid"],
  ['launch -n', 'ACC_BAD_OPTION', 'argument missing'],
  ['launch --nprocs 2 train.mjs', 'ACC_UNKNOWN_OPTION', 'Did you mean --nproc?'],
  ['launch --thread 2 train.mjs', 'ACC_UNKNOWN_OPTION', 'Did you mean --threads?'],
  ['launch --nnodes 2 train.mjs', 'ACC_MISSING_OPTION', '--node-rank'],
  ['launch --nnodes 3:2 train.mjs', 'ACC_BAD_OPTION', "not '3:2'"],
  ['launch --nnodes 1:2 train.mjs', 'ACC_MISSING_OPTION', ''],
  ['launch --node-rank 1 train.mjs', 'ACC_BAD_OPTION', 'from 0 to 0'],
  ['launch --master-addr host train.mjs', 'ACC_UNKNOWN_OPTION', '--rdzv-endpoint HOST:PORT'],
  ['launch --cpu-bind sockets train.mjs', 'ACC_BAD_OPTION', 'none, cores, numa'],
  ['launch --tee 5 --log-dir logs train.mjs', 'ACC_BAD_OPTION', '--tee'],
  ['launch --log-dir /proc/nowhere train.mjs', 'ACC_LOG_NOT_WRITABLE', 'Choose another folder'],
  ['launch --max-restarts x train.mjs', 'ACC_BAD_OPTION', "'x' is invalid"],
  ['launch --config-file nowhere.yaml train.mjs', 'ACC_CONFIG_MISSING', 'nowhere.yaml'],
  ['launch --config-file wrong.yaml train.mjs', 'ACC_CONFIG_INVALID', 'has 2 mistakes'],
  ['launch --print slrm train.mjs', 'ACC_BAD_OPTION', "Did you mean 'slurm'?"],
  ['launch --image x train.mjs', 'ACC_BAD_OPTION', '--print k8s'],
  ['config --set strategy=dpp', 'ACC_BAD_OPTION', "Did you mean 'ddp'?"],
  ['config --mixed-precision bf61', 'ACC_BAD_OPTION', "Did you mean 'bf16'?"],
  ['estimate-memory', 'ACC_USAGE', 'Neither a model nor --parameters'],
  ['estimate-memory nowhere.json', 'ACC_MODEL_NOT_FOUND', 'nowhere.json does not exist'],
  ['plan gpt33 --cluster a100-sxm --devices 8 --batch 8', 'ACC_MODEL_NOT_FOUND', "Did you mean 'gpt3'?"],
  ['plan gpt3 --cluster a100-smx --devices 8 --batch 8', 'ACC_PLAN_CLUSTER', "Did you mean 'a100-sxm'?"],
  ['convert-config nowhere.yaml', 'ACC_CONVERT_MISSING', 'nowhere.yaml cannot be read'],
  ['merge-weights nowhere out', 'ACC_CHECKPOINT_NOT_FOUND', 'no complete checkpoint'],
  ['setup --vesion 2', 'ACC_UNKNOWN_OPTION', 'acc setup --help'],
  ['env --jsn', 'ACC_UNKNOWN_OPTION', 'Did you mean --json?'],
  ['completion bsh', 'ACC_BAD_OPTION', "Did you mean 'bash'?"],
  ['completion powershell', 'ACC_BAD_OPTION', "Argument 'shell': 'powershell' is invalid"],
  ['config --set foo.bar=1', 'ACC_BAD_OPTION', 'npx acc config --default writes has all options'],
  ['config --nproc 2 --set mixedPrecison=bf16', 'ACC_BAD_OPTION', '→ Did you mean mixedPrecision?'],
  ['plan gpt3 --cluster a100 --devices 8 --batch 8', 'ACC_PLAN_CLUSTER', "Did you mean 'a100-sxm' or"],
  ['test -n 0', 'ACC_BAD_OPTION', 'npx acc test --help'],
  [
    'launch --config-file broken.yaml train.mjs',
    'ACC_CONFIG_INVALID',
    'npx acc config --force --config-file',
  ],
  ['convert-config broken.yaml', 'ACC_CONVERT_INVALID', 'Give a file of accelerate config'],
  ['convert-config nowhere.yaml --output wrong.yaml', 'ACC_CONVERT_MISSING', 'nowhere.yaml cannot be read'],
  ['convert-config config.yaml --output other.yaml', 'ACC_CONVERT_UNKNOWN', 'npx acc launch --config-file'],
  ['plan gpt3 --cluster comma.json --batch 8', 'ACC_PLAN_CLUSTER', 'Remove the comma before }'],
  ['config --config-file saves', 'ACC_CONFIG_NOT_WRITABLE', 'saves/acc.yaml'],
  ['launch -m nopackage/x', 'ACC_SCRIPT_NOT_FOUND', "Cannot find package 'nopackage' in /"],
  [
    'scale-study train.mjs --ranks 1,2 --epochs 1',
    'ACC_UNKNOWN_OPTION',
    'npx acc scale-study --ranks 1,2 train.mjs -- --epochs 1',
  ],
  ['launch comma.json', 'ACC_SCRIPT_KIND', 'npx acc launch train.ts comma.json'],
  ['merge-weights saves out', 'ACC_CHECKPOINT_NOT_FOUND', 'saves/step-00000160?'],
];

let ended: readonly Ended[];
beforeAll(async () => {
  const cwd = newFolder();
  writeFileSync(join(cwd, 'train.mjs'), "throw new Error('it runs');\n");
  writeFileSync(join(cwd, 'wrong.yaml'), 'launch:\n  nprocs: 2\n  threads: many\n');
  writeFileSync(join(cwd, 'broken.yaml'), 'launch:\n nproc: 2\n  x: 1\n');
  writeFileSync(join(cwd, 'comma.json'), '{\n  "devices": 8,\n}\n');
  writeFileSync(join(cwd, 'config.yaml'), 'launch:\n  nproc: 2\n');
  for (const step of ['step-00000128', 'step-00000160']) {
    mkdirSync(join(cwd, 'saves', step), { recursive: true });
    writeFileSync(join(cwd, 'saves', step, 'checkpoint.json'), '{}');
  }
  ended = await forEach(WRONG, ([line]) => runNode([ACC, ...line.split(' ')], { cwd }));
  rmSync(cwd, { recursive: true });
});

it('there are at least 25', () => expect(WRONG.length).toBeGreaterThanOrEqual(25));

it.each(WRONG.map((wrong, i) => [...wrong, i] as const))('acc %s: %s', (_line, errorCode, says, i) => {
  const { code, lines } = ended[i]!;
  const output = lines.join('\n');
  expect(code, output).toBe(2);
  expect(lines.length, output).toBeLessThanOrEqual(10);
  expect(lines[0], output).toMatch(new RegExp(`^acc: ${errorCode}: `));
  expect(
    lines.findLast((line) => !line.startsWith('  ')),
    output,
  ).toMatch(/^→ /);
  expect(output).toContain(says);
  // Nothing is said twice, and no line holds a mark alone.
  expect(new Set(lines).size, output).toBe(lines.length);
  expect(output).not.toMatch(/^\.$/m);
});
