import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

// Operators of the addon run on the threads of libtorch's OpenMP, which begin with the first operator
// that needs them. Only Linux shows the threads of a process.
it.runIf(process.platform === 'linux')('operators of the addon run on several threads', () => {
  const entry = new URL('../dist/index.js', import.meta.url).href;
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
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(stdout.trim()).toBe('3');
});
