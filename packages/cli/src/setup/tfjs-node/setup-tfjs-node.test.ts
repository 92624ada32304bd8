import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { SetupProgress } from '../progress.js';
import { describeCuda } from './cuda.js';
import { linkTfjsNode } from './link.js';
import { setupTfjsNode } from './setup-tfjs-node.js';
import { verifyTfjsNode } from './verify.js';

/** A project that has the manifest of tfjs-node alone. */
function newProject() {
  const cwd = mkdtempSync(join(tmpdir(), 'acc-setup-'));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const name = '@tensorflow/tfjs-node';
  const path = join(cwd, 'node_modules', name);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'package.json'), JSON.stringify({ name, version: '4.22.0', main: 'index.js' }));
  const said: string[] = [];
  const output = new Writable({
    write(chunk: Buffer, _, done) {
      said.push(chunk.toString());
      done();
    },
  });
  const progress = new SetupProgress(output);
  return { cwd, path, found: { name, version: '4.22.0', path }, progress, said };
}

const refusal = (code: string) => expect.objectContaining({ code }) as unknown;

function putOwn(path: string, content: string): void {
  for (const name of ['deps', 'lib']) {
    rmSync(join(path, name), { recursive: true, force: true });
    mkdirSync(join(path, name));
    writeFileSync(join(path, name, 'own.txt'), content);
  }
}

it('an undo after another install of tfjs-node keeps the folders of that install', async () => {
  const { cwd, path, found, progress, said } = newProject();
  putOwn(path, 'older');
  const binding = join(cwd, 'tfjs_binding.node');
  writeFileSync(binding, 'binding');
  linkTfjsNode(found, { root: cwd, version: '2.15.1', variant: 'cpu', cuda: undefined }, binding);
  expect(readdirSync(path)).toContain('.before-acc-setup');
  putOwn(path, 'newer');
  await setupTfjsNode({ undo: true }, cwd, progress);
  expect(said.join('')).toContain('undone');
  expect(readdirSync(path).sort()).toEqual(['deps', 'lib', 'package.json']);
  for (const name of ['deps', 'lib']) expect(readFileSync(join(path, name, 'own.txt'), 'utf8')).toBe('newer');
});

it('undo is refused together with what it would ignore', async () => {
  const { cwd, progress } = newProject();
  const undo = (options: object) => setupTfjsNode({ undo: true, ...options }, cwd, progress);
  for (const options of [{ dryRun: true }, { offline: false, dryRun: true }, { sha256: 'ab' }]) {
    await expect(undo(options)).rejects.toThrow(refusal('ACC_SETUP_CONFLICT') as Error);
  }
  await undo({ offline: false, dryRun: false });
});

it('a tfjs-node that never finishes loading is killed', async () => {
  const { path, found } = newProject();
  writeFileSync(join(path, 'index.js'), 'for (;;);');
  const verified = verifyTfjsNode(found, 200);
  await expect(verified).rejects.toThrow(/did not end within 0.2 s/);
  await expect(verified).rejects.toThrow(refusal('ACC_TFJS_NODE_BROKEN') as Error);
});

it('the command that installs CUDA quotes the path', () => {
  const cuda = { cuda: '12.2', cudnn: undefined, driver: undefined, packages: ['nvidia-cudnn-cu12==8.9'] };
  const command = (root: string) => describeCuda(cuda, root).at(-1);
  expect(command('/home/me/.cache/acc')).toContain('--target /home/me/.cache/acc nvidia-');
  expect(command("/home/my name/it's")).toContain(String.raw`--target '/home/my name/it'\''s' nvidia-`);
});
