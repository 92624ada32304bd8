import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const entry = new URL('../dist/index.js', import.meta.url).href;

interface Printed {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(program: string): Printed {
  return spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' });
}

/** A program that starts threads, and has what each of them said when it goes on as `rest` says. */
function withThreads(count: number, body: string, rest: string): string {
  const thread = `
    const [{ parentPort: parent }, native] = await Promise.all([
      import('node:worker_threads'),
      import('${entry}'),
    ]);
    ${body}`;
  return `
    import { Worker } from 'node:worker_threads';
    import { once } from 'node:events';
    const threads = Array.from({ length: ${count} }, () => new Worker(${JSON.stringify(thread)}, { eval: true }));
    const said = await Promise.all(threads.map(async (thread) => (await once(thread, 'message'))[0]));
    ${rest}
    await Promise.all(threads.map((thread) => thread.terminate()));`;
}

// Operators of the addon run on the threads of libtorch's OpenMP, which begin with the first operator
// that needs them. Only Linux shows the threads of a process.
it.runIf(process.platform === 'linux')('operators of the addon run on several threads', () => {
  const program = `
    import { readdirSync } from 'node:fs';
    import { operator, setNumThreads, tensorFrom } from '${entry}';
    const threads = () => readdirSync('/proc/self/task').length;
    const x = tensorFrom(new Float32Array(2 ** 18), 'float32', [512, 512]);
    const tanh = operator('acc::tanh');
    setNumThreads(1);
    tanh(x);
    const alone = threads();
    setNumThreads(4);
    tanh(x);
    console.log(threads() - alone);`;
  const { stdout, stderr } = run(program);
  expect(stderr).toBe('');
  expect(stdout.trim()).toBe('3');
});

it.each([
  [
    'reads',
    "const x = native.tensorFrom(new Float32Array(2 ** 20), 'float32', [2 ** 20]);",
    "x.readAsync('float64')",
  ],
  ['checksums', 'const bytes = new Uint8Array(2 ** 26);', 'native.checksum(bytes)'],
])('a thread may end while %s are under way', (_, given, call) => {
  const body = `${given} for (let i = 0; i < 8; i++) void ${call}; parent.postMessage(0);`;
  const { status, stdout, stderr } = run(`${withThreads(2, body, '')} console.log('all have ended');`);
  expect([stderr, stdout.trim(), status]).toEqual(['', 'all have ended', 0]);
});

it('files of two threads with the same label have different names', () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-threads-'));
  const body = `
    const file = new native.TensorFile(${JSON.stringify(folder)}, 'same');
    // The thread lives on: when the last of them ends, the addon is unloaded, and counts from 0 again.
    parent.on('message', () => file.path);
    parent.postMessage(file.path);`;
  const { stdout, stderr } = run(withThreads(2, body, 'console.log(JSON.stringify(said));'));
  expect(stderr).toBe('');
  const paths = JSON.parse(stdout) as string[];
  expect(new Set(paths).size).toBe(2);
  for (const path of paths) expect(path.startsWith(join(folder, 'acc-same-'))).toBe(true);
  rmSync(folder, { recursive: true });
});
